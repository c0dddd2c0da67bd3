"""The walk of one record through the code, drawn while a job runs, is the one that the architecture page tells."""

import re
import sys
from pathlib import Path

import cellguard
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify

ROOT = Path(cellguard.__file__).parent
PAGE = Path(__file__).parents[1] / "docs/architecture.md"
STATIONS = (
    "microdata/",
    "table/tabulate.py",
    "rules/assess.py",
    "protection.py",
    "world/",
    "methods/suppress/engines/",
    "attack/",
    "seam/verdict.py",
    "report/",
    "io/folder.py",
    "verifier/",
)
# What makes a station: one function in it, where others serve several steps (names of a world, the state of a verdict).
FUNCTIONS = {
    "table/tabulate.py": {"make_tables"},
    "rules/assess.py": {"assess"},
    "protection.py": {"require"},
    "world/": {"see_world"},
    "methods/suppress/engines/": {"witness", "search_by_phases", "build_system"},
    "attack/": {"audit"},
    "seam/verdict.py": {"allows_release"},
    "io/folder.py": {"_write_inside"},
    "report/": {"render"},
    "verifier/": {"verify"},
}


def told_by_the_page():
    """The stations of the walk, in the order of the page's numbered list."""
    walk = re.search(r"## The walk of a record\n(.*?)\n## ", PAGE.read_text(), re.S).group(1)
    named = re.findall(r"`([\w/]+(?:/|\.py))[^`]*`", walk)
    return [name for name in dict.fromkeys(named) if name in STATIONS]


def station_of(code):
    """The station that a function is of; None of most."""
    if not code.co_filename.startswith(str(ROOT)):
        return None
    path = Path(code.co_filename).relative_to(ROOT).as_posix()
    found = (station for station in STATIONS if path.startswith(station))
    return next((station for station in found if code.co_name in FUNCTIONS.get(station, {code.co_name})), None)


def drawn(work):
    """The stations in the order in which they are entered while some work is done."""
    seen, known = {}, {}

    def enter(frame, *_):
        code = frame.f_code
        if code not in known:  # most calls are of functions that were called before
            known[code] = station_of(code)
            if known[code]:
                seen.setdefault(known[code])

    sys.settrace(enter)  # which, returning nothing, follows no lines
    try:
        work()
    finally:
        sys.settrace(None)
    return list(seen)


def test_a_record_walks_as_the_page_says(tmp_path):
    rows = [f"f{i},{'NSW'[i % 3]},{(i * 37) % 90 + 10}" for i in range(20)]
    (tmp_path / "firms.csv").write_text("\n".join(["firm,region,turnover", *rows, "g,E,900"]) + "\n")
    table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"min_frequency": 3}]}
    microdata = {"source": "firms.csv", "respondent": "firm"}
    attack = {"insiders": False}
    job = Job.parse({"version": 1, "microdata": microdata, "tables": [table], "attack": attack}, folder=tmp_path)

    def walk():
        OutputFolder(tmp_path / "out").write(run(job))
        assert verify(tmp_path / "out").valid

    walked = drawn(walk)
    assert walked == list(STATIONS)
    assert told_by_the_page() == walked
