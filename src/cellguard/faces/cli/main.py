"""`cellguard`: the command and its errors. Heavy modules load inside a command, so that --help answers at once."""

from __future__ import annotations

import os
import signal
import sys

import click

from cellguard.errors import CellguardError, NotProtected, Stopped, described
from cellguard.faces.cli.argus import argus
from cellguard.faces.cli.checking import audit, diff, explain, show, verify
from cellguard.faces.cli.comparing import compare, compare_rules, stability
from cellguard.faces.cli.languages import LANGUAGE, Spoken
from cellguard.faces.cli.listing import rules
from cellguard.faces.cli.protecting import assess, map_, perturb, protect
from cellguard.faces.cli.serve import serve
from cellguard.faces.cli.signals import INTERRUPTED, listen
from cellguard.faces.cli.slips import hint
from cellguard.faces.cli.starting import demo, init, schema
from cellguard.faces.cli.studio import studio
from cellguard.words.language import language_of, speaking
from cellguard.words.retell import retell
from cellguard.words.say import say


@click.group(cls=Spoken, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cellguard")
@LANGUAGE
def cli() -> None:
    """Find the cells of a table that would disclose a person or a company, and prove what is left safe.

    \b
    Start here:
      cellguard demo                 see it work on a made-up survey and register
      cellguard init data.csv        write a commented job for your own table or records
      cellguard assess job.yaml      find the sensitive cells, with reasons
      cellguard protect job.yaml --out out    suppress as little as possible, and prove the rest safe
      cellguard audit out/           attack a release as an outsider would
      cellguard show out/ TABLE      look at a table on the terminal
      cellguard verify out/          check its certificate without a solver
      cellguard serve FOLDER         answer questions to a source, over HTTP
      cellguard studio               do all of this on a page in the browser

    Exit status: 0 done; 1 not proven safe; 2 bad input or options; 3 internal error.
    """


_PROTECTING = (assess, protect, perturb, map_, explain, show, diff, audit, verify)
for _command in (*_PROTECTING, compare, compare_rules, stability, argus, init, rules, schema, demo, studio, serve):
    cli.add_command(_command)


def main(came: list[int] | None = None) -> None:
    """Run the command line; errors become one plain message and an exit status. Signals are listened to in ``came``."""
    with speaking(language_of(os.environ)):
        _run(listen() if came is None else came)


def _run(came: list[int]) -> None:
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail(INTERRUPTED, 1)
    except click.ClickException as error:
        error.show()
        if cure := hint(error):
            click.echo(cure[0].upper() + cure[1:] + ("" if cure.endswith("?") else "."), err=True)
        sys.exit(2)
    except (NotProtected, Stopped) as error:
        _fail(say("{why}. Nothing was released", why=retell(str(error))), 1)
    except CellguardError as error:
        _fail(str(error), 2)
    except Exception as error:
        if came and came[0] == signal.SIGINT:  # what a library made of the signal
            _fail(INTERRUPTED, 1)
        if came:
            sys.exit(128 + came[0])
        if os.environ.get("CELLGUARD_DEBUG"):
            raise
        _fail(f"internal error: {described(error)}. Please report it; nothing was released", 3)


def _fail(message: str, status: int) -> None:
    click.echo(say("cellguard: {what}", what=retell(message)), err=True)
    sys.exit(status)
