"""The language of the command line: the option that chooses it, and help in it."""

from __future__ import annotations

import re

import click

from cellguard.words.language import LANGUAGES, known_language, speak
from cellguard.words.say import template

_APART = re.compile(r"( {2,})")  # between columns of words


def _choose(_context: click.Context, _option: click.Parameter, wish: str | None) -> None:
    if wish and (language := known_language(wish)):
        speak(language)


LANGUAGE = click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    is_eager=True,
    expose_value=False,
    callback=_choose,
    help="Speak this language (else that of CELLGUARD_LANGUAGE or LANG). Pages follow the job's `language`.",
)


class Spoken(click.Group):
    """Commands whose help is in the language that is spoken, as far as there are words."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the program does."""
        said = self.help or ""
        self.help = "\n".join(map(_line, said.partition("\f")[0].splitlines()))
        try:
            super().format_help_text(ctx, formatter)
        finally:
            self.help = said

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with the first sentence about it."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        rows = [(name, _short(self.commands[name], limit)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _line(line: str) -> str:
    bare = line.lstrip()
    return line[: len(line) - len(bare)] + "".join(template(part) for part in _APART.split(bare))


def _short(command: click.Command, limit: int) -> str:
    whole = command.get_short_help_str(1_000)
    told = template(whole)
    if told == whole or len(told) <= limit:
        return command.get_short_help_str(limit) if told == whole else told
    return told[: limit - 3].rpartition(" ")[0].rstrip(",:;") + "..."
