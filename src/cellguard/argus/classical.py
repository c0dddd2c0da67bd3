"""The classical methods of MOD and GH, where the batch asks for them: their pattern, our audit, and what repairs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cellguard.argus.commands import Suppress
from cellguard.argus.job_files import Asked
from cellguard.argus.own_table import ArgusTable
from cellguard.argus.protecting import Protected
from cellguard.run_context import Run


def run_classical(
    tables: Sequence[ArgusTable],
    commands: Sequence[Suppress],
    asked: Asked,
    folder: Path,
    within: Run,
    intervals: bool,
    tell: Callable[[str], None],
) -> Protected | None:
    """Return None: nothing classical is there yet."""
    return None
