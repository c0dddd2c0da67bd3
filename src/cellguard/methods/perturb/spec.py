"""The part of a job that says how tables are perturbed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec


class AttributesSpec(Spec):
    """Own multipliers of each response, close to the respondent's, so that ratios are not disclosed."""

    variant: Literal["delta", "factor"] = Field("factor", description="add to the multiplier, or multiply it")
    sd: float = Field(0.005, gt=0, lt=0.5, description="the standard deviation of what is added or multiplied")
    limit: float = Field(0.2, gt=0, description="derived multipliers that are farther off are reported")


class TrendsSpec(Spec):
    """Growth that nobody may know: of values that are one quantity in several years, or over a dimension of years."""

    p: float = Field(5.0, gt=0, lt=30, strict=False, description="percent to within which growth must not be known")
    values: list[list[str]] = Field([], description="lists of values that are one quantity in several years")
    dimension: str | None = Field(None, description="the dimension whose codes are years")

    @model_validator(mode="after")
    def _something(self) -> TrendsSpec:
        if not self.values and self.dimension is None:
            raise ValueError("`trends` says nothing; give values, as [[sales23, sales24]], or dimension: year")
        named = [name for years in self.values for name in years]
        if any(len(years) < 2 for years in self.values) or len(set(named)) < len(named):
            raise ValueError("`trends`: each list of `values` has two years or more, and each value is in one list")
        return self


class StrataSpec(Spec):
    """Classes of respondents with a mu each: those of a column or, without one, by what their cells need."""

    column: str | None = Field(None, min_length=1, description="the column of classes; without it: by need")
    mu: dict[str, Annotated[float, Field(gt=0, lt=1)]] = Field({}, description="zes: the mu of each class")


class MargSpec(Spec):
    """MARG: margins that hardly move, and noise inside them by raking."""

    margin: float = Field(0.01, ge=0, lt=1, description="how far a margin moves, times the share of its n largest")
    low: float = Field(0.85, gt=0, description="z = low + spread S, S being the share of a cell's n largest")
    spread: float = Field(0.3, ge=0, lt=1, description="see low")
    most: int = Field(1000, ge=0, description="cells with more contributors stay as they are, unless sensitive")
    variant: Literal["document", "unbiased"] = Field("document", description="unbiased: z = 1 +- spread (S - mean S)")
    order: Literal["margins", "top_down"] = Field("margins", description="top_down: level by level from the total")
    keep: list[str] = Field([], description="cells that stay as they are, as `table: cell`")
    hold: Literal["one_way", "two_way", "all"] = Field(
        "one_way", description="which margins are held: of one dimension, also of two, or all with their subtotals"
    )


class OptSpec(Spec):
    """OPT: multipliers by optimisation, not farther from 1 than `cap`."""

    norm: Literal["l1", "l2", "linf"] = Field(
        "l1", description="what is made small: sum, squares or largest difference"
    )
    excess: float = Field(
        0.25, ge=0, le=2, description="protection levels and caps carry a random excess, so that none is guessed"
    )
    pattern: Literal["random", "checkerboard", "blocks", "balanced"] = Field(
        "balanced", description="which sensitive cells go up and which down"
    )
    margins: float | None = Field(None, ge=0, lt=1, description="the share by which margins may move; default: any")
    inside: float = Field(0.05, ge=0, lt=1, description="with margins: the share by which safe interior cells may move")
    keep_sum: bool = Field(False, description="keep the sum of the multipliers at their number")


class BalancedSpec(Spec):
    """Balanced noise: the range of its sizes, and where it is balanced."""

    low: float = Field(0.10, gt=0, lt=1, description="the least distance of a multiplier from 1")
    high: float = Field(0.20, gt=0, lt=1, description="the largest distance; above the percent that the rules ask for")
    shape: Literal["uniform", "triangular", "beta"] = Field("uniform", description="of the distance between the two")
    totals: Literal["near", "exact"] = Field(
        "near", description="exact: finest cells that need no noise keep their totals, where sizes in the range do that"
    )
    table: str | None = Field(None, min_length=1, description="the table whose finest cells are balanced; the first")

    @model_validator(mode="after")
    def _ordered(self) -> BalancedSpec:
        if self.low >= self.high:
            raise ValueError(f"`high` must be above `low`, which is {self.low:g}")
        return self


