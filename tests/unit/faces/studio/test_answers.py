"""What the studio answers: the flow from a file to a signed release, two pages on one job, a server that was killed."""

import io
import subprocess
import zipfile

import pytest

from cellguard.faces.studio.studio import Studio
from cellguard.faces.web import served_names
from cellguard.pipeline.decisions import standings
from unit.faces.studio.conftest import FIRMS, JOB, PORT, Page

from system import command

METHODS = [("perturb", "turnover", "{p_percent: 10}"), ("cell_key", "count", "{min_frequency: 3}")]
METHODS += [("round, kind: conventional, base: 5", "count", "{min_frequency: 3}")]


def test_from_a_file_to_a_signed_release(maker, checker, studio, folder):
    assert maker.upload("sales.csv", FIRMS.encode()).status_code == 200
    told = maker.get("data/sales.csv").json()
    roles = {column["name"]: column["role"] for column in told["columns"]}
    assert roles == {"firm": "respondent", "region": "dimension", "size": "dimension", "turnover": "value"}
    assert all(column["why"] for column in told["columns"])
    tables = [{"by": ["region", "size"], "value": "turnover"}, {"by": ["region"], "value": "count"}]
    made = maker.post("jobs", data="sales.csv", job="sales.yaml", tables=tables, roles={"respondent": "firm"}).json()
    assert made["error"] == "" and [t["name"] for t in made["tables"]] == ["sales", "sales_2"]
    found = maker.found()
    assert found["ready"] and found["tables"]["sales"]["cells"] == 12
    work = maker.post("protect", effort="quick").json()["work"]
    assert work["kind"] == "protect" and maker.wait(studio) == 1
    (run,) = maker.get("runs").json()["runs"]
    assert run["released"] and run["current"] and run["standing"]["state"] == "made"
    assert maker.post("decide", what="request", run=1, reason="please").status_code == 200
    checks = checker.post("runs/1/verify").json()
    assert checks["valid"] and len(checks["checks"]) == 10
    checker.post("runs/1/audit")
    checker.wait(studio)
    assert checker.get("audit").json()["safe"] and checker.get("audit").json()["run"] == 1
    assert checker.post("decide", what="accept", run=1).status_code == 200
    signed = maker.get("runs/1/download/release")
    names = zipfile.ZipFile(io.BytesIO(signed.content)).namelist()
    assert {"sales.csv", "sales_2.csv", "metadata.json", "sign-off.json"} <= set(names)
    assert 'filename="sales-001-signed.zip"' in signed.headers["content-disposition"]
    words = run["standing"]["command"].split()
    assert "--effort" in words and command.run(*words[1:], cwd=folder).returncode == 0
    ours = folder / "sales-runs" / "001" / "release"
    for path in ours.iterdir():
        assert path.read_bytes() == (folder / "out" / "release" / path.name).read_bytes(), path.name


def test_a_warm_run_after_another_rule_and_what_changed(maker, studio):
    maker.post("protect")
    maker.wait(studio)
    version = maker.get("job").json()["version"]
    told = maker.put("rules", rules={"firms": [{"min_frequency": 4}]}, version=version).json()
    assert "- {min_frequency: 4}" in told["text"] and told["text"].startswith("# a small job")
    maker.post("protect", warm=True)
    maker.wait(studio)
    second, first = maker.get("runs").json()["runs"]
    assert second["current"] and not first["current"] and "--warm job-runs/001" in second["standing"]["command"]
    changed = maker.get("runs/2/difference").json()
    assert changed["other"] == 1 and set(changed["figures"]) >= {"cells", "primary", "verdict"}
    assert maker.get("runs/1/difference").json()["other"] is None


def test_a_run_with_a_time_limit_does_not_claim_to_be_repeatable(maker, studio):
    maker.post("protect", seconds=30)
    maker.wait(studio)
    assert standings(studio.job)[1].again is False


def test_rules_are_counted_without_being_written(maker, folder):
    told = maker.post("rules/try", rules={"firms": [{"min_frequency": 5}, {"p_percent": 50}]}).json()
    assert set(told["tables"]["firms"]["by_rule"]) == {"min_frequency 5", "p_percent 50"}
    assert (folder / "job.yaml").read_text() == JOB
    assert maker.post("rules/try", rules={"firms": [{"p_procent": 5}]}).status_code == 422


