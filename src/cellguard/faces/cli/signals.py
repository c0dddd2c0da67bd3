"""Ctrl-C and the signals that ask a process to end: never in the middle of a library that cannot bear it."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from threading import Timer
from types import FrameType

from cellguard.run_context import Cancel

INTERRUPTED = "interrupted; nothing was released"
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_LATER = 0.02  # seconds
CANCEL = Cancel()  # what Ctrl-C stops: all work that this process does for the command line
# Packages in which an exception may be lost, turned into another or abort the process: loading, compiling, finalizers.
_DELICATE = {"importlib", "_frozen_importlib", "_frozen_importlib_external", "numba", "llvmlite", "weakref"}


def listen() -> list[int]:
    """Let signals end the process in order, so that temporary files vanish; return the list of those that came.

    Ctrl-C ends a search with the best result so far, by its token, and all else by an exception. Signals that end the
    process wait until no module is being loaded, no kernel compiled.
    """
    came: list[int] = []

    def arrive(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if number == signal.SIGINT and CANCEL.heeded:
            CANCEL.stop()
        elif _is_delicate(frame):
            again = Timer(_LATER, signal.raise_signal, [number])
            again.daemon = True
            again.start()
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            for other in _ENDING:
                signal.signal(other, signal.SIG_IGN)
            sys.exit(128 + number)

    with suppress(ValueError):  # a thread other than the main one cannot do so
        if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
            signal.signal(signal.SIGINT, arrive)
        for number in _ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, arrive)
    return came


def _is_delicate(frame: FrameType | None) -> bool:
    """Return whether what runs, or what called it, must not be left by an exception."""
    while frame:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _DELICATE:
            return True
        frame = frame.f_back
    return False


def ignore() -> None:
    """Let Ctrl-C come too late: all is done."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
