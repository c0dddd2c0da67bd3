"""`Run`: what a piece of work owes the person who started it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cellguard.errors import Stopped

Tell = Callable[[str], None]


def silent(step: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a piece of work owes the person who started it: word of progress, an end, no more threads than given.

    ``tell`` shows the present step. ``deadline`` is a moment of `time.monotonic`; long work calls `check` now and then.

    >>> Run().check()
    >>> Run.within(0).check()
    Traceback (most recent call last):
    cellguard.errors.Stopped: the time allowed is over
    """

    tell: Tell = silent
    deadline: float | None = None
    threads: int = 1

    @classmethod
    def within(cls, seconds: float | None, *, tell: Tell = silent, threads: int = 1) -> Run:
        """Return a run that ends so many seconds from now, or when it is done if that is None."""
        return cls(tell, None if seconds is None else time.monotonic() + seconds, threads)

    def endless(self) -> Run:
        """Return the same run without its deadline, for what must come to an end once it is begun."""
        return Run(self.tell, None, self.threads)

    def check(self) -> None:
        """Raise `Stopped` if the time allowed is over."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Stopped("the time allowed is over")


UNWATCHED = Run()  # tells nobody, and has no end


@contextmanager
def timed(name: str, run: Run, seconds: dict[str, float]) -> Iterator[None]:
    """Tell of a step, and take its time."""
    run.tell(name)
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