class WhomSpec(Spec):
    """Who is perturbed, if not all are: units for which all that is said holds."""

    weight_below: float | None = Field(None, gt=0, description="respondents with a record of a smaller weight")
    largest: bool = Field(False, description="respondents among the n largest of a sensitive cell")

    @model_validator(mode="after")
    def _something(self) -> WhomSpec:
        if self.weight_below is None and not self.largest:
            raise ValueError("`perturb_if` says nothing; give weight_below, largest, or both")
        return self


_MU = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_STRATA = {
    "anyOf": [
        {"type": "string", "description": "a column, or `need`"},
        {
            "type": "object",
            "properties": {
                "column": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "mu": {"type": "object", "additionalProperties": _MU},
            },
            "additionalProperties": False,
        },
        {"type": "null"},
    ]
}


def _spelled_out(data: object) -> object:
    """Return strata that are given by a word: a column, or `need`."""
    return {"column": None if data == "need" else data} if isinstance(data, str) else data


class PerturbSpec(Spec):
    """How tables with `method: perturb` are perturbed: one multiplier per respondent, shared by all tables."""

    method: Literal["zes", "zes_mu", "balanced", "marg", "marg_zes", "opt", "least_loss"] = Field(
        "zes",
        description="zes uses mu; zes_mu finds the smallest that protects; balanced draws within a range and balances "
        "the noise of cells that need none; the others fit to the tables",
    )
    mu: float = Field(0.10, gt=0, lt=1, description="how far multipliers are from 1 on average")
    sigma: float = Field(0.02, ge=0, lt=1, description="the standard deviation of that distance")
    shape: Literal["normal", "beta", "uniform", "triangular", "unimodal"] = Field(
        "normal", description="of the distance; unimodal: none, multipliers are N(1, mu), for comparison"
    )
    directions: Literal["random", "balanced"] = "random"
    probability: float = Field(0.95, ge=0.5, lt=1, description="zes_mu: how sure an unsafe cell must become safe")
    promise: Literal["cell", "release"] = Field("cell", description="zes_mu: whether each cell or all of them have it")
    redraw: int = Field(0, ge=0, le=1000, description="rounds in which respondents of failing cells may draw again")
    perturb_if: WhomSpec | None = Field(None, description="who is perturbed; default: all")
    earlier: str | None = Field(None, description="multipliers' file of an earlier year, which its respondents keep")
    cap: float = Field(0.20, gt=0, lt=1, description="zes_mu: the largest mu to use; opt: how far from 1 at most")
    strata: Annotated[StrataSpec | None, BeforeValidator(_spelled_out), WithJsonSchema(_STRATA)] = Field(
        None, description="a mu for each class: a column, `need`, or for zes {column: ..., mu: {class: mu}}"
    )
    least: float = Field(0.05, gt=0, lt=1, description="zes_mu with strata: the mu of a class that needs none")
    way: Literal["exact", "formula"] = Field("exact", description="zes_mu: the whole noise, or the largest one's only")
    seed: int | None = Field(None, ge=0, lt=2**63, description="default: a secret one")
    marg: MargSpec = MargSpec()
    opt: OptSpec = OptSpec()
    balanced: BalancedSpec = BalancedSpec()
    assign: Literal["equal", "size", "strata", "spread"] | None = Field(
        None, description="fitted methods: how the factor of a group goes to its members"
    )
    attributes: AttributesSpec | None = None
    trends: TrendsSpec | None = Field(None, description="growth of single respondents that must not be known")
    accept: list[str] = Field([], description="unsafe cells that may be released all the same, as `table: cell`")
    unproven: Literal["refuse", "accept"] = Field(
        "refuse", description="accept: release although not everything was looked at; every file then says so"
    )
    published: list[str] = Field(
        [], description="output folders that were published: perturbed tables are checked with these"
    )
    few: int = Field(3, ge=1, description="cells with fewer contributors are listed")
    sparse: int = Field(100, ge=2, description="cells with at most so many contributors are looked at for coalitions")
    round: bool = Field(False, description="publish whole counts; they then no longer add up")
    replications: int = Field(0, ge=0, description="repeat the perturbation so often, to study its noise; 0: not")

    @classmethod
    def of(cls, job: Job) -> PerturbSpec:
        """Return what a job says, or the defaults."""
        said = job.settings.get("perturb")
        return said if isinstance(said, PerturbSpec) else cls()

    @model_validator(mode="after")
    def _sensible(self) -> PerturbSpec:
        if self.replications == 1:
            raise ValueError("`replications`: a study needs at least 2 of them; 0 means none")
        fitted = self.method not in {"zes", "zes_mu", "balanced"}
        if self.trends is not None and self.trends.values and (fitted or self.attributes is not None):
            raise ValueError("`trends` with `values` gives each year its own factors; leave `attributes` out, use zes")
        if fitted and self.attributes is not None:
            raise ValueError(f"{self.method} gives each response multipliers of its own; leave `attributes` out")
        for name, said, methods in (
            ("marg", self.marg != MargSpec(), ("marg", "marg_zes")),
            ("opt", self.opt != OptSpec(), ("opt", "least_loss")),
            ("balanced", self.balanced != BalancedSpec(), ("balanced",)),
        ):
            if said and self.method not in methods:
                many = "s" if len(methods) > 1 else ""
                raise ValueError(f"`{name}` is for the method{many} {' and '.join(methods)}, not for {self.method}")
        if self.method == "balanced":
            self._fits_balanced()
        if fitted and self.redraw:
            raise ValueError(f"`redraw` is for zes and zes_mu, not for {self.method}")
        if self.assign and (not fitted or self.method == "marg_zes"):
            raise ValueError(f"`assign` is for marg, opt and least_loss, not for {self.method}")
        if self.assign == "strata" and self.strata is None:
            raise ValueError("`assign: strata` needs `strata`, as {column: size, mu: {large: 0.15}}")
        if self.method == "least_loss" and self.opt.norm == "linf":
            raise ValueError("least_loss goes with `opt: {norm: l1}` or `opt: {norm: l2}`")
        if self.strata is None:
            return self
        if self.method != "zes_mu" and not (self.strata.column and self.strata.mu):
            raise ValueError(
                "`strata` with zes need the mu of each class, as {column: size, mu: {large: 0.15}}; zes_mu finds them"
            )
        if self.method == "zes_mu" and self.strata.mu:
            raise ValueError("zes_mu finds the mu of each class of `strata`; leave `mu` out, or say `method: zes`")
        if self.method == "zes_mu" and self.least > self.cap:
            raise ValueError("`least`, the smallest mu of a class, must not be above `cap`")
        return self

    def _fits_balanced(self) -> None:
        """Refuse what balanced noise does not look at."""
        for name, said in (
            ("strata", self.strata is not None),
            ("earlier", self.earlier is not None),
            ("directions", self.directions != "random"),
            ("shape", self.shape != "normal"),
        ):
            if said:
                raise ValueError(f"`{name}` does not go with balanced noise; leave it out, or use zes")
        if self.balanced.totals == "exact" and (self.attributes is not None or (self.trends and self.trends.values)):
            raise ValueError(
                "`totals: exact` holds for one multiplier per respondent; leave `attributes` and `trends` out"
            )


