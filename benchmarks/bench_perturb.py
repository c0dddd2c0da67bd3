"""Source data perturbation: multipliers, the choice of mu, tables, statistics and replications."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator

import numpy as np

from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.cells.sensitivity import needs_of, still_unsafe, supersensitive
from cellguard.methods.perturb.draw.mu import MuOptions, choose_mu
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.draw.noise import table_statistics
from cellguard.methods.perturb.draw.replicate import replicate_as_drawn
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, perturbed
from cellguard.methods.perturb.fit.opt import Opt

from sodap import census, census_table, survey, survey_tables, wide

SEED = 20


def cpu(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def release(records: Respondents, tables: list[CalibrationTable], zes: Zes) -> list[np.ndarray]:
    multipliers = draw_multipliers(records, zes, SEED)
    values = {r: perturbed(records, r, multipliers) for r in dict.fromkeys(t.response for t in tables)}
    return [table.sums(values[table.response]) for table in tables]


def judged(records: Respondents, tables: list[CalibrationTable]) -> str:
    """Choose mu, perturb, and judge the result."""
    choice = choose_mu(tables, MuOptions())
    totals = release(records, tables, Zes(choice.mu or 0.10))
    left = sum(int(still_unsafe(needs_of(t), n - t.total).sum()) for t, n in zip(tables, totals, strict=True))
    noise = table_statistics(tables, totals).groups["all nonzero"].average
    beyond = len(choice.of("supersensitive")) + len(choice.of("not attainable"))
    return (
        f"mu {100 * choice.mu:.1f} %, {len(choice.cells)} sensitive cells ({beyond} beyond any mu up to 20 %), "
        f"{left} still unsafe, average noise {noise:.2f} %"
    )


def one_table() -> Iterator[str]:
    warm = census(2000, seed=9)
    judged(warm, [census_table(warm)])
    records = census()
    seconds, table = cpu(lambda: census_table(records))
    yield f"65,000 firms, 23 by 4 cells: tabulated in {seconds:.3f} CPU s"
    seconds, _ = cpu(lambda: release(records, [table], Zes()))
    yield f"ZES, multipliers and perturbed table: {seconds:.3f} CPU s (bar 0.1)"
    fresh = census()
    seconds, text = cpu(lambda: judged(fresh, [census_table(fresh)]))
    yield f"ZES(mu), from records to statistics: {seconds:.2f} CPU s (bar 2); {text}"
    made = make_multipliers(records, [table], seed=SEED)
    seconds, _ = cpu(lambda: replicate_as_drawn([table], made, replications=1000))
    yield f"1,000 replications: {seconds:.1f} CPU s"


def twenty_tables() -> Iterator[str]:
    records = survey()
    seconds, text = cpu(lambda: judged(records, survey_tables(records)))
    yield f"10,664 firms, 20 tables, ZES(mu): {seconds:.2f} CPU s; {text}"


def million() -> Iterator[str]:
    records = wide(1_000_000)
    seconds, text = cpu(lambda: judged(records, survey_tables(records)))
    yield f"1,000,000 firms, 20 tables, ZES(mu): {seconds:.1f} CPU s (bar 10); {text}"


FITTED = {
    "MARG": Settings(method="marg"),
    "MARG after ZES": Settings(method="marg_zes"),
    "OPT l1": Settings(method="opt"),
    "OPT l2": Settings(method="opt", opt=Opt(norm="l2")),
    "OPT linf": Settings(method="opt", opt=Opt(norm="linf")),
}
LEAST = {
    "least loss l1": Settings(method="least_loss"),
    "least loss l2": Settings(method="least_loss", opt=Opt(norm="l2")),
    "least loss l1, margins 0.1 %": Settings(method="least_loss", opt=Opt(margins=0.001)),
}


def fitted(records: Respondents, tables: list[CalibrationTable], methods: dict[str, Settings]) -> Iterator[str]:
    """Fit multipliers by each method, from tables to perturbed totals, and judge the result."""
    all_needs = [needs_of(t) for t in tables]
    beyond = sum(int(supersensitive(n).sum()) for n in all_needs)
    for name, settings in methods.items():

        def make(settings: Settings = settings) -> list[np.ndarray]:
            made = make_multipliers(records, tables, settings, seed=SEED)
            return [made.totals(t) for t in tables]

        seconds, totals = cpu(make)
        assert isinstance(totals, list)
        left = sum(int(still_unsafe(n, x - n.table.total).sum()) for n, x in zip(all_needs, totals, strict=True))
        result = table_statistics(tables, totals)
        noise = {word: f"{group.average:.2f}" for word, group in result.groups.items()}
        yield (
            f"{name}: {seconds:.2f} CPU s, {left} still unsafe ({beyond} supersensitive), noise in percent: margins "
            f"{noise['marginal']}, interior {noise['interior']}, sensitive {noise['sensitive']}, other "
            f"{noise['nonsensitive']}; loss {result.loss:.3g}"
        )


def compare() -> Iterator[str]:
    """All methods on file A, as table 8.1 compares them."""
    warm = census(2000, seed=9)
    list(fitted(warm, [census_table(warm)], FITTED))
    records = census()
    table = census_table(records)
    drawn = {
        "ZES": Settings(),
        "ZES(mu)": Settings(method="zes_mu"),
        "ZES unimodal": Settings(zes=Zes(shape="unimodal")),
    }
    yield from fitted(records, [table], {**drawn, **FITTED, **LEAST})


def fitted_million() -> Iterator[str]:
    records = wide(1_000_000)
    yield from fitted(records, survey_tables(records), FITTED)
    yield f"most memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "perturb-65k": one_table,
    "perturb-20-tables": twenty_tables,
    "perturb-1m": million,
    "perturb-compare": compare,
    "perturb-fit-1m": fitted_million,
}
