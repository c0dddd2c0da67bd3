"""`perturb`, end to end: from records to a release, to later tables, and to refusals."""

import csv
import hashlib
import json
import stat
from decimal import Decimal

import numpy as np
import pytest
import yaml

from system.command import run

RULES = [{"dominance": {"n": 3, "k": 70}}]


def table(name, by, value="turnover", **more):
    return {"name": name, "by": by, "value": value, "rules": RULES, "protect": {"method": "perturb"}, **more}


def write_job(folder, *tables, name="job.yaml", **more):
    job = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "perturb": {"seed": 7}}
    (folder / name).write_text(yaml.safe_dump({**job, **more, "tables": list(tables)}))
    return name


@pytest.fixture
def folder(tmp_path):
    """400 firms, of which F0007 is alone in the region West."""
    rng = np.random.default_rng(1)
    rows = [["id", "region", "industry", "size", "home", "export", "turnover"]]
    for i in range(400):
        home, export = int(rng.uniform(50, 150)), int(rng.uniform(20, 60))
        region = "West" if i == 7 else str(rng.choice(["North", "South", "East"]))
        rows.append(
            [
                f"F{i:04}",
                region,
                str(rng.choice(list("ABCD"))),
                str(rng.choice(["s", "l"])),
                home,
                export,
                home + export,
            ]
        )
    with (tmp_path / "firms.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path


def read(path):
    """The values of a released table by its codes."""
    with path.open() as file:
        header, *rows = csv.reader(file)
    assert header[-2:] == ["value", "flag"]
    assert all(row[-1] == "" for row in rows)
    return {tuple(row[:-2]): Decimal(row[-2]) for row in rows}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_safe_set_is_released_and_later_tables_are_consistent(folder):
    before = digest(folder / "firms.csv")
    write_job(folder, table("industry_size", ["industry", "size"]), table("size", ["size"], "home"))
    done = run("perturb", "job.yaml", "--out", "one", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert (summary["step"], summary["verdict"], summary["open"]) == ("perturb", "safe", [])
    assert "seed" not in done.stdout
    first = read(folder / "one/release/industry_size.csv")
    for code in "ABCD":
        assert first[code, "Total"] == first[code, "s"] + first[code, "l"]
    assert first["Total", "Total"] == sum(first[code, "Total"] for code in "ABCD")
    about = json.loads((folder / "one/release/metadata.json").read_text())
    assert about["tables"]["industry_size"]["calibration"] == "in the calibration set"
    inside = folder / "one/internal"
    assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in inside.iterdir() if path.is_file()} == {0o600}
    assert "Checked, may be released" in (inside / "report.html").read_text()
    assert "source data perturbation" in (folder / "one/release/report.html").read_text()
    assert summary["noise"]["percent"]["all nonzero"]["cells"] == len(first) + 3

    write_job(folder, table("later", ["industry", "size"]), table("by_home", ["industry"], "home"), name="later.yaml")
    saved = "one/internal/multipliers.parquet"
    done = run("perturb", "later.yaml", "--out", "none", "--multipliers", saved, "--json", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)["released"]) == (1, False), done.stderr
    assert not (folder / "none/release").exists()
    later = table("later", ["industry", "size"]), table("by_home", ["industry"], "home")
    write_job(folder, *later, name="mine.yaml", perturb={"seed": 7, "unproven": "accept"})
    done = run("perturb", "mine.yaml", "--out", "two", "--multipliers", saved, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert read(folder / "two/release/later.csv") == first
    assert "not together with earlier tables before release" in (folder / "two/release/report.html").read_text()
    tables = json.loads(done.stdout)["tables"]
    apart = "checked, but not together with earlier tables"
    assert tables["later"]["calibration"] == f"in the calibration set: {apart}"
    assert tables["by_home"]["calibration"] == f"not in the calibration set: {apart}"
    assert any("'size'" in warning for warning in json.loads(done.stdout)["warnings"])
    assert json.loads(done.stdout)["verdict"] == "safe by itself"
    assert "Checked by itself, not together" in (folder / "two/internal/report.html").read_text()
    total = read(folder / "two/release/by_home.csv")["Total",]
    assert total == read(folder / "one/release/size.csv")["Total",]

    done = run("perturb", "later.yaml", "--out", "three", "--multipliers", saved, "--no-check", "--json", cwd=folder)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["verdict"], summary["checked"]) == (0, "not checked", False)
    assert summary["warnings"][0].startswith("NOT CHECKED")
    assert {t["unsafe"] for t in summary["tables"].values()} == {None}
    about = json.loads((folder / "three/release/metadata.json").read_text())
    assert about["tables"]["by_home"]["calibration"] == "not in the calibration set: NOT CHECKED"
    assert about["tables"]["later"]["calibration"] == "in the calibration set: NOT CHECKED"
    for part in ("internal", "release"):
        assert "NOT CHECKED" in (folder / f"three/{part}/report.html").read_text()
    done = run("perturb", "later.yaml", "--out", "four", "--multipliers", saved, "--no-check", cwd=folder)
    assert "Verdict: NOT CHECKED" in done.stdout and "four/release (NOT CHECKED" in done.stdout
    assert "may be published" not in done.stdout
    assert "NOT CHECKED" in run("show", "three", "later", cwd=folder).stdout
    done = run("perturb", "later.yaml", "--out", "five", "--multipliers", saved, cwd=folder)
    assert "Verdict: safe by itself, but NOT CHECKED together" in done.stdout and "may be published" not in done.stdout
    assert "prove it: add 'size' to the job" in done.stdout and "Nothing was released" in done.stdout
    assert digest(folder / "firms.csv") == before


