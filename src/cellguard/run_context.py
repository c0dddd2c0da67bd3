"""`Run`: what a piece of work owes the person who started it: events, an end on request or in time, few threads.

Events and the seconds of each step also go to the standard logger ``cellguard``, which is silent unless a program
listens: ``logging.basicConfig(level="INFO")``. What is logged are steps and counts, never a value.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock

from cellguard.errors import Spent, Stopped

LOG = logging.getLogger("cellguard")
LOG.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Event:
    """What work tells of itself while it goes on: steps and counts, never a cost or a value of a cell.

    ``phase`` is the step, ``text`` what people read, and ``done`` of ``total`` how far the phase is, None where nobody
    knows. While a phase lasts ``total`` stays as it is and ``done`` never falls; a phase may come again. ``seconds`` is
    how long all that is still to come may take, by a guess before it begins. A ``notice`` is to be read, not only seen.

    >>> Event("auditing", "1 cell left to prove", 3, 4).share
    0.75
    """

    phase: str
    text: str
    done: int | None = None
    total: int | None = None
    seconds: float | None = field(default=None, repr=False)
    notice: bool = field(default=False, repr=False)

    @property
    def share(self) -> float | None:
        """How far the phase is, from 0 to 1, if it is known."""
        return None if self.done is None or not self.total else self.done / self.total


Listener = Callable[[Event], None]
_TELLING = 0.05  # share of a phase from which on its time says something


def nobody(event: Event) -> None:
    """Listen to nothing."""


class Cancel:
    """A token by which any thread can stop work; what is not proven by then is not released.

    The first `stop` ends the search, if one goes on: its best safe pattern is proven as usual, and released if it is
    safe. Without one, or at the second `stop`, or ``at_once``, all ends at the next look, with nothing.

    >>> token = Cancel()
    >>> with token.search():
    ...     token.stop(), token.stopped, token.ended, token.stop(), token.ended
    (True, True, False, False, True)
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a signal may arrive while its own thread holds the lock
        self._asked = self._searches = 0

    def stop(self, *, at_once: bool = False) -> bool:
        """Ask for the end; return whether a search goes on that will hear of it, and had not been asked before."""
        with self._lock:
            heard = self.heeded and not at_once
            self._asked = 2 if at_once else min(self._asked + 1, 2)
            return heard

    @property
    def stopped(self) -> bool:
        """Whether anybody asked for the end."""
        return self._asked > 0

    @property
    def ended(self) -> bool:
        """Whether all shall end, not only the search."""
        return self._asked > 1

    @property
    def heeded(self) -> bool:
        """Whether `stop` would end a search and leave its result to be proven."""
        return self._searches > 0 and not self._asked

    @contextmanager
    def search(self) -> Iterator[None]:
        """Say that a search goes on, which ends with its best result when it is stopped."""
        with self._lock:
            self._searches += 1
        try:
            yield
        finally:
            with self._lock:
                self._searches -= 1


class _Progress:
    """How far the phases of a run are, so that no event goes back behind another."""

    def __init__(self) -> None:
        self._lock, self._reached = RLock(), dict[str, tuple[int, int]]()

    def begin(self, phase: str) -> None:
        """Begin a phase, perhaps anew."""
        with self._lock:
            self._reached.pop(phase, None)

    def tell(self, listen: Listener, event: Event) -> None:
        """Pass on an event; without numbers that go back or count something else than those before."""
        with self._lock:
            if event.done is not None and event.total is not None:
                done, total = self._reached.get(event.phase, (0, event.total))
                if done <= event.done <= event.total == total:
                    self._reached[event.phase] = event.done, event.total
                else:
                    event = replace(event, done=None, total=None)
            listen(event)


