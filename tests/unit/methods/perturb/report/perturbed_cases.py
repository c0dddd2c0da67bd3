"""Perturbed sets to report on, with values that no other figure of a page could be."""

import numpy as np

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.methods.perturb.spec import PerturbSpec
from cellguard.methods.perturb.workflow import check_tables
from cellguard.rules.limits import NoiseRule
from cellguard.table.pattern import Release, ReleasedTable
from unit.methods.suppress.report.cases import Told

LABELS = {"A": "Farms & <fields>"}
SEED = 48_151_623


def tables(singleton=False, n=300):
    """Two linked tables of firms; with ``singleton``, one firm is alone in region W."""
    rng = np.random.default_rng(2)
    region = np.where(singleton & (np.arange(n) == 7), "W", rng.choice(["N", "S"], n))
    codes = {"region": region, "industry": rng.choice(list("ABC"), n)}
    value = rng.integers(1_000_000, 9_000_000, n)
    records = respondents(codes, {"x": value}, unit=[f"firm{i:03}" for i in range(n)])
    regions = Dimension("region", flat(sorted(set(region.tolist()))))
    industries = Dimension("industry", flat(list("ABC"), labels=LABELS))
    rule = NoiseRule(3, 70)
    both = calibration_table(records, [industries, regions], "x", name="both", rule=rule)
    return records, [both, calibration_table(records, [regions], "x", name="regions", rule=rule)]


def case(singleton=False, *, settings=None, accept=(), checked=True, **more):
    records, made = tables(singleton)
    drawn = make_multipliers(records, made, settings or Settings(), seed=SEED)
    check = check_tables(made, drawn, accept=accept, checked=checked)
    flags = {"both": "in the calibration set", "regions": "not in the calibration set: checked"}
    noisy = PerturbationResult(None, check, None, study=more.pop("study", None))
    noisy.__dict__.update(flags=flags, decimals={"both": 2, "regions": 2}, spec=PerturbSpec(**more.pop("spec", {})))
    return Told(noisy, more.pop("summary", {}), **more)


def release(case):
    """The tables as published, made here once more from the check."""
    found = []
    for here in case.protected.check.tables:
        table = here.table.table
        codes = tuple(np.array(d.codes, object)[c] for d, c in zip(table.dimensions, table.codes, strict=True))
        names, text = tuple(d.name for d in table.dimensions), [f"{x:.2f}" for x in here.total]
        hidden = np.zeros(len(table), bool)
        found.append(ReleasedTable.of_texts(table.name, names, codes, text, hidden, "x", "all", 2))
    return Release.of(found, dimensions(case))


def dimensions(case):
    return {d.name: d for here in case.protected.check.tables for d in here.table.table.dimensions}
