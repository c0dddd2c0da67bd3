"""The relations of a set, rebuilt: each table's own trees, and the equations between responses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from cellguard.verifier.cells import Cells, combine, occurring
from cellguard.verifier.numbers import Int64
from cellguard.verifier.spec import Spec
from cellguard.verifier.stages import Refused

Matrix: TypeAlias = "sparse.csr_array[np.int64, tuple[int, int]]"


@dataclass(frozen=True)
class Terms:
    """Terms of relations: the relation (from 0), the distinct cell and the coefficient of each."""

    relation: Int64
    cell: Int64
    coefficient: Int64


def build(cells: Cells) -> Matrix:
    """Return all relations as a sparse matrix of whole numbers M, one row per relation: M d = 0 holds for any move d.

    A move of an equation's cells is in grains of different size, so its coefficients are multiples of powers of ten.
    """
    parts = [part for table in range(len(cells.spec.tables)) for part in _table_terms(cells, table)]
    parts += [part for equation in cells.spec.equations for part in _equation_terms(cells, equation)]
    return stacked(parts, cells.count)


def stacked(parts: Sequence[Terms], count: int) -> Matrix:
    """Return the relations of all parts, one below the other, as a matrix with ``count`` columns."""
    rows, base = [np.zeros(0, dtype=np.int64)], 0
    for part in parts:
        rows.append(part.relation + base)
        base += int(part.relation.max(initial=-1)) + 1
    empty = [np.zeros(0, dtype=np.int64)]
    columns = np.concatenate(empty + [p.cell for p in parts])
    values = np.concatenate(empty + [p.coefficient for p in parts])
    matrix = sparse.coo_array((values, (np.concatenate(rows), columns)), shape=(base, count), dtype=np.int64)
    return matrix.tocsr()


def with_known(relations: Matrix, cells: Cells) -> Matrix:
    """Return the relations and, below them, the sums that the attacker is said to know: a move must keep these too."""
    sums = cells.spec.known
    if not sums:
        return relations
    table, row = np.array([term for terms in sums for term in terms], dtype=np.int64).T
    if (table >= len(cells.spec.tables)).any() or (row >= np.diff(cells.offsets)[table]).any():
        raise Refused("certificate.json: known names a row that does not exist")
    number = np.repeat(np.arange(len(sums)), [len(terms) for terms in sums])
    cell = cells.cell[cells.offsets[table] + row]
    below = sparse.coo_array((np.ones_like(cell), (number, cell)), shape=(len(sums), cells.count))
    return sparse.csr_array(sparse.vstack([relations, below.tocsr()], format="csr"))


def with_sums(relations: Matrix, sums: Matrix) -> Matrix:
    """Return the relations and, below them, those of sums that are cells of the set."""
    return sparse.csr_array(sparse.vstack([relations, sums], format="csr")) if sums.shape[0] else relations


def _table_terms(cells: Cells, table: int) -> list[Terms]:
    axes = cells.axes(cells.spec.tables[table])
    part = cells.rows(table)
    codes, cell = cells.row_codes[part], cells.cell[part]
    terms = []
    for axis in axes:
        others = [a for a in axes if a != axis]
        sizes = [len(cells.dimensions[a].codes) for a in others]
        rest = combine([codes[:, a] for a in others], sizes, len(codes))
        rest = np.unique(rest, return_inverse=True)[1]
        dimension = cells.dimensions[axis]
        for upper in dimension.uppers(occurring(codes[:, axis], dimension)):
            terms.append(_sums(codes[:, axis], rest, upper, cell))
    return terms


def _sums(code: Int64, rest: Int64, upper: Int64, cell: Int64) -> Terms:
    """Return, for each code with parts and each combination of the other codes, code - sum of parts.

    A missing row has no term: without the code's own row its parts sum to 0, and without any part the code is 0.
    """
    has_parts = np.zeros(upper.size, dtype=bool)
    has_parts[upper[upper >= 0]] = True
    own, part = np.flatnonzero(has_parts[code]), np.flatnonzero(upper[code] >= 0)
    key = np.concatenate([rest[own] * upper.size + code[own], rest[part] * upper.size + upper[code[part]]])
    relation = np.unique(key, return_inverse=True)[1].astype(np.int64)
    coefficient = np.concatenate([np.ones(own.size, dtype=np.int64), np.full(part.size, -1, dtype=np.int64)])
    return Terms(relation, np.concatenate([cell[own], cell[part]]), coefficient)


def parse_equation(text: str, responses: Sequence[str]) -> dict[str, int]:
    """Return the coefficients of left - right = 0.

    >>> parse_equation("a = b + c - d", ["a", "b", "c", "d"])
    {'a': 1, 'b': -1, 'c': -1, 'd': 1}
    """
    sides = text.split("=")
    if len(sides) != 2 or sides[0].strip() not in responses:
        raise Refused("an equation does not have the form 'response = response + response'")
    # Names may hold a hyphen, so operators between blanks are tried first.
    for split in (r"\s([+-])\s", r"([+-])"):
        words = [word.strip() for word in re.split(split, f" {sides[1].strip()}")]
        if words[0] in ("", *responses) and all(word in responses for word in words[2::2]) and any(words[0::2]):
            break
    else:
        raise Refused("an equation names a response that no table has")
    factors = {sides[0].strip(): 1}
    signed = ([("+", words[0])] if words[0] else []) + list(zip(words[1::2], words[2::2], strict=True))
    for sign, name in signed:
        factors[name] = factors.get(name, 0) + (-1 if sign == "+" else 1)
    return {name: factor for name, factor in factors.items() if factor}


def _equation_terms(cells: Cells, equation: str) -> list[Terms]:
    return [_tied(cells, factors) for factors in tied_groups(cells.spec, equation)]


def tied_groups(spec: Spec, equation: str) -> list[dict[int, int]]:
    """Return, for each population that has all its responses, an equation's groups and their factors in grains."""
    factors = parse_equation(equation, sorted({t.response for t in spec.tables}))
    sums: list[dict[int, int]] = []
    for population in dict.fromkeys(t.population for t in spec.tables):
        groups = {name: (name, population) for name in factors}
        if all(group in spec.groups for group in groups.values()):
            finest = max(spec.grains[group] for group in groups.values())
            sums.append(
                {
                    spec.groups.index(groups[name]): factor * 10 ** (finest - spec.grains[groups[name]])
                    for name, factor in factors.items()
                }
            )
    return sums


def _tied(cells: Cells, factors: Mapping[int, int]) -> Terms:
    """Return the terms of an equation in every combination that some table of each of its groups covers."""
    if max(abs(factor) for factor in factors.values()) >= 2**62:
        raise Refused("the grains of an equation's responses are too far apart")
    combinations = np.unique(cells.combination[np.isin(cells.group, list(factors))])
    fits = np.ones(combinations.size, dtype=bool)
    for group in factors:
        tables = [i for i, t in enumerate(cells.spec.tables) if cells.spec.groups.index(t.group) == group]
        fits &= np.any([cells.covered(i, combinations) for i in tables], axis=0)
    combinations = combinations[fits]
    relation, cell, coefficient = [], [], []
    for group, factor in factors.items():
        at = cells.find(group, combinations)
        here = np.flatnonzero(at >= 0)
        relation.append(here)
        cell.append(at[here])
        coefficient.append(np.full(here.size, factor, dtype=np.int64))
    return Terms(np.concatenate(relation), np.concatenate(cell), np.concatenate(coefficient))
