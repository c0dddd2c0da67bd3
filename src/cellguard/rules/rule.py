"""What a sensitivity rule is: one declaration, from which job files, reports, doubts and docs follow.

References: *Handbook on Statistical Disclosure Control* (Hundepool et al. 2012), chapter 4, for the rules and the
protection levels. Contributions x1 >= x2 >= ... of the N respondents of a cell sum to X (in a weighted survey X is the
total that the facts relate contributions to, see `Facts`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeVar, get_type_hints

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.rules.doubts import small_percent
from cellguard.rules.limits import Ceiling, NoiseRule
from cellguard.rules.parameters import percent, whole_number
from cellguard.table.fact import Fact
from cellguard.table.facts import Facts

if TYPE_CHECKING:
    from cellguard.table.table import Table

PROTECTION_PERCENT = 10.0
_PERCENT = "percent"
Percent = Annotated[float, _PERCENT]  # a parameter of a rule that is a percentage: below 1 it is doubted


class Formula(NamedTuple):
    """A rule in the letters of the literature: when a cell is unsafe, what the rule looks at, its upper level."""

    unsafe_if: str = ""
    looks_at: str = ""
    level: str = "`protection_percent` of X"


class Group(NamedTuple):
    """Some codes of a dimension, none of which holds another."""

    dimension: str
    codes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a rule says of each cell of a table.

    ``level`` is how far an attacker's interval of an unsafe cell must reach above and below its value, NaN where the
    rule has no formula; ``reach`` is how far it must reach above, whatever it does below, ``fall`` below, and ``width``
    how wide it must be. What ``hopeless`` cells must get, no suppressing of cells can give.
    """

    sensitivity: FloatArray
    unsafe: BoolArray
    level: FloatArray
    reach: FloatArray
    hopeless: BoolArray
    fall: FloatArray | float = 0.0
    width: FloatArray | float = 0.0


