"""What helps after a slip on the command line, behind the words of click."""

from __future__ import annotations

import click

_COMMANDS = {
    "help": "write `cellguard --help`, or `cellguard COMMAND --help`",
    "suppress": "it is `cellguard protect`",
    "run": "it is `cellguard protect`",
    "check": "it is `cellguard audit` for tables, `cellguard verify` for an output folder",
    "report": "`cellguard protect` writes the page; it is in OUT/internal/report.html",
}
_ARGUMENTS = {
    "job": "`cellguard init DATA` writes a job from a data file",
    "first": "name two output folders, as `cellguard diff last out`",
    "second": "name two output folders, as `cellguard diff last out`",
    "folder": "name an output folder, as `out`",
    "cell": "name a cell by its codes, as `cellguard explain out metal/North`",
}
_WORDS = {
    **dict.fromkeys(("--rule", "--rules"), "rules stand in the job, as `rules: [{p_percent: 10}]`"),
    "--sheet": "the first sheet is read; move the data there, or save the sheet as CSV",
    "--method": "the method stands in the job, as `protect: {method: round}`",
    "--engine": "the engine stands in the job, as `protect: {engine: gauss}`",
}
_OPTIONS = {"-f": "--force", "-o": "--out", "-v": "--version", "-j": "--json"}


def hint(error: click.ClickException) -> str:
    """Return the cure of a slip, nothing where click's own words have it.

    >>> hint(click.NoSuchOption("-f"))
    'did you mean --force?'
    """
    if isinstance(error, click.NoSuchOption):
        if error.option_name in _WORDS:
            return _WORDS[error.option_name]
        meant = _OPTIONS.get(error.option_name)
        return f"did you mean {meant}?" if meant and not error.possibilities else ""
    if isinstance(error, click.MissingParameter):
        return _ARGUMENTS.get((error.param.name or "") if error.param else "", "")
    if isinstance(error, click.UsageError) and error.message.startswith("No such command"):
        return next((cure for name, cure in _COMMANDS.items() if f"'{name}'" in error.message), "")
    return ""
