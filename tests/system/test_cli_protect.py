"""`protect` and what goes with it, end to end."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from system.command import CELLGUARD, run

TABLES = Path(__file__).parents[2] / "examples/business_tables"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("protect")
    return Path(shutil.copytree(TABLES, folder / "tables"))


def test_what_is_protected_is_verified_and_audited(demo):
    done = run("protect", "job.yaml", "--out", "one", "--json", cwd=demo)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["step"], summary["verdict"], summary["gap"]) == (0, "protect", "safe", 0.0)
    assert summary["deterministic"]
    assert run("verify", "one", cwd=demo).returncode == 0
    assert run("audit", "one", cwd=demo).returncode == 0
    again = run("protect", "job.yaml", "--out", "one", cwd=demo)
    assert again.returncode == 2 and "exists already" in again.stderr


def test_the_release_holds_no_hidden_value(demo):
    run("protect", "job.yaml", "--out", "quiet", "--quiet", cwd=demo)
    released = (demo / "quiet/release/industry_region.csv").read_text().splitlines()
    inside = (demo / "quiet/internal/industry_region.csv").read_text().splitlines()
    for shown, kept in zip(released[1:], inside[1:], strict=True):
        *codes, value, flag = shown.split(",")
        status = kept.split(",")[4]
        assert kept.startswith(",".join(codes))
        assert (value == "", flag) == ((True, "c") if status in {"primary", "secondary"} else (False, ""))


def test_the_job_may_name_the_folder_and_someone_must(demo):
    text = (demo / "job.yaml").read_text()
    (demo / "named.yaml").write_text(text + "output: {folder: from_the_job}\n")
    assert run("protect", "named.yaml", cwd=demo).returncode == 0
    assert (demo / "from_the_job/release/metadata.json").exists()
    nameless = run("protect", "job.yaml", cwd=demo)
    assert nameless.returncode == 2 and "--out DIR" in nameless.stderr


def test_a_dry_run_writes_nothing(demo):
    done = run("protect", "job.yaml", "--dry-run", cwd=demo)
    assert done.returncode == 0 and "may take some" in done.stdout
    assert not (demo / "out").exists()


def test_a_warm_run_keeps_the_pattern_and_diff_says_what_changed(demo):
    run("protect", "job.yaml", "--out", "cold", "--quiet", cwd=demo)
    run("protect", "job.yaml", "--out", "warm", "--warm", "cold", "--quiet", cwd=demo)
    assert "0 cells differ" in run("diff", "cold", "warm", cwd=demo).stdout
    said = (demo / "apriori.csv").read_text()
    (demo / "other.csv").write_text(said + "A,Fjord,must_publish\n")
    (demo / "other.yaml").write_text((demo / "job.yaml").read_text().replace("apriori.csv ", "other.csv "))
    assert run("protect", "other.yaml", "--out", "other", "--warm", "cold", cwd=demo).returncode == 0
    changed = json.loads(run("diff", "cold", "other", "--json", cwd=demo).stdout)
    assert ["A/Fjord", "secondary", "published"] in changed["industry_region"]
    assert "no table in common" not in run("diff", "cold", "other", cwd=demo).stdout


def test_diff_of_folders_without_a_common_table_says_so(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name / "internal").mkdir(parents=True)
        inside = tmp_path / name / "internal"
        (inside / "certificate.json").write_text(json.dumps({"tables": [{"name": name, "by": ["r"]}]}))
        (inside / f"{name}.csv").write_text("r,status\nTotal,published\n")
    shown = run("diff", "first", "second", cwd=tmp_path).stdout
    assert "2 cells differ." in shown and "The folders have no table in common" in shown


def test_cells_are_explained(demo):
    run("protect", "job.yaml", "--out", "explained", "--quiet", cwd=demo)
    primary = run("explain", "explained", "A01/Dunmore", cwd=demo).stdout
    assert "min_frequency 3" in primary and "protected through" in primary and "A01/Fjord" in primary
    secondary = run("explain", "explained", "A01/Fjord", cwd=demo).stdout
    assert "Without it" in secondary and "A01/Dunmore" in secondary
    assert "is published" in run("explain", "explained", "Total/Total", cwd=demo).stdout
    assert run("explain", "explained", "Nowhere/Total", cwd=demo).returncode == 2


def test_too_many_cells_that_must_be_published_end_with_advice_and_no_release(demo):
    rows = [line.split(",")[:2] for line in (demo / "industry_region.csv").read_text().splitlines()[1:]]
    unsafe = {line.split(",")[1] for line in run_list(demo)}
    keep = [f"{a},{b},must_publish" for a, b in rows if f"{a}/{b}" not in unsafe and a.startswith(("A", "T"))]
    (demo / "stubborn.csv").write_text("industry,region,status\n" + "\n".join(keep) + "\n")
    (demo / "stubborn.yaml").write_text((demo / "job.yaml").read_text().replace("apriori.csv ", "stubborn.csv "))
    done = run("protect", "stubborn.yaml", "--out", "none", cwd=demo)
    assert done.returncode == 1
    assert "cannot be protected while these cells must be published" in done.stderr
    assert not (demo / "none").exists()


def run_list(demo):
    run("assess", "job.yaml", "--list", "unsafe.csv", "--force", cwd=demo)
    return (demo / "unsafe.csv").read_text().splitlines()[1:]


def test_a_time_limit_gives_a_safe_pattern_or_none(demo):
    done = run("protect", "job.yaml", "--out", "hurried", "--time-limit", "0.000001", "--json", cwd=demo)
    if done.returncode == 0:
        assert json.loads(done.stdout)["verdict"] == "safe"
        assert run("verify", "hurried", cwd=demo).returncode == 0
    else:
        assert done.returncode == 1 and "the time allowed is over" in done.stderr
        assert not (demo / "hurried").exists()


def test_ctrl_c_leaves_no_half_written_folder(demo):
    process = subprocess.Popen(
        [CELLGUARD, "protect", "job.yaml", "--out", "stopped"], cwd=demo, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode in (0, 1)
    if (demo / "stopped").exists():
        assert run("verify", "stopped", cwd=demo).returncode == 0
    assert not list(demo.glob(".stopped*"))


@pytest.mark.parametrize("cost", ["constant", "log", "distance", "{box_cox: 0.5}", "{inner_first: value}", "count"])
def test_every_cost_gives_a_safe_release(demo, cost):
    text = (
        (demo / "job.yaml")
        .read_text()
        .replace("    value: turnover\n", f"    value: turnover\n    protect: {{cost: {cost}}}\n")
    )
    (demo / "cost.yaml").write_text(text)
    done = run("protect", "cost.yaml", "--out", "cost", "--force", "--json", cwd=demo)
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "safe"


def test_an_unknown_cost_is_refused_with_a_suggestion(demo):
    text = (
        (demo / "job.yaml")
        .read_text()
        .replace("    value: turnover\n", "    value: turnover\n    protect: {cost: valeu}\n")
    )
    (demo / "cost.yaml").write_text(text)
    done = run("protect", "cost.yaml", "--out", "nothing", cwd=demo)
    assert done.returncode == 2 and "unknown cost 'valeu'; did you mean 'value'" in done.stderr


_KNOWN_JOB = """version: 1
dimensions: {region: {parents: region.csv}}
tables:
- {name: t, by: [region, size], value: x, cells: {source: t.csv, count: n}, rules: [{min_frequency: 3}]}
"""


@pytest.fixture
def with_known(tmp_path):
    """Regions A (a, b) and B (c, d) of which only the total is published; the attacker has A's from elsewhere."""
    (tmp_path / "region.csv").write_text("code,parent\nTotal,\nA,Total\nB,Total\na,A\nb,A\nc,B\nd,B\n")
    rows = [f"{r},{s},{x},{n}" for r, x, n in (("a", 10, 1), ("b", 40, 9), ("c", 11, 9), ("d", 60, 9)) for s in "pq"]
    rows += [f"{r},Total,{2 * x},{2 * n}" for r, x, n in (("a", 10, 1), ("b", 40, 9), ("c", 11, 9), ("d", 60, 9))]
    rows += ["Total,p,121,28", "Total,q,121,28", "Total,Total,242,56"]
    (tmp_path / "t.csv").write_text("region,size,x,n\n" + "\n".join(rows) + "\n")
    (tmp_path / "known.csv").write_text("region,size\nA,p\nA,q\nA,Total\n")
    (tmp_path / "job.yaml").write_text(_KNOWN_JOB)
    (tmp_path / "known.yaml").write_text(_KNOWN_JOB + "known: known.csv\n")
    return tmp_path


