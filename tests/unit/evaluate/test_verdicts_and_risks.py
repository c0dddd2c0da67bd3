"""What a comparison makes of rounding, of what nobody proved, and of verdicts that ask another question."""

import html
import json

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.outsider_risk import measure_nearness
from cellguard.evaluate.policies import Reference, compare_policies
from cellguard.evaluate.policy_page import policy_page
from cellguard.evaluate.risk_utility import Point, RiskUtility
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.run_context import Run

DECIMALS = 3


@pytest.fixture
def write(tmp_path):
    """Write records with more decimals than are published, and a job about them."""
    rng = np.random.default_rng(5)
    worth = np.round(rng.lognormal(3, 1.5, 200), DECIMALS)
    rows = [f"f{i},{rng.choice(list('ABCDEF'))},{rng.choice(list('uvw'))},{x}" for i, x in enumerate(worth)]
    (tmp_path / "r.csv").write_text("id,a,b,x\n" + "\n".join(rows) + "\n")

    def written(*, decimals=0, rules=({"p_percent": 15},), by=("a", "b"), protect=None, **more):
        table = {"name": "t", "by": list(by), "value": "x", "decimals": decimals, "rules": list(rules)}
        table |= {"protect": protect} if protect else {}
        spec = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "tables": [table], **more}
        (tmp_path / "job.yaml").write_text(yaml.safe_dump(spec))
        return Job.load(tmp_path / "job.yaml")

    return written


@pytest.mark.parametrize("weak", [40, 25])
def test_published_values_that_are_rounded_are_no_noise(write, weak):
    """What is suppressed is as unknown beside rounded values as beside exact ones."""
    risks = []
    for decimals in (0, DECIMALS):
        (point, *_) = compare_policies(
            write(decimals=decimals, rules=({"p_percent": 40},)), parse_policies("suppress", [f"p_percent p={weak}"])
        ).points
        risks.append((point.risk, point.disclosed_to_insiders, point.by_table["t"].suppressed))
        assert point.by_table["t"].suppressed > 0 and point.risk < 0.9
    assert risks[0][0] == pytest.approx(risks[1][0], abs=0.02) and risks[0][1:] == risks[1][1:]
    assert (risks[0][0] == 0) == (weak == 40)


def test_a_release_by_itself_tells_that_it_is_rounded(write):
    job = write()
    reference = Reference.of(job, (), Run())
    seen = measure_nearness(reference.needs, run(job).release, Run())
    assert seen.mean == 0 and seen.disclosed == 0


def test_what_nobody_proved_has_no_risk_of_zero_and_is_not_recommended():
    proven = Point("suppress", 0.5, 0.0, 0, {}, {}, 0.0, verdict="safe")
    for verdict in ("not proven", "safe by itself", "not checked", "no rule", "unsafe"):
        open_ = Point("perturb", 0.9, 0.0, 0, {}, {}, 0.0, verdict=verdict, said="NOT PROVEN")
        both = RiskUtility((open_, proven), 3, 0.0)
        assert both.recommended is proven and both.frontier == (proven,)
        assert "perturb would keep more, but is not proven safe" in both.words()
        assert open_.plain()["risk"] is None and open_.plain()["risk_at_least"] == 0
        alone = RiskUtility((open_,), 3, 0.0)
        assert alone.recommended is None and "No policy is proven to be safe" in alone.words()
    failed = Point.failed("perturb", 0.1, "the rules do not fit").plain()
    assert failed["risk"] is None and failed["risk_at_least"] is None and failed["utility"] is None


def test_a_policy_that_is_accepted_unproven_is_not_recommended(write, monkeypatch):
    from cellguard.methods.perturb import result

    class Limited(result.PerturbationResult):
        @property
        def verdict(self):
            return result.Verdict("not proven", "NOT PROVEN, not everything was looked at", (), accepted=True)

    monkeypatch.setattr("cellguard.methods.perturb.method.PerturbationResult", Limited)
    job = write(by=("b",), rules=({"p_percent": 5},), protect={"method": "perturb"}, perturb={"unproven": "accept"})
    compared = compare_policies(job, parse_policies("perturb", []))
    (point, *_) = compared.points
    assert point.measured and not point.fault and point.verdict == "not proven" and not point.proven
    assert compared.recommended is None
    assert point.risk_words().startswith("at least")