def test_a_cell_tells_about_itself_before_and_after(maker, studio):
    cell = {"table": "firms", "codes": ["N", "b"]}
    before = maker.post("cell", **cell).json()
    assert before["card"]["rules"][0]["rule"] == "min_frequency 3" and before["card"]["contributions"] == []
    maker.post("protect")
    maker.wait(studio)
    after = maker.post("cell", **cell, run=1).json()
    assert after["run"]["figures"]["value"] == after["card"]["value"]
    assert maker.post("why", **cell, run=1).json()["lines"]
    assert maker.post("cell", table="firms", codes=["N", "nobody"]).status_code == 404
    assert maker.post("cell", table="nothing", codes=["N"]).status_code == 404


def test_windows_trees_and_jumps(maker):
    told = maker.post("window", table="firms").json()
    assert (told["rows"], told["columns"]) == (4, 3) and told["totals"] == {"region": "Total", "size": "Total"}
    look = {**told["look"], "statuses": ["safe"]}
    picked = maker.post("window", table="firms", look=look).json()
    assert picked["matches"] == told["counts"]["safe"] == len(picked["picked"])
    place = maker.post("seek", table="firms", look=look, row=0, column=0).json()["place"]
    assert place == [0, 1]
    tree = maker.get("tree", params={"table": "firms", "dimension": "region"}).json()["codes"]
    assert [row[0] for row in tree] == ["Total", "N", "S", "W"]
    assert maker.post("window", table="firms", bottom=90_000, right=90_000).status_code == 422
    assert maker.post("window", table="firms", figure="secret").status_code == 422


def test_states_change_what_is_found_and_are_undone(maker):
    maker.found()
    told = maker.post("states", table="firms", cells=[["S", "a"], ["S", "b"]], status="must_suppress").json()
    assert told["changed"] == 2 and told["stamp"]
    found = maker.found()
    assert found["undo"] == 1 and maker.post("cell", table="firms", codes=["S", "a"]).json()["said"] == {
        "status": "must_suppress"
    }
    assert maker.post("states/undo").json()["changed"] == 2 and maker.found()["redo"] == 1
    assert maker.post("states", table="firms", cells=[["S", "zz"]], status="waived").status_code == 422
    assert maker.post("states", table="firms", cells=[["S", "a"]], cost="-3").status_code == 422


def test_two_pages_do_not_overwrite_each_other(app, maker, sessions, folder, studio):
    first = maker.get("job").json()
    changed = maker.put("job", text=JOB.replace("min_frequency: 3", "min_frequency: 5"), version=first["version"])
    assert changed.status_code == 200
    late = maker.put("job", text=JOB.replace("turnover", "count"), version=first["version"])
    assert late.status_code == 409 and "changed meanwhile" in late.json()["error"]
    (folder / "job.yaml").write_text(JOB)  # an editor
    assert maker.put("rules", rules={"firms": []}, version=changed.json()["version"]).status_code == 409
    before = studio.news()["stamp"]
    (folder / "firms.csv").write_text(FIRMS + "f99,N,a,7\n")
    assert studio.news()["stamp"] != before


def test_only_one_piece_of_work_at_a_time(maker, studio):
    assert maker.post("protect").status_code == 200
    second = maker.post("protect")
    studio.work.stop(at_once=True)
    studio.work.wait(30)
    assert second.status_code == 422 and "goes on" in second.json()["error"]


def test_a_stopped_run_leaves_nothing_half_done(maker, studio, folder):
    maker.post("protect")
    maker.post("stop", at_once=True)
    studio.work.wait(30)
    runs = maker.get("runs").json()["runs"]
    assert (studio.work.error or runs) and all(run["released"] for run in runs)
    assert not list(folder.rglob(".cellguard-*"))


def test_another_server_on_the_folder_goes_on_where_the_first_was_killed(maker, studio, folder, sessions, app):
    maker.post("states", table="firms", cells=[["S", "a"]], status="must_suppress")
    maker.post("protect")
    maker.wait(studio)
    maker.post("decide", what="request", run=1, reason="please")
    from cellguard.faces.studio.app import guarded
    from cellguard.faces.studio.sessions import Sessions

    fresh = Sessions(["maker", "checker"])
    again = Page(
        guarded(Studio(folder, "job.yaml"), fresh, served_names("127.0.0.1", PORT), PORT), fresh, "checker", "Bea"
    )
    (run,) = again.get("runs").json()["runs"]
    assert run["standing"]["state"] == "requested" and run["current"]
    assert again.post("decide", what="accept", run=1).status_code == 200
    assert again.found()["undo"] == 1


