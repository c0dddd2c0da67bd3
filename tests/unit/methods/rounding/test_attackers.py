"""What an attacker concludes of rounded tables, against every table that could have been published like them."""

import itertools

import numpy as np
import pytest

import cellguard as cg
from cellguard.job.jobfile import Job
from cellguard.pipeline import run

from oracle import names
from rounding_oracle import TOTAL, cells_of, originals

BOTH = [(False, False), (True, False), (False, True), (True, True)]
SHAPES = [((2,), [(False,), (True,)]), ((3,), [(False,), (True,)]), ((2, 2), BOTH)]


def job_of(inner, by, options, rules, *, more=()):
    columns = {name: [codes[d] for codes, n in inner.items() for _ in range(n)] for d, name in enumerate(by)}
    columns["one"] = [1] * len(next(iter(columns.values())))
    trees = {name: {"parents": f"tree {name}"} for name in by}
    held = {"records": columns}
    for d, name in enumerate(by):
        codes = sorted({key[d] for key in inner})
        held[f"tree {name}"] = cg.Hierarchy.flat(codes)
    tables = [
        {"name": f"t{i}", "by": list(dims), "value": "count", "rules": rules, "protect": {"method": "round", **options}}
        for i, dims in enumerate(more or [by])
    ]
    spec = {"version": 1, "microdata": {"source": "records"}, "dimensions": trees, "tables": tables}
    return Job.parse(spec, held=held)


def drawn_case(rng):
    sizes, margins = SHAPES[rng.integers(len(SHAPES))]
    by = ["a", "b"][: len(sizes)]
    codes = list(itertools.product(*(["xyz"[i] for i in range(n)] for n in sizes)))
    most = {2: 9, 3: 7, 4: 5}[len(codes)]
    inner = {c: int(rng.choice([0, 1, 1, 2, 3, rng.integers(most + 1)])) for c in codes}
    if not sum(inner.values()):
        inner[codes[0]] = 1
    base = int(rng.integers(2, 6))
    options = {
        "kind": str(rng.choice(["conventional", "random", "controlled", "small_counts"])),
        "base": base,
        "seed": int(rng.integers(1000)),
    }
    if rng.random() < 0.4 and options["kind"] != "small_counts":
        options["suppress_below"] = int(rng.integers(2, 6))
    return inner, by, margins, options, most


def check(rng):
    inner, by, margins, options, most = drawn_case(rng)
    rules = [{"min_frequency": int(rng.integers(2, 5))}]
    outcome = run(job_of(inner, by, options, rules))
    done = outcome.protected
    set_ = done.assessed.tables
    table = set_.tables[0]
    place = dict(zip(names(table), set_.cells_of[0].tolist(), strict=True))
    seen, value = done.rounded.seen, done.rounded.value
    assert options["kind"] in {"conventional", "random"} or done.rounded.is_additive
    shown = {cell: int(value[at]) if seen[at] else None for cell, at in place.items()}
    true = cells_of(inner, margins)
    # What readers know beforehand, as that a code that is listed has records, is not under test here.
    known = {cell: done.assessed.needs.world.lower[at] for cell, at in place.items()}
    listed = [codes for codes in inner if codes in place]
    hide = options.get("suppress_below", 0)
    if options["kind"] == "small_counts":  # margins follow from the inner cells
        shown = {cell: shown[cell] for cell in listed}
    limit = max(most, 3 * options["base"])
    limit = min(limit, {1: 20, 2: 12, 3: 8, 4: 6}[len(listed)])
    made = originals(options["kind"], options["base"], hide, shown, listed, margins, limit)
    worlds = [world for world, _ in made if all(world[c] >= least for c, least in known.items())]
    assert any(all(w.get(c, 0) == true.get(c, 0) for c in place) for w in worlds), (inner, options, shown, limit)
    capped = any(w[c] == limit for w in worlds for c in listed)
    found = done.attacked
    possible = {cell: {w[cell] for w in worlds} for cell in place}
    for cell, at in place.items():
        low, high = min(possible[cell]), max(possible[cell])
        if not capped and not hide:
            assert (found.lower[at], found.upper[at]) == (low, high), (cell, possible[cell], inner, options)
        # Whatever is claimed to be possible is.
        if not capped:
            assert found.lower[at] >= low and found.upper[at] <= high
    unsafe = [cell for cell, at in place.items() if done.assessed.needs.primary[at]]
    if outcome.release is not None:
        for cell in unsafe:
            assert len(possible[cell]) > 1, (cell, inner, options, shown)
        for me in (codes for codes, n in inner.items() if n):
            mine = [w for w in worlds if w.get(me, 0) >= 1]
            for cell in unsafe:
                if true[cell] > (1 if all(c in (TOTAL, m) for c, m in zip(cell, me, strict=True)) else 0):
                    assert len({w[cell] for w in mine}) > 1, ("inside", me, cell, inner, options, shown)
    elif not hide and done.verdict.kind == "unsafe" and not capped and found.audit.inside is None:
        assert any(len(possible[cell]) == 1 for cell in unsafe), "refused without need"
    return outcome.release is not None, bool(unsafe)


def test_no_published_value_tells_more_than_the_verdict_says():
    rng = np.random.default_rng(1)
    found = [check(rng) for _ in range(50)]
    decided = sum(released for released, unsafe in found if unsafe)
    refused = sum(not released for released, unsafe in found if unsafe)
    assert decided >= 10 and refused >= 5, (decided, refused)


@pytest.mark.long
def test_no_published_value_tells_more_in_many_tables():
    rng = np.random.default_rng(2)
    for _ in range(200):
        check(rng)


def test_the_attack_on_long_tables_of_counts_says_the_same(monkeypatch):
    """Beyond so many relations no program for all counts is solved, and local ones take its place."""
    monkeypatch.setattr("cellguard.attack.deciding._LONG", -1)
    rng = np.random.default_rng(11)
    for _ in range(12):
        check(rng)
