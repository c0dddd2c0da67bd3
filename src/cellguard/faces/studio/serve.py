"""Serving the studio on this machine: a free port, a link per role, a browser, and an end in order."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import uvicorn

from cellguard.errors import InputError
from cellguard.faces.studio.app import guarded
from cellguard.faces.studio.routes_job import DATA
from cellguard.faces.studio.sessions import CHECKER, MAKER, Sessions
from cellguard.faces.studio.studio import JOBS, Limits, Studio
from cellguard.faces.web import LOOPBACK, bound, in_address, served_names

ROLES = (MAKER, CHECKER)


@dataclass(frozen=True)
class Place:
    """What the studio opens: the folder, and the job or the data file in it, if one was named."""

    home: Path
    job: str | None = None
    data: str | None = None
    root: Path | None = None

    @classmethod
    def of(cls, path: Path, root: Path | None = None) -> Place:
        """Return what a path means: a folder, a job or a data file; everything must be inside of ``root``."""
        if not path.exists():
            raise InputError(f"no file or folder {str(path)!r}; name a job, a data file, or the folder of both")
        full = path.resolve()
        if full.is_dir():
            home, name = full, None
        else:
            home, name = full.parent, full.name
            if full.suffix.lower() not in (*JOBS, *DATA):
                raise InputError(
                    f"{full.name} is neither a job nor data; jobs end in .yaml, data in .csv, .parquet, ..."
                )
        whole = root.resolve() if root else home
        if not home.is_relative_to(whole):
            raise InputError(f"{str(path)!r} is not inside of {str(root)!r}, which --root names")
        if name is None:
            jobs = sorted(p.name for p in home.iterdir() if p.suffix.lower() in JOBS and p.is_file())
            return cls(home, jobs[0] if len(jobs) == 1 else None, None, whole)
        return cls(home, name, None, whole) if full.suffix.lower() in JOBS else cls(home, None, name, whole)


class Server:
    """A studio that is served: its address and its links; `run` serves until somebody ends it."""

    def __init__(self, studio: Studio, *, host: str = LOOPBACK, port: int = 0, roles: Sequence[str] = ROLES) -> None:
        self.studio, self.sessions = studio, Sessions(list(roles))
        self._socket = bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        app = guarded(studio, self.sessions, served_names(host, self.port), self.port)
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
        self._server = _Quiet(config, studio)
        self.host = host

    def link(self, role: str) -> str:
        """Return the address by which a role comes in, once."""
        return f"http://{in_address(self.host)}:{self.port}/enter?token={self.sessions.links[role]}"

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve; ``ready`` is called in a thread of its own."""
        if ready is not None:
            Thread(target=ready, daemon=True).start()
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Ask for the end, from any thread."""
        self.studio.closing = self._server.should_exit = True


class _Quiet(uvicorn.Server):
    """A server that lets the pages' streams end when it ends."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self.studio = studio

    def handle_exit(self, sig: int, frame: object) -> None:
        """Take a signal as the end."""
        self.studio.closing = True
        self.should_exit = True


def open_browser(link: str) -> None:
    """Open a page, if this machine has a browser."""
    webbrowser.open(link)


def studio_of(place: Place, *, upload: int = Limits.upload, threads: int = 1) -> Studio:
    """Return the studio of a folder, with its job open."""
    return Studio(place.home, place.job, Limits(upload, threads), root=place.root, data=place.data)
