"""Cell suppression as jobs know it: the unsafe cells are suppressed, and as few others as are needed to protect
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.attack.audit import Audit
from cellguard.attack.external_totals import ExternalTotals
from cellguard.errors import InputError, NotProtected
from cellguard.inputs.assessing import insiders_of
from cellguard.inputs.assessment import Assessment
from cellguard.inputs.earlier_releases import output_folder
from cellguard.io.folder import CellKey, OutputFolder, cell_keys
from cellguard.job.jobfile import Job
from cellguard.job.specs import ProtectSpec
from cellguard.methods.suppress.costs import parse_cost, random_factors, set_costs
from cellguard.methods.suppress.engines.effort import BEST, EFFORTS, NORMAL, Effort, effort_named
from cellguard.methods.suppress.engines.gauss import usual_engine
from cellguard.methods.suppress.files.seed_file import read_seed
from cellguard.methods.suppress.hide_together import Followers, refuse_shown, suppress_together, with_followers
from cellguard.methods.suppress.judged_sums import SumSearch
from cellguard.methods.suppress.pattern_method import PatternMethod
from cellguard.methods.suppress.spec import SuppressDeclaration, SuppressOptions
from cellguard.methods.suppress.suppress import Suppression, suppress
from cellguard.methods.suppress.time_estimate import TimeEstimate
from cellguard.randomness import checked_seed, fresh_seed
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, eq=False)
class Suppress(SuppressDeclaration, PatternMethod):
    """Suppress as little as possible. ``warm`` is the output folder of an earlier run, whose pattern is the start.

    ``effort`` goes before what the tables say. With a deadline and no word of effort the search runs until then, and
    the best safe pattern so far is taken; the result may then differ from run to run. ``seed_from`` is the output
    folder of an earlier run with random costs, which are taken again; ``seed`` is for studies that release nothing.
    """

    warm: str | Path | None = None
    effort: str | None = None
    seed_from: str | Path | None = None
    seed: int | None = None

    def assess(self, run: Run, seconds: dict[str, float]) -> Assessment:
        """Build the job's tables and apply the rules; what cannot be read is reported before the work."""
        self._seed()
        return super().assess(run, seconds)

    def choose(self, assessment: Assessment, known: ExternalTotals, run: Run) -> Pattern | Suppression:
        """Return the cheapest pattern that the engine finds."""
        return self.choose_by_turns(SumSearch(assessment, known.sums, run), known, run)

    def choose_by_turns(self, sums: SumSearch, known: ExternalTotals, run: Run) -> Pattern | Suppression:
        """Return the cheapest pattern that the engine finds and that tells no unsafe sum."""
        assessment = sums.assessment
        if assessment.needs.unprotectable.any():
            raise NotProtected(assessment.warnings()[-1])
        wanted = {spec.name: parse_cost(_options(spec.protect).cost) for spec in assessment.job.tables}
        costs = set_costs(assessment.tables, assessment.needs.primary, wanted)
        costs = stable_costs(self.job, assessment.tables, costs)
        start = None if self.warm is None else _hidden_before(self.warm, assessment.tables)
        engine, effort = self._engine(), self._effort(run)
        insiders = insiders_of(assessment)

        def search(costs: FloatArray, begin: BoolArray | None) -> Suppression:
            return suppress(
                assessment.needs,
                costs,
                engine=engine,
                start=start if begin is None else begin,
                known=known.sums,
                insiders=insiders,
                coalition=self.job.attack.coalition,
                grow=sums.grow,
                effort=effort,
                run=run,
            )

        seed = self._seed()
        asked = costs if seed is None else costs * self._factors(assessment.tables, seed)
        followers = Followers.in_job(assessment.tables, self.job)
        if not len(followers.cells):
            chosen = search(asked, None)
        else:
            chosen = suppress_together(assessment.needs, asked, followers, search, known.sums)
        return chosen if seed is None else _as_asked(chosen, costs, seed)

    def reinforce(
        self, sums: SumSearch, judged: Audit, chosen: Suppression, slack: float, known: ExternalTotals, run: Run
    ) -> Suppression | None:
        """Return a pattern with more slack for what an audit did not prove, and with what follows its cells."""
        wider = super().reinforce(sums, judged, chosen, slack, known, run)
        if wider is None:
            return None
        return with_followers(judged.needs, wider, Followers.in_job(judged.needs.tables, self.job), known.sums)

    def _seed(self) -> int | None:
        """Return the seed of random costs: that of an earlier run if it is asked for, else a new one; None without."""
        if not any(_options(spec.protect).random for spec in self.job.tables):
            if self.seed_from is not None:
                raise InputError("--seed-from goes with random costs; say `protect: {random: true}` of a table")
            return None
        if self.seed_from is not None:
            return read_seed(OutputFolder(self.seed_from))
        return fresh_seed() if self.seed is None else checked_seed(self.seed)

    def _factors(self, tables: TableSet, seed: int) -> FloatArray:
        """Return what the cost of each distinct cell is multiplied by: 1 if no table that shows it has random costs."""
        random = {spec.name for spec in self.job.tables if _options(spec.protect).random}
        touched = np.zeros(len(tables), bool)
        for table, cells in zip(tables.tables, tables.cells_of, strict=True):
            touched[cells] |= table.name in random
        return np.where(touched, random_factors(len(tables), seed), 1.0)

    def expected_seconds(self, assessed: Assessment) -> float:
        """Return a guess from the size of the set, the engine, the effort, and who attacks."""
        engine = self._engine() or usual_engine(assessed.needs)
        equal = all(_options(spec.protect).cost == "constant" for spec in assessed.job.tables)
        load = TimeEstimate.of(assessed.needs, equal=equal)
        seconds = load.seconds(engine, self._effort(UNWATCHED))
        return seconds + load.seconds_inside() if self.job.insiders else seconds

    def _engine(self) -> str | None:
        """Return the engine asked for, if any: the tables of a set are searched together, so they must agree."""
        named = {spec.name: _options(spec.protect).engine for spec in self.job.tables}
        asked = sorted({engine for engine in named.values() if engine is not None})
        if len(asked) > 1:
            who = ", ".join(f"{table}: {engine}" for table, engine in named.items() if engine is not None)
            raise InputError(f"tables of a job are one linked set and share the engine; they ask for {who}")
        return asked[0] if asked else None

    def _effort(self, run: Run) -> Effort:
        """Return the effort asked for: of the tables of a set, which are searched together, the greatest."""
        if self.effort is not None:
            return effort_named(self.effort)
        said = [_options(spec.protect) for spec in self.job.tables]
        names = [options.effort for options in said if "effort" in options.model_fields_set]
        default = NORMAL if run.deadline is None else BEST
        return max((EFFORTS[name] for name in names), key=lambda effort: effort.seconds, default=default)


