"""The part of a job that says how cell keys give sums their noise, and what a job must know of the method."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec, TableSpec
from cellguard.methods.keys.declared import KeyedDeclaration, KeyedSpec
from cellguard.seam.look import Look

METHOD = "magnitude_key"
LOOK = Look(
    "published",
    {"noisy": "", "sensitive": "○", "unsafe": "✕", "fixed": "="},
    public="Every figure carries some noise, and none is suppressed; totals need not be the sum of their parts.",
    internal="True sum → published sum; ○ unsafe by a rule, ✕ an attacker comes too close, = published as it is. "
    "Confidential.",
)


class Flex(Spec):
    """How the noise of large contributions becomes smaller: the keys of `flex` in a job.

    Parameters
    ----------
    point
        The contribution from which on the share falls.
    small, large
        The share of small contributions and of very large ones.
    power
        How fast it falls.
    """

    point: float = Field(gt=0, allow_inf_nan=False, description="the contribution from which on the share falls")
    small: float = Field(gt=0, le=1, description="the share of contributions up to `point`")
    large: float = Field(ge=0, le=1, description="the share of very large contributions")
    power: float = Field(3.0, ge=1, le=20, description="how fast the share falls: 1 or more")

    @model_validator(mode="after")
    def _falls(self) -> Flex:
        if self.large > self.small:
            raise ValueError(f"`large` is at most `small` ({self.small:g}), not {self.large:g}")
        return self


class MagnitudeKey(KeyedSpec):
    """How the cell key method perturbs sums: its perturbation table, its units, its keys, and what may be concluded.

    The fields are the keys of `magnitude_key` in a job.

    Parameters
    ----------
    table
        A file with a perturbation table of sums, as ptable writes it; without it one is designed.
    deviation, variance, steps, figures, parity, separation
        The design: the largest change and the variance in units of the noise, changes per unit, the sums that have a
        row, whether even and odd numbers of contributors differ, and whether small values have noise of their own.
    scaling, epsilon, share, flex, mu
        What a unit is a share of, the factors of the largest contributions, the share itself or a flex function of it,
        and what sensitive cells are kept away from the truth, in units.
    same_key, zero_keys, lookup, keys, seed
        How noise is looked up by a key, whether records that contribute 0 count for it, and which secret is used.
    fixed
        Cells that are published as they are.
    limit, unproven
        How sure an attacker may be of a contribution, and whether a release needs no proof.

    References
    ----------
    Giessing, S. and Tent, R. (2019). *Concepts for generalising tools implementing the cell key method to the case of
    continuous variables*. UNECE/Eurostat work session on statistical data confidentiality, The Hague.

    Examples
    --------
    >>> import cellguard as cg
    >>> firms = {"region": ["N"] * 3 + ["S"] * 4 + ["W"] * 4, "pay": [90, 8, 2, 30, 40, 35, 30, 20, 20, 20, 20]}
    >>> done = cg.protect(firms, by=["region"], value="pay", rules=cg.PPercent(10), method=cg.MagnitudeKey(seed=5))
    >>> str(done.verdict.kind), done.release["table"].hidden
    ('safe', 0)
    """

    designs: ClassVar[frozenset[str]] = frozenset({"deviation", "variance", "steps", "figures", "parity", "separation"})
    table: str | None = Field(None, min_length=1, description="a perturbation table of sums: a CSV file of ptable")
    deviation: int = Field(5, ge=1, le=20, description="the largest change, in units of the noise")
    variance: float = Field(2.0, gt=0, allow_inf_nan=False, description="the variance of the change, at most")
    steps: int = Field(4, ge=1, le=20, description="how many changes a unit has")
    figures: list[float] = Field([1.0], description="sums, in units, that have a row of their own beside the deviation")
    parity: bool = Field(False, description="even and odd numbers of contributors have noise of their own")
    separation: bool = Field(False, description="small values have noise of their own, whatever they are a sum of")
    scaling: Literal["top_contr", "mean", "range", "sum"] = Field(
        "top_contr", description="what a unit is a share of: the largest contributions, their mean, range, or the sum"
    )
    epsilon: list[float] = Field(
        [1.0], min_length=1, max_length=6, description="a factor per contribution, of `top_contr`: 1 first, falling"
    )
    share: float | None = Field(
        None,
        gt=0,
        le=1,
        description="a unit, as a share (default: twice the percent of the rules, at most 1/deviation)",
    )
    flex: Flex | None = Field(None, description="in place of `share`, one that falls with the contribution")
    mu: float = Field(0.0, ge=0, le=20, description="units that the first change of sensitive cells is larger by")
    same_key: bool = Field(True, description="the first change is by the cell key itself, not one turned; if plain")
    zero_keys: bool = Field(False, description="the keys of records that contribute 0 count for the cell key, too")
    lookup: Literal["hashed", "plain"] = Field(
        "hashed", description="plain: by the sum of record keys itself and in steps, as other tools do; never safe"
    )
    limit: float = Field(
        0.5, gt=0, lt=1, description="how likely the best guess of a contribution may be as near as the rules forbid"
    )
    unproven: Literal["refuse", "accept"] = Field(
        "refuse", description="accept: release although only attackers who know single figures are kept out"
    )

    @classmethod
    def of(cls, job: Job) -> MagnitudeKey:
        """Return what a job says, or the defaults."""
        said = job.settings.get(METHOD)
        return said if isinstance(said, MagnitudeKey) else cls()

    @model_validator(mode="after")
    def _fits(self) -> MagnitudeKey:
        if self.share is not None and self.flex is not None:
            raise ValueError("give one of share and flex, not both")
        if self.variance > self.deviation**2:
            raise ValueError(f"the variance is at most the deviation squared, {self.deviation**2}")
        if any(not 0 < figure <= self.deviation for figure in self.figures):
            raise ValueError("`figures` are above 0 and at most the deviation")
        falls = all(0 <= b <= a for a, b in zip(self.epsilon, self.epsilon[1:], strict=False))
        if self.epsilon[0] != 1 or not falls:
            raise ValueError("`epsilon` begins with 1 and falls to 0 at least, as [1, 0.5, 0.2]")
        if len(self.epsilon) > 1 and (self.scaling != "top_contr" or self.parity):
            why = "`parity`" if self.parity else f"`scaling: {self.scaling}`"
            raise ValueError(f"several factors `epsilon` do not go with {why}; give one")
        return self


class MagnitudeDeclaration(KeyedDeclaration):
    """What a job must know of the method, without its numerics."""

    name: ClassVar[str] = METHOD
    settings: ClassVar[type[Spec] | None] = MagnitudeKey
    look: ClassVar[Look] = LOOK
    figures: ClassVar[str] = "sums"
    why_no_weights: ClassVar[str] = (
        "noise follows the largest contributions, and with weights the largest is not who weighs most; leave it out, "
        "or use `method: perturb`, which takes weights"
    )

    @classmethod
    def fault_of(cls, table: TableSpec) -> str:
        """Describe what a table says that does not go with cell keys of sums."""
        if table.value == "count":
            return "cell keys of counts are `method: cell_key`; this one perturbs sums"
        return ""