def test_the_same_seed_gives_the_same_release_whatever_the_order_of_the_records(folder):
    write_job(folder, table("size", ["size", "industry"]))
    assert run("protect", "job.yaml", "--out", "one", "--quiet", cwd=folder).returncode == 0
    header, *rows = (folder / "firms.csv").read_text().splitlines()
    (folder / "firms.csv").write_text("\n".join([header, *reversed(rows)]) + "\n")
    assert run("perturb", "job.yaml", "--out", "two", "--quiet", cwd=folder).returncode == 0
    assert read(folder / "one/release/size.csv") == read(folder / "two/release/size.csv")
    write_job(folder, table("size", ["size", "industry"]), perturb={})
    assert run("perturb", "job.yaml", "--out", "three", "--quiet", cwd=folder).returncode == 0
    assert read(folder / "one/release/size.csv") != read(folder / "three/release/size.csv")


def test_unsafe_cells_are_named_and_nothing_is_released(folder):
    write_job(folder, table("region", ["region"]))
    done = run("perturb", "job.yaml", "--out", "one", cwd=folder)
    assert done.returncode == 1
    assert "sensitive: region: West" in done.stdout
    assert "recode: merge South + West of 'region': tried out, it leaves none of" in done.stdout
    assert "Nothing was released" in done.stdout
    assert [path.name for path in (folder / "one").iterdir()] == ["internal"]
    assert not (folder / "one/internal/multipliers.parquet").exists()
    assert "internal/report.html (confidential)" in done.stdout
    assert "Not released" in (folder / "one/internal/report.html").read_text()
    findings = json.loads((folder / "one/internal/findings.json").read_text())
    assert {"F0007"} == {unit for f in findings if f["kind"] == "disclosed" for unit in f["units"]}
    recoded = {"region": {"recode": {"merge": {"West and East": ["West", "East"]}}}}
    write_job(folder, table("region", ["region"]), dimensions=recoded)
    assert run("perturb", "job.yaml", "--out", "two", "--quiet", cwd=folder).returncode == 0


def test_unsafe_cells_may_be_accepted(folder):
    write_job(folder, table("region", ["region"]), perturb={"seed": 7, "accept": ["region: West"]})
    assert run("perturb", "job.yaml", "--out", "one", "--quiet", cwd=folder).returncode == 0
    assert "region: West" in (folder / "one/internal/report.html").read_text().split("<h3>Accepted in the job")[1]
    status = {
        line.split(",")[0]: line.split(",")[-1]
        for line in (folder / "one/internal/region.csv").read_text().splitlines()
    }
    assert (status["West"], status["North"]) == ("accepted", "safe")
    write_job(folder, table("region", ["region"]), perturb={"accept": ["region: Nowhere"]})
    done = run("perturb", "job.yaml", "--out", "two", cwd=folder)
    assert (done.returncode, (folder / "two").exists()) == (2, False)
    assert "no code 'Nowhere'" in done.stderr


