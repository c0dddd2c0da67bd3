"""What was asked, by whom, and how it ended: one line of JSON each, without any value."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

FILE = "audit.jsonl"


class AuditLog:
    """A file that lines are appended to; several workers may share it."""

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def tell(self, user: str, what: str, end: str, *, number: int = 0) -> None:
        """Write a line: what was asked in words, how it ended, and the number of the answer in the register."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "user": user, "asked": what[:500], "end": end, "answer": number}
        os.write(self._handle, (json.dumps(line, ensure_ascii=False) + "\n").encode())

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)
