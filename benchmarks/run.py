"""Run the benchmarks: `make bench`, or `python benchmarks/run.py NAME...` for some of them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_audit import BENCHMARKS as AUDIT
from bench_protect import BENCHMARKS as PROTECT
from bench_tables import BENCHMARKS as TABLES

BENCHMARKS = {**TABLES, **AUDIT, **PROTECT}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        for line in BENCHMARKS[name]():
            print(f"{name:<18} {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