def test_a_risk_beside_safe_says_which_question_each_of_them_answers(write, tmp_path):
    """Noise need not help cells with few contributors, so the verdict is safe where the job's own rules miss it."""
    few = write(by=("b",), rules=({"min_frequency": 100}, {"p_percent": 5}), protect={"method": "perturb"})
    compared = compare_policies(few, parse_policies("perturb", []))
    (point, *_) = compared.points
    assert point.verdict == "safe" and point.risk > 0.3, "the case must be one"
    assert compared.recommended is None
    (line,) = compared.differences
    assert "the verdict is 'safe', the risk" in line and "The verdict asks whether other contributors" in line
    assert "min_frequency does not" in line and "the risk is what is missing" in line
    assert line in html.unescape(policy_page(compared, "Policies"))
    names, rows = compared.rows()
    assert point.plain()["difference"] == line == rows[0][names.index("difference")]
    assert compared.points[-1].plain()["difference"] == ""
    done = CliRunner().invoke(cli, ["compare", str(tmp_path / "job.yaml"), "--methods", "perturb"])
    assert done.exit_code == 0 and line in done.output and "verdict: safe" in done.output


def test_an_agreement_needs_no_words(write):
    compared = compare_policies(write(), parse_policies("suppress", []))
    assert compared.differences == () and compared.recommended.verdict == "safe"
    weaker = compare_policies(write(), parse_policies("suppress", ["p_percent p=4"]))
    assert weaker.points[0].verdict == "safe" and weaker.points[0].risk > 0
    assert "the policy's own rules" in weaker.differences[0]


def test_totals_that_the_attacker_has_count_in_the_measure(write, tmp_path):
    plain = write(rules=({"min_frequency": 9},), attack={"insiders": False})
    outcome = run(plain)
    pattern = outcome.protected.audit.pattern
    table = outcome.release["t"]
    (beside, *_) = [i for i in np.flatnonzero(table.suppressed) if pattern.secondary[i] and "Total" not in
                    (table.codes[0][i], table.codes[1][i])]  # fmt: skip
    (tmp_path / "known.csv").write_text(f"a,b\n{table.codes[0][beside]},{table.codes[1][beside]}\n")
    knowing = write(rules=({"min_frequency": 9},), attack={"insiders": False}, known="known.csv")
    risks = []
    for job in (plain, knowing):
        reference = Reference.of(job, (), Run())
        risks.append(reference.nearness(outcome, outcome.release).disclosed)
    assert risks[0] == 0 and risks[1] > 0


def test_earlier_releases_are_no_hindrance(write, tmp_path):
    first = CliRunner().invoke(cli, ["protect", str(write().folder / "job.yaml"), "--out", str(tmp_path / "old")])
    assert first.exit_code == 0, first.output
    later = write(by=("a",), previous=[{"folder": "old"}])
    later = later.model_copy(update={"tables": [later.tables[0].model_copy(update={"name": "t2"})]})
    (point, *_) = compare_policies(later, parse_policies("suppress", [])).points
    assert point.verdict == "safe" and point.risk == 0 and list(point.by_table) == ["t2"]


def test_a_map_that_its_own_verdict_refuses_is_not_recommended(tmp_path):
    rng = np.random.default_rng(7)
    rows = [
        f"{x:.4f},{y:.4f},{v}" for (x, y), v in zip(rng.normal(size=(300, 2)), rng.integers(1, 900, 300), strict=True)
    ]
    (tmp_path / "p.csv").write_text("x,y,v\n" + "\n".join(rows) + "\n")
    table = {"name": "t", "by": ["hexagon"], "value": "v", "rules": [{"p_percent": 60}]}
    spec = {
        "version": 1,
        "microdata": {"source": "p.csv"},
        "redistribute": {"bins": 9},
        "tables": [table | {"protect": {"method": "redistribute"}}],
    }
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(spec))
    job = Job.load(tmp_path / "map.yaml")
    assert run(job).verdict.kind == "unsafe", "the case must be one"
    compared = compare_policies(job, parse_policies("redistribute,suppress", []), tolerated=1.0)
    moved, left_out, *_ = compared.points
    assert moved.fault.startswith("UNSAFE") and moved.plain()["risk"] is None
    assert left_out.verdict == "not checked" and left_out.plain()["risk"] is None
    assert compared.recommended is None
    done = CliRunner().invoke(cli, ["compare", str(tmp_path / "map.yaml"), "--methods", "redistribute", "--json"])
    assert json.loads(done.stdout)[0]["verdict"] == "unsafe"
