"""Equations between responses, as "turnover = domestic + export", over the cells with the same codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InputError, did_you_mean
from cellguard.table.numbering import Numbering, ResponseKey
from cellguard.table.relations import Relations
from cellguard.table.table import Table


@dataclass(frozen=True, slots=True)
class Equation:
    """A response that is a signed sum of others: ``terms`` are (sign, response) pairs that sum to 0.

    >>> str(parse_equation("turnover = domestic + export - refunds"))
    'turnover = domestic + export - refunds'
    """

    terms: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        whole, *parts = self.terms
        words = [f"{'-' if sign > 0 else '+'} {name}" for sign, name in parts]
        return f"{whole[1]} = {' '.join(words).removeprefix('+ ')}"


def parse_equation(text: str) -> Equation:
    """Read an equation with one response to the left of the equals sign and a signed sum to the right."""
    sides = text.split("=")
    parts = re.findall(r"\s*([+-]?)\s*([^+\-\s][^+\-]*)", sides[1]) if len(sides) == 2 else []
    whole = sides[0].strip()
    written = re.sub(r"\s", "", sides[1]) if len(sides) == 2 else ""
    spelled = re.sub(r"\s", "", "".join(sign + name for sign, name in parts))
    if not whole or not parts or written != spelled or any(not sign for sign, _ in parts[1:]):
        raise InputError(
            f"cannot read the equation {text!r}; write it as 'total = part + part - part'; names must not hold + - ="
        )
    terms = ((1, whole), *((1 if sign == "-" else -1, name.strip()) for sign, name in parts))
    names = [name for _, name in terms]
    if len(set(names)) < len(names):
        raise InputError(f"the equation {text!r} names a response twice")
    return Equation(terms)


def equation_relations(equation: Equation, tables: Sequence[Table], numbering: Numbering) -> Relations:
    """Return one relation for each combination of codes that the tables of every response in the equation cover.

    A table covers a combination if it has all the dimensions that are not at their total, and all the codes occur in
    it; a covered combination without a cell is empty, so its term is 0.
    """
    responses = {t.response for t in tables}
    for _, name in equation.terms:
        if name not in responses:
            raise InputError(
                f"the equation {equation} names {name!r}, which is no table's response{did_you_mean(name, responses)}"
            )
    blocks = [
        _block([(sign, (name, population)) for sign, name in equation.terms], tables, numbering)
        for population in dict.fromkeys(t.population for t in tables)
        if all((name, population) in numbering.response_keys for _, name in equation.terms)
    ]
    relations = sp.csr_array(sp.vstack(blocks, format="csr")) if blocks else None
    if relations is None or not relations.shape[0]:
        raise InputError(f"the equation {equation} ties no cells: its responses share no table dimensions")
    return relations


def _block(terms: list[tuple[int, ResponseKey]], tables: Sequence[Table], numbering: Numbering) -> Relations:
    wanted = np.isin(numbering.response_key, [numbering.response_keys.index(response_key) for _, response_key in terms])
    rows = np.flatnonzero(wanted)
    rows = rows[np.unique(numbering.key[rows], return_index=True)[1]]
    for _, response_key in terms:
        rows = rows[_covered(response_key, rows, tables, numbering)]
    number, cells, signs = [], [], []
    for sign, response_key in terms:
        located = numbering.locate(response_key, numbering.key[rows])
        there = np.flatnonzero(located >= 0)
        number.append(there)
        cells.append(located[there])
        signs.append(np.full(len(there), float(sign)))
    place = (np.concatenate(number), np.concatenate(cells))
    return sp.csr_array((np.concatenate(signs), place), shape=(len(rows), numbering.n))


def _covered(
    response_key: ResponseKey, rows: npt.NDArray[np.intp], tables: Sequence[Table], numbering: Numbering
) -> npt.NDArray[np.bool_]:
    covered = np.zeros(len(rows), bool)
    for table in tables:
        if table.response_key == response_key:
            covered |= _covers(table, rows, numbering)
    return covered


def _covers(table: Table, rows: npt.NDArray[np.intp], numbering: Numbering) -> npt.NDArray[np.bool_]:
    """Return which rows' codes all occur in a table, which stands at the total of the dimensions it does not have."""
    here = np.ones(len(rows), bool)
    own = {d.name: column for d, column in zip(table.dimensions, table.codes, strict=True)}
    for name, column in zip(numbering.dimensions, numbering.columns, strict=True):
        occurs = np.zeros(len(numbering.dimensions[name].codes), bool)
        occurs[own.get(name, 0)] = True
        here &= occurs[column[rows]]
    return here
