"""Where the processor time of the tests goes: `pytest --cpu-times`, also on a machine that has other work."""

from __future__ import annotations

import os
from collections import Counter

import pytest

SHOWN = 40


def _now():
    """Seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


class CpuTimes:
    """Measures each phase of a test where it runs, and adds up where reports arrive."""

    def __init__(self):
        self._mark = _now()
        self.spent = Counter()

    def _since(self):
        before, self._mark = self._mark, _now()
        return self._mark - before

    def pytest_collection_finish(self):
        self._since()  # starting and collecting is no test's

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        report.user_properties.append(("cpu", self._since()))
        return report

    def pytest_runtest_logreport(self, report):
        self.spent[report.nodeid] += sum(seconds for name, seconds in report.user_properties if name == "cpu")

    def pytest_terminal_summary(self, terminalreporter):
        files = Counter()
        for test, seconds in self.spent.items():
            files[test.partition("::")[0]] += seconds
        for title, spent in (("files", files), ("tests", self.spent)):
            terminalreporter.section(f"processor seconds of {title}: {sum(spent.values()):.1f}")
            for name, seconds in spent.most_common(SHOWN):
                terminalreporter.line(f"{seconds:8.1f}  {name}")
