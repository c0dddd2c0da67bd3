"""What a first answer costs: a new process with an empty cache folder, as after a fresh installation.

    python benchmarks/bench_first.py [PYTHON] [WAY ...]

PYTHON is the interpreter of the environment to measure (default: this one); a WAY is how kernels run: auto, extension,
numba or python. Each job runs twice in an environment without any stored code: CPU seconds and seconds of the clock of
the whole process, start-up included, then the same with what the first run has stored.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SURVEY = """
import random
draw = random.Random(1)
def records(rows, codes):
    sizes = [draw.paretovariate(1.1) for _ in range(codes)]
    return {
        "activity": [f"{c // 9 + 1:02d}{c % 9 + 1}" for c in draw.choices(range(codes), sizes, k=rows)],
        "region": [f"r{r:02d}" for r in draw.choices(range(14), k=rows)],
        "turnover": [round(10 * draw.lognormvariate(0, 1)) for _ in range(rows)],
    }
"""
JOBS = {
    "17 records": """
import cellguard as cg
firms = {"region": list("NNNNNSSSSSSWWWWWW"), "size": list("aabbbaaabbbaaabbb"), "turnover": list(range(10, 27))}
print(cg.protect(firms, by=["region", "size"], value="turnover", rules=[cg.MinFrequency(3), cg.PPercent(10)]))
""",
    "a crosstab": """
import cellguard as cg
people = {"region": ["N"] * 17 + ["S"] * 37 + ["W"] * 29, "size": (["a"] * 7 + ["b"] * 12) * 4 + ["a"] * 7}
print(cg.crosstab(people["region"], people["size"], margins=True))
""",
    "162 counts": SURVEY
    + """
import cellguard as cg
people = records(2_000, 9)
people["age"] = [f"a{n % 10}" for n in range(2_000)]
print(cg.protect(people, by=["region", "age"], rules=cg.MinFrequency(12)))
""",
    "3,762 cells": SURVEY
    + """
import cellguard as cg
firms = records(60_000, 225)
firms["division"] = [code[:2] for code in firms["activity"]]
print(cg.protect(firms, by=["activity", "region"], value="turnover", rules=[cg.MinFrequency(3), cg.PPercent(10)],
                 hierarchies={"activity": ["division", "activity"]}))
""",
}


def measure(python: str, script: str, way: str, home: Path) -> tuple[float, float, str]:
    """Run a script in a process of its own; return CPU seconds, seconds of the clock, and what it said last."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {**keep, "HOME": str(home), "TMPDIR": str(home), "CELLGUARD_KERNELS": way}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([python, "-c", script], env=env, cwd=home, capture_output=True, text=True, check=False)
    clock, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, clock, (done.stdout or done.stderr).strip().splitlines()[-1]


def main(python: str, ways: list[str]) -> None:
    """Print a line per job and way."""
    for way in ways:
        for name, script in JOBS.items():
            with tempfile.TemporaryDirectory() as home:
                cold, warm = (measure(python, script, way, Path(home)) for _ in range(2))
            figures = f"cold {cold[0]:6.2f} CPU s {cold[1]:6.2f} s, warm {warm[0]:6.2f} CPU s {warm[1]:6.2f} s"
            print(f"{way:<9} {name:<12} {figures}   {warm[2]}", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    chosen = given.pop(0) if given and Path(given[0]).exists() else sys.executable
    main(chosen, given or ["auto"])