class Outlook:
    """Turns events into a line each: the phase, what goes on, the share that is done, and the time that is left.

    What is left follows from a guess before the work began, and from how long the share of the phase has taken; the
    longer one is told, and nothing once both are over.

    >>> ticks = iter([0.0, 0.0, 10.0, 30.0])
    >>> outlook = Outlook(lambda: next(ticks))
    >>> for event in (Event("searching", "searching", seconds=40), Event("auditing", "3 left", 1, 4)):
    ...     print(outlook.line(event))
    searching, some 40 s left
    auditing: 3 left (25 %), some 30 s left
    >>> outlook.line(Event("auditing", "2 left", 2, 4))
    'auditing: 2 left (50 %), some 20 s left'
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._begin = clock()
        self._phase, self._expected = "", 0.0

    def line(self, event: Event) -> str:
        """Return what a person reads of an event."""
        now = self._clock()
        if event.phase != self._phase:
            self._phase, self._begin = event.phase, now
        if event.seconds is not None:
            self._expected = now + event.seconds
        known = event.phase and event.phase != event.text
        words = f"{event.phase}: {event.text}" if known else event.text
        share = "" if event.share is None else f" ({event.share:.0%})".replace("%", " %")
        left = self._left(event, now)
        return words + share + (f", some {told_seconds(left)} left" if left >= 1 else "")

    def _left(self, event: Event, now: float) -> float:
        left = self._expected - now
        if event.share is not None and event.share >= _TELLING:
            left = max(left, (now - self._begin) * (1 - event.share) / event.share)
        return left


def told_seconds(seconds: float) -> str:
    """Return a time as people say it.

    >>> told_seconds(40), told_seconds(200), told_seconds(8000)
    ('40 s', '3 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 6_000 else f"{seconds / 3600:,.1f} h"


class Budget:
    """So many seconds of the processor from now on, all threads together: a promise that does not hang on the machine's
    other work.

    >>> Budget(0).over, Budget(1e9).over
    (True, False)
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.process_time() + seconds

    @property
    def over(self) -> bool:
        """Whether the work is done."""
        return time.process_time() >= self._end


@dataclass(frozen=True, slots=True)
class Run:
    """How a piece of work reports to its caller, and how it is stopped: events, a deadline, threads.

    The command line, a notebook, a thread and a web server use it alike. Long work calls `check` now and then.

    Parameters
    ----------
    listen
        A function that takes each `Event`.
    deadline
        A moment of `time.monotonic` at which the search ends.
    threads
        How many threads may work at the same time.
    cancel
        The token by which `stop` ends the work from any thread.
    phase
        The present phase of the work.
    finishing
        Whether the search is over and its result is being proven.
    budget
        The work that is allowed; beyond it `check` raises `Spent`, also in a run without a deadline.

    Examples
    --------
    >>> run = Run(lambda event: print(event.phase, event.text, event.share))
    >>> run.during("auditing").left(1, 4, "cells left to prove")
    auditing auditing None
    auditing 1 cells left to prove 0.75
    >>> run.check()
    >>> run.stop()
    False
    >>> run.check()
    Traceback (most recent call last):
    cellguard.errors.Stopped: stopped
    >>> Run.within(0).check()
    Traceback (most recent call last):
    cellguard.errors.Stopped: the time allowed is over
    """

    listen: Listener = nobody
    deadline: float | None = None
    threads: int = 1
    cancel: Cancel = field(default_factory=Cancel)
    phase: str = ""
    finishing: bool = False
    _progress: _Progress = field(default_factory=_Progress, repr=False, compare=False)
    budget: Budget | None = None

    @classmethod
    def within(
        cls, seconds: float | None, *, listen: Listener = nobody, threads: int = 1, cancel: Cancel | None = None
    ) -> Run:
        """Return a run that ends so many seconds from now, or when it is done if that is None."""
        return cls(listen, None if seconds is None else time.monotonic() + seconds, threads, cancel or Cancel())

    def endless(self) -> Run:
        """Return the same run for what must come to an end once a search is over: only the second `stop` ends it."""
        return Run(self.listen, None, self.threads, self.cancel, self.phase, True, self._progress, self.budget)

    def during(self, phase: str) -> Run:
        """Begin a phase, tell of it, and return the same run for it."""
        here = replace(self, phase=phase)
        here._progress.begin(phase)
        LOG.info("%s", phase)
        here.tell(phase)
        return here

    def tell(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Report what goes on, and how far it is, if that is known."""
        if text != self.phase:
            LOG.debug("%s: %s", self.phase, text)
        self._progress.tell(self.listen, Event(self.phase, text, done, total))

    def expect(self, seconds: float, text: str, *, notice: bool = False) -> None:
        """Report how long all that is to come may take; ``text`` says so in words."""
        self._progress.tell(self.listen, Event(self.phase, text, seconds=seconds, notice=notice))

    def left(self, number: int, total: int, words: str) -> None:
        """Return how many of all are left; ``words`` say what they are and what they wait for."""
        self.tell(f"{number:,} {words}", total - number, total)

    def stop(self, *, at_once: bool = False) -> bool:
        """Ask for the end, from any thread; see `Cancel.stop`."""
        return self.cancel.stop(at_once=at_once)

    @property
    def is_spent(self) -> bool:
        """Whether the work allowed is done."""
        return self.budget is not None and self.budget.over

    def heed(self) -> None:
        """Raise `Stopped` if somebody asked for the end, whatever the time."""
        if self.cancel.ended or (self.cancel.stopped and not self.finishing):
            raise Stopped("stopped")

    def check(self) -> None:
        """Raise `Stopped` if somebody asked for the end, or the time allowed is over."""
        self.heed()
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Stopped("the time allowed is over")
        if self.is_spent:
            raise Spent("the work allowed is done")


UNWATCHED = Run()  # tells nobody, and has no end


@contextmanager
def timed(name: str, run: Run, seconds: dict[str, float]) -> Iterator[Run]:
    """Report a step and measure its time, all its turns together, unless the run was stopped."""
    run.heed()
    here = run.during(name)
    start = time.perf_counter()
    yield here
    took = time.perf_counter() - start
    seconds[name] = seconds.get(name, 0.0) + took
    LOG.info("%s took %.1f s", name, took)
