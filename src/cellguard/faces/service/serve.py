"""Serving a source: one process, or several that share its register and the address that they listen at."""

from __future__ import annotations

import multiprocessing
import socket
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event

import uvicorn

from cellguard.faces.service.app import Service, gated
from cellguard.faces.web import LOOPBACK, bound, in_address, served_names

_LOOK, _END = 0.2, 5.0  # seconds between looks at the workers, and for their end


class Server:
    """A source that is served at an address; `run` serves until somebody ends it."""

    def __init__(
        self, folder: Path, *, host: str = LOOPBACK, port: int = 0, workers: int = 1, open_to_all: bool = False
    ) -> None:
        self._socket = bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._hosts = sorted(served_names(host, self.port))
        self.address = f"http://{in_address(host)}:{self.port}/"
        self.folder, self._workers, self._open = folder, workers, open_to_all
        self._over = Event()
        # Of several workers none is this process, but what is wrong with the source is told here, once.
        service = Service(folder, open_to_all=open_to_all)
        self._server = _server(service, self._hosts)
        if workers > 1:
            service.close()

    def run(self) -> None:
        """Serve."""
        if self._workers == 1:
            self._server.run(sockets=[self._socket])
            return
        begun = [self._begin() for _ in range(self._workers)]
        try:
            while not self._over.wait(_LOOK):
                begun = [worker if worker.is_alive() else self._begin() for worker in begun]
        finally:
            for worker in begun:
                worker.terminate()
            until = time.monotonic() + _END
            for worker in begun:
                worker.join(max(0.0, until - time.monotonic()))

    def stop(self) -> None:
        """Ask for the end, from any thread."""
        self._server.should_exit = True
        self._over.set()

    def _begin(self) -> BaseProcess:
        more = (self.folder, self._socket, self._hosts, self._open, self._workers)
        worker = multiprocessing.get_context("spawn").Process(target=_work, args=more, daemon=True)
        worker.start()
        return worker


def _work(folder: Path, listening: socket.socket, hosts: list[str], open_to_all: bool, workers: int) -> None:
    """Answer as one worker of several."""
    _server(Service(folder, open_to_all=open_to_all, workers=workers), hosts).run(sockets=[listening])


def _server(service: Service, hosts: list[str]) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            gated(service, hosts),
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
    )