def hidden_in(folder):
    lines = (folder / "release/t.csv").read_text().splitlines()
    return {line.rsplit(",", 2)[0] for line in lines if line.endswith(",c")}


def test_what_an_attacker_has_from_elsewhere_is_kept_in_mind(with_known):
    done = run("protect", "job.yaml", "--out", "plain", cwd=with_known)
    assert done.returncode == 0, done.stderr
    assert {"a,p", "c,p"} <= hidden_in(with_known / "plain")  # c is cheaper than b, and in the same column
    done = run("protect", "known.yaml", "--out", "out", cwd=with_known)
    assert done.returncode == 0, done.stderr
    assert {"a,p", "b,p"} <= hidden_in(with_known / "out")  # the sum of a and c would be known to be a's
    verified = run("verify", "out", cwd=with_known)
    assert verified.returncode == 0 and "keep 3 totals known from elsewhere" in verified.stdout
    assert run("audit", "out", cwd=with_known).returncode == 0


def test_a_certificate_that_leaves_known_totals_out_is_refused(with_known):
    assert run("protect", "known.yaml", "--out", "out", cwd=with_known).returncode == 0
    path = with_known / "out/internal/certificate.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"known": []}))
    done = run("verify", "out", cwd=with_known)
    assert done.returncode == 1 and "differ on whether totals are known from elsewhere" in done.stdout


