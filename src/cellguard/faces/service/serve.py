"""Serving a source: one process, or several that share its register."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import uvicorn
from uvicorn.supervisors import Multiprocess

from cellguard.errors import InputError
from cellguard.faces.service.app import FOLDER, HOSTS, OPEN, WORKERS, Service, gated

LOOPBACK = "127.0.0.1"


class Server:
    """A source that is served at an address; `run` serves until somebody ends it."""

    def __init__(
        self, folder: Path, *, host: str = LOOPBACK, port: int = 0, workers: int = 1, open_to_all: bool = False
    ) -> None:
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        named = f"[{host}]" if ":" in host else host
        names = [named, *(["localhost"] if host == LOOPBACK else [])]
        hosts = [f"{name}:{self.port}" for name in names] + (names if self.port == 80 else [])
        self.address = f"http://{named}:{self.port}/"
        quiet = {"log_config": None, "log_level": "critical", "access_log": False, "server_header": False}
        self._workers = workers
        if workers == 1:
            self.service: Service | None = Service(folder, open_to_all=open_to_all)
            self._config = uvicorn.Config(gated(self.service, hosts), lifespan="off", **quiet)  # type: ignore[arg-type]
        else:
            self.service = None
            said = {FOLDER: str(folder.resolve()), HOSTS: ",".join(hosts), OPEN: str(int(open_to_all))}
            os.environ.update({**said, WORKERS: str(workers)})
            self._config = uvicorn.Config(
                "cellguard.faces.service.app:from_environment",
                factory=True,
                workers=workers,
                lifespan="off",
                timeout_worker_healthcheck=600,
                **quiet,  # type: ignore[arg-type]
            )
        self._server = uvicorn.Server(self._config)

    def run(self) -> None:
        """Serve."""
        if self._workers == 1:
            self._server.run(sockets=[self._socket])
        else:
            Multiprocess(self._config, target=self._server.run, sockets=[self._socket]).run()

    def stop(self) -> None:
        """Ask for the end, from any thread."""
        self._server.should_exit = True


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.set_inheritable(True)
    except OSError as error:
        made.close()
        raise InputError(f"cannot listen at {host}:{port}: {error.strerror or 'the address is not usable'}") from None
    return made