def test_a_name_is_needed_for_what_is_recorded(app, sessions, studio):
    page = Page(app, sessions, "maker", "")
    assert page.post("protect").json()["error"].startswith("say who you are")
    assert page.post("who", name="  ").status_code == 422 and page.post("who", name="Ada").status_code == 200


def test_a_wrong_job_is_told_and_not_written(maker, folder):
    version = maker.get("job").json()["version"]
    answer = maker.put("job", text=JOB.replace("region", "regoin"), version=version)
    assert answer.status_code == 200  # a valid job; what is wrong shows with the data
    assert "regoin" in maker.found()["work"]["error"]
    version = maker.get("job").json()["version"]
    bad = maker.put("job", text="tables: [", version=version)
    assert bad.status_code == 422 and "line" in bad.json()["error"]
    (folder / "job.yaml").write_text("tables: [")
    told = maker.get("job").json()
    assert told["error"] and told["text"] == "tables: ["


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("empty.csv", b"a,b\n", "no rows"),
        ("binary.csv", bytes(range(256)) * 20, ""),
        ("numbers.csv", b"1,2\n3,4\n", ""),
        ("wide.csv", b"a;b\n1;2;3\n4;5\n", ""),
        ("not.parquet", b"PAR1 no", ""),
        ("not.xlsx", b"PK\x03\x04", ""),
    ],
)
def test_bad_uploads_are_told_in_words(maker, name, content, words):
    assert maker.upload(name, content).status_code == 200
    answer = maker.get(f"data/{name}")
    assert answer.status_code == 422 and words in answer.json()["error"]
    assert "internal error" not in answer.json()["error"]


def test_what_if_compares_costs_and_places_them(maker, studio):
    maker.post("what-if", costs=["value", "constant"], rules=["min_frequency n=3"])
    maker.wait(studio)
    told = maker.get("what-if").json()
    assert [p["policy"] for p in told["points"][:2]] == [
        "suppress, min_frequency 3, cost value",
        "suppress, min_frequency 3, cost constant",
    ]
    assert maker.get("what-if/map.svg").text.lstrip().startswith("<?xml")
    assert maker.post("what-if", rules=["nonsense"]).status_code == 422


def test_the_command_prints_its_links_and_ends_in_order(folder):
    words = [command.CELLGUARD, "studio", "job.yaml", "--no-browser"]
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=None
    ) as done:
        lines = [done.stdout.readline() for _ in range(3)]
        done.send_signal(2)
        _, err = done.communicate(timeout=60)
    assert lines[0].startswith("To make outputs, good for one browser: http://127.0.0.1:") and "Ctrl-C" in lines[2]
    assert done.returncode == 0 and "token" not in err


@pytest.mark.parametrize(
    "words, said",
    [(["nowhere"], "no file or folder"), (["--host", ""], "must be the name"), (["x.pdf"], "no file or folder")],
)
def test_what_cannot_be_opened_is_said(folder, words, said):
    done = command.run("studio", *words, "--no-browser", cwd=folder)
    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize(("method", "value", "rule"), METHODS)
def test_a_run_of_each_method_has_its_room(maker, studio, folder, method, value, rule):
    text = JOB.replace("value: turnover", f"value: {value}").replace("{min_frequency: 3}", rule)
    text += f"    protect: {{method: {method}}}\n"
    assert maker.put("job", text=text, version=maker.get("job").json()["version"]).status_code == 200
    maker.post("protect")
    maker.wait(studio)
    told = maker.post("window", table="firms", run=1).json()
    assert {"published", "true value", "factor"} <= set(told["figures"]) and told["texts"][0]
    assert maker.post("window", table="firms", run=1, figure="true value").json()["texts"] != []
    assert maker.post("window", table="firms", run=1, figure="nothing").status_code == 422
    assert maker.post("cell", table="firms", run=1, codes=["N", "a"]).json()["run"]["figures"]["published"] != ""
    assert maker.get("runs/1/difference?other=1").json()["many"] == 0