@dataclass(frozen=True, eq=False)
class FixedPattern(Suppress):
    """The pattern that a job describes itself: its unsafe cells, those said to be ``secondary``, and their followers.

    A cell that must be published stays so, and if it was to follow one that is suppressed, the job contradicts itself.
    """

    def choose(self, assessment: Assessment, known: ExternalTotals, run: Run) -> Pattern:
        """Return what the job says."""
        linked = assessment.tables
        hidden = assessment.needs.primary | linked.stated(State.secondary)
        stays = assessment.needs.world.constraints.empty | linked.stated(State.must_publish)
        followers = Followers.in_job(linked, self.job).all_joined(hidden) & ~hidden
        refuse_shown(followers & stays & ~assessment.needs.world.constraints.empty, linked)
        return Pattern(linked, assessment.needs.primary, (hidden | followers & ~stays) & ~assessment.needs.primary)

    def choose_by_turns(self, sums: SumSearch, known: ExternalTotals, run: Run) -> Pattern:
        """Return what the job says, whatever it tells."""
        return self.choose(sums.assessment, known, run)


def _as_asked(chosen: Suppression, costs: FloatArray, seed: int) -> Suppression:
    """Return a pattern with what it costs without randomness; a bound on random costs bounds nothing else."""
    paid = float(costs[chosen.pattern.secondary[: len(costs)]].sum())
    return replace(chosen, cost=paid, costs=costs, bound=0.0, cuts=frozenset(), seed=seed)


def stable_costs(job: Job, tables: TableSet, costs: FloatArray) -> FloatArray:
    """Return costs by which patterns stay as they were: suppressing again what was suppressed is cheap, and the rest is
    dear.

    Cells are the same if response and codes are, whatever their table is called and of whatever time it is.
    """
    names = None
    for spec in job.previous:
        if spec.folder in job.held:  # shown a moment ago: what was shown stays known, whatever it costs
            continue
        before = OutputFolder(output_folder(job.path(spec.folder))).cell_statuses()
        names = names or _cell_keys(tables)
        status = np.array([before.get(name, "") for name in names])
        costs = np.where(np.isin(status, ["primary", "secondary"]), costs / spec.change_cost, costs)
        costs = np.where(status == "published", costs * spec.change_cost, costs)
    return costs


def _cell_keys(tables: TableSet) -> list[CellKey]:
    """Return what is the same in all releases of each distinct cell."""
    number, row = tables.first
    keys = [cell_keys(t.response, [d.name for d in t.dimensions], t.code_texts(), _totals(t)) for t in tables.tables]
    return [keys[n][r] for n, r in zip(number.tolist(), row.tolist(), strict=True)]


def _totals(table: Table) -> list[str]:
    return [d.total for d in table.dimensions]


def _options(said: ProtectSpec) -> SuppressOptions:
    if not isinstance(said, SuppressOptions):
        raise InputError("the job's tables are not suppressed")
    return said


def _hidden_before(folder: str | Path, tables: TableSet) -> BoolArray:
    """Return which distinct cells an earlier run hid; cells that it did not have are not suppressed."""
    old = OutputFolder(folder).statuses()
    hidden = np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        statuses = old.get(table.name, {})
        names = [table.cell_name(i) for i in range(len(table))]
        hidden[cells] |= np.array([statuses.get(name) in {"primary", "secondary"} for name in names], bool)
    return hidden
