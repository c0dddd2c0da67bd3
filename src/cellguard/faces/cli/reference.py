"""Every command with its options, as a page of the documentation; a test holds the page equal to this."""

from __future__ import annotations

import click

from cellguard.faces.cli.main import cli

_START = """# Commands

Every command with its options, as `cellguard COMMAND --help` lists them. Exit status: 0 done; 1 not proven safe; 2 bad
input or options; 3 internal error.

`cellguard --language de COMMAND` speaks another [language](languages.md).
"""


def reference() -> str:
    """Return the page."""
    parts = [_START]
    for name, command in cli.commands.items():
        context = click.Context(command, info_name=f"cellguard {name}", terminal_width=100, **cli.context_settings)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
