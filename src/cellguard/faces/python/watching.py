"""What a call shows of long work: the phases, and how far they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from cellguard.run_context import Event, Listener, Run

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
    hear = Lines() if progress is True else progress

    def both(event: Event) -> None:
        run.listen(event)
        hear(event)

    return replace(run, listen=both)


class Lines:
    """Writes a line when a phase begins, and when another tenth of it is done.

    >>> lines = Lines(lambda line: print(line, end=""))
    >>> for done in range(0, 50, 2):
    ...     lines(Event("auditing", "", done, 100))
    auditing
    auditing: 10 %
    auditing: 20 %
    auditing: 30 %
    auditing: 40 %
    """

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write, self._last = write or sys.stderr.write, ("", 0)

    def __call__(self, event: Event) -> None:
        """Write what is new in an event."""
        before, part = self._last[0], int(_PARTS * (event.share or 0.0))
        if event.phase == before and part <= self._last[1]:
            return
        self._last = event.phase, part
        self._write(event.phase + (f": {100 * part // _PARTS} %" if part else "") + "\n")
