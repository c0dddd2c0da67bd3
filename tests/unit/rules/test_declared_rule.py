"""A rule is one declaration: one made up here, in a test, works everywhere without a change to the source."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError
from cellguard.faces.cli.main import cli
from cellguard.job.rulespec import dump_rule, parse_rule, rule_schema
from cellguard.rules.all_of import All
from cellguard.rules.catalogue import docs_row, rules
from cellguard.rules.doubts import doubts
from cellguard.rules.linear import PPercent
from cellguard.rules.rule import RULES, Formula, Percent, Rule, register
from cellguard.rules.simple import MinFrequency
from cellguard.table.fact import Count, Fact, Top, Total
from cellguard.verifier.verify import verify

ROOT = Path(__file__).parents[3]


@pytest.fixture
def toy():
    """Declare a rule: unsafe if the cell's mean contribution is above so many percent of all but the largest."""

    @register("mean_share", Formula("X/N > k/100 (X - x1)", "count, the largest"))
    @dataclass(frozen=True, slots=True)
    class MeanShare(Rule):
        """Unsafe if the mean is above k percent of what is left without the largest."""

        k: Percent
        bold: bool = False

        @property
        def facts(self):
            return (Total(), Count(), Top(1))

        def sensitivity(self, cells):
            mean = np.divide(cells.total, cells.count, out=np.zeros(len(cells.total)), where=cells.count > 0)
            return mean - self.k / 100 * (cells.total - cells.top(1))

        def words(self):
            return f"the mean is above {self.k:g} % of the rest"

    yield MeanShare
    RULES.pop("mean_share")


CELLS = {"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9], "x1": [20, 20, 6, 4]}


def test_it_assesses_and_protects(toy):
    table = cg.cells(CELLS, by=["r"], value="x", count="n", top=["x1"])
    findings = cg.assess(table, toy(50))
    assert findings.primary.tolist() == [False, True, False, False]
    assert findings.why("N") == ["mean_share 50"]
    assert cg.require(findings).upper.tolist() == [0, 2, 0, 0]  # protection_percent of the value, by default


def test_it_is_written_and_read(toy):
    rule = toy(25.0, bold=True)
    assert dump_rule(rule) == {"mean_share": {"k": 25.0, "bold": True}}
    assert parse_rule(json.loads(json.dumps(dump_rule(rule)))) == rule
    assert parse_rule({"mean_share": 25}) == toy(25.0)
    with pytest.raises(InputError, match="mean_share has no parameter 'bolt'; did you mean 'bold'"):
        parse_rule({"mean_share": {"k": 1, "bolt": True}})
    assert "mean_share" in {name for choice in rule_schema()["oneOf"] for name in choice["properties"]}


def test_it_speaks(toy):
    assert All((toy(50), MinFrequency(3))).words() == "the mean is above 50 % of the rest, and fewer than 3 respondents"
    assert doubts("t", [toy(0.5)]) == [
        "table 't': the rule mean_share 0.5: k is 0.5 %; did you mean 50 %? (the job confirms it)"
    ]
    assert docs_row("mean_share").startswith("| `mean_share: k` | X/N > k/100 (X - x1) | count, the largest |")


def test_a_job_runs_with_it(toy, tmp_path):
    lines = [",".join(CELLS), *(",".join(map(str, row)) for row in zip(*CELLS.values(), strict=True))]
    (tmp_path / "cells.csv").write_text("\n".join(lines))
    cells = {"source": "cells.csv", "count": "n", "top": ["x1"]}
    table = {"name": "t", "by": ["r"], "value": "x", "cells": cells, "rules": [{"mean_share": 60}]}
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "tables": [table]}))
    done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    inside = tmp_path / "out/internal"
    assert "the mean is above 60 % of the rest" in (inside / "report.html").read_text()
    resolved = yaml.safe_load((inside / "job.yaml").read_text())
    assert resolved["tables"][0]["rules"][0] == {"mean_share": {"k": 60.0, "bold": False}}
    judged = verify(inside / "certificate.json")
    assert judged.valid and judged.trusted == ("mean_share",)
    assert CliRunner().invoke(cli, ["audit", str(tmp_path / "out")]).exit_code == 0


def test_a_rule_of_no_name_or_of_anothers_is_refused_when_saved(toy):
    @dataclass(frozen=True)
    class Milder(toy):
        """Derived, and not registered."""

    @dataclass(frozen=True)
    class Nameless(Rule):
        """Not registered at all."""

        facts = (Total(),)

        def sensitivity(self, cells):
            return cells.total

    for rule in (Milder(50), Nameless(), All((PPercent(10), Milder(50)))):
        with pytest.raises(InputError, match=r"no job file can name.*register its class under a name of its own"):
            dump_rule(rule)


def test_two_rules_of_one_name_are_refused(toy):
    with pytest.raises(InputError, match="named 'mean_share' is registered already"):
        register("mean_share")(PPercent)
    with pytest.raises(InputError, match="named 'all' is registered already"):
        register("all")(PPercent)
    assert RULES["mean_share"] is toy


@dataclass(frozen=True, slots=True)
class Heaviness(Fact):
    """The number of records twice over: a fact that the source knows nothing of."""

    def gather(self, work):
        return 2 * work.records


def test_a_fact_is_one_declaration_too():
    class Heavy(Rule):
        facts = (Heaviness(),)

        def sensitivity(self, cells):
            return cells[Heaviness()] - 3.0

    firms = cg.records({"region": ["N", "N", "S"], "x": [5, 2, 7]}, by=["region"], values=["x"])
    table = cg.tabulate(firms, by=["region"], value="x", rules=Heavy())
    assert table.facts[Heaviness()].tolist() == [6, 4, 2]
    assert cg.assess(table, Heavy()).primary.tolist() == [True, True, False]
    ready = cg.cells({"r": ["Total", "N"], "x": [5, 5]}, by=["r"], value="x")
    with pytest.raises(InputError, match=r"needs the number of records twice over.*; only tables made from records"):
        cg.assess(ready, Heavy())


def test_the_docs_table_is_what_the_rules_declare():
    page = (ROOT / "docs/reference/rules.md").read_text()
    table = page[: page.index("## Rules are mandatory")]
    rows = [line for line in table.splitlines() if line.startswith("| `") and not line.startswith("| `all:")]
    ours = [name for name, kind in rules().items() if kind.__module__.startswith("cellguard.rules.")]
    assert sorted(rows) == sorted(map(docs_row, ours))
