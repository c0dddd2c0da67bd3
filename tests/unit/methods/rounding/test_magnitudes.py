"""Rounded sums: levels of rules and what respondents know, against linear programs of the test's own."""

import numpy as np
from scipy.optimize import linprog

from cellguard.job.jobfile import Job
from cellguard.pipeline import run

PERCENT = 10


def drawn(rng):
    n = int(rng.integers(8, 20))
    firms = {
        "firm": [f"f{i}" for i in range(n)],
        "r": rng.choice(list("NSW"), n).tolist(),
        "s": rng.choice(list("ab"), n).tolist(),
        "x": np.rint(np.exp(rng.normal(3, 1, n)) + 1).astype(int).tolist(),
    }
    protect = {"method": "round", "kind": str(rng.choice(["conventional", "random", "controlled"]))}
    protect |= {"base": int(rng.choice([4, 10, 20, 60])), "seed": int(rng.integers(99))}
    table = {"name": "t", "by": ["r", "s"], "value": "x", "rules": [{"p_percent": PERCENT}], "protect": protect}
    data = {"version": 1, "microdata": {"source": "held", "respondent": "firm"}, "tables": [table]}
    return firms, protect, Job.parse(data, held={"held": firms})


def ends(matrix, lower, upper, cell):
    """The least and the most that a cell can be."""
    cost = np.zeros(len(lower))
    cost[cell] = 1
    bounds = list(zip(lower, [None if np.isinf(u) else u for u in upper], strict=True))
    found = [linprog(sign * cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=bounds) for sign in (1, -1)]
    assert all(one.status == 0 for one in found)
    return found[0].fun, -found[1].fun


def members(name, firms):
    """The firms of a cell that is named by its codes."""
    r, s = name.split(": ")[1].split("/")
    rows = zip(firms["r"], firms["s"], strict=True)
    return [i for i, (a, b) in enumerate(rows) if r in ("Total", a) and s in ("Total", b)]


def test_nobody_concludes_more_than_the_verdict_says():
    rng = np.random.default_rng(6)
    released = refused = pairs = 0
    for _ in range(40):
        firms, protect, job = drawn(rng)
        outcome = run(job)
        done, set_ = outcome.protected, outcome.protected.assessed.tables
        size, base = done.rounded.plan.grains.size(), protect["base"]
        value, shown = set_.value, done.rounded.value * size
        reach = base / 2 if protect["kind"] == "conventional" else base
        lower, upper = np.maximum(shown - reach, 0.0), shown + reach
        matrix = set_.relations.toarray()
        unsafe = np.flatnonzero(done.assessed.needs.primary)
        short = False
        for cell in unsafe.tolist():
            low, high = ends(matrix, lower, upper, cell)
            assert abs(done.attacked.lower[cell] - low) < 0.01 and abs(done.attacked.upper[cell] - high) < 0.01
            inside = sorted((firms["x"][i] for i in members(set_.cell_name(cell), firms)), reverse=True)
            # Who contributes least but one knows how much less the largest can be, and how much more.
            others = inside[1] if len(inside) > 1 else 0
            need = others + inside[0] * (1 + PERCENT / 100) - value[cell]
            short |= high - value[cell] < need - 0.01
            if outcome.release is None:
                continue
            assert high - value[cell] >= need - 0.01
            for me in members(set_.cell_name(cell), firms) if len(inside) > 1 else []:
                own = np.zeros(len(value))
                for other in range(len(value)):
                    own[other] = firms["x"][me] if me in members(set_.cell_name(other), firms) else 0
                alone = [c for c in range(len(value)) if members(set_.cell_name(c), firms) == [me]]
                least, most = np.maximum(lower, own), upper.copy()
                least[alone] = most[alone] = value[alone]
                _, reached = ends(matrix, least, most, cell)
                largest = max(firms["x"][i] for i in members(set_.cell_name(cell), firms) if i != me)
                wanted = firms["x"][me] + largest * (1 + PERCENT / 100) - value[cell]
                assert reached - value[cell] >= wanted - 0.01, (firms, protect, set_.cell_name(cell), me)
                pairs += 1
        released += outcome.release is not None and len(unsafe) > 0
        refused += outcome.release is None and short
    assert released >= 5 and refused >= 5 and pairs >= 30, (released, refused, pairs)
