"""`cellguard rules`: every rule in words, as jobs write it."""

import json

import pytest
import yaml
from click.testing import CliRunner

from cellguard.faces.cli.main import cli, main
from cellguard.job.rulespec import parse_rule
from cellguard.rules.catalogue import rules

RUNNER = CliRunner()


def test_every_rule_is_listed_with_its_formula_and_how_a_job_writes_it():
    shown = json.loads(RUNNER.invoke(cli, ["rules", "--json"]).stdout)
    assert [rule["name"] for rule in shown] == list(rules())
    for rule in shown:
        assert rule["meaning"] and rule["unsafe_if"] and rule["looks_at"], rule["name"]
        assert all(kind != "see docs" and meaning for _, kind, _, meaning in rule["parameters"]), rule["name"]
        assert "\n" not in rule["summary"] and "---" not in rule["meaning"]


def test_what_is_written_is_a_rule():
    shown = json.loads(RUNNER.invoke(cli, ["rules", "--json"]).stdout)
    parsed = [str(parse_rule(yaml.safe_load(rule["written"]))) for rule in shown]
    assert {"p_percent 10", "min_frequency 3", "dominance (3, 85)"} <= set(parsed)


def test_one_rule_with_its_parameters():
    said = RUNNER.invoke(cli, ["rules", "prior_posterior"]).stdout
    assert "q (X - x1 - x2) < p x1" in said and "(required)" in said and "{prior_posterior: {p: 10, q: 100}}" in said


def test_an_unknown_rule_is_refused_with_the_nearest_one(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["cellguard", "rules", "p_procent"])
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "cellguard: unknown rule 'p_procent'; did you mean 'p_percent'?\n"
