"""A job folder: runs, states with undo, decisions by two roles; nothing outside of it is read."""

import zipfile
from io import BytesIO

import pytest

from cellguard.errors import InputError, JobError
from cellguard.io.folder import OutputFolder
from cellguard.job.rulespec import parse_rule
from cellguard.methods.suppress.cell_card import cell_card
from cellguard.pipeline import assess_job, run
from cellguard.pipeline.cell_states import history, redo, said_of, set_states, undo
from cellguard.pipeline.decisions import decide, protect_job, signed_release, standings
from cellguard.pipeline.job_folder import JobFolder, addresses_in
from cellguard.pipeline.rule_trial import RuleTrial
from cellguard.pipeline.sheets import run_tables, sheet_of_findings, sheet_of_folder
from cellguard.run_context import Run

CELLS = "region,x,n,x1,x2\nTotal,100,19,20,11\nN,20,1,20,0\nS,50,9,10,9\nW,30,9,11,8\n"
JOB = """version: 1
tables:
  - name: t
    by: [region]
    value: x
    cells: {source: t.csv, count: n, top: [x1, x2]}
    rules: [{min_frequency: 3}]
attack: {insiders: false}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(CELLS)
    (tmp_path / "job.yaml").write_text(JOB)
    return JobFolder.of(tmp_path / "job.yaml")


@pytest.fixture
def ran(folder):
    return protect_job(folder, {}, Run(), who="Ada", role="maker", stamp="s")


ADA, BEA = {"who": "Ada", "role": "maker"}, {"who": "Bea", "role": "checker"}


def test_states_are_set_taken_back_and_set_again(folder):
    changed = set_states(folder, "t", [("S",), ("W",)], {"status": "must_publish"}, **ADA)
    assert len(changed) == 2 and "apriori: job.t.states.csv" in folder.text
    assert set_states(folder, "t", [("S",)], {"status": "must_publish"}, **ADA) == []
    set_states(folder, "t", [("S",)], {"cost": "7"}, **ADA)
    undo(folder, **ADA)
    assert said_of(folder, "t")[("S",)] == {"status": "must_publish"}
    undo(folder, **ADA)
    assert not any(said_of(folder, "t").values()) and assess_job(folder.load()).needs.primary.sum() == 1
    with pytest.raises(InputError, match="nothing is left to undo"):
        undo(folder, **ADA)
    redo(folder, **ADA)
    redo(folder, **ADA)
    assert said_of(folder, "t")[("S",)] == {"status": "must_publish", "cost": "7"}
    set_states(folder, "t", [("W",)], {"status": ""}, **ADA)
    assert history(folder.record.entries())[1] == []
    table = assess_job(folder.load()).tables["t"]
    assert table.apriori.cost[table.find("S")] == 7


def test_a_state_that_somebody_changed_meanwhile_is_not_overwritten_by_undo(folder):
    set_states(folder, "t", [("S",)], {"status": "must_publish"}, **ADA)
    path = folder.path.with_suffix(".t.states.csv")
    path.write_text(path.read_text().replace("must_publish", "waived"))
    with pytest.raises(InputError, match="changed elsewhere"):
        undo(folder, **ADA)


def test_a_file_of_states_that_the_job_does_not_name_is_not_taken(folder):
    folder.path.with_suffix(".t.states.csv").write_text("region,status\nS,waived\n")
    with pytest.raises(InputError, match="does not name it"):
        set_states(folder, "t", [("S",)], {"status": "must_publish"}, **ADA)


def test_an_output_is_asked_for_checked_by_somebody_else_and_signed(folder, ran):
    assert standings(folder)[1].state == "made"
    with pytest.raises(InputError, match="not accepted yet"):
        signed_release(folder, 1)
    with pytest.raises(InputError, match="a maker cannot accept"):
        decide(folder, "accept", 1, "", **ADA)
    decide(folder, "request", 1, "for the yearbook", **ADA)
    assert standings(folder)[1].state == "requested"
    with pytest.raises(InputError, match="somebody else"):
        decide(folder, "accept", 1, "", who="ada", role="checker")
    with pytest.raises(InputError, match="say why"):
        decide(folder, "refuse", 1, "  ", **BEA)
    decide(folder, "refuse", 1, "too coarse", **BEA)
    assert standings(folder)[1].state == "refused"
    decide(folder, "request", 1, "it is not", **ADA)
    decide(folder, "accept", 1, "", **BEA)
    whole = signed_release(folder, 1)
    assert whole == signed_release(folder, 1) and standings(folder)[1].state == "accepted"
    with zipfile.ZipFile(BytesIO(whole)) as files:
        assert "sign-off.json" in files.namelist() and files.read("t.csv") == (ran.path / "release/t.csv").read_bytes()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_release_that_was_changed_is_neither_accepted_nor_given_out(folder, ran, when):
    if when == "after":
        decide(folder, "accept", 1, "", **BEA)
    path = ran.path / "release" / "t.csv"
    path.write_text(path.read_text().replace("100", "101"))
    with pytest.raises(InputError, match="does not hold" if when == "before" else "was changed after"):
        decide(folder, "accept", 1, "", **BEA) if when == "before" else signed_release(folder, 1)


def test_a_run_of_somewhere_else_is_not_signed(folder):
    place = folder.next_run()
    OutputFolder(place.path).write(run(folder.load()))
    with pytest.raises(InputError, match="not made here"):
        decide(folder, "accept", 1, "", **BEA)


@pytest.mark.parametrize("protect", ["", "    protect: {cost: constant}", "    protect: {random: true}"])
def test_the_command_gives_the_same_release_byte_for_byte(folder, tmp_path, protect):
    from system import command

    folder.save(JOB.replace("attack:", f"{protect}\nattack:"))
    ran = protect_job(folder, {"effort": "quick"}, Run(), who="Ada", role="maker", stamp="s")
    assert standings(folder)[1].again
    words = standings(folder)[1].command.split()
    assert words[0] == "cellguard" and command.run(*words[1:], cwd=tmp_path).returncode == 0
    ours = {p.relative_to(ran.path): p.read_bytes() for p in (ran.path / "release").rglob("*") if p.is_file()}
    out = tmp_path / "out"
    theirs = {p.relative_to(out): p.read_bytes() for p in (out / "release").rglob("*") if p.is_file()}
    assert ours == theirs and len(ours) >= 2


@pytest.mark.parametrize(
    "change",
    [
        ("source: t.csv", "source: ../t.csv"),
        ("source: t.csv", "source: /etc/hostname"),
        ("version: 1", "version: 1\noutput: {folder: ../out}"),
        ("version: 1", "version: 1\npolicy: ../policy.yaml"),
        ("version: 1", "version: 1\nknown: ../known.csv"),
        ("version: 1", "version: 1\ndimensions: {region: {parents: ../r.csv}}"),
        ("version: 1", "version: 1\nprevious: [../earlier]"),
        ("value: x", "value: x\n    apriori: ../said.csv"),
    ],
)
def test_nothing_outside_of_the_folder_is_read(folder, change):
    with pytest.raises(JobError, match="outside of the folder"):
        folder.check(JOB.replace(*change))


def test_a_link_that_leads_out_is_outside(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "t.csv"
    elsewhere.write_text(CELLS)
    (folder.root / "link.csv").symlink_to(elsewhere)
    with pytest.raises(JobError, match="outside of the folder"):
        folder.check(JOB.replace("t.csv", "link.csv"))


def test_only_databases_that_were_named_before_are_asked(folder):
    tables = "tables:\n  - {name: t, by: [a], value: x, rules: []}\n"
    text = f"version: 1\nmicrodata: {{source: 'postgresql://h/d', query: SELECT 1}}\n{tables}"
    with pytest.raises(JobError, match="was not named"):
        folder.check(text)
    folder.path.write_text(text)
    known = addresses_in(folder.root)
    assert JobFolder.of(folder.path, None, known).check(text).microdata.source == "postgresql://h/d"


def test_sheets_show_findings_and_runs(folder, ran):
    found = assess_job(folder.load())
    now, then = sheet_of_findings(found, "t"), sheet_of_folder(ran.path, "t")
    assert now.counts() == {"safe": 3, "unsafe": 1} and list(now.reasons) == ["min_frequency 3"]
    assert then.counts() == {"published": 2, "primary": 1, "secondary": 1} and run_tables(ran.path) == ["t"]
    at = then.find(("W",))
    assert then.text("value", at) == "30" and then.text("published", at) == "" and "–" in then.text("interval", at)


def test_rules_are_tried_at_once_and_agree_with_the_assessment(folder):
    trial = RuleTrial.of(folder.load())
    rules = [parse_rule({"min_frequency": 3}), parse_rule({"p_percent": 90})]
    found = trial.count({"t": rules})
    text = folder.text.replace("{min_frequency: 3}", "{min_frequency: 3}, {p_percent: 90}")
    assert found["set"]["unsafe"] == int(assess_job(folder.check(text)).findings.primary.sum())
    with pytest.raises(InputError, match="needs"):
        trial.count({"t": [parse_rule({"dominance": {"n": 3, "k": 80}})]})


def test_a_cell_is_told_with_what_would_be_exposed(folder):
    found = assess_job(folder.load())
    table = found.tables["t"]
    cards = {code: cell_card(found.findings, found.needs, "t", table.find(code)).plain() for code in ("N", "S")}
    assert cards["N"]["unsafe"] and cards["N"]["exposed"] == ("alone", 0.0) and cards["N"]["levels"]
    assert cards["S"]["contributions"] == (("10", "20.0 %"), ("9", "18.0 %"))
    assert cards["S"]["exposed"] == ("near", pytest.approx(310.0))  # (50 - 10 - 9) / 10


def test_noise_is_shown_with_its_factors_and_made_again_from_its_multipliers(tmp_path):
    from system import command

    rows = [f"{'NSW'[i % 3]},{'ab'[i % 2]},{20 + 7 * i % 50}" for i in range(60)]
    (tmp_path / "f.csv").write_text("\n".join(["region,size,x", *rows]) + "\n")
    (tmp_path / "job.yaml").write_text(
        "version: 1\nmicrodata: {source: f.csv}\ntables:\n  - name: t\n    by: [region, size]\n    value: x\n"
        "    rules: [{p_percent: 10}]\n    protect: {method: perturb}\nperturb: {mu: 0.1}\n"
    )
    folder = JobFolder.of(tmp_path / "job.yaml")
    ran = protect_job(folder, {}, Run(), who="Ada", role="maker", stamp="s")
    sheet = sheet_of_folder(ran.path, "t")
    at = sheet.find(("N", "a"))
    published, true = (float(sheet.text(name, at).replace(",", "")) for name in ("published", "true value"))
    assert published / true == pytest.approx(float(sheet.text("factor", at)), rel=2e-3)
    standing = standings(folder)[1]
    assert not standing.again and standing.why == "random"
    assert command.run(*standing.command.split()[1:], cwd=tmp_path).returncode == 0
    assert (tmp_path / "out/release/t.csv").read_bytes() == (ran.path / "release/t.csv").read_bytes()