def test_definitions_keep_sums_and_ratios_are_perturbed(folder):
    tables = [table(name, ["industry", "size"], name) for name in ("turnover", "home", "export")]
    settings = {"seed": 7, "method": "zes_mu", "attributes": {"variant": "factor"}}
    write_job(folder, *tables, equations=["turnover = home + export"], perturb=settings)
    done = run("perturb", "job.yaml", "--out", "one", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    whole, home, export = (read(folder / f"one/release/{name}.csv") for name in ("turnover", "home", "export"))
    assert all(whole[cell] == home[cell] + export[cell] for cell in whole)


def test_counts_are_not_whole_unless_rounded(folder):
    write_job(folder, table("firms", ["industry"], "count"))
    done = run("perturb", "job.yaml", "--out", "one", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = read(folder / "one/release/firms.csv")
    assert any(value != int(value) for value in found.values())
    assert found["Total",] == sum(value for code, value in found.items() if code != ("Total",))
    write_job(folder, table("firms", ["industry"], "count"), perturb={"seed": 7, "round": True})
    done = run("perturb", "job.yaml", "--out", "two", "--json", cwd=folder)
    assert all(value == int(value) for value in read(folder / "two/release/firms.csv").values())
    assert any("need not add up" in warning for warning in json.loads(done.stdout)["warnings"])


def test_saved_multipliers_are_refused_for_other_data_or_when_changed(folder):
    write_job(folder, table("size", ["size"]))
    assert run("perturb", "job.yaml", "--out", "one", "--quiet", cwd=folder).returncode == 0
    saved = folder / "one/internal/multipliers.parquet"
    old = (folder / "firms.csv").read_text()
    (folder / "firms.csv").write_text(old.replace("F0001", "F9001"))
    done = run("perturb", "job.yaml", "--out", "two", "--multipliers", saved, cwd=folder)
    assert (done.returncode, (folder / "two").exists()) == (2, False)
    assert "made for other data" in done.stderr
    assert "earlier: FILE" in done.stderr
    (folder / "firms.csv").write_text(old)
    saved.write_bytes(saved.read_bytes()[:-100])
    done = run("perturb", "job.yaml", "--out", "two", "--multipliers", saved, cwd=folder)
    assert done.returncode == 2
    assert "multipliers" in done.stderr


def test_perturb_refuses_other_methods_and_protects_other_options(folder):
    (folder / "plain.yaml").write_text(
        yaml.safe_dump(
            {
                "version": 1,
                "microdata": {"source": "firms.csv", "respondent": "id"},
                "tables": [{"name": "t", "by": ["size"], "value": "turnover", "rules": RULES}],
            }
        )
    )
    done = run("perturb", "plain.yaml", "--out", "one", cwd=folder)
    assert (done.returncode, "use `cellguard protect`" in done.stderr) == (2, True)
    write_job(folder, table("size", ["size"]))
    assert run("protect", "job.yaml", "--out", "one", "--time-limit", "5", cwd=folder).returncode == 2
    assert run("perturb", "job.yaml", "--out", "one", "--no-check", cwd=folder).returncode == 2
    assert run("perturb", "job.yaml", cwd=folder).returncode == 2
    assert run("audit", "job.yaml", cwd=folder).returncode == 2


def test_a_suppressed_release_of_the_same_data_is_a_conflict(folder):
    (folder / "plain.yaml").write_text(
        yaml.safe_dump(
            {
                "version": 1,
                "microdata": {"source": "firms.csv", "respondent": "id"},
                "tables": [{"name": "t", "by": ["size"], "value": "turnover", "rules": RULES}],
            }
        )
    )
    assert run("protect", "plain.yaml", "--out", "suppressed", "--quiet", cwd=folder).returncode == 0
    write_job(folder, table("size", ["size"]), perturb={"published": ["suppressed"]})
    done = run("perturb", "job.yaml", "--out", "one", cwd=folder)
    assert done.returncode == 1
    assert "conflict: never publish both 'size' perturbed and 't'" in done.stdout
    assert "recode" not in done.stdout and "another" not in done.stdout
    assert not (folder / "one/release").exists()
    write_job(folder, table("size", ["size"], "home"), perturb={"published": ["suppressed"]})
    assert run("perturb", "job.yaml", "--out", "two", "--quiet", cwd=folder).returncode == 0


def test_fixed_width_records_with_an_rda_file(folder):
    rows = list(csv.DictReader((folder / "firms.csv").read_text().splitlines()))
    lines = [f"{r['id']:<6}{r['industry']:<2}{r['turnover']:>6}{2 + i % 3:>3}" for i, r in enumerate(rows)]
    (folder / "firms.asc").write_text("\n".join(lines) + "\n")
    (folder / "firms.rda").write_text(
        'Firm 1 6\n<HOLDING>\nIndustry 7 2\n<RECODEABLE>\n<TOTCODE> "All"\n'
        "Turnover 9 6\n<NUMERIC>\nWgt 15 3\n<WEIGHT>\n"
    )
    write_job(folder, table("t", ["Industry"], "Turnover"), microdata={"source": "firms.asc", "rda": "firms.rda"})
    done = run("perturb", "job.yaml", "--out", "one", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found = read(folder / "one/release/t.csv")
    assert set(found) == {("All",), ("A",), ("B",), ("C",), ("D",)}
    truth = sum(int(r["turnover"]) * (2 + i % 3) for i, r in enumerate(rows))
    assert 0 < abs(float(found["All",]) / truth - 1) < 0.02


def test_a_table_must_say_how_much_noise_its_cells_need(folder):
    for rules in ([{"min_frequency": 3}], []):
        write_job(folder, table("size", ["size"]) | {"rules": rules})
        done = run("perturb", "job.yaml", "--out", "one", cwd=folder)
        assert (done.returncode, (folder / "one").exists()) == (2, False)
        assert "table 'size': no rule says how much noise" in done.stderr
        assert "add dominance, p_percent or prior_posterior" in done.stderr


@pytest.fixture
def tree(folder):
    """A hierarchy of regions, so that West has a parent."""
    lines = ["code,parent", "Total,", "Up,Total", "North,Up", "West,Up", "Down,Total", "South,Down", "East,Down"]
    (folder / "region.csv").write_text("\n".join(lines) + "\n")
    return {"region": {"parents": "region.csv"}}


def test_show_draws_the_tree_with_true_and_perturbed_values(folder, tree):
    settings = {"seed": 7, "accept": ["t: West"]}
    write_job(folder, table("t", ["region"], publish={"region": [1, 2]}), dimensions=tree, perturb=settings)
    assert run("perturb", "job.yaml", "--out", "one", "--quiet", cwd=folder).returncode == 0
    with (folder / "one/internal/t.csv").open() as file:
        rows = {row["region"]: row for row in csv.DictReader(file)}
    lines = run("show", "one", "--internal", cwd=folder).stdout.splitlines()
    body = [line[1:].rstrip() for line in lines[4:10]]
    assert [line.split()[0] for line in body] == ["Up", "North", "West", "Down", "South", "East"]
    assert [len(line) - len(line.lstrip()) for line in body] == [2, 4, 4, 2, 4, 4]
    marks = {"West": "! "}
    for line in body:
        row = rows[line.split()[0]]
        wanted = f"{marks.get(row['region'], '')}{row['value']} → {row['perturbed']}"
        assert line.split(maxsplit=1)[1].replace(",", "") == wanted
    assert "True value → perturbed value" in lines[-1] and "secondary" not in lines[-1]
    public = run("show", "one", cwd=folder).stdout
    assert "none is suppressed" in public and "→" not in public and "Total" not in public


def test_show_of_a_set_that_was_not_released(folder, tree):
    write_job(folder, table("t", ["region"]), dimensions=tree)
    assert run("perturb", "job.yaml", "--out", "one", "--quiet", cwd=folder).returncode == 1
    done = run("show", "one", "t", cwd=folder)
    assert (done.returncode, "were not released; --internal shows them" in done.stderr) == (2, True)
    line = next(x for x in run("show", "one", "t", "--internal", cwd=folder).stdout.splitlines() if "West" in x)
    assert line.split()[:2] == ["West", "✕"]


@pytest.mark.parametrize("safe", [True, False])
def test_commands_about_patterns_say_that_a_folder_was_perturbed(folder, safe):
    write_job(folder, table("t", ["size" if safe else "region"]))
    assert run("perturb", "job.yaml", "--out", "one", "--quiet", cwd=folder).returncode == (0 if safe else 1)
    for command in (["audit", "one"], ["verify", "one"]):
        done = run(*command, cwd=folder)
        assert done.returncode == 2, command
        assert "were perturbed, not suppressed: there is no pattern and no certificate" in done.stderr
    done = run("diff", "one", "one", cwd=folder)
    assert done.returncode == 0 and "0 cells differ" in done.stdout
    code = "s" if safe else "West"
    done = run("explain", "one", code, cwd=folder)
    assert done.returncode == 0 and f"{code} in table 't': " in done.stdout and "perturbed to" in done.stdout
    (folder / "empty").mkdir()
    assert "perturbed" not in run("verify", "empty", cwd=folder).stderr


def test_zes_mu_says_which_mu_was_used_when_no_cell_asks_for_one(folder):
    settings = {"seed": 7, "method": "zes_mu", "mu": 0.07}
    write_job(folder, table("t", ["size"]), perturb=settings)
    done = run("perturb", "job.yaml", "--out", "one", cwd=folder)
    assert "no cell is sensitive; mu = 0.07 was used" in done.stdout and "method zes_mu, mu = 0.07" in done.stdout
    assert "larger mu" not in done.stdout
    assert "Used was mu = 0.07" in (folder / "one/internal/report.html").read_text()
    assert json.loads((folder / "one/internal/summary.json").read_text())["mu"] == 0.07
    write_job(folder, table("t", ["region"]), perturb=settings | {"accept": ["t: West"]})
    done = run("perturb", "job.yaml", "--out", "two", cwd=folder)
    assert "no sensitive cell is served (1 supersensitive and left out); mu = 0.07 was used" in done.stdout