def test_force_replaces_an_output_folder_and_nothing_else(with_known):
    assert run("protect", "job.yaml", "--out", "out", cwd=with_known).returncode == 0
    assert run("protect", "job.yaml", "--out", "out", "--force", cwd=with_known).returncode == 0
    (with_known / "data").mkdir()
    (with_known / "data/firms.csv").write_text("mine\n")
    (with_known / "link").symlink_to(with_known / "out")
    (with_known / "out/note.txt").write_text("mine\n")
    for folder in ("data", "link", "t.csv", ".", "out"):
        done = run("protect", "job.yaml", "--out", folder, "--force", cwd=with_known)
        assert done.returncode == 2 and "is no output folder, so nothing replaces it" in done.stderr, folder
    assert (with_known / "data/firms.csv").read_text() == "mine\n" and (with_known / "out/note.txt").exists()


def test_an_audit_attacks_what_the_release_shows(with_known):
    assert run("protect", "job.yaml", "--out", "out", cwd=with_known).returncode == 0
    assert run("audit", "out", cwd=with_known).returncode == 0
    path = with_known / "out/release/t.csv"
    path.write_text(path.read_text().replace("a,p,,c", "a,p,10,"))
    done = run("audit", "out", cwd=with_known)
    assert done.returncode == 1 and "UNSAFE" in done.stdout and "t: a/p" in done.stdout


def without_rules(demo):
    text = (demo / "job.yaml").read_text()
    (demo / "none.yaml").write_text(text.replace("rules: [{min_frequency: 3}, {p_percent: 10}]", "rules: []"))
    return "none.yaml"


@pytest.mark.parametrize("words", [("assess",), ("protect", "--dry-run"), ("protect", "--out", "nothing")])
def test_a_table_without_rules_is_never_green(demo, words):
    command, *options = words
    done = run(command, without_rules(demo), *options, cwd=demo)
    assert done.returncode == 1 and done.stderr == ""
    assert "No rule was applied to 'industry_size', so nothing is known to be safe" in done.stdout
    assert "Give every table `rules`, or accept this with --accept-no-rules." in done.stdout
    assert "Safe against" not in done.stdout and not (demo / "nothing").exists()


def test_no_rules_may_be_accepted_and_are_said_all_the_same(demo):
    job = without_rules(demo)
    assert run("assess", job, "--accept-no-rules", cwd=demo).returncode == 0
    done = run("protect", job, "--out", "accepted", "--accept-no-rules", cwd=demo)
    assert done.returncode == 0 and done.stdout.startswith("No rule was applied to 'industry_size'")
    assert "accepted/release (no rule was applied)" in done.stdout and "may be published" not in done.stdout
    assert json.loads((demo / "accepted/internal/summary.json").read_text())["verdict"] == "no rule"
    assert run("audit", "accepted", cwd=demo).returncode == 1
    assert run("audit", "accepted", "--accept-no-rules", cwd=demo).returncode == 0


def test_a_job_without_the_word_rules_is_refused(demo):
    text = (demo / "job.yaml").read_text()
    (demo / "bare.yaml").write_text(text.replace("    rules: [{min_frequency: 3}, {p_percent: 10}]\n", ""))
    done = run("assess", "bare.yaml", cwd=demo)
    assert done.returncode == 2 and "tables[1].rules: this key is missing; every table needs rules" in done.stderr


def test_a_small_percentage_is_refused_unless_it_is_confirmed(demo):
    text = (demo / "job.yaml").read_text()
    (demo / "small.yaml").write_text(text.replace("{p_percent: 10}]", "{p_percent: 0.1}]"))
    done = run("assess", "small.yaml", cwd=demo)
    assert done.returncode == 2 and "small.yaml line" in done.stderr and "did you mean 10 %?" in done.stderr
    (demo / "small.yaml").write_text(text.replace("{p_percent: 10}]", "{p_percent: {p: 0.1, confirmed: true}}]"))
    done = run("assess", "small.yaml", cwd=demo)
    said = (
        "Warning: table 'industry_size': the rule p_percent 0.1: p is 0.1 %; did you mean 10 %? (the job confirms it)"
    )
    assert done.returncode == 0 and said in done.stdout
