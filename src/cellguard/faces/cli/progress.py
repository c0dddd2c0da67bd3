"""What a person sees of long work: the present step and the time."""

from __future__ import annotations

import sys
import time
from threading import Event, Thread
from typing import TYPE_CHECKING

import click

from cellguard.faces.cli import cold

if TYPE_CHECKING:
    from cellguard.run_context import Tell

_LOG_EVERY = 10.0


class progress:  # noqa: N801
    """Show the present step: live on a terminal, as a line now and then in a log; nothing when asked to be silent."""

    def __init__(self, silent: bool) -> None:
        self.step, self.start = "starting", time.monotonic()
        self.live = None
        self.over = Event()
        self.logger = None
        if not silent and cold.is_cold():
            click.echo(cold.MESSAGE, err=True)
        if not silent and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
            self.live = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.live.add_task(self.step)
        elif not silent:
            self.logger = Thread(target=self._log, daemon=True)

    def __enter__(self) -> Tell:
        if self.live:
            self.live.start()
        if self.logger:
            self.logger.start()
        return self._tell

    def __exit__(self, *_: object) -> None:
        self.over.set()
        if self.live:
            self.live.stop()

    def _tell(self, step: str) -> None:
        self.step = step
        if self.live:
            self.live.update(self.task, description=step)

    def _log(self) -> None:
        while not self.over.wait(_LOG_EVERY):
            click.echo(f"{time.monotonic() - self.start:.0f} s: {self.step}", err=True)
