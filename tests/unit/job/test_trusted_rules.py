"""A rule that the verifier has no twin of is named as taken on trust wherever a reader looks."""

import json
from dataclasses import dataclass

import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import InputError
from cellguard.faces.cli.main import cli
from cellguard.job.rulespec import dump_rule, parse_rule
from cellguard.job.trusted_rules import taken_on_trust
from cellguard.rules.all_of import All
from cellguard.rules.catalogue import rules
from cellguard.rules.linear import PPercent
from cellguard.rules.rule import RULES
from cellguard.rules.simple import MinFrequency
from cellguard.verifier.verify import verify
from unit.io import made_folders


@dataclass(frozen=True)
class FewOrMany(MinFrequency):
    """Unsafe with too few respondents; a rule of its own, which no verifier knows."""

    def __str__(self) -> str:
        return f"few_or_many {self.n}"


@dataclass(frozen=True)
class Milder(PPercent):
    """A rule that somebody derived and did not register."""


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(RULES, "few_or_many", FewOrMany)


def test_every_rule_of_ours_has_a_twin():
    written = dict.fromkeys(("min_frequency", "p_percent", "max_share", "request"), 3)
    written |= {"dominance": {"n": 1, "k": 75}, "prior_posterior": {"p": 10, "q": 50}, "given": "x"}
    written |= {"linear": {"weights": [1, 0], "rest": -1}}
    written |= {"statisticon": 25, "entropy": 3, "signed": {"usual": {"p_percent": 10}}}
    row = {"by": "offence", "sensitive": ["theft"]}
    written |= dict.fromkeys(("group_disclosure", "max_fraction", "min_others", "attribute_disclosure"), row)
    written |= {"lone_other": row, "spread": row, "k_disclosure": {"by": "offence", "k": 2}}
    assert set(written) == set(rules())
    assert taken_on_trust(parse_rule({name: value}) for name, value in written.items()) == []


@pytest.mark.usefixtures("registered")
def test_a_rule_without_a_twin_is_named_also_inside_another():
    assert taken_on_trust([MinFrequency(3), All((PPercent(10), FewOrMany(3)))]) == ["few_or_many"]


def test_a_rule_that_is_not_registered_is_refused_by_name():
    for rule in (Milder(10), FewOrMany(3), All((PPercent(10), Milder(5)))):
        with pytest.raises(
            InputError, match=r"the kind (Milder|FewOrMany), which no job file can name.*; register its class"
        ):
            dump_rule(rule)


@pytest.mark.usefixtures("registered")
def test_trust_is_said_in_certificate_summary_report_and_headline(tmp_path):
    path = made_folders.write_job(tmp_path, "plain")
    job = yaml.safe_load(path.read_text())
    job["tables"][0]["rules"] = [{"few_or_many": 3}, {"min_frequency": 2}]
    path.write_text(yaml.safe_dump(job))
    done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Taken on trust: the rule few_or_many" in done.output
    inside = tmp_path / "out/internal"
    for name in ("certificate.json", "summary.json"):
        assert json.loads((inside / name).read_text())["trusted"] == ["few_or_many"]
    assert "Taken on trust" in (inside / "report.html").read_text()
    found = verify(inside / "certificate.json")
    assert found.valid and found.trusted == ("few_or_many",)
