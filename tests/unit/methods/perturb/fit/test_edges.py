"""Tables with next to nothing in them: fitted methods return multipliers all the same."""

import numpy as np
import pytest

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.fit.marg import Marg
from cellguard.methods.perturb.fit.opt import Opt
from cellguard.methods.perturb.workflow import check_tables

METHODS = [
    Settings(method="marg"),
    Settings(method="marg", marg=Marg(order="top_down", variant="unbiased")),
    Settings(method="marg_zes"),
    Settings(method="opt"),
    Settings(method="opt", opt=Opt(norm="l2", keep_sum=True)),
    Settings(method="opt", opt=Opt(norm="linf", margins=0.001)),
    Settings(method="least_loss"),
    Settings(method="least_loss", opt=Opt(norm="l2", margins=0.0)),
]
CASES = {
    "nothing": ([0.0, 0.0], None),
    "missing": ([float("nan"), float("nan")], None),
    "one": ([5.0], None),
    "tiny": ([1e-6, 2e-6, 3e-6], None),
    "huge": ([1e11, 3.0, 2.0], None),
    "ones": ([1.0] * 9, None),
    "weights": ([50.0, 3.0, 2.0, 1.0], [0.5, 1.0, 20.0, 7.0]),
}


@pytest.mark.parametrize("settings", METHODS, ids=lambda s: f"{s.method}-{s.opt.norm}-{s.marg.order}")
@pytest.mark.parametrize("case", CASES)
def test_next_to_nothing(case, settings):
    values, weight = CASES[case]
    codes = [["A", "B", "A"][i % 3] for i in range(len(values))]
    records = respondents({"a": codes, "b": ["1"] * len(values)}, {"x": values}, weight=weight)
    by = [Dimension("a", flat(["A", "B"])), Dimension("b", flat(["1", "2"]))]
    tables = [calibration_table(records, by, "x", name="ab"), calibration_table(records, by[:1], "x", name="a")]
    made = make_multipliers(records, tables, settings, seed=1)
    assert np.isfinite(made.of("x")).all() and (made.of("x") > 0).all()
    assert check_tables(tables, made).verdict in {"safe", "unsafe"}
