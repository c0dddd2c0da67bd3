"""`rules`: every rule in words."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

import click

from cellguard.faces.cli.show import show_table

LETTERS = (
    "In formulas x1 >= x2 >= ... are the contributions to a cell, X is their sum and N their number. In a row of "
    "counts, T respondents share all other codes, s of them have the category in question, and o = T - s "
    "have another one."
)


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the rules as JSON and nothing else.")
def rules(name: str | None, *, as_json: bool) -> None:
    """List the rules that call a cell unsafe, or say everything about one.

    In formulas x1 >= x2 >= ... are the contributions to a cell, X is their sum and N their number. In a row of counts,
    T respondents share all other codes, s of them have the category in question, and o = T - s have another one.

    \b
    Examples:
      cellguard rules
      cellguard rules p_percent
    """
    from cellguard.rules.described import describe, described

    chosen = described() if name is None else [describe(name)]
    if as_json:
        click.echo(json.dumps([asdict(rule) for rule in chosen], indent=2, ensure_ascii=False))
    elif name is None:
        for rule in chosen:
            click.echo(f"{rule.written}\n  {_wrapped(rule.summary)}\n  Formula: {_wrapped(rule.unsafe_if)}\n")
        click.echo(f"{textwrap.fill(LETTERS, 100)}\n")
        click.echo("`cellguard rules NAME` says everything about one. Several in a list: unsafe if any says so.")
    else:
        (rule,) = chosen
        click.echo(f"{rule.name}\n\n{rule.meaning}\n")
        show_table(
            ["", ""],
            [
                ["unsafe if", rule.unsafe_if],
                ["looks at", rule.looks_at],
                ["upper protection level", rule.level],
                ["in a job", rule.written],
            ],
        )
        click.echo()
        show_table(
            ["parameter", "kind", "default", "meaning"],
            [[n, kind, default or "(required)", meaning] for n, kind, default, meaning in rule.parameters],
        )
        click.echo(f"\n{textwrap.fill(LETTERS, 100)}")


def _wrapped(text: str) -> str:
    """Return a text in lines of at most 100 characters, indented by two."""
    return "\n  ".join(textwrap.wrap(text, 98))
