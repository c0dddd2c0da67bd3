"""`Policy`: a method with rules, as something to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cellguard.errors import InputError, did_you_mean
from cellguard.evaluate.families import parse_written
from cellguard.job.jobfile import Job
from cellguard.job.registry import declared, method_names, sections
from cellguard.job.rulespec import dump_rule
from cellguard.rules.rule import Rule


@dataclass(frozen=True)
class Policy:
    """A method and, unless the job's own are used, the rules, the cost and the effort of all tables.

    ``settings`` are what the job says of the method as a whole, such as the method by which noise is drawn.
    """

    method: str
    rules: tuple[Rule, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        said = ["; ".join(map(str, self.rules))] if self.rules else []
        options = [f"{key} {value}" for key, value in self.options.items()]
        return ", ".join([self.method, *self.settings.values(), *said, *options])

    def check(self) -> None:
        """Refuse a method that does not exist."""
        if self.method not in method_names():
            raise InputError(f"there is no method {self.method!r}{did_you_mean(self.method, method_names())}")

    def of(self, job: Job) -> Job:
        """Return the job with this policy; raises `JobError` where it makes no sense."""
        data = job.model_dump()
        data = {key: value for key, value in data.items() if key not in method_names() or key == self.method}
        if places := self._places(job):
            data[self.method] = places
        if not declared(self.method).attacked:
            data.pop("attack", None)  # what attackers know is for the measure, and other methods do not ask
        for table, spec in zip(data["tables"], job.tables, strict=True):
            if spec.protect.method != self.method:
                table["protect"] = {"method": self.method}
            table["protect"] |= self.options
            rules = spec.rules if self.rules is None else self.rules
            table["rules"] = [dump_rule(rule) for rule in rules]
        if self.settings:
            data[self.method] = {**(data.get(self.method) or {}), **self.settings}
        if "seed" in getattr(sections().get(self.method), "model_fields", {}):
            # Nothing is released, so the seed need not be secret, and the same comparison gives the same result.
            data[self.method] = {**(data.get(self.method) or {}), "seed": 1}
        return Job.parse(_without_nones(data), folder=job.folder, held=job.held)

    def _places(self, job: Job) -> dict[str, Any]:
        """Return where another method's map has its cells, which all methods for maps say alike."""
        own, theirs = job.settings.get(job.method), sections().get(self.method)
        if self.method == job.method or declared(job.method).tabular or own is None or theirs is None:
            return {}
        return {key: value for key, value in own.model_dump().items() if key in theirs.model_fields}


def repeatable(job: Job) -> dict[str, Any]:
    """Return what a run of a study is asked, so that random costs are the same each time; nothing is released."""
    drawn = any(
        getattr(table.protect, "random", False) or getattr(table.protect, "seed", 0) is None for table in job.tables
    )
    return {"seed": 1} if drawn else {}


def parse_policies(
    methods: str,
    rules: Sequence[str],
    *,
    costs: Sequence[str] = (),
    efforts: Sequence[str] = (),
    noises: Sequence[str] = (),
) -> list[Policy]:
    """Return every method with every set of rules, as people write them; suppression also by each cost and effort, and
    perturbation by each of its ways to make noise.

    >>> [str(policy) for policy in parse_policies("suppress", ["p_percent p=5; min_frequency n=3"])]
    ['suppress, p_percent 5; min_frequency 3']
    >>> [str(policy) for policy in parse_policies("suppress,perturb", [], costs=["value", "constant"])]
    ['suppress, cost value', 'suppress, cost constant', 'perturb']
    >>> [str(policy) for policy in parse_policies("suppress,perturb", [], noises=["zes", "opt"])]
    ['suppress', 'perturb, zes', 'perturb, opt']
    """
    names = [name.strip() for name in methods.split(",") if name.strip()]
    sets: list[tuple[Rule, ...] | None] = [
        tuple(map(parse_written, filter(str.strip, one.split(";")))) for one in rules
    ]
    sets = sets or [None]
    for option, given, method in (
        ("noise", noises, "perturb"),
        ("cost", costs, "suppress"),
        ("effort", efforts, "suppress"),
    ):
        if given and method not in names:
            raise InputError(f"`--{option}` is for {method}, which is not compared; name it, as `--methods {method}`")
    ways = [
        {key: word for key, word in (("cost", cost), ("effort", effort)) if word}
        for cost in costs or [""]
        for effort in efforts or [""]
    ]
    return [
        Policy(name, chosen, options, settings)
        for name in names
        for settings in _settings(name, noises)
        for chosen in sets
        for options in _told(name, ways)
    ]


def _settings(method: str, noises: Sequence[str]) -> list[Mapping[str, str]]:
    """Return what the job says of a method as a whole, for each way to make noise that the method has."""
    known = getattr(sections().get(method), "model_fields", {})
    return [{"method": noise} for noise in noises] if noises and "method" in known else [{}]


def _told(method: str, ways: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the ways that differ in what a table may say of this method; one without words, if there are none."""
    known = declared(method).options.model_fields if method in method_names() else {}
    told = [{key: word for key, word in way.items() if key in known} for way in ways]
    return [way for number, way in enumerate(told) if way not in told[:number]]


def _without_nones(data: object) -> Any:  # noqa: ANN401
    if isinstance(data, Mapping):
        return {key: _without_nones(value) for key, value in data.items() if value is not None}
    return [_without_nones(value) for value in data] if isinstance(data, list) else data