class Rule(ABC):
    """A sensitivity rule. Unsafe is a cell with sensitivity above 0 (or at it, for an inclusive rule).

    A rule is a frozen dataclass that derives from this class; its fields are the parameters that a job file gives, a
    percentage being annotated as `Percent`. It must say which `facts` it looks at and what its `sensitivity` is; all
    else has a default. `register` gives it the name that job files know it by.

    >>> from cellguard.rules.linear import PPercent
    >>> isinstance(PPercent(10), Rule), PPercent(10).facts
    (True, (Total(), Top(n=2)))
    """

    __slots__ = ()
    formula: ClassVar[Formula] = Formula()
    # Whether the rule only makes sense for contributions that are not negative.
    nonnegative: bool = False
    # Whether `measure` is a count of respondents, and not a percentage.
    counted: ClassVar[bool] = False
    # The percentage of the value that stands in for a formula of the upper protection level.
    protection_percent: float = PROTECTION_PERCENT
    # Whether a tie is unsafe.
    inclusive: bool = False
    # What helps where no suppressing of cells does.
    cure: ClassVar[str] = ""
    # The code of SDMX's CL_CONF_STATUS for a cell that the rule calls unsafe.
    conf_status: str = "C"
    # The flag of a file for structural business statistics: A few, B one dominates, C several do, F p %.
    sbs_flag: str = "B"
    # What an attacker cannot find out about unsafe counts, beyond what holds for all.
    promise: ClassVar[str] = ""

    def __str__(self) -> str:
        values = [getattr(self, name) for name in required(type(self))]
        shown = ", ".join(percent(value) if isinstance(value, float) else str(value) for value in values)
        return f"{name_of(self) or type(self).__name__} {shown}".rstrip()

    @property
    @abstractmethod
    def facts(self) -> tuple[Fact, ...]:
        """The facts that the rule looks at."""

    @property
    def optional(self) -> tuple[Fact, ...]:
        """Those of its facts without which the rule judges ready-made cells all the same, and then more strictly."""
        return ()

    @abstractmethod
    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return how far each cell is beyond the rule's limit."""

    def measure(self, cells: Facts) -> FloatArray:
        """Return the figure that people know the rule by, in percent (or as a count); NaN where it has no meaning."""
        return np.full(len(cells.total), np.nan)

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return for some cells of a table the figure that the rule goes by, in words; each cell has one.

        Where the usual figure has no meaning it is the sensitivity S, which is above 0 in an unsafe cell.

        >>> import cellguard as cg
        >>> table = cg.cells({"r": ["Total", "N", "S"], "x": [120, 40, 80], "top": [60, 30, 60], "next": [30, 9, 19]},
        ...                  by=["r"], value="x", top=["top", "next"])
        >>> cg.PPercent(10).figures(table, np.array([1, 2])), cg.Linear([1], -0.5).figures(table, np.array([1]))
        (['3.3 %', '1.7 %'], ['62.5 %'])
        """
        facts = table.facts.take(np.asarray(cells, np.intp))
        usual, sensitivity = self.measure(facts), self.sensitivity(facts)
        return [
            self._figure(figure) if np.isfinite(figure) else _by_sensitivity(beyond, bool(value))
            for figure, beyond, value in zip(usual.tolist(), sensitivity.tolist(), facts.basis.tolist(), strict=True)
        ]

    def after(self, table: Table, cell: int, lower: float, upper: float) -> str:
        """Return what the figure becomes in the eyes of an attacker who knows a value only from ``lower`` to
        ``upper``; '' where the protection levels say it all.
        """
        return ""

    def _figure(self, figure: float) -> str:
        """Write a figure as people read it: a count, with a decimal if it has any, or a percentage."""
        if self.counted:
            return f"{figure:,.0f}" if figure == round(figure) else f"{figure:,.2f}"
        return f"{round(figure, 1) + 0.0:,.1f} %"

    def scale(self, cells: Facts) -> FloatArray:
        """Return what the figure is a share of, so that sensitivities of different cells compare."""
        return cells.basis

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return which cells are unsafe; an empty one never is."""
        return above(self.sensitivity(cells), cells, self.inclusive) & occupied(cells)

    def upper(self, cells: Facts) -> FloatArray:
        """Return how far above the true value an attacker's interval must reach; NaN where there is no formula."""
        return np.full(len(cells.total), np.nan)

    def branches(self, cells: Facts) -> list[tuple[str, BoolArray]]:
        """Return the ways in which the rule can decide, each with the cells that it makes unsafe; most have one."""
        return []

    def remarks(self, cells: Facts) -> list[tuple[str, BoolArray]]:
        """Return what a statistician should know of some cells, in words after "3 cells", and which they are."""
        return []

    @property
    def whole_rows(self) -> bool:
        """Whether the rule judges whole rows, and not each cell by its own facts."""
        return type(self).groups is not Rule.groups

    @property
    def subadditive(self) -> bool | None:
        """Whether a union of safe cells is always safe; None where that has no meaning."""
        return None

    @property
    def accuracy(self) -> float:
        """How closely, in percent of it, nobody may come to a contribution; ``protection_percent`` unless the rule
        says.

        >>> from cellguard.rules.linear import PriorPosterior
        >>> PriorPosterior(10, 50).accuracy
        20.0
        """
        return self.protection_percent

    @property
    def hides_below(self) -> int | None:
        """The count that an attacker's interval of an unsafe count must reach, if the attacker may not tell that it is
        small.
        """
        return None

    @property
    def fewest(self) -> int | None:
        """The least number of respondents of a safe cell, if the rule asks for nothing else."""
        return None

    @property
    def noise(self) -> NoiseRule | None:
        """How close others may come to the largest contributor of a perturbed cell; None if the rule does not say."""
        return None

    @property
    def ceiling(self) -> Ceiling | None:
        """How large the largest contributions may be against the rest; None if the rule does not say."""
        return None

    @property
    def of_counts(self) -> Rule | None:
        """What the rule asks of the counts that are published beside values; None if nothing."""
        return None

    @property
    def only_suppressed(self) -> str:
        """The parameter that has a meaning for suppressed tables alone, in words; blank if there is none."""
        return ""

    def look(self, table: Table) -> Judgement:
        """Judge the cells of a table: each by its own facts, unless the rule looks at more than that."""
        cells, nothing = table.facts, np.zeros(len(table))
        reach = nothing if self.hides_below is None else np.maximum(self.hides_below - table.value, 0.0)
        return Judgement(self.sensitivity(cells), self.unsafe(cells), self.upper(cells), reach, nothing > 0)

    def groups(self, table: Table) -> Sequence[Group]:
        """Return the groups of codes of which all others must be one cell of the table; most rules have none."""
        return ()

    def words(self) -> str:
        """Say in plain words what makes a cell unsafe."""
        return str(self)

    @property
    def can_fire(self) -> bool:
        """Whether any cell at all could be unsafe; a rule that cannot fire counts as no rule."""
        return True

    def small_percents(self) -> dict[str, float]:
        """Return the parameters that are percentages below 1, which are mostly shares by mistake.

        Jobs with such a rule are refused unless they confirm it.
        """
        values = {name: getattr(self, name) for name in percents(type(self))}
        return {name: value for name, value in values.items() if 0 < value < 1}

    def doubts(self) -> list[str]:
        """Ask about parameters that are allowed but look like a mistake, or make the rule useless."""
        idle = [] if self.can_fire else [f"the rule {self} can never call a cell unsafe, and counts as no rule"]
        small = self.small_percents().items()
        return [*idle, *(f"the rule {self}: {small_percent(name, value)}" for name, value in small)]


