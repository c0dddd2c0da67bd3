"""Every call of a kernel in any test has a recorded signature: what is compiled ahead of time is what is called."""

from __future__ import annotations

import os

# Tests run side by side already; threads of linear algebra would only wait for each other, and burn time as they do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded

from pathlib import Path

import pytest
from hypothesis import settings

from cellguard.kernels import extension
from cellguard.kernels.kernel import ways
from cellguard.kernels.signature import write

settings.register_profile("busy", deadline=None)  # a machine may have other work: no test judges by the clock
settings.load_profile("busy")

RECORD = "--record-kernels"
TIMES = "--cpu-times"
_known = {(name, text) for name, texts in extension.recorded().items() for text in texts}
_seen: set[tuple[str, object]] = set()
_missing: set[tuple[str, str]] = set()


def pytest_addoption(parser):
    parser.addoption(RECORD, action="store_true", help="add the signatures of kernels that tests call to the table")
    parser.addoption(TIMES, action="store_true", help="show which tests and files take most processor time")


def pytest_configure(config):
    ways.heard = _hear
    if config.getoption(TIMES):
        from cpu_times import CpuTimes

        config.pluginmanager.register(CpuTimes())


# What starts browsers, servers and whole jobs comes first, so that no worker has a long file left at the end.
DEAREST = ("system", "properties", "fuzz", "contracts", "golden")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    place = {here / name: number for number, name in enumerate(DEAREST)}
    items.sort(key=lambda item: min((place.get(folder, 9) for folder in item.path.parents), default=9))


def _hear(name, description):
    if (name, description) not in _seen:
        _seen.add((name, description))
        text = write(description)
        if text is not None and (name, text) not in _known:
            _missing.add((name, text))


@pytest.fixture(autouse=True)
def recorded_kernels(request):
    """Fail a test that calls a kernel with types that are not recorded."""
    yield
    if _missing and not request.config.getoption(RECORD):
        calls = [f"{name} {text}" for name, text in sorted(_missing)]
        _missing.clear()
        pytest.fail("not in signatures.txt; run `make signatures`:\n" + "\n".join(calls), pytrace=False)


def pytest_sessionfinish(session):
    if session.config.getoption(RECORD) and _missing:
        path = Path(extension.SIGNATURES)
        comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
        lines = sorted({f"{name} {text}" for name, text in {*_known, *_missing}})
        path.write_text("\n".join([*comments, *lines]) + "\n")
