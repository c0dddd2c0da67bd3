"""What a person sees of long work: the present step and the time."""

from __future__ import annotations

import sys
import time
from functools import partial
from threading import Event as Flag
from threading import Thread

import click

from cellguard.faces.cli.signals import CANCEL
from cellguard.run_context import Event, Outlook, Run

_LOG_EVERY = 10.0


class progress:  # noqa: N801
    """A run that shows its present step: live on a terminal, as a line now and then in a log; or nothing if ``silent``.

    Ctrl-C stops it. ``seconds`` are how long it may take, if that is said.
    """

    def __init__(self, silent: bool, *, seconds: float | None = None, threads: int = 1) -> None:
        self.run = Run.within(seconds, listen=self._hear, threads=threads, cancel=CANCEL)
        self.step, self.start = "starting", time.monotonic()
        self.live = None
        self.over, self.outlook, self.silent = Flag(), Outlook(), silent
        self.logger = None
        if not silent:
            from cellguard.faces.cli.cold import announce  # loads numpy, which a page of help does without

            announce()
        if not silent and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
            self.live = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.live.add_task(self.step)
        elif not silent:
            self.logger = Thread(target=self._log, daemon=True)

    def __enter__(self) -> Run:
        if self.live:
            self.live.start()
        if self.logger:
            self.logger.start()
        return self.run

    def __exit__(self, *_: object) -> None:
        self.over.set()
        if self.live:
            self.live.stop()

    def _hear(self, event: Event) -> None:
        self.step = self.outlook.line(event)
        if self.live:
            self.live.update(self.task, description=self.step)
        if event.notice and not self.silent:
            (self.live.console.print if self.live else partial(click.echo, err=True))(event.text)

    def _log(self) -> None:
        while not self.over.wait(_LOG_EVERY):
            click.echo(f"{time.monotonic() - self.start:.0f} s: {self.step}", err=True)
