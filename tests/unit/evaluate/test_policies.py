"""Policies compared: risk and utility of each, the frontier, the recommendation, and chosen cells."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cellguard.errors import InputError
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.evaluate.policy_page import policy_page
from cellguard.evaluate.risk_utility import EVERYTHING, Point, RiskUtility
from cellguard.evaluate.stability import study_stability
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.run_context import Run


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    here = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(5)
    worth = (rng.lognormal(4, 1.8, 120) + 1).astype(int)
    rows = [f"f{i},{rng.choice(list('ABCDE'))},{rng.choice(list('uvw'))},{x}" for i, x in enumerate(worth)]
    (here / "r.csv").write_text("id,a,b,x\n" + "\n".join(rows) + "\n")
    text = """
version: 1
microdata: {source: r.csv, respondent: id}
tables: [{name: t, by: [a, b], value: x, rules: [{p_percent: 15}]}]
"""
    (here / "job.yaml").write_text(text)
    return Job.load(here / "job.yaml")


@pytest.fixture(scope="module")
def compared(job):
    policies = parse_policies("suppress,perturb", ["p_percent p=15", "p_percent p=2"])
    return compare_policies(job, policies, cells=["t: A/u"])


def by_name(compared):
    return {point.name: point for point in compared.points}


def test_the_jobs_own_rules_leave_no_risk_and_weaker_ones_do(compared):
    points = by_name(compared)
    assert points["suppress, p_percent 15"].risk == 0
    assert points["suppress, p_percent 15"].disclosed == 0
    assert points["suppress, p_percent 2"].risk > 0
    assert points["suppress, p_percent 2"].utility > points["suppress, p_percent 15"].utility


def test_original_data_have_all_the_risk_and_all_the_utility(compared):
    point = by_name(compared)[EVERYTHING]
    assert (point.risk, point.utility, point.disclosed) == (1, 1, compared.unsafe)


def test_suppression_hides_and_perturbation_distorts(compared):
    points = by_name(compared)
    hidden = points["suppress, p_percent 15"].by_table["t"]
    assert hidden.suppressed > 0
    assert hidden.distortion == 0
    assert hidden.utility == pytest.approx(1 - hidden.suppressed / hidden.cells)
    noisy = next((p for name, p in points.items() if name.startswith("perturb") and not p.fault), None)
    if noisy is not None:
        assert noisy.by_table["t"].suppressed == 0
        assert noisy.by_table["t"].distortion > 0


def test_the_recommended_policy_is_the_best_without_risk(compared):
    best = compared.recommended
    assert best is not None
    assert best.risk == 0
    assert all(p.utility <= best.utility for p in compared.points if not p.fault and p.risk == 0)
    assert best.name in compared.words()


def test_chosen_cells_are_followed(compared):
    points = by_name(compared)
    assert points[EVERYTHING].shown["t: A/u"] != "suppressed"
    assert "t: A/u" in points["suppress, p_percent 15"].shown


def test_processes_change_nothing(job, compared):
    again = compare_policies(
        job, parse_policies("suppress", ["p_percent p=15", "p_percent p=2"]), within=Run(threads=2)
    )
    points = by_name(compared)
    for point in again.points[:2]:
        assert (point.utility, point.risk) == (points[point.name].utility, points[point.name].risk)


def test_the_frontier_has_what_no_other_beats():
    def point(name, utility, risk, fault=""):
        return Point(name, utility, risk, 0, {}, {}, 0.0, fault, verdict="safe")

    points = (point("a", 0.9, 0.5), point("b", 0.8, 0.6), point("c", 0.7, 0.0), point("d", 0.0, 0.0, "refused"))
    compared = RiskUtility(points, 1, 0.0)
    assert [p.name for p in compared.frontier] == ["c", "a"]
    assert compared.recommended.name == "c"
    assert RiskUtility(points[:2], 1, 0.0).recommended is None


def test_what_attackers_know_is_no_hindrance_to_other_methods(job):
    knowing = job.model_copy(update={"attack": job.attack.model_copy(update={"insiders": True})})
    (point, *_) = compare_policies(knowing, parse_policies("perturb", [])).points
    assert point.by_table and "attack" not in point.fault


def test_a_policy_that_fails_says_why(job):
    (point, *_) = compare_policies(job, parse_policies("perturb", ["min_frequency n=3"])).points
    assert point.fault


@pytest.mark.parametrize(
    ("methods", "rules", "words"),
    [("supress", [], "did you mean 'suppress'"), ("suppress", ["p_percnt p=1"], "did you mean 'p_percent'")],
)
def test_unknown_names_are_refused(job, methods, rules, words):
    with pytest.raises(InputError, match=words):
        compare_policies(job, parse_policies(methods, rules))


def test_the_page_has_every_policy_and_the_recommendation(compared):
    page = policy_page(compared, "Policies")
    assert "Confidential" in page
    assert compared.words().split("(")[0] in page
    assert all(point.name in page for point in compared.points)


def test_the_command_prints_and_writes(job, tmp_path):
    listed = tmp_path / "c.csv"
    asked = ["compare", str(job.folder / "job.yaml"), "--rules", "p_percent p=15", "--csv", str(listed), "--json"]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["risk"] == 0
    assert listed.read_text().startswith("policy,table,verdict,utility,risk,risk_at_least")
    assert listed.stat().st_mode & 0o077 == 0


def test_stability_counts_over_samples(job):
    study = study_stability(job, 4)
    again = study_stability(job, 4)
    shares = study.unsafe["t"]
    assert (np.nan_to_num(shares) == np.nan_to_num(again.unsafe["t"])).all()
    assert ((np.nan_to_num(shares) >= 0) & (np.nan_to_num(shares) <= 1)).all()
    assert shares[~np.isnan(shares)].max() > 0
    hidden = study.suppressed["t"]
    assert (hidden[shares == 1] == 1).all()


def test_stability_needs_records(tmp_path):
    (tmp_path / "t.csv").write_text("a,x,n\nTotal,5,9\nA,5,9\n")
    table = {
        "name": "t",
        "by": ["a"],
        "value": "x",
        "cells": {"source": "t.csv", "count": "n"},
        "rules": [{"min_frequency": 3}],
    }
    with pytest.raises(InputError, match="needs `microdata`"):
        study_stability(Job.parse({"version": 1, "tables": [table]}, folder=tmp_path), 2)


def test_neither_end_of_the_map_is_recommended_and_the_words_say_what_to_do():
    def point(name, risk, fault="", inside=0):
        return Point(name, 0.5, risk, 0, {}, {}, 0.0, fault, disclosed_to_insiders=inside, verdict="safe")

    ends = (Point(EVERYTHING, 1.0, 1.0, 1, {}, {}, 0.0), Point("no data", 0.0, 0.0, 0, {}, {}, 0.0))
    risky = RiskUtility((point("suppress", 0.3), *ends), 1, 0.0)
    assert risky.recommended is None and "stricter rules" in risky.words()
    refused = RiskUtility((point("perturb", 0.3, "UNSAFE"), *ends), 1, 0.0)
    assert refused.recommended is None and "No policy releases anything" in refused.words()
    alike = RiskUtility((point("suppress, a", 0.0, inside=2), point("perturb, b", 0.0, inside=1), *ends), 1, 0.0)
    assert alike.recommended.name == "perturb, b" and "insiders: true" not in alike.words()
    idle = RiskUtility((point("suppress", 0.0), *ends), 0, 0.0)
    assert "no cell unsafe" in idle.words()


def test_methods_of_noise_are_held_against_each_other_by_s_n(tmp_path):
    """Noise is measured by what S_N asks for, so what is safe by it has no risk; and each tells its noise and loss."""
    rng = np.random.default_rng(5)
    rows = [(f"c{c}", x) for c in range(6) for x in rng.lognormal(4, 0.7, 14).round(1).tolist()]
    rows += [("d", x) for x in (600.0, 20.0, 15.0, 10.0)]
    text = "\n".join(["i,r,x", *(f"{i},{r},{x}" for i, (r, x) in enumerate(rows))])
    (tmp_path / "r.csv").write_text(text + "\n")
    table = {"name": "t", "by": ["r"], "value": "x", "rules": [{"p_percent": 15}], "protect": {"method": "perturb"}}
    data = {"version": 1, "microdata": {"source": "r.csv", "respondent": "i"}, "tables": [table]}
    job = Job.parse(data, folder=tmp_path)
    ways = ["zes", "zes_mu", "marg", "marg_zes", "opt", "least_loss"]
    compared = compare_policies(job, parse_policies("perturb", [], noises=ways))
    points = {point.name: point for point in compared.points if not point.is_end}
    assert list(points) == [f"perturb, {way}" for way in ways]
    losses = {way: points[f"perturb, {way}"].figures["loss"] for way in ways}
    assert losses["zes_mu"] > losses["zes"] > losses["least_loss"], "each has its own multipliers"
    for point in points.values():
        assert (point.risk > 1e-9) == (point.figures["still sensitive"] > 0), "one measure, and it is S_N"
    assert points["perturb, least_loss"].figures["still sensitive"] == 0 < points["perturb, zes"].figures["sensitive"]
    page = policy_page(compared, "Noise")
    assert "Methods of noise" in page and "noise %, interior" in page


@pytest.mark.parametrize(
    ("methods", "given", "words"),
    [
        ("suppress", {"noises": ["zes"]}, "`--noise` is for perturb, which is not compared"),
        ("perturb", {"costs": ["value"]}, "`--cost` is for suppress, which is not compared"),
    ],
)
def test_an_option_of_a_method_that_is_not_compared_is_refused(methods, given, words):
    with pytest.raises(InputError, match=words):
        parse_policies(methods, [], **given)
