"""SDMX-style REST paths: a value is a data flow, a key chooses codes of all variables in order.

In a key, as `N+S..large`, an empty place asks for all codes of a variable, codes choose some of them, and the code of
the total, or `_T`, leaves the variable out. What a client gets has a column for every variable.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource
from cellguard.answers.question import Question
from cellguard.errors import InputError, did_you_mean
from cellguard.io.write import csv_text
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import AGENCY, RESERVED, VERSION

TOTAL = "_T"


@dataclass(frozen=True)
class Flow:
    """A question of a data flow: what is asked, and the ids of codes that are wanted of each variable (None: all)."""

    question: Question
    wanted: dict[str, frozenset[str] | None]


def flows(source: AnsweringSource) -> dict[str, str]:
    """Return the id of each value."""
    return name_ids(source.values)


def flow_of(source: AnsweringSource, flow: str, key: str) -> Flow:
    """Return what a path asks for."""
    ids = {identity: value for value, identity in flows(source).items()}
    name = flow.split(",")[1] if flow.count(",") else flow
    if name not in ids:
        raise InputError(f"no data flow {name[:40]!r}{did_you_mean(name, ids)}")
    variables = source.variables
    places = [""] * len(variables) if key in {"", "all", "*"} else key.split(".")
    if len(places) != len(variables):
        raise InputError(f"the key must have {len(variables)} places, one for each of {', '.join(variables)}")
    by, where, wanted = list[str](), dict[str, list[str]](), dict[str, frozenset[str] | None]()
    for (variable, dimension), place in zip(variables.items(), places, strict=True):
        known = {identity: code for code, identity in code_ids(dimension.codes).items()}
        total = dimension.main.total
        if place in {"", "*"}:
            by.append(variable)
            wanted[variable] = None
            continue
        said = [total if one == TOTAL else known.get(one) for one in place.split("+")]
        if None in said:
            bad = place.split("+")[said.index(None)]
            raise InputError(f"no code {bad[:40]!r} of {variable!r}{did_you_mean(bad, known)}")
        codes = [code for code in said if code is not None]
        if codes == [total]:
            continue
        by.append(variable)
        wanted[variable] = frozenset(codes)
        if total not in codes and source.narrows:
            where[variable] = codes
    if not by:  # one number: the total of all
        by = [next(iter(variables))]
        wanted[by[0]] = frozenset([variables[by[0]].main.total])
    return Flow(Question.of(by, where=where, value=ids[name], levels={}), wanted)


def flow_csv(source: AnsweringSource, flow: Flow, answer: Answer) -> str:
    """Return the observations of a flow as SDMX-CSV, those that the key chooses, with a column for every variable."""
    variables = source.variables
    dimensions = name_ids(variables, RESERVED)
    ids = {name: code_ids(dimension.codes) for name, dimension in variables.items()}
    header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *(dimensions[name] for name in variables), *RESERVED]
    identity = ("datastructure", f"{AGENCY}:{flows(source)[answer.question.value]}({VERSION})", "I")
    by = answer.question.by
    rows = []
    for *codes, value in zip(*answer.codes, answer.values, strict=True):
        here = dict(zip(by, codes, strict=True))
        if any(chosen is not None and here[name] not in chosen for name, chosen in flow.wanted.items()):
            continue
        place = [ids[name][here.get(name, dimension.main.total)] for name, dimension in variables.items()]
        status = ("Q", "C") if value is None else ("A", "F")
        rows.append((*identity, *place, value or "", *status))
    return csv_text(header, rows)
