"""The logbook of a batch: what was asked, what was done, and what differs from the program that wrote it before."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

from cellguard.argus.outputs import refuse_no_logbook

END = "End of TauArgus run"
_BEGIN = "-" * 60
_INDENT = " " * 25
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Logbook:
    """Lines with their time, as they came; they are added to what the file has. No value of a cell stands in them.

    They go to the file that the command line names and to the one that the batch names; without any, to one in the
    folder for temporary files.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            refuse_no_logbook(path)
        self.paths = [path] if path is not None else []
        self._lines: list[str] = []
        self.write(_BEGIN)

    def also(self, path: Path) -> None:
        """Write to the file that the batch names, too."""
        refuse_no_logbook(path)
        if path.resolve() not in [known.resolve() for known in self.paths]:
            self.paths.append(path)

    def write(self, text: str) -> None:
        """Add a text, of which further lines are indented."""
        now = datetime.now()  # the clock on the wall of its reader
        stamp = f"{now.day:02d}-{_MONTHS[now.month - 1]}-{now.year} {now:%H:%M:%S} : "
        first, *others = text.split("\n")
        self._lines += [stamp + first, *(_INDENT + line for line in others)]

    def close(self) -> list[str]:
        """Write the end, and all lines to the files; return what went wrong."""
        self.write(END)
        wrong = []
        for path in self.paths or [Path(tempfile.gettempdir()) / "TauLogbook.txt"]:
            try:
                with path.open("a", encoding="utf-8") as file:
                    file.write(self.text + "\n")
            except OSError as error:
                wrong.append(f"the logbook {path} cannot be written: {error.strerror}")
        self._lines = []
        return wrong

    @property
    def text(self) -> str:
        """The lines that are not written yet."""
        return "\n".join(self._lines)