RULES: dict[str, type[Rule]] = {}
R = TypeVar("R", bound=type[Rule])


def register(name: str, formula: Formula | None = None) -> Callable[[R], R]:
    """Declare a rule under the name that job files know it by; ``formula`` is what the docs say of it.

    Nothing else is needed: job files, their schema, reports and doubts follow. A class that derives from a registered
    rule is another rule and needs a name of its own.

    >>> @register("p_percent")
    ... @dataclass(frozen=True)
    ... class Another(Rule):
    ...     pass
    Traceback (most recent call last):
    cellguard.errors.InputError: a rule named 'p_percent' is registered already; choose another name
    """

    def declare(kind: R) -> R:
        other = RULES.get(name)
        if name == "all" or (other and (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__)):
            raise InputError(f"a rule named {name!r} is registered already; choose another name")
        if formula:
            kind.formula = formula
        _refuse_text(name, kind)
        RULES[name] = kind
        return kind

    return declare


def _refuse_text(name: str, kind: type[Rule]) -> None:
    """Let a kind of rule refuse parameters that should be numbers and are none, before it compares them.

    A whole number may come as 3.0, or as a number of numpy: languages without integers have no other.
    """
    check = kind.__dict__.get("__post_init__")
    numbers = [f.name for f in parameters(kind) if f.type in {"float", "Percent", float}]
    whole = [f.name for f in parameters(kind) if f.type in {"int", int}]
    if check is None or not (numbers or whole):
        return

    def checked(self: Rule) -> None:
        for parameter in numbers:
            value = getattr(self, parameter)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError(f"{name}: {parameter} must be a number, not {value!r}")
        for parameter in whole:
            object.__setattr__(self, parameter, whole_number(getattr(self, parameter)))
        check(self)

    kind.__post_init__ = checked  # type: ignore[attr-defined]


def name_of(rule: Rule) -> str | None:
    """Return the name that a rule's kind is registered under; None if it is not, though it may derive from one."""
    return next((name for name, kind in RULES.items() if kind is type(rule)), None)


def parameters(kind: type[Rule]) -> tuple[Field[Any], ...]:
    """Return the parameters of a kind of rule."""
    return fields(kind) if is_dataclass(kind) else ()


def percents(kind: type[Rule]) -> list[str]:
    """Return the parameters of a kind of rule that are percentages.

    >>> from cellguard.rules.simple import MaxShare
    >>> percents(MaxShare)
    ['k', 'protection_percent']
    """
    hints = _hints(kind)
    return [f.name for f in parameters(kind) if hints[f.name] == Percent]


@cache
def _hints(kind: type[Rule]) -> Mapping[str, Any]:
    """Return the types of a rule's parameters, which are worked out from text each time that they are asked for."""
    return get_type_hints(kind, include_extras=True)


def fewest_of(rules: Iterable[Rule]) -> int | None:
    """Return how many respondents a safe cell has at the least, by the rules that ask for nothing else."""
    return max((rule.fewest for rule in rules if rule.fewest is not None), default=None)


def required(kind: type[Rule]) -> list[str]:
    """Return the parameters that a kind of rule cannot do without.

    >>> from cellguard.rules.linear import Dominance
    >>> required(Dominance)
    ['n', 'k']
    """
    return [f.name for f in parameters(kind) if f.default is MISSING and f.default_factory is MISSING]


def above(sensitivity: FloatArray, cells: Facts, inclusive: bool) -> BoolArray:
    """Return where the sensitivity is above 0, or at it if inclusive; an exact tie must not flip by rounding."""
    slack = 1e-12 * np.maximum(np.abs(cells.basis), 1)
    return np.asarray(sensitivity >= -slack if inclusive else sensitivity > slack, bool)


def occupied(cells: Facts) -> BoolArray:
    """Return which cells have respondents; an empty cell is never unsafe."""
    if cells.count is not None:
        return np.asarray(cells.count > 0, bool)
    return np.asarray(cells.total != 0, bool)


def _by_sensitivity(sensitivity: float, has_value: bool) -> str:
    """Write what a rule says of a cell that has no figure of the usual kind."""
    if not has_value:
        return "no share, since the contributions add up to 0"
    return f"S = {sensitivity:,.6g}" if np.isfinite(sensitivity) else "not judged by this rule"


def count_of(cells: Facts) -> FloatArray:
    """Return the number of respondents of each cell, which must be known."""
    if cells.count is None:
        raise InputError("the rule needs the number of respondents of each cell")
    return cells.count


def unsafe_zeros(cells: Facts) -> BoolArray:
    """Return which totals of 0 have respondents: who reads them knows that all of these have 0."""
    zero = cells.basis == 0
    return np.asarray(zero if cells.count is None else zero & (cells.count > 0), bool)
