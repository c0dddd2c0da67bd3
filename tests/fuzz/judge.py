"""The truth: which cells the rules call unsafe, how uncertain each must stay, and whether the release keeps it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

from fuzz.attack import Attack, Disclosure, Goal
from fuzz.cases import Case, Records, read_csv
from fuzz.public import (
    Axis,
    Codes,
    Shown,
    columns,
    floor,
    read_axes,
    read_bounds,
    read_said,
    read_shown,
    read_topic,
    selected,
    selects,
    with_code,
)
from fuzz.rules import PERCENT, Need, People, spelled, strongest
from fuzz.worlds import ALL, Knowledge, gather, make_space, response


def find_disclosures(case: Case, release: Path, know: Knowledge = ALL) -> list[Disclosure]:
    """Attack the files in a release folder, and return every unsafe cell that is less uncertain than promised."""
    unsafe = unsafe_cells(case)
    attack, goals = make_attack(case, read_shown(case, release), unsafe, know)
    return attack.disclosures(goals) if unsafe else []


def make_attack(
    case: Case, tables: Sequence[Shown], cells: Sequence[Unsafe], know: Knowledge = ALL
) -> tuple[Attack, list[Goal]]:
    """The attack on released tables, and the goals that the given cells are to it."""
    space = make_space(tables, [(cell.axes, cell.codes) for cell in cells], know)
    columns = {space.column(axis): axis.column for table in tables for axis in table.axes}
    truth = {
        response(table.response_key, know): space.truth(
            case.records, amounts(case.records, table.response_key.column), columns
        )
        for table in tables
    }
    return Attack(gather(space, tables), truth), [cell.goal(space, know) for cell in cells]


def amounts(records: Records, column: str) -> Sequence[int]:
    """What each record adds to a published response: its value, or 1 to the number of records, times its weight."""
    value = [1] * len(records) if column == "count" else records.values[column]
    return value if records.weight is None else [x * w for x, w in zip(value, records.weight, strict=True)]


class Unsafe:
    """An unsafe cell of a table, and how uncertain it must stay."""

    def __init__(
        self, spec: Mapping[str, Any], axes: Sequence[Axis], codes: Codes, value: int, least: float = 0.0
    ) -> None:
        self.table, self.response_key, self.axes, self.codes, self.value = (
            spec["name"],
            read_topic(spec),
            axes,
            codes,
            value,
        )
        self.least = least
        self.lower = self.upper = self.sliding = 0.0

    def need(self, need: Need, said: Mapping[str, str]) -> None:
        """Set the needs: those of the rules unless others are said, as far as the known bounds leave room."""
        upper = float(said.get("need_upper", max(need.level, need.reach)))
        lower = float(said.get("need_lower", said.get("need_upper", need.level)))
        least, most = read_bounds(said, self.least)
        self.lower, self.upper = min(lower, self.value - least), min(upper, most - self.value)
        self.sliding = min(need.width, most - least)
        # A whole number that may move by less than 1 on either side must still not be certain.
        if self.response_key.is_count or max(self.lower, self.upper, self.sliding) < 1 - 1e-9:
            self.sliding = max(self.sliding, 1.0)

    def goal(self, space: Any, know: Knowledge) -> Goal:
        cell = space.cell(self.axes, [a.below[c] for a, c in zip(self.axes, self.codes, strict=True)])
        name = f"{self.table}: {'/'.join(self.codes)}"
        kind = "rest" if " without " in self.table else "cell"
        return Goal(
            name, response(self.response_key, know), cell, self.value, self.lower, self.upper, self.sliding, kind
        )


def unsafe_cells(case: Case) -> list[Unsafe]:
    """All cells of all tables that a rule or a statement calls unsafe."""
    axes = read_axes(case)
    bounds = _bounds(case, axes)
    found = []
    for spec in case.job["tables"]:
        own = [axes[name] for name in columns(spec)]
        said = read_said(spec, case)
        for codes in cells_of(spec, own, case):
            known = bounds.get(_cell(spec, own, codes), {})
            cell = _judge_cell(spec, own, codes, {**said.get(codes, {}), **known}, case)
            if cell is not None:
                found.append(cell)
    return found + [cell for pair in permutations(case.job["tables"], 2) for cell in _differences(*pair, axes, case)]


def _differences(
    larger: Mapping[str, Any], smaller: Mapping[str, Any], axes: Mapping[str, Axis], case: Case
) -> list[Unsafe]:
    """The unsafe cells of those who are in the population of one table only, by what both tables have.

    Populations that differ in several columns are left out, and so are those of ready-made tables: nobody claims them.
    """
    people = [
        {name: selected(axes[name], said) for name, said in s.get("where", {}).items()} for s in (larger, smaller)
    ]
    every = {name: axes[name].below["Total"] for own in people for name in own}
    narrower = [n for n in every if people[1].get(n, every[n]) < people[0].get(n, every[n])]
    nested = all(people[1].get(n, every[n]) <= people[0].get(n, every[n]) for n in every)
    apart = any(name in s["by"] for name in every for s in (larger, smaller))
    if read_topic(larger) != read_topic(smaller) or len(narrower) != 1 or not nested or apart:
        return []
    if "cells" in larger or "cells" in smaller:
        return []
    by = [name for name in smaller["by"] if name in larger["by"]]
    own = [axes[name] for name in by]
    codes = [[code for code in axis.below if axis.level[code] >= 0] for axis in own]
    for name in every:
        rest = people[1].get(name, every[name])
        rest = people[0].get(name, every[name]) - rest if name in narrower else rest
        own.append(with_code(axes[name], "rest", rest))
        codes.append(["rest"])
    people = {axis.name: axis.below["rest"] for axis in own if "rest" in axis.below}
    if any(_shows(spec, smaller, by, people, axes) for spec in case.job["tables"]):
        return []  # a table with rules of its own
    spec = {**smaller, "name": f"{larger['name']} without {smaller['name']}"}
    spec["rules"] = [*smaller["rules"], *larger["rules"]]
    judged = [_judge_cell(spec, own, each, {}, case) for each in product(*codes)]
    return [cell for cell in judged if cell is not None and members(case.records, own, cell.codes)]


def _shows(spec: Mapping[str, Any], like: Mapping[str, Any], by: Sequence[str], people: Any, axes: Any) -> bool:
    """Whether a table is about certain people, by at least some dimensions."""
    own = {name: selected(axes[name], said) for name, said in spec.get("where", {}).items()}
    return read_topic(spec) == read_topic(like) and own == people and set(by) <= set(spec["by"])


def _cell(spec: Mapping[str, Any], axes: Sequence[Axis], codes: Codes) -> Any:
    """What makes two rows of different tables one cell: the value, and the leaves of each column not at its total."""
    parts = {(a.column, frozenset(a.below[c])) for a, c in zip(axes, codes, strict=True) if c != "Total"}
    return spec["value"], frozenset(parts)


def _bounds(case: Case, axes: Mapping[str, Axis]) -> dict[Any, dict[str, str]]:
    """The narrowest bounds that the attacker is said to have of a cell, in whatever table they are said."""
    found: dict[Any, dict[str, str]] = {}
    for spec in case.job["tables"]:
        own = [axes[name] for name in columns(spec)]
        for codes, said in read_said(spec, case).items():
            known = found.setdefault(_cell(spec, own, codes), {})
            for word, narrower in (("lower", max), ("upper", min)):
                if said.get(word):
                    known[word] = str(narrower(float(said[word]), float(known.get(word, said[word]))))
    return found


def cells_of(spec: Mapping[str, Any], axes: Sequence[Axis], case: Case) -> list[Codes]:
    """The cells that a table has: the rows of its file, or every combination of shown codes that has records."""
    if "cells" in spec:
        header, rows = read_csv(case.files[spec["cells"]["source"]])
        at = [header.index(axis.column) for axis in axes[: len(spec["by"])]]
        return [(*(row[i] for i in at), *selects(spec)) for row in rows]
    publish = {**spec.get("publish", {}), **{name: [] for name in spec.get("where", {})}}
    above = []
    for axis in axes:
        shown = [c for c in axis.below if axis.name not in publish or axis.level[c] in publish[axis.name]]
        shown = [c for c in shown if axis.level[c] >= 0]
        shown += [c for n, c in zip(spec.get("where", {}), selects(spec), strict=True) if n == axis.name]
        above.append({leaf: [c for c in shown if leaf in axis.below[c]] for leaf in axis.below["Total"]})
    found: dict[Codes, None] = {}
    for leaves in dict.fromkeys(zip(*(case.records.codes[axis.column] for axis in axes), strict=True)):
        found |= dict.fromkeys(product(*(up[leaf] for up, leaf in zip(above, leaves, strict=True))))
    said = read_said(spec, case)
    return [*found, *(codes for codes in said if codes not in found)]


def _judge_cell(
    spec: Mapping[str, Any], axes: Sequence[Axis], codes: Codes, said: Mapping[str, str], case: Case
) -> Unsafe | None:
    inside = members(case.records, axes, codes)
    worth = amounts(case.records, spec["value"])
    value = sum(worth[i] for i in inside)
    people = People(case, spec["value"], grouped=is_grouped(spec, case))
    crowd, is_count = people.crowd(inside), spec["value"] == "count"
    need = strongest(rules_of(spec, case), crowd, value, is_count=is_count)
    if said.get("status") == "waived" or (need is None and said.get("status") != "must_suppress"):
        return None
    cell = Unsafe(spec, axes, codes, value, floor(spec, case))
    plain = 0.0 if is_count else PERCENT / 100 * crowd.total
    cell.need(need or Need(plain), said)
    return cell


def members(records: Records, axes: Sequence[Axis], codes: Codes) -> list[int]:
    """The records of a cell."""
    parts = [(records.codes[axis.column], axis.below[code]) for axis, code in zip(axes, codes, strict=True)]
    return [i for i in range(len(records)) if all(column[i] in below for column, below in parts)]


def is_grouped(spec: Mapping[str, Any], case: Case) -> bool:
    """Whether the contributors that a table counts are holdings, and not records."""
    if "cells" in spec:
        return "holdings" in spec["cells"] and spec["value"] != "count"
    return has_holdings(case)


def has_holdings(case: Case) -> bool:
    """Whether records belong to holdings, or to respondents who have several."""
    roles = case.job["microdata"]
    return "holding" in roles or roles.get("respondent") == "holding"


def rules_of(spec: Mapping[str, Any], case: Case) -> list[dict[str, Any]]:
    """The rules of a table, with all their parameters."""
    of_sums = spec["value"] != "count" and "cells" not in spec
    return [dict([spelled(rule, case.job.get("policy"), of_sums=of_sums)]) for rule in spec["rules"]]
