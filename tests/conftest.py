"""Every call of a kernel in any test has a recorded signature: what is compiled ahead of time is what is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellguard.kernels import extension
from cellguard.kernels.kernel import ways
from cellguard.kernels.signature import write

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
