"""The logbook of a batch: what was asked, what was done, and what differs from the program that wrote it before."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

END = "End of TauArgus run"
_BEGIN = "-" * 60
_INDENT = " " * 25
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Logbook:
    """Lines with their time, as they came; they are added to what the file has. No value of a cell stands in them."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(tempfile.gettempdir()) / "TauLogbook.txt"
        self._given = path is not None
        self._lines: list[str] = []
        self.write(_BEGIN)

    def move(self, path: Path) -> None:
        """Go on in the file that the batch names, unless the command line named one."""
        if not self._given:
            self.path = path

    def write(self, text: str) -> None:
        """Add a text, of which further lines are indented."""
        now = datetime.now()  # the clock on the wall of whoever reads it
        stamp = f"{now.day:02d}-{_MONTHS[now.month - 1]}-{now.year} {now:%H:%M:%S} : "
        first, *others = text.split("\n")
        self._lines += [stamp + first, *(_INDENT + line for line in others)]

    def close(self) -> None:
        """Write the end, and all lines to the file."""
        self.write(END)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n".join(self._lines) + "\n")
        except OSError:
            with (Path(tempfile.gettempdir()) / "TauLogbook.txt").open("a", encoding="utf-8") as file:
                file.write("\n".join(self._lines) + "\n")
        self._lines = []

    @property
    def text(self) -> str:
        """The lines that are not written yet."""
        return "\n".join(self._lines)
