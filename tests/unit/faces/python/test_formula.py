"""Formulas mean what they mean in R, and their tables show the cells of their terms and no others."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellguard as cg
from cellguard.errors import InputError
from cellguard.faces.python.formula import parse

RULES = [cg.MinFrequency(3)]


def terms(text):
    """Return the terms as letters; the grand total is 1."""
    return sorted("".join(sorted(term)) or "1" for term in parse(text).terms)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~ a", "1 a"),
        ("~ a + b", "1 a b"),
        ("~ a:b", "1 ab"),
        ("~ a * b", "1 a ab b"),
        ("~ a*b*c", "1 a ab abc ac b bc c"),
        ("~ (a + b + c)^2", "1 a ab ac b bc c"),
        ("~ (a + b + c)**2", "1 a ab ac b bc c"),
        ("~ (a + b)^7", "1 a ab b"),
        ("~ a/b", "1 a ab"),
        ("~ (a + b)/c", "1 a abc b"),
        ("~ a/(b + c)", "1 a ab ac"),
        ("~ a/b/c", "1 a ab abc"),
        ("~ b %in% a", "1 ab"),
        ("~ a*b - a", "1 ab b"),
        ("~ a*b*c - a:b:c", "1 a ab ac b bc c"),
        ("~ (a + b):c", "1 ac bc"),
        ("~ a + b:c*d", "1 a bc bcd d"),
        ("~ a - 1", "a"),
        ("~ 0 + a", "a"),
        ("~ -1 + a", "a"),
        ("~ a + 0 + 1", "1 a"),
        ("~ a + a + a:a", "1 a"),
        ("~ (a - b + c):d", "1 ad cd"),
        ("a*b", "1 a ab b"),
    ],
)
def test_operators_are_those_of_r(text, expected):
    assert terms(text) == sorted(expected.split())


def test_the_left_side_is_what_is_summed_and_backticks_hold_any_name():
    formula = parse("turnover ~ `size class` * région + x.1")
    assert (formula.response, formula.columns) == ("turnover", ("size class", "région", "x.1"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("~ a +", "needs a column where 'the end' stands"),
        ("~ (a + b", "lacks a closing parenthesis"),
        ("~ a b", "does not expect 'b' here"),
        ("~ factor(a)", "calls factor(...); a formula here has columns only"),
        ("~ .", "has a dot; name the columns instead"),
        ("a + b ~ c", "must have a single column left of the tilde"),
        ("log(x) ~ c", "must have a single column left of the tilde"),
        ("a ~ b ~ c", "has two tildes"),
        ("~ a + 2", "has the number 2; only 1"),
        ("~ a^b", "needs a whole number from 1 to 20 behind ^"),
        ("~ a & b", "has '&', which no formula has; put such names in backticks"),
        ("~ 1", "asks for no table; name at least one column"),
        ("~ a - a", "asks for no table"),
        ("", "is empty; write one as '~ region * age'"),
        ("~ (a+b+c+d+e+f+g+h+i+j+k+l)^12", "has more than 2,000 terms"),
    ],
)
def test_what_is_no_formula_is_refused_with_its_cure(text, words):
    with pytest.raises(InputError) as fault:
        parse(text)
    assert words in str(fault.value)


@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
@pytest.mark.long
def test_terms_are_those_that_r_itself_finds():
    texts = set(_drawn(random.Random(1), 400))  # noqa: S311
    script = "for (f in readLines('stdin')) { t <- terms(as.formula(f), keep.order=TRUE);"
    script += "cat(attr(t,'intercept'), attr(t,'term.labels'), sep=';'); cat('\\n') }"
    listed = sorted(texts)
    done = subprocess.run(["Rscript", "-e", script], input="\n".join(listed) + "\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for text, line in zip(listed, done.stdout.splitlines(), strict=True):
        intercept, *labels = [word for word in line.split(";") if word]
        expected = sorted(
            ["1"] * int(intercept) + ["".join(sorted(label.replace(" %in% ", ":").split(":"))) for label in labels]
        )
        try:
            found = terms(text)
        except InputError:
            found = ["1"] * int(intercept)  # nothing but the grand total is no table
        assert found == expected, text


def _drawn(rng, number):
    def draw(depth):
        kind = rng.randrange(6) if depth else 0
        if kind < 2:
            return rng.choice("abcd")
        if kind == 2:
            return f"({draw(depth - 1)})"
        if kind == 3:
            return f"({draw(depth - 1)})^{rng.randint(2, 3)}"
        return draw(depth - 1) + rng.choice(["+", "*", ":", "/", "-"]) + draw(depth - 1)

    return ["~" + draw(4) for _ in range(number)]


def people(rows=400, seed=3):
    """Towns nest in regions; everything else crosses."""
    rng = random.Random(seed)  # noqa: S311
    town = [rng.choice(["n1", "n2", "n3", "s1", "s2"]) for _ in range(rows)]
    return {
        "region": [one[0].upper() for one in town],
        "town": town,
        "age": [rng.choice(["old", "mid", "young"]) for _ in range(rows)],
        "sex": [rng.choice("fm") for _ in range(rows)],
        "x": [rng.randint(1, 60) for _ in range(rows)],
    }


def shown(outcome):
    """Return the cells of all tables, as sets of (column, code); towns and regions have codes of their own."""
    cells = set()
    for table in outcome.protected.release.tables:
        for row in zip(*table.codes, strict=True):
            cells.add(frozenset(code for code in row if code != "Total"))
    return cells


def cells_of(data, text):
    """Return the cells of the terms, straight from the records."""
    found = set()
    for term in parse(text).terms:
        found |= {frozenset(row) for row in zip(*(data[c] for c in term), strict=True)} if term else {frozenset()}
    return found


@pytest.mark.parametrize(
    "text",
    [
        "~ age * sex",
        "~ region * age + town * age",
        "~ town:age",
        "~ region + town:sex",
        "~ region * age + region:sex",
        "~ (town + age + sex)^2 - 1",
        "~ region / town",
        "~ region:age + sex - 1",
    ],
)
def test_released_cells_are_those_of_the_terms(text):
    data = people()
    outcome = cg.protect(data, tables=text, rules=RULES, options={"zeros": "known"})
    expected = {_without_regions(cell) for cell in cells_of(data, text)}
    assert {_without_regions(cell) for cell in shown(outcome)} == expected


def _without_regions(cell):
    """A town settles its region: the cell (N, n1) is the cell n1."""
    towns = {code[0].upper() for code in cell if code[0] in "ns" and code[1:].isdigit()}
    return frozenset(code for code in cell if code not in towns)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000))
def test_any_formula_shows_its_terms(seed):
    rng = random.Random(seed)  # noqa: S311
    pairs = ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]
    text = "~ " + " + ".join(rng.sample(pairs, rng.randint(1, 4))) + rng.choice(["", " - 1"])
    data = {name: [rng.choice([f"{name}{k}" for k in range(3)]) for _ in range(90)] for name in "abc"}
    outcome = cg.protect(data, tables=text, rules=[cg.MinFrequency(2)], options={"zeros": "known"})
    assert shown(outcome) == cells_of(data, text)


def test_a_full_cross_is_one_table_and_equals_by():
    data = people()
    one = cg.protect(data, tables="x ~ town * age", rules=RULES, name="t")
    other = cg.protect(data, by=["town", "age"], value="x", rules=RULES, name="t")
    assert one.table.to_pydict() == other.table.to_pydict()


def test_tables_of_a_formula_are_one_set():
    data = people(60)
    outcome = cg.protect(data, tables="~ town * age + region * sex", rules=RULES)
    tables = {table.name: table for table in outcome.protected.release.tables}
    assert sorted(tables) == ["region_sex", "town_age"]
    hidden = [
        {
            tuple(c for c in row if c != "Total")
            for row, gone in zip(zip(*t.codes, strict=True), t.suppressed, strict=True)
            if gone
        }
        for t in tables.values()
    ]
    both = [{tuple(c for c in row if c != "Total") for row in zip(*t.codes, strict=True)} for t in tables.values()]
    common = both[0] & both[1]
    assert common and hidden[0] & common == hidden[1] & common


def test_hierarchies_go_with_formulas():
    towns = [(town, town[0].upper()) for town in ("n1", "n2", "n3", "s1", "s2")]
    region = cg.Hierarchy.from_parents([("Total", ""), ("N", "Total"), ("S", "Total"), *towns])
    outcome = cg.protect(people(), tables="~ town:age", rules=RULES, hierarchies={"town": region})
    codes = {code for table in outcome.protected.release.tables for code in table.codes[table.by.index("town")]}
    assert {"N", "S", "n1"} <= codes


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tables": "~ regon"}, "the formula names 'regon', which is no column of the frame; did you mean 'region'?"),
        ({"tables": "x ~ x:age"}, "has 'x' on both sides"),
        ({"tables": "x ~ age", "value": "y"}, "the formula sums 'x' and `value` says 'y'"),
        ({"tables": "~ age", "by": ["age"]}, "give one of `by` and `tables`"),
        ({"by": "~ age"}, "a formula goes into `tables`: tables='~ age'"),
        ({}, "say which tables: by=['region', 'age'], or tables='~ region * age'"),
        ({"tables": ["age"]}, "`tables` must be a formula in quotes"),
        ({"tables": "~ town:age", "options": {"publish": {"age": [1]}}}, "leave `publish` out of `options`"),
        (
            {"tables": "~ region + town", "hierarchies": {"town": ["region", "town"]}},
            "'region', which is a level of it",
        ),
    ],
)
def test_natural_mistakes_have_their_cure(more, words):
    with pytest.raises(InputError) as fault:
        cg.protect(people(80), rules=RULES, **more)
    assert words in str(fault.value)


def test_columns_that_nest_in_two_ways_are_refused():
    data = people(200)
    data["coast"] = [{"n1": "sea", "s1": "sea"}.get(town, "land") for town in data["town"]]
    with pytest.raises(InputError, match="nests in both 'region' and 'coast'"):
        cg.protect(data, tables="~ town + region + coast", rules=RULES)
    data["area"] = [f"{r}{i % 2}" for i, r in enumerate(data["region"])]
    with pytest.raises(InputError, match="both of which nest in 'region' but not in each other"):
        cg.protect(data, tables="~ town + region + area", rules=RULES)


def test_crossing_nested_columns_is_crossing_and_nesting_by_name():
    data = people()
    whole = cg.protect(data, tables="~ region / town", rules=RULES)
    assert [table.by for table in whole.protected.release.tables] == [("town",)]
    for first, second in itertools.permutations(["region", "town"]):
        tables = cg.protect(data, tables=f"~ {first} + {second}", rules=RULES).protected.release.tables
        assert [table.by for table in tables] == [("town",)]


def inner():
    data = people(90)
    counted = {}
    for row in zip(*data.values(), strict=True):
        n, x = counted.get(row[:4], (0, 0))
        counted[row[:4]] = n + 1, x + row[4]
    columns = dict(zip(["region", "town", "age", "sex"], map(list, zip(*counted, strict=True)), strict=True))
    return data, columns | {"n": [n for n, _ in counted.values()], "x": [x / 10 for _, x in counted.values()]}


@pytest.mark.parametrize("text", ["~ town * age", "~ (region + town) * age + region:sex", "~ town:age - 1"])
def test_inner_cells_are_summed_for_each_table(text):
    data, cells = inner()
    outcome = cg.protect(cells, tables=text, rules=cg.MinFrequency(3), freq="n")
    assert {_without_regions(cell) for cell in shown(outcome)} >= {_without_regions(c) for c in cells_of(data, text)}
    whole = cg.protect(data, tables=text, rules=cg.MinFrequency(3), attack={"insiders": False})
    for table in outcome.release.tables:
        other = _values(whole.release[table.name])
        assert all(not other.get(c) or not v or float(v) == float(other[c]) for c, v in _values(table).items())


def _values(table):
    return dict(zip(zip(*table.codes, strict=True), table.value, strict=True))


def test_sums_of_inner_cells_are_exact_and_a_gap_is_named():
    _, cells = inner()
    outcome = cg.protect(cells, tables="x ~ age", rules=cg.MinFrequency(3), freq="n")
    assert outcome.release["table"].value[0] == f"{sum(round(x * 10) for x in cells['x']) / 10:.2f}"
    cells["n"][4] = None
    with pytest.raises(InputError, match="the frame row 5, column n: there is no number"):
        cg.protect(cells, tables="~ age", rules=cg.MinFrequency(3), freq="n")