class RespondentNoise(PerturbSpec):
    """How tables are perturbed by multipliers of respondents, as an object for Python.

    The fields are the keys of `perturb` in a job.

    Parameters
    ----------
    method
        ``"zes"``, ``"zes_mu"``, ``"balanced"``, ``"marg"``, ``"marg_zes"``, ``"opt"`` or ``"least_loss"``.
    mu, sigma, shape, directions, probability, promise, cap, way, least, strata, perturb_if
        How far multipliers are from 1, on which side, and whose.
    redraw, seed, earlier
        Rounds of drawing again, the seed, and the file of an earlier year.
    marg, opt, balanced, assign
        The settings of the other methods.
    attributes, trends
        Multipliers of each response, and growth that must not be known.
    accept, unproven, published, few, sparse, round, replications
        What may be released, what is looked at, and how often the noise is studied.

    References
    ----------
    Evans, T., Zayatz, L. and Slanta, J. (1998). Using noise for disclosure limitation of establishment tabular data.
    *Journal of Official Statistics* 14(4), 537-551.

    Examples
    --------
    >>> import cellguard as cg
    >>> firms = {"region": ["N"] * 6 + ["S"] * 9, "pay": [30, 28, 25, 22, 21, 20] + [12, 11] * 4 + [10]}
    >>> how = cg.RespondentNoise(method="balanced", balanced={"low": 0.15, "high": 0.3, "totals": "exact"}, seed=1)
    >>> done = cg.protect(firms, by=["region"], value="pay", rules=cg.PPercent(10), method=how)
    >>> str(done.verdict.kind), done.release["table"].value
    ('safe', ['248', '146', '102'])
    """
