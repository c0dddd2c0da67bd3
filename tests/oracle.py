"""Brute-force answers to compare with: plain Python over codes as text, slow on purpose, no code of the package.

A row (one relation) is a frozenset of (cell, coefficient) pairs; terms with coefficient 0 do not appear.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def names(table):
    """The codes of each cell of a table, as text."""
    columns = [
        [dimension.codes[c] for c in column] for dimension, column in zip(table.dimensions, table.codes, strict=True)
    ]
    return list(zip(*columns, strict=True))


def rows(matrix):
    """The rows of a sparse matrix as a list of rows."""
    found = [Counter() for _ in range(matrix.shape[0])]
    coo = matrix.tocoo()
    for row, column, weight in zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True):
        found[row][column] += int(weight)
    return [_row(terms) for terms in found]


def relations(table):
    """All relations of one table: for each dimension, grouping, code with parts, and codes of the other dimensions."""
    cells = names(table)
    at = {codes: i for i, codes in enumerate(cells)}
    found = set()
    for d, dimension in enumerate(table.dimensions):
        occurs = {codes[d] for codes in cells}
        others = {codes[:d] + codes[d + 1 :] for codes in cells}
        main = set(dimension.hierarchies[0].codes)
        for number, hierarchy in enumerate(dimension.hierarchies):
            if number and not occurs & (set(hierarchy.codes) - main):
                continue
            for whole, parts in family(hierarchy, occurs).items():
                for rest in others:
                    terms = Counter()
                    for code, sign in [(whole, 1), *((part, -1) for part in parts)]:
                        codes = (*rest[:d], code, *rest[d:])
                        if codes in at:
                            terms[at[codes]] += sign
                    found.add(_row(terms))
    return found - {frozenset()}


def family(hierarchy, occurs):
    """The parts of each code in the hierarchy restricted to the codes that occur."""
    above = ancestors(hierarchy)
    parts = {}
    for code in hierarchy.codes:
        nearest = next((a for a in above[code] if a in occurs), None)
        if code in occurs and nearest is not None:
            parts.setdefault(nearest, []).append(code)
    return parts


def ancestors(hierarchy):
    """The codes above each code, nearest first."""
    up = {
        code: hierarchy.codes[p] for code, p in zip(hierarchy.codes, hierarchy.parent.tolist(), strict=True) if p >= 0
    }
    found = {}
    for code in hierarchy.codes:
        chain, here = [], code
        while here in up:
            here = up[here]
            chain.append(here)
        found[code] = chain
    return found


def leaves_below(hierarchy):
    """The leaves of each code; a leaf's own are itself."""
    above = ancestors(hierarchy)
    inner = {a for chain in above.values() for a in chain}
    leaves = [code for code in hierarchy.codes if code not in inner]
    return {code: {leaf for leaf in leaves if code == leaf or code in above[leaf]} for code in hierarchy.codes}


def distinct(tables):
    """The number of the distinct cell of each cell of each table, counted in order of appearance."""
    number = {}
    return [[number.setdefault(_identity(table, codes), len(number)) for codes in names(table)] for table in tables]


def _identity(table, codes):
    low = [(d.name, code) for d, code in zip(table.dimensions, codes, strict=True) if code != d.hierarchies[0].codes[0]]
    return table.response, table.population, frozenset(low)


def linked_relations(tables):
    """All relations of a set, over distinct cells."""
    found = set()
    for table, cells in zip(tables, distinct(tables), strict=True):
        found |= {frozenset((cells[cell], weight) for cell, weight in row) for row in relations(table)}
    return found


def merged(relations, n):
    """The classes of cells that relations with two opposite terms make equal, and the relations between the classes."""
    owner = list(range(n))
    while True:
        current = {_contract(row, owner) for row in relations} - {frozenset()}
        pair = next((row for row in current if len(row) == 2 and sum(weight for _, weight in row) == 0), None)
        if pair is None:
            return {frozenset(i for i in range(n) if owner[i] == o) for o in owner}, current
        keep, drop = sorted(cell for cell, _ in pair)
        owner = [keep if o == drop else o for o in owner]


def _contract(row, owner):
    terms = Counter()
    for cell, weight in row:
        terms[owner[cell]] += weight
    return _row(terms)


def _row(terms):
    return frozenset((cell, weight) for cell, weight in terms.items() if weight)


def overlapping(sets):
    """The pairs of keys whose sets overlap without one holding the other."""
    pairs = combinations(sets, 2)
    return {frozenset((a, b)) for a, b in pairs if sets[a] & sets[b] and sets[a] - sets[b] and sets[b] - sets[a]}
