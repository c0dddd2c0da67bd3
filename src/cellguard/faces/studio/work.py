"""Long work in a thread of its own: how far it is, a way to stop it, and what came of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from cellguard.errors import CellguardError, InternalError
from cellguard.run_context import Event, Run
from cellguard.words.retell import retell

Act = Callable[[Run], Any]


class Work:
    """One piece of work. ``result`` is what it returned, ``error`` what went wrong, in words."""

    def __init__(self, kind: str, act: Act, *, seconds: float | None = None, threads: int = 1) -> None:
        self.kind, self.result, self.error = kind, None, ""
        self.started, self.ended = time.monotonic(), 0.0
        self.event = Event("", "")
        self.run = Run.within(seconds, listen=self._hear, threads=threads)
        self._thread = Thread(target=self._do, args=(act,), daemon=True)

    def start(self) -> Work:
        """Begin."""
        self._thread.start()
        return self

    def wait(self, seconds: float | None = None) -> Work:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)
        return self

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.ended > 0

    def stop(self, *, at_once: bool = False) -> None:
        """Ask for the end: a search ends with its best safe pattern, at the second time or ``at_once`` with nothing."""
        self.run.stop(at_once=at_once)

    def plain(self) -> dict[str, Any]:
        """Return how far it is."""
        seconds = (self.ended or time.monotonic()) - self.started
        share = self.event.share
        return {
            "kind": self.kind,
            "phase": self.event.phase,
            "text": retell(self.event.text),
            "share": None if share is None else round(share, 3),
            "seconds": round(seconds),
            "over": self.over,
            "stopping": self.run.cancel.stopped,
            "error": retell(self.error),
        }

    def _hear(self, event: Event) -> None:
        self.event = event

    def _do(self, act: Act) -> None:
        try:
            self.result = act(self.run)
        except Exception as error:
            self.error = told(error)
        finally:
            self.ended = time.monotonic()


def told(error: Exception) -> str:
    """Return an error in words: its own if they are meant for people, else only its kind and place.

    >>> told(ValueError("the turnover of firm 7 is 812"))
    'internal error: ValueError. Please report it; nothing was released'
    """
    if isinstance(error, CellguardError) and not isinstance(error, InternalError):
        return str(error)
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno})" if trace else ""
    return f"internal error: {type(error).__name__}{place}. Please report it; nothing was released"


def log(words: str) -> None:
    """Write a line to the log: what was done and how many, never a value or a code."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {words}\n")
