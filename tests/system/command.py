"""The command line in this process, which saves the second or two of starting one; or in a process of its own."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from cellguard.faces.cli import cold
from cellguard.faces.cli import main as command_line

CELLGUARD = Path(sys.executable).with_name("cellguard")
Done = subprocess.CompletedProcess[str]


def run(*arguments: object, cwd: str | Path = ".") -> Done:
    """Run a command as the console script does, and return its exit status, stdout and stderr.

    An unexpected exception is not turned into an exit status but fails the test, and so does output that goes past
    Python, since nobody could redirect it.
    """
    words = [str(word) for word in arguments]
    with (
        chdir(cwd),
        mock.patch.object(sys, "argv", ["cellguard", *words]),
        mock.patch.object(command_line, "listen", list),
        mock.patch.object(cold, "announce", lambda: None),
        _nothing_native(),
        CliRunner().isolation(env={"CELLGUARD_DEBUG": "1"}) as (out, err, _),
    ):
        status = _status()
        sys.stdout.flush()
        sys.stderr.flush()
        return subprocess.CompletedProcess(words, status, out.getvalue().decode(), err.getvalue().decode())


def run_process(*arguments: object, cwd: str | Path = ".", obeying: bool = False) -> Done:
    """Run the console script in a process of its own; ``obeying`` the permissions of files even as root."""
    words = [CELLGUARD, *map(str, arguments)]
    drop = _obey_permissions if obeying else None
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, preexec_fn=drop)


def _obey_permissions() -> None:
    """Give up, for the process to come, what lets root read and write against the permissions of files."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                raise OSError(ctypes.get_errno(), "root does not give up its rights here")


def _status() -> int:
    try:
        command_line.main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


@contextmanager
def _nothing_native() -> Iterator[None]:
    """Refuse what a library writes to the process's own stdout and stderr."""
    kept = [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryFile() as past:
        try:
            for number in (1, 2):
                os.dup2(past.fileno(), number)
            yield
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
        past.seek(0)
        assert past.read() == b""
