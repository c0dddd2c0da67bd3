"""`studio`: the page in the browser."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from cellguard.errors import InputError, MissingExtra
from cellguard.faces.cli.options import PATH, THREADS


@click.command()
@click.argument("path", type=PATH, default=".")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port to listen at (default: a free one).")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at. Any other than this machine's own lets others ask who have a link; there is no "
    "encryption, so put a proxy with TLS before it.",
)
@click.option("--no-browser", is_flag=True, help="Only print the links.")
@click.option(
    "--as",
    "role",
    type=click.Choice(["maker", "checker", "both"]),
    default="both",
    show_default=True,
    help="Print the link of who makes outputs, of who checks them, or both.",
)
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The folder that nothing is read or written outside of (default: that of PATH).",
)
@click.option("--largest-upload", default=500, show_default=True, type=click.IntRange(1, 100_000), help="In megabytes.")
@THREADS
def studio(
    path: Path, port: int, host: str, no_browser: bool, role: str, root: Path | None, largest_upload: int, threads: int
) -> None:
    """Open a page in the browser, from records to a signed release, for the job, data file or folder at PATH.

    Everything is in the job's folder: closing the page or ending this command (Ctrl-C) loses nothing. Each link opens
    one browser, once: one for who makes outputs, one for who checks and signs them. Give the second to somebody else.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtra("The studio needs an extra; get it with: pip install 'cellguard[studio]'")
    from cellguard.faces.studio.serve import ROLES, Place, Server, open_browser, studio_of
    from cellguard.faces.web import LOOPBACK

    if host in {"", "0.0.0.0", "::"}:  # noqa: S104
        raise InputError("--host must be the name or address that browsers use, so that no other name leads here")
    place = Place.of(path, root)
    roles = ROLES if role == "both" else (role,)
    server = Server(
        studio_of(place, upload=largest_upload * 1_000_000, threads=threads), host=host, port=port, roles=roles
    )
    if host != LOOPBACK:
        click.echo(f"Others can reach this at {host}, without encryption.", err=True)
    words = {"maker": "To make outputs", "checker": "To check and sign them"}
    links = {name: server.link(name) for name in roles}
    with suppress(KeyboardInterrupt):
        for name, link in links.items():
            click.echo(f"{words[name]}, good for one browser: {link}")
        click.echo("Ctrl-C ends it; nothing is lost.")
        server.run(None if no_browser else lambda: open_browser(links[roles[0]]))
