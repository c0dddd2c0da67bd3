"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else.")
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
FILE = click.Path(path_type=Path, dir_okay=False)
PATH = click.Path(path_type=Path)
ACCEPT = click.option(
    "--accept-no-rules",
    is_flag=True,
    help="Accept tables to which no rule is applied; nothing is called safe all the same.",
)
FORCE = click.option("--force", is_flag=True, help="Replace what is there already.")
OUT = click.option("--out", type=PATH, help="The output folder (default: the job's `output: folder`).")
THREADS = click.option(
    "--threads", default=1, show_default=True, type=click.IntRange(1, 64), help="Solve in so many threads."
)
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a key of the job for this run, as microdata.source=june.csv. Repeatable.",
)
