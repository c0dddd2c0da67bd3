"""The command line of the program that this one stands in for: ``FILE.arb [LOGBOOK [TEMPDIR [DATADIR]]]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from cellguard.argus.own_commands import WORDS
from cellguard.errors import CellguardError, InputError

_EXTENSIONS = "\n".join(f"  <CELLGUARD> {form:28} {words}" for form, words in WORDS.values())
_HELP = f"""\
Run a batch of τ-ARGUS: its tables are protected, proven safe, and written in its formats.

Files that the batch names are looked for as it names them, beside it, and in DATADIR. Beside the batch a folder
FILE.cellguard gets the batch as a job of cellguard, the certificate, and a page to read.

Extensions, as lines of a batch:
{_EXTENSIONS}

Exit status: 0 done; 1 the batch asks for the window of τ-ARGUS, which is not here; 2 a fault, nothing was written."""


def main(arguments: Sequence[str], name: str = "cellguard-argus", say: Callable[[str], None] | None = None) -> int:
    """Run the program, and return its exit status."""
    parser = _parser(name)
    asked = parser.parse_args(list(arguments))
    tell = say or _print
    try:
        if asked.export:
            from cellguard.argus.exporting import export_job

            return export_job(Path(asked.export), Path(asked.batch or "."), tell)
        if asked.compare:
            from cellguard.argus.comparing import compare_batches

            return compare_batches(Path(asked.compare), tell)
        if not asked.batch:
            parser.print_help()
            tell("There is no window here: name a batch file.")
            return 2
        if asked.check:
            from cellguard.argus.linting import lint

            return lint(Path(asked.batch), _folder(asked.datadir), tell)
        return _run(asked, tell)
    except CellguardError as error:
        tell(f"{name}: {error}")
        return 2


def _run(asked: argparse.Namespace, tell: Callable[[str], None]) -> int:
    from cellguard.argus.batch_run import BatchRun
    from cellguard.argus.logbook import Logbook

    temporary, usual = _folder(asked.tempdir), tempfile.tempdir
    if temporary:
        tempfile.tempdir = str(temporary)
    logbook = Logbook(Path(asked.logbook) if _named(asked.logbook) else None)
    try:
        return BatchRun(Path(asked.batch), logbook, _folder(asked.datadir), tell).run()
    finally:
        for wrong in logbook.close():
            tell(wrong)
        tempfile.tempdir = usual


def _named(name: str | None) -> bool:
    """Return whether an argument says anything: - keeps its place, and /v asks for a window."""
    return bool(name) and name not in {"-", "/v"}


def _folder(name: str | None) -> Path | None:
    if name is None or not _named(name):
        return None
    if not Path(name).is_dir():
        raise InputError(f"there is no folder {name!r}; make it, or leave it out")
    return Path(name)


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(name, description=_HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batch", nargs="?", metavar="FILE.arb", help="the batch; with --export the folder to write to")
    parser.add_argument("logbook", nargs="?", metavar="LOGBOOK", help="where the logbook goes, whatever the batch says")
    parser.add_argument("tempdir", nargs="?", metavar="TEMPDIR", help="the folder for temporary files")
    parser.add_argument("datadir", nargs="?", metavar="DATADIR", help="another folder to look for files in")
    parser.add_argument(
        "--check", action="store_true", help="only check the batch and its files: every fault, with place"
    )
    parser.add_argument("--export", metavar="JOB", help="write a job of cellguard as a batch with its files")
    parser.add_argument(
        "--compare", metavar="FOLDER", help="run all batches of a folder, beside published results there"
    )
    parser.add_argument("--version", action="version", version=f"cellguard {version('cellguard')}")
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
