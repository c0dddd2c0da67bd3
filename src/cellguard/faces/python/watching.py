"""What a call shows of long work: the phases, and how far they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

from cellguard.errors import InputError
from cellguard.run_context import Event, Listener, Outlook, Run

_PARTS = 10  # in which a phase is reported


def watched(run: Run, progress: bool | Listener) -> Run:
    """Return a run whose events are shown, too, or passed on to a function.

    >>> told = []
    >>> watched(Run(), told.append).tell("reading")
    >>> told
    [Event(phase='', text='reading', done=None, total=None)]
    """
    if not progress:
        return run
    if progress is not True and not callable(progress):
        raise InputError(f"`progress` must be True, False or a function that takes each event, not {progress!r}")
    hear = Lines() if progress is True else progress

    def both(event: Event) -> None:
        run.listen(event)
        hear(event)

    return replace(run, listen=both)


class Lines:
    """Writes a line when a phase begins, when another tenth of it is done, and when there is something to read.

    Lines also say how long it may take, as far as that can be told.

    >>> lines = Lines(lambda line: print(line, end=""), clock=lambda: 0.0)
    >>> lines(Event("choosing", "this may take some 40 s", seconds=40))
    choosing: this may take some 40 s, some 40 s left
    >>> for done in range(0, 40, 2):
    ...     lines(Event("auditing", "cells left to prove", done, 100))
    auditing: cells left to prove (0 %), some 40 s left
    auditing: cells left to prove (10 %), some 40 s left
    auditing: cells left to prove (20 %), some 40 s left
    auditing: cells left to prove (30 %), some 40 s left
    """

    def __init__(
        self, write: Callable[[str], object] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write, self._last, self._outlook = write or sys.stderr.write, ("", 0), Outlook(clock)

    def __call__(self, event: Event) -> None:
        """Write what is new in an event."""
        line = self._outlook.line(event)
        before, part = self._last[0], int(_PARTS * (event.share or 0.0))
        if event.phase == before and part <= self._last[1] and event.seconds is None:
            return
        self._last = event.phase, part
        self._write(line + "\n")
