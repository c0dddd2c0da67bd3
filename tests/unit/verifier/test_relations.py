"""The relations that the verifier rebuilds, held against a slow and plain reading of the definition."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.verifier.cells import combine, identify
from cellguard.verifier.hierarchies import Dimension, Tree
from cellguard.verifier.relations import build, parse_equation
from cellguard.verifier.spec import read_spec
from cellguard.verifier.stages import Refused
from unit.verifier import folders

# Total - (g - (a, b), h - (c), d), and a second grouping of the same leaves: Total - (u - (a, c), v - (b, d)).
MAIN = {"Total": "", "g": "Total", "h": "Total", "a": "g", "b": "g", "c": "h", "d": "Total"}
OTHER = {"Total": "", "u": "Total", "v": "Total", "a": "u", "c": "u", "b": "v", "d": "v"}
CODES = tuple(dict.fromkeys([*MAIN, *OTHER]))


def dimension(name):
    def tree(parents):
        return Tree(
            tuple(CODES.index(c) for c in parents), tuple(CODES.index(p) if p else -1 for p in parents.values())
        )

    return Dimension(name, CODES, (tree(MAIN), tree(OTHER)))


def made(tables, equations=()):
    """Cells of tables given as (by, response, list of code tuples)."""
    specs = [folders.spec(f"t{i}", list(by), response=response) for i, (by, response, _) in enumerate(tables)]
    groups = dict.fromkeys(response for _, response, _ in tables)
    document = {"format": 2, "claim": "outsider", "tables": specs, "equations": list(equations), "witnesses": 0}
    document |= {
        "grains": [{"response": r, "population": "all", "decimals": 0} for r in groups],
        "insiders": [],
        "sums": None,
    }
    document |= {
        "attack": {"lower": "0", "upper": "unbounded", "percent": None},
        "trusted": [],
        "known": [],
        "world": folders.clusters_of(specs, {}),
        "crossing": "checked",
        "files": {},
        "digest": "",
    }
    columns = [[pa.array([row[j] for row in rows], pa.string()) for j in range(len(by))] for by, _, rows in tables]
    spec = read_spec(document)
    return identify(spec, {d: dimension(d) for d in spec.dimensions}, columns)


def key(by, response, row):
    return response, frozenset((d, c) for d, c in zip(by, row, strict=True) if c != "Total")


def above(code, parents, occurring):
    code = parents.get(code, "")
    while code and code not in occurring:
        code = parents[code]
    return code


def plain_relations(by, response, rows):
    """For each dimension, hierarchy and combination of the other codes: the code minus its parts that have a row."""
    found = set()
    for j in range(len(by)):
        occurring = {row[j] for row in rows}
        for parents in (MAIN, OTHER):
            if parents is OTHER and not occurring & {"u", "v"}:
                continue
            for upper in occurring:
                parts = [c for c in occurring if above(c, parents, occurring) == upper]
                for rest in {row[:j] + row[j + 1 :] for row in rows} if parts else ():
                    terms = {}
                    for code, sign in [(upper, 1), *((c, -1) for c in parts)]:
                        row = (*rest[:j], code, *rest[j:])
                        if row in rows:
                            terms[key(by, response, row)] = sign
                    if terms:
                        found.add(frozenset(terms.items()))
    return found


def matrix_relations(cells, tables):
    names = {}
    for i, (by, response, rows) in enumerate(tables):
        for row, cell in zip(rows, cells.cell[cells.rows(i)], strict=True):
            assert names.setdefault(int(cell), key(by, response, row)) == key(by, response, row)
    assert len(set(names.values())) == len(names) == cells.count
    matrix = build(cells).tocoo()
    rows = {}
    for relation, cell, value in zip(*matrix.coords, matrix.data, strict=True):
        rows.setdefault(int(relation), {})[names[int(cell)]] = int(value)
    return {frozenset(terms.items()) for terms in rows.values()}


def some_rows(dimensions):
    every = list(itertools.product(CODES, repeat=dimensions))
    return st.lists(st.sampled_from(every), min_size=1, max_size=40, unique=True)


@settings(max_examples=150, deadline=None)
@given(first=some_rows(2), second=some_rows(2), third=some_rows(1))
def test_relations_and_identity_by_the_definition(first, second, third):
    tables = [(("x", "y"), "r", first), (("x", "z"), "r", second), (("x",), "q", third)]
    expected = set().union(*(plain_relations(*table) for table in tables))
    assert matrix_relations(made(tables), tables) == expected


def covers(table, combination):
    by, _, rows = table
    codes = dict(combination)
    return set(codes) <= set(by) and all(codes.get(d, "Total") in {r[j] for r in rows} for j, d in enumerate(by))


@settings(max_examples=150, deadline=None)
@given(whole=some_rows(2), left=some_rows(2), right=some_rows(1), more=some_rows(1))
def test_equations_by_the_definition(whole, left, right, more):
    tables = [(("x", "y"), "r", whole), (("y", "x"), "p", left), (("x",), "q", right), (("y",), "q", more)]
    expected = set().union(*(plain_relations(*table) for table in tables))
    cells = {key(by, response, row) for by, response, rows in tables for row in rows}
    for combination in {codes for _, codes in cells}:
        responses = {"r": 1, "p": -1, "q": 1}
        if all(any(covers(t, combination) for t in tables if t[1] == response) for response in responses):
            terms = {(r, combination): sign for r, sign in responses.items() if (r, combination) in cells}
            expected.add(frozenset(terms.items()))
    assert matrix_relations(made(tables, ["r = p - q"]), tables) == expected


def test_equation_between_different_grains():
    content = folders.equation()
    content["grains"][0]["decimals"] = 2
    document = {"format": 2, "claim": "outsider", "tables": [t for t, _ in content["tables"]], "witnesses": 0}
    keys = ("equations", "attack", "known", "grains", "trusted", "insiders", "crossing")
    document |= {k: content[k] for k in keys} | {"files": {}, "digest": "", "sums": None}
    document["world"] = folders.clusters_of(document["tables"], {})
    spec = read_spec(document)
    region = Dimension("region", ("Total", "N"), (Tree((0, 1), (-1, 0)),))
    cells = identify(spec, {"region": region}, [[pa.array(["N"])]] * 3)
    assert build(cells).toarray().tolist() == [[1, -100, -100]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b + c", {"a": 1, "b": -1, "c": -1}),
        ("a=b-c", {"a": 1, "b": -1, "c": 1}),
        ("a = - b + c", {"a": 1, "b": 1, "c": -1}),
        ("a = b + b", {"a": 1, "b": -2}),
        ("a = a + b", {"b": -1}),
        ("a = net-value + b", {"a": 1, "net-value": -1, "b": -1}),
    ],
)
def test_equation_text(text, expected):
    assert parse_equation(text, ["a", "b", "c", "net-value"]) == expected


@pytest.mark.parametrize(
    "text", ["", "a", "a = ", "a = b +", "a = b + x", "x = a", "a = b = c", "a = b c", "a + b = c"]
)
def test_equation_that_is_none(text):
    with pytest.raises(Refused):
        parse_equation(text, ["a", "b", "c"])


def test_combining_many_codes_does_not_overflow():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2**20, 200) for _ in range(9)]
    columns[3][100:], columns[8][:50] = columns[3][0], columns[8][0]
    found = combine(columns, [2**20] * 9, 200)
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    same = {(a, b) for a in range(200) for b in range(200) if rows[a] == rows[b]}
    assert same == {(a, b) for a in range(200) for b in range(200) if found[a] == found[b]}
