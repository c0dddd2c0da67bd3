"""`serve`: a source over HTTP."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from cellguard.errors import InputError, MissingExtra


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port to listen at (default: a free one).")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The name or address that clients use. There is no encryption: put a proxy with TLS before any other than "
    "this machine's own.",
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes that answer.")
@click.option("--open", "open_to_all", is_flag=True, help="Let all who can reach it ask without a key, as one user.")
@click.option("--new-key", metavar="USER", help="Make a key for a user, print it, and serve nothing.")
def serve(folder: Path, port: int, host: str, workers: int, open_to_all: bool, new_key: str | None) -> None:
    """Answer questions to the source in FOLDER: tables made on the fly, each safe together with all before.

    FOLDER has `source.yaml`, which names a job, its multipliers and the register of answers. Each user needs a key,
    unless --open is given. Ctrl-C ends it; what was answered is in the register.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtra("Serving a source needs an extra; get it with: pip install 'cellguard[serve]'")
    from cellguard.faces.service.keys import new_key as made_key
    from cellguard.faces.service.keys import read_keys
    from cellguard.faces.service.serve import Server
    from cellguard.faces.web import LOOPBACK

    if new_key is not None:
        click.echo(made_key(folder, new_key))
        click.echo(f"This is the key of {new_key}. It is shown once; start `cellguard serve` anew to use it.", err=True)
        return
    if host in {"", "0.0.0.0", "::"}:  # noqa: S104
        raise InputError("--host must be the name or address that clients use, so that no other name leads here")
    if not open_to_all and not read_keys(folder):
        raise InputError("no user has a key yet: make one with --new-key USER, or let all ask with --open")
    server = Server(folder, host=host, port=port, workers=workers, open_to_all=open_to_all)
    if host != LOOPBACK:
        click.echo(f"Others can reach this at {host}, without encryption.", err=True)
    with suppress(KeyboardInterrupt):
        click.echo(f"Asked at {server.address} (Ctrl-C ends it)")
        server.run()
