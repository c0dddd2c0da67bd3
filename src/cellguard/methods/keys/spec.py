"""The part of a job that says how cell keys give counts their noise, and what a job must know of the method."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec, TableSpec
from cellguard.methods.keys.declared import KeyedDeclaration, KeyedSpec
from cellguard.rules.rule import fewest_of
from cellguard.seam.look import Look

METHOD = "cell_key"
LOOK = Look(
    "perturbed",
    public="Every count carries some noise, and none is suppressed; totals need not be the sum of their parts.",
    internal="True count → published count; ○ small, safe with its noise, ✕ unsafe. Confidential.",
)


class CellKey(KeyedSpec):
    """How the cell key method perturbs counts: its perturbation table, its keys, and what the attack must not reach.

    The fields are the keys of `cell_key` in a job.

    Parameters
    ----------
    table
        A file with a perturbation table of ptable, τ-ARGUS or ONS; without it one is designed.
    deviation, variance, small, staying, exact, monotone
        The design: the largest change, the variance at most or exactly, the largest count never published, the
        probability of no change, and whether larger changes are never likelier.
    lookup, keys, seed
        How noise is looked up by a key, and which secret is used.
    fixed
        Cells that are published as they are.
    limit, prior, unproven, simulations
        How sure an attacker may be of a small count, what attackers think beforehand, whether an estimate is enough,
        and how many releases are simulated.

    References
    ----------
    Fraser, B. and Wooton, J. (2005). *A proposed method for confidentialising tabular output to protect against
    differencing*. UNECE/Eurostat work session on statistical data confidentiality, Geneva.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"region": ["N"] * 9 + ["S"] * 14 + ["W"] * 12}
    >>> done = cg.protect(people, by=["region"], rules=cg.MinFrequency(3), method=cg.CellKey(seed=5))
    >>> str(done.verdict.kind), done.release["table"].value
    ('safe', ['32', '8', '17', '12'])
    """

    designs: ClassVar[frozenset[str]] = frozenset({"deviation", "variance", "small", "staying", "exact", "monotone"})
    table: str | None = Field(
        None, min_length=1, description="a perturbation table: a CSV file of ptable, τ-ARGUS or ONS; default: designed"
    )
    deviation: int | None = Field(
        None, ge=1, le=50, description="the largest change (default: 8, or one and a half times min_frequency if more)"
    )
    variance: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="the variance of the noise, at most (default: 8, or a third of min_frequency squared if more)",
    )
    small: int | None = Field(
        None, ge=0, le=49, description="positive counts up to this are never published (default: below min_frequency)"
    )
    staying: float | None = Field(None, ge=0, lt=1, description="the probability of no change")
    exact: bool = Field(False, description="the variance is exactly as said, not at most")
    monotone: bool = Field(True, description="larger changes are never likelier than smaller ones")
    lookup: Literal["hashed", "plain"] = Field(
        "hashed", description="plain: by the sum of record keys itself, as other tools do; its noise is not independent"
    )
    limit: float = Field(
        0.5, gt=0, lt=1, description="the largest posterior probability of a small count that may be released"
    )
    prior: Literal["flat", "counts"] = Field(
        "flat", description="what attackers think beforehand: any count, or the distribution of the true counts"
    )
    unproven: Literal["refuse", "accept"] = Field(
        "refuse", description="accept: release although the posterior of some cells is only estimated"
    )
    simulations: int = Field(0, ge=0, le=10_000, description="draw the noise so often, and count right guesses")

    @classmethod
    def of(cls, job: Job) -> CellKey:
        """Return what a job says, or the defaults."""
        said = job.settings.get(METHOD)
        return said if isinstance(said, CellKey) else cls()


class KeysDeclaration(KeyedDeclaration):
    """What a job must know of the cell key method, without its numerics."""

    name: ClassVar[str] = METHOD
    settings: ClassVar[type[Spec] | None] = CellKey
    look: ClassVar[Look] = LOOK
    figures: ClassVar[str] = "counts"
    why_no_weights: ClassVar[str] = (
        "the attack asks how likely a number of records is, and a sum of weights tells more of it than noise for that "
        "number conceals; leave it out, or use `method: round`"
    )

    @classmethod
    def fault_of(cls, table: TableSpec) -> str:
        """Describe what a table says that does not go with cell keys of counts."""
        if table.value != "count":
            return "cell keys perturb counts; say `value: count`, or `method: magnitude_key`"
        others = [rule for rule in table.rules if rule.fewest is None]
        if others or (fewest_of(table.rules) or 0) < 2:
            return (
                "cell keys hide small counts, so the table has the one rule `min_frequency` of 2 or more, as "
                "`rules: [{min_frequency: 3}]`"
            )
        return ""
