"""What the memory of a session costs: many outputs of the same records, each protected with all before it.

    python benchmarks/bench_session.py [OUTPUTS] [RECORDS]

Each output crosses two of 15 columns of 22 codes (some 500 cells with margins). CPU seconds of one output.
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np

import cellguard as cg

COLUMNS, CODES = 15, 22


def records(rows: int) -> dict[str, list[str]]:
    """Return made-up records: every column has some rare codes."""
    draw = np.random.default_rng(1)
    found = {}
    for number in range(COLUMNS):
        share = draw.dirichlet(np.full(CODES, 2.0))
        codes = draw.choice(CODES, rows, p=share)
        found[f"v{number}"] = [f"c{code:02d}" for code in codes]
    return found


def main() -> None:
    outputs, rows = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 100), (2, 20_000)))
    session, spent = cg.Session(records(rows)), []
    pairs = list(itertools.combinations([f"v{n}" for n in range(COLUMNS)], 2))[:outputs]
    for number, (a, b) in enumerate(pairs, 1):
        start = time.process_time()
        session.crosstab(a, b, margins=True)
        spent.append(time.process_time() - start)
        if number % 10 == 0:
            figures = f"the last {spent[-1]:.2f} s, the dearest {max(spent):.2f} s, mean {np.mean(spent):.2f} s"
            print(f"{number:4d} outputs: {figures}", flush=True)


if __name__ == "__main__":
    main()
