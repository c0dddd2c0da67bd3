"""`argus`: batches of τ-ARGUS."""

from __future__ import annotations

import sys

import click


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def argus(arguments: tuple[str, ...]) -> None:
    """Run a batch of τ-ARGUS (FILE.arb [LOGBOOK [TEMPDIR [DATADIR]]]) and prove its tables safe; see argus --help.

    Exit status: 0 done; 1 the batch asks for the window of τ-ARGUS, which is not here; 2 a fault, nothing was written.
    """
    from cellguard.argus.program import main

    try:
        status = main(arguments, "cellguard argus", click.echo)
    except SystemExit as stop:  # of the help and of wrong options
        status = int(stop.code or 0)
    sys.exit(status)
