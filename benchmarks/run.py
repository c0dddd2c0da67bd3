"""Run the benchmarks: `make bench`, or `python benchmarks/run.py NAME...` for some of them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_compare import BENCHMARKS as COMPARE
from bench_counts import BENCHMARKS as COUNTS
from bench_ends import BENCHMARKS as ENDS
from bench_growth import BENCHMARKS as GROWTH
from bench_insiders import BENCHMARKS as INSIDERS
from bench_minimality import BENCHMARKS as MINIMALITY
from bench_phases import BENCHMARKS as PHASES
from bench_rules import BENCHMARKS as RULES
from bench_studio import BENCHMARKS as STUDIO
from bench_sums import BENCHMARKS as SUMS

from bench_audit import BENCHMARKS as AUDIT
from bench_linked import BENCHMARKS as LINKED
from bench_maps import BENCHMARKS as MAPS
from bench_perturb import BENCHMARKS as PERTURB
from bench_protect import BENCHMARKS as PROTECT
from bench_report import BENCHMARKS as REPORT
from bench_rounding import BENCHMARKS as ROUNDING
from bench_tables import BENCHMARKS as TABLES
from bench_tabulate import BENCHMARKS as TABULATE

BENCHMARKS = {
    **(TABLES | AUDIT | PROTECT | COUNTS | INSIDERS | SUMS | LINKED | ENDS),
    **(ROUNDING | MAPS | PERTURB | REPORT | TABULATE | GROWTH | COMPARE | RULES | STUDIO | MINIMALITY | PHASES),
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        for line in BENCHMARKS[name]():
            print(f"{name:<18} {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
