"""From a job to its assessment: build the tables, link them, apply the rules, set protection levels."""

from __future__ import annotations

from collections.abc import Sequence

from cellguard.attack.external_totals import NO_TOTALS, ExternalTotals, read_external_totals
from cellguard.errors import Disagreement, InputError, listing
from cellguard.inputs.assessment import Assessment
from cellguard.inputs.fitted_counts import with_fitted
from cellguard.inputs.tables import Built, Keyed, build_tables, refuse_changed
from cellguard.job.jobfile import Job
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.rules.rule import Rule
from cellguard.run_context import Run, timed
from cellguard.table.contributions import Contributions
from cellguard.table.fact import Holdings
from cellguard.table.tableset import TableSet, link
from cellguard.world.knowledge import Knowledge


def assess_tables(job: Job, run: Run, seconds: dict[str, float], *, keyed: Keyed | None = None) -> Assessment:
    """Build a job's tables, link them, apply the rules and say what protection must achieve.

    ``keyed`` gives the records keys.
    """
    with timed("reading the tables", run, seconds) as here:
        built = build_tables(job, run=here, keyed=keyed)
    job = built.job
    with timed("linking the tables", run, seconds):
        attack = job.attack
        knowledge = Knowledge(attack.lower, attack.upper, attack.percent, attack.crossing == "checked")
        said: dict[str, Sequence[Rule]] = {spec.name: spec.rules for spec in job.tables}
        said |= {earlier.table.name: earlier.rules for earlier in built.earlier}
        linked, rules = with_fitted(_link(built), said, knowledge, run=run)
    with timed("applying the rules", run, seconds):
        findings = assess(linked, rules)
    with timed("setting protection levels", run, seconds) as here:
        needs = require(findings, knowledge, run=here.endless())
    return Assessment(job, findings, needs, seconds, built.notes, built.counts, built.inputs, built.sums)


def insiders_of(assessment: Assessment) -> Contributions | None:
    """Return who contributes to the cells, if respondents are to be looked at as attackers."""
    if not assessment.job.insiders:
        return None
    if all(table.facts.count is None for table in assessment.tables.tables):
        raise InputError(
            "attack: insiders: no table tells how many respondents its cells have; name the column with `count`, or "
            "say insiders: false"
        )
    known, together = assessment.contributions, assessment.job.attack.coalition
    if together > 1 and not known.linked:
        silent = [table.name for table in assessment.tables.tables if Holdings() not in table.facts]
        raise InputError(
            f"attack: coalition: {together}: {listing(silent)} "
            f"{'do' if len(silent) > 1 else 'does'} not tell who is in which cells together, which only tables do that "
            "are made from this job's records; say coalition: 1"
        )
    return known


def _link(built: Built) -> TableSet:
    """Link the tables of a job, and those of earlier releases of the same time."""
    try:
        return link([*built.tables, *(earlier.table for earlier in built.earlier)], built.job.equations)
    except Disagreement as error:
        if not built.earlier:
            raise
        cure = "If an earlier release is of another time or of other data, say `period: other` of it in `previous`"
        raise Disagreement(f"{error}. {cure}") from None


def read_known_totals(assessment: Assessment) -> ExternalTotals:
    """Read the totals that the attacker has, if the job names any."""
    job = assessment.job
    if not job.known:
        return NO_TOTALS
    known = read_external_totals(job.data(job.known), assessment.tables)
    refuse_changed(job, {job.known: assessment.inputs.get(job.known, "")})
    return known
