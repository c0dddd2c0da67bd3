"""What Python shows of a value by itself: names and counts, never what is confidential."""

from __future__ import annotations

import re

import cellguard as cg
from cellguard.inputs.assessment import Assessment
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.table.source import open_source

DATA = {
    "region": ["N", "N", "N", "S", "S", "S", "W", "W", "W"],
    "x": [7119, 31, 813, 9127, 9343, 9521, 6011, 6121, 6211],
}


def values():
    firms = cg.records(DATA, by=["region"], values=["x"])
    rules = [cg.PPercent(10), cg.MinFrequency(3)]
    table = cg.tabulate(firms, by=["region"], value="x", rules=rules)
    findings = cg.assess(table, rules)
    needs = cg.require(findings)
    found = cg.suppress(needs)
    audit = cg.audit(needs, found.pattern)
    job = None
    assessment = Assessment(job, findings, needs, {})
    return [
        firms,
        firms.units(),
        firms.pairs("x"),
        table,
        table.facts,
        table.apriori,
        findings.tables,
        findings,
        findings["table"],
        needs,
        found,
        found.pattern,
        audit,
        assessment,
        SuppressionResult(findings, audit, suppression=found),
        open_source(DATA),
    ]


def test_each_repr_is_one_short_line_without_a_figure_of_the_data():
    for value in values():
        shown = repr(value)
        assert shown.startswith(f"<{type(value).__name__}") and "\n" not in shown and len(shown) < 120
        numbers = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", shown)]
        assert all(number <= 20 for number in numbers), shown
        assert str(value) == shown and f"{[value]}" == f"[{shown}]"


def test_the_figures_are_there_to_be_shown():
    firms = values()[0]
    assert {int(number) for number in firms.total["x"]} == set(DATA["x"]) and min(DATA["x"]) > 20


def test_names_and_counts_are_shown():
    shown = {type(value).__name__: repr(value) for value in values()}
    assert shown["Table"] == "<Table 'table': 4 cells by region>"
    assert re.fullmatch(r"<Findings table: [1-4] unsafe of 4 distinct cells>", shown["Findings"])
    assert shown["Grouped"] == "<Grouped: 9 rows of 9 holdings by region, values x>"
