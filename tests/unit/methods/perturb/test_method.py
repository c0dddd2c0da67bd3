"""The pipeline of a job whose tables are perturbed."""

import csv
import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
import yaml

from cellguard.errors import InputError
from cellguard.faces.cli.show import show_screen
from cellguard.io.folder import OutputFolder
from cellguard.io.stored_view import read_view
from cellguard.job.jobfile import Job
from cellguard.job.specs import TableSpec
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.methods.perturb.files import job_respondents
from cellguard.methods.perturb.files.job_respondents import noise_rules
from cellguard.methods.perturb.files.published_tables import read_published
from cellguard.methods.perturb.method import Perturb
from cellguard.pipeline import audit_job, run
from cellguard.rules.limits import NoiseRule
from cellguard.rules.rule import Rule
from cellguard.rules.simple import MinFrequency
from cellguard.run_context import Run
from cellguard.table.fact import Top, Total

RULES = [{"dominance": {"n": 3, "k": 70}}]


def table(name, by, value="turnover", **more):
    return {"name": name, "by": by, "value": value, "rules": RULES, "protect": {"method": "perturb"}, **more}


def job(folder, *tables, **more):
    start = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "perturb": {"seed": 7}}
    return Job.parse({**start, **more, "tables": list(tables)}, folder=folder)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    home, export = rng.integers(50, 150, 200), rng.integers(20, 60, 200)
    region, size = rng.choice(list("NSE"), 200), rng.choice(["s", "l"], 200)
    rows = [f"F{i:04},{region[i]},{size[i]},G{i // 2},{home[i]},{export[i]},{home[i] + export[i]}," for i in range(200)]
    (tmp_path / "firms.csv").write_text("\n".join(["id,region,size,group,home,export,turnover,note", *rows]) + "\n")
    return tmp_path


def plain(value):
    return {"name": "b", "by": ["region"], "value": value, "rules": [{"min_frequency": 3}]}


@pytest.mark.parametrize(
    ("tables", "more", "words"),
    [
        ([table("a", ["size"]), plain("turnover")], {}, "conflict: table 'a'"),
        ([table("a", ["size"]), plain("home")], {}, "put them into two jobs"),
        ([plain("home")], {}, "no table says `protect: {method: perturb}`"),
        ([table("a", ["size"], zeros="known")], {}, "`zeros` does not go with perturbation"),
        ([table("a", ["size"])], {"known": "x.csv"}, "x.csv'; check its name"),
        ([table("a", ["size"])], {"perturb": {"mo": 0.1}}, "unknown key 'mo'"),
        ([table("a", ["size"])], {"perturb": {"accept": ["size"]}}, "not of the form 'table: cell'"),
        ([table("a", ["size"])], {"perturb": {"replications": 1}}, "at least 2 of them"),
        ([table("a", ["size"])], {"perturb": {"strata": "size"}}, "`strata` with zes need the mu of each class"),
        ([table("a", ["size"])], {"perturb": {"strata": {"columm": "size"}}}, "unknown key 'columm'"),
        ([table("a", ["size"])], {"perturb": {"strata": {"column": "size", "mu": {"l": 2.0}}}}, "strata.mu.l"),
        ([table("a", ["size"])], {"perturb": {"strata": {"column": "size", "mu": {"x": 0.2}}}}, "no record has 'x'"),
        ([table("a", ["size"])], {"perturb": {"strata": {"column": "sise", "mu": {"l": 0.2}}}}, "no column 'sise'"),
        ([table("a", ["size"])], {"perturb": {"strata": {"column": "note", "mu": {"l": 0.2}}}}, "blank in 200 records"),
        (
            [table("a", ["size"])],
            {"perturb": {"method": "zes_mu", "strata": {"column": "size", "mu": {"l": 0.2}}}},
            "zes_mu finds the mu of each class",
        ),
        (
            [table("a", ["size"])],
            {"perturb": {"method": "zes_mu", "strata": "need", "least": 0.3}},
            "must not be above `cap`",
        ),
        ([table("a", ["size"])], {"perturb": {"opt": {"norm": "l2"}}}, "`opt` is for the methods opt and least_loss"),
        ([table("a", ["size"])], {"perturb": {"method": "marg", "attributes": {}}}, "leave `attributes` out"),
        ([table("a", ["size"])], {"perturb": {"assign": "equal"}}, "`assign` is for marg, opt and least_loss"),
        ([table("a", ["size"])], {"perturb": {"method": "opt", "assign": "strata"}}, "`assign: strata` needs"),
        (
            [table("a", ["size"])],
            {"perturb": {"method": "least_loss", "opt": {"norm": "linf"}}},
            "least_loss goes with",
        ),
        (
            [table("a", ["size"])],
            {"perturb": {"method": "marg", "marg": {"keep": ["b: s"]}}},
            "`keep` names the table 'b'",
        ),
        ([table("a", ["size"]) | {"rules": [{"max_share": 50}]}], {}, "does not say how much noise"),
        ([table("a", ["size"]) | {"rules": [{"min_frequency": 3}]}], {}, "no rule says how much noise a cell needs"),
        ([table("a", ["size"]) | {"rules": []}], {}, "no rule says how much noise a cell needs"),
        ([table("a", ["size"])], {"equations": ["turnover = home + home2"]}, "home2"),
        (
            [table("a", ["size"], "home"), table("b", ["region"], "home", response="sales")],
            {},
            "call it 'home' and 'sales'; give them the same `response`",
        ),
        (
            [table("a", ["region", "place"])],
            {"dimensions": {"place": {"column": "region"}}},
            "the dimensions 'region' and 'place' are the same column 'region'",
        ),
        ([table("a", ["size"])], {"equations": ["turnover = home - export"]}, "'turnover' is not home - export in"),
    ],
)
def test_refusals(folder, tables, more, words):
    with pytest.raises(InputError, match=re.escape(words)):
        run(job(folder, *tables, **more))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"dominance": {"n": 2, "k": 80}}, "n = 2, p = 25, q = 100"),
        ({"p_percent": 10}, "n = 2, p = 10, q = 100"),
        ({"p_percent": {"p": 10, "coalition": 2}}, "n = 3, p = 10, q = 100"),
        ({"prior_posterior": {"p": 10, "q": 50}}, "n = 2, p = 10, q = 50"),
    ],
)
def test_rules_say_how_much_noise_a_cell_needs(rule, words):
    spec = TableSpec.model_validate(table("t", ["r"]) | {"rules": [rule, {"min_frequency": 3}]})
    assert [str(one) for one in noise_rules(spec)] == [words]
    both = TableSpec.model_validate(table("t", ["r"]) | {"rules": [rule, {"p_percent": 5}]})
    assert [str(one) for one in noise_rules(both)] == [words, "n = 2, p = 5, q = 100"]


@dataclass(frozen=True)
class Runner(Rule):
    """A rule of somebody's own, by which two others may not come closer than a tenth to the largest."""

    facts = (Total(), Top(1))

    def sensitivity(self, cells):
        return cells.top(1) - 0.9 * cells.total


@dataclass(frozen=True)
class Noisy(Runner):
    noise = NoiseRule(3, p=10)


def test_a_rule_of_ones_own_says_itself_how_much_noise_a_cell_needs():
    spec = TableSpec.model_validate(table("t", ["r"]))
    assert noise_rules(spec.model_copy(update={"rules": [Noisy(), MinFrequency(3)]})) == (NoiseRule(3, p=10),)
    with pytest.raises(InputError, match="the rule Runner does not say how much noise a cell needs"):
        noise_rules(spec.model_copy(update={"rules": [Noisy(), Runner()]}))


def test_holdings_share_a_multiplier(folder):
    done = run(
        job(folder, table("t", ["region"]), microdata={"source": "firms.csv", "respondent": "id", "holding": "group"})
    )
    assert done.protected.check.multipliers.records.units == 100
    assert done.protected.saved.keys.tolist() == sorted(f"G{i}" for i in range(100))
    with pytest.raises(InputError, match="does not add up over cells"):
        run(job(folder, table("t", ["region"], "count"), microdata={"source": "firms.csv", "holding": "group"}))


def test_levels_that_are_not_published_are_not_in_the_release(folder, tmp_path):
    done = run(job(folder, table("t", ["region", "size"], publish={"region": [1]})))
    OutputFolder(tmp_path / "out").write(done)
    lines = (tmp_path / "out/release/t.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 3
    assert not any(line.startswith("Total") for line in lines)


def test_min_frequency_says_which_cells_are_few(folder):
    tables = [table("t", ["region", "size"]) | {"rules": [*RULES, {"min_frequency": 50}]}]
    found = [f for f in run(job(folder, *tables)).protected.check.findings if f.kind == "few"]
    assert "fewer than 50 contributors" in found[0].text
    tables[0]["rules"] = [*RULES, {"min_frequency": {"n": 50, "inclusive": True}}]
    found = [f for f in run(job(folder, *tables)).protected.check.findings if f.kind == "few"]
    assert "fewer than 51 contributors" in found[0].text


def test_other_pipelines_refuse_a_perturbed_job(folder):
    with pytest.raises(InputError, match="perturbed, not suppressed"):
        audit_job(job(folder, table("t", ["region"])))
    with pytest.raises(InputError, match="`warm` does not go with tables that are perturbed"):
        run(job(folder, table("t", ["region"])), warm="out")


def test_new_multipliers_are_always_checked(folder):
    with pytest.raises(InputError, match="always checked"):
        run(job(folder, table("t", ["region"])), checked=False)


def test_later_tables_need_the_same_definitions(folder, tmp_path):
    OutputFolder(tmp_path / "out").write(run(job(folder, table("t", ["region"]))))
    later = job(folder, table("t", ["region"]), equations=["turnover = home + export"])
    with pytest.raises(InputError, match="`equations` are not those"):
        run(later, multipliers=tmp_path / "out/internal/multipliers.parquet")


def test_published_folders_must_be_readable(tmp_path):
    spec = {"name": "t", "by": ["r"], "value": "x", "cells": {"source": "t.csv"}, "rules": []}
    job = Job.parse({"version": 1, "tables": [spec]}, folder=tmp_path)
    with pytest.raises(InputError, match="no output folder"):
        read_published(job, ["."])
    (tmp_path / "metadata.json").write_text("[]")
    with pytest.raises(InputError, match="cannot be read"):
        read_published(job, ["."])


def test_an_existing_folder_is_kept_unless_forced(folder, tmp_path):
    done = run(job(folder, table("t", ["region"])))
    OutputFolder(tmp_path / "out").write(done)
    with pytest.raises(InputError, match="exists already"):
        OutputFolder(tmp_path / "out").write(done)
    OutputFolder(tmp_path / "out").write(done, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["firms.csv", "out"]


@pytest.mark.parametrize(
    "perturb",
    [
        {"method": "marg", "marg": {"most": 20, "keep": ["t: N/s"]}},
        {"method": "marg", "marg": {"variant": "unbiased", "order": "top_down"}},
        {"method": "marg_zes"},
        {"method": "opt", "cap": 0.3, "opt": {"norm": "l2"}},
        {"method": "opt", "opt": {"norm": "linf", "keep_sum": True}},
        {"method": "least_loss", "opt": {"margins": 0.001}, "assign": "size"},
        {"method": "opt", "strata": {"column": "size", "mu": {"l": 0.2}}, "assign": "strata"},
    ],
    ids=str,
)
def test_fitted_methods_go_from_records_to_later_tables(folder, tmp_path, perturb):
    tables = [table("t", ["region", "size"]), table("home", ["size"], "home")]
    done = run(job(folder, *tables, perturb={"seed": 7, **perturb}))
    summary = done.protected.summary()
    assert summary["verdict"] == "safe" and set(summary["fit"]) == {"Fit of turnover", "Fit of home"}
    OutputFolder(tmp_path / "out").write(done)
    page = (tmp_path / "out/internal/report.html").read_text()
    assert "Fit of turnover" in page and "every response was fitted by itself" in page
    kept = yaml.safe_load((tmp_path / "out/internal/job.yaml").read_text())
    again = run(Job.parse(kept, folder=folder))
    assert [t.total.tolist() for t in again.protected.check.tables] == [
        t.total.tolist() for t in done.protected.check.tables
    ]
    later = run(job(folder, *tables), multipliers=tmp_path / "out/internal/multipliers.parquet")
    assert later.protected.check.verdict == "safe"
    assert later.release is not None and later.release.tables[0].value == done.release.tables[0].value
    if perturb["method"] == "marg" and "keep" in perturb["marg"]:
        here = done.protected.check.tables[0]
        assert here.noise[here.table.table.find("N/s")] == 0
        assert any("always in that direction" in text for text in summary["warnings"])


def test_respondents_keep_their_multipliers_over_the_years(folder, tmp_path):
    first = run(job(folder, table("t", ["region", "size"])))
    OutputFolder(tmp_path / "one").write(first)
    lines = (folder / "firms.csv").read_text().splitlines()
    changed = [re.sub(r"F0(\d+)", r"X0\1", line) if "F000" in line else line for line in lines]
    (folder / "firms.csv").write_text("\n".join(changed) + "\n")
    said = {"seed": 9, "earlier": str(tmp_path / "one/internal/multipliers.parquet")}
    done = run(job(folder, table("t", ["region", "size"]), perturb=said))
    assert done.protected.summary()["years"] == {"kept": 190, "new": 10, "gone": 10}
    OutputFolder(tmp_path / "two").write(done)
    page = (tmp_path / "two/internal/report.html").read_text()
    assert "kept by 190, 10 respondents are new" in page and "190 respondents keep theirs" in page
    assert "no earlier year given" in (tmp_path / "one/internal/report.html").read_text()


def test_redraw_and_promise_go_from_the_job_to_the_page(folder, tmp_path):
    said = {"seed": 7, "method": "zes_mu", "promise": "release", "redraw": 20, "perturb_if": {"largest": True}}
    done = run(job(folder, table("t", ["region", "size"]), perturb=said))
    summary = done.protected.summary()
    assert summary["redrawn"]["left"] == 0 and "largest of a sensitive cell" in summary["perturbed"]
    OutputFolder(tmp_path / "out").write(done)
    assert "drew again" in (tmp_path / "out/internal/report.html").read_text()
    with pytest.raises(InputError, match="`redraw` is for zes and zes_mu"):
        run(job(folder, table("t", ["region"]), perturb={"method": "opt", "redraw": 3}))
    with pytest.raises(InputError, match="there are no weights"):
        run(job(folder, table("t", ["region"]), perturb={"perturb_if": {"weight_below": 2}}))


def test_fitted_methods_can_be_repeated(folder):
    said = {"seed": 7, "method": "marg", "marg": {"most": 1000, "variant": "unbiased"}, "replications": 40}
    done = run(job(folder, table("t", ["region", "size"]), perturb=said))
    study = done.protected.study
    assert study is not None and np.abs(study.mean_ratio - 1).max() < 0.05 and study.cv.max() > 0


def cells_of(path):
    """The rows of an internal table by their codes."""
    with path.open() as file:
        return {tuple(row[name] for name in ("region", "size")): row for row in csv.DictReader(file)}


def test_classes_of_a_column_have_a_mu_of_their_own(folder, tmp_path):
    perturb = {"seed": 7, "sigma": 0.0, "strata": {"column": "size", "mu": {"l": 0.3}}}
    done = run(job(folder, table("t", ["region"]), perturb=perturb))
    assert done.summary["strata"] == {"by": "size", "mu": {"l": 0.3, "s": 0.1}}
    sizes = [row["size"] for row in csv.DictReader((folder / "firms.csv").read_text().splitlines())]
    wanted = [0.3 if size == "l" else 0.1 for size in sizes]
    assert np.abs(done.protected.saved.base - 1) == pytest.approx(np.array(wanted))
    OutputFolder(tmp_path / "out").write(done)
    again = Job.load(tmp_path / "out/internal/job.yaml")
    assert again.settings == done.job.settings
    assert "by size: l mu = 0.3, s mu = 0.1" in (tmp_path / "out/internal/report.html").read_text()
    torn = {"source": "firms.csv", "respondent": "id", "holding": "group"}
    with pytest.raises(InputError, match="records in several classes of 'size'"):
        run(job(folder, table("t", ["region"]), perturb=perturb, microdata=torn))


def test_strata_are_found_by_zes_mu_and_need_none_later(folder, tmp_path):
    for strata in ("size", "need"):
        perturb = {"seed": 7, "method": "zes_mu", "strata": strata, "least": 0.08}
        done = run(job(folder, table("t", ["region"]), perturb=perturb))
        assert done.summary["strata"]["by"] == strata
        assert set(done.summary["strata"]["mu"].values()) == {0.08}, "no cell is sensitive"
        OutputFolder(tmp_path / strata).write(done)
        assert Job.load(tmp_path / strata / "internal/job.yaml").settings == done.job.settings
    later = job(folder, table("u", ["size"]), perturb={**perturb, "replications": 3})
    found = run(later, multipliers=tmp_path / "need/internal/multipliers.parquet")
    assert found.summary["strata"] == done.summary["strata"] and found.protected.study is None
    assert any("no replications" in note for note in found.protected.warnings())


def test_replications_are_in_the_summary_the_tables_and_the_report(folder, tmp_path):
    tables = table("t", ["region", "size"]), table("u", ["region", "size"], "home")
    done = run(job(folder, *tables, perturb={"seed": 7, "replications": 25}))
    OutputFolder(tmp_path / "out").write(done)
    told = json.loads((tmp_path / "out/internal/summary.json").read_text())["replications"]
    both = [cells_of(tmp_path / f"out/internal/{name}.csv") for name in ("t", "u")]
    rows = [row for rows in both for row in rows.values()]
    ratios, cvs, percent = ([float(row[c]) for row in rows] for c in ("mean_ratio", "cv", "mean_noise_percent"))
    assert told["number"] == 25 and told["mean_ratio"] == {
        "lowest": pytest.approx(min(ratios)),
        "highest": pytest.approx(max(ratios)),
    }
    assert told["cv"] == {"average": pytest.approx(np.mean(cvs)), "highest": pytest.approx(max(cvs))}
    assert told["noise"]["percent"]["all nonzero"]["average"] == pytest.approx(np.mean(percent))
    assert {row["unsafe_share"] for row in rows} == {"0"}
    assert both[0]["N", "Total"]["cv"] != both[1]["N", "Total"]["cv"]
    assert "averages of 25 replications" in (tmp_path / "out/internal/report.html").read_text()
    plain = run(job(folder, *tables))
    assert "replications" not in plain.summary and np.array_equal(plain.protected.saved.base, done.protected.saved.base)


def test_pages_are_written_as_the_formats_say(folder, tmp_path):
    done = run(job(folder, table("t", ["region"])))
    assert OutputFolder(tmp_path / "out").write(done) == []
    assert (tmp_path / "out/internal/report.html").exists() and (tmp_path / "out/release/report.html").exists()
    assert not any("HTML" in warning for warning in done.protected.warnings())
    plain = run(job(folder, table("t", ["region"]), output={"formats": ["csv"]}))
    OutputFolder(tmp_path / "plain").write(plain)
    assert sorted(p.name for p in (tmp_path / "plain/release").iterdir()) == ["metadata.json", "t.csv"]
    assert not list((tmp_path / "plain/internal").glob("report*"))


def test_codes_that_a_spreadsheet_would_run_are_guarded(folder, tmp_path):
    (folder / "firms.csv").write_text((folder / "firms.csv").read_text().replace(",N,", ",-N,"))
    for raw, codes in ((False, ["Total", "'-N", "E", "S"]), (True, ["Total", "-N", "E", "S"])):
        output = {"formats": ["csv"], "raw_codes": raw}
        out = tmp_path / str(raw)
        OutputFolder(out).write(run(job(folder, table("t", ["region"]), output=output)))
        with (out / "release/t.csv").open() as file:
            assert sorted(row["region"] for row in csv.DictReader(file)) == sorted(codes)
        about = json.loads((out / "release/metadata.json").read_text())["tables"]["t"]
        assert about.get("guarded", []) == ([] if raw else ["region"])
        assert {c for (c,) in read_view(out, "t", internal=False).codes} == {"Total", "-N", "E", "S"}
        assert "unpublished" not in read_view(out, "t", internal=True).status


def test_without_the_extra_there_is_no_page_but_a_note(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("cellguard.report.render.available", lambda: False)
    notes = OutputFolder(tmp_path / "out").write(run(job(folder, table("t", ["region"]))))
    assert "pip install 'cellguard[report]'" in notes[0]
    assert (tmp_path / "out/release/t.csv").exists() and not (tmp_path / "out/release/report.html").exists()


def test_the_public_page_has_published_values_and_no_others(folder, tmp_path):
    """Every number with decimals on it is a published value; true totals, noise and multipliers are not there."""
    done = run(job(folder, table("t", ["region", "size"], decimals=2), table("u", ["size"], "home", decimals=2)))
    OutputFolder(tmp_path / "out").write(done)
    page = (tmp_path / "out/release/report.html").read_text()
    body = re.sub(r"Made by cellguard [\d.]+", "", page[page.index("<body>") : page.rindex("<script>")])
    published = {
        line.split(",")[-2]
        for name in ("t", "u")
        for line in (tmp_path / f"out/release/{name}.csv").read_text().splitlines()[1:]
    }
    assert set(re.findall(r"\d+\.\d+", body)) == published
    true = {f"{x:.0f}" for here in done.protected.check.tables for x in here.table.total.tolist()}
    assert not true & set(re.findall(r"\d+", re.sub(r"\d+\.\d+", "", body)))


def test_decimals_follow_the_data(folder):
    """Whole values stay whole: else decimals would tell which cells hold somebody who is perturbed."""
    only = {"perturb": {"seed": 7, "mu": 0.3, "perturb_if": {"largest": True}}}
    assert run(job(folder, table("t", ["region", "size"]), **only)).protected.decimals == {"t": 0}
    mixed = run(job(folder, table("t", ["region"]), table("n", ["size"], "count"), **only))
    assert mixed.protected.decimals == {"t": 0, "n": 3} and mixed.protected.rounded() == []
    lines = (folder / "firms.csv").read_text().splitlines()
    last = lines[0].split(",")[-1]
    for fraction, decimals in (("5", 1), ("25", 2), ("125", 2)):
        (folder / "firms.csv").write_text("\n".join([lines[0], *(f"{line}.{fraction}" for line in lines[1:])]) + "\n")
        assert run(job(folder, table("t", ["region"], last), **only)).protected.decimals == {"t": decimals}


def test_last_digits_that_tell_who_is_perturbed_are_warned_about(folder):
    """Only where not everybody is perturbed, and only if the data do not have these decimals."""
    some = {"perturb": {"seed": 7, "mu": 0.3, "perturb_if": {"largest": True}}}

    def warned(*tables, **more):
        notes = run(job(folder, *tables, **more)).summary["warnings"]
        return [note.split("; ")[-1] for note in notes if "last digits" in note]

    assert warned(table("t", ["region", "size"]), **some) == []
    assert warned(table("t", ["region"], decimals=1), **some) == ["leave `decimals` out"]
    assert warned(table("n", ["size"], "count"), **some) == ["say `round: true`"]
    assert warned(table("n", ["size"], "count"), perturb={**some["perturb"], "round": True}) == []
    assert warned(table("n", ["size"], "count"), perturb={"seed": 7, "mu": 0.3}) == []
    header, *lines = (folder / "firms.csv").read_text().splitlines()
    (folder / "firms.csv").write_text("\n".join([header, *(f"{line}0" for line in lines)]) + "\n")
    (tens,) = warned(table("t", ["region"], header.split(",")[-1]), **some)
    assert tens == "all values end in 0, so give them in tens, hundreds or thousands"


def test_a_dry_run_counts_cells_that_need_noise_and_speaks_of_no_suppression(folder, capsys):
    alone = (folder / "firms.csv").read_text().replace("F0007,N", "F0007,W").replace("F0007,S", "F0007,W")
    (folder / "firms.csv").write_text(alone.replace("F0007,E", "F0007,W"))
    method = Perturb(job(folder, table("t", ["region"]), table("u", ["size"])))
    assessed = method.assess(Run(), {})
    found = method.assessed_summary(assessed)
    assert [(t["cells"], t["sensitive"], t["supersensitive"]) for t in found["tables"].values()] == [
        (5, 1, 1),
        (3, 0, 0),
    ]
    show_screen(method.assessed_screen(assessed))
    said = capsys.readouterr().out
    assert "n = 3, p = 42.8571" in said and "must not be published" in said
    assert "suppress" not in said and "hid" not in said
    with pytest.raises(InputError, match="no rule says"):
        Perturb(job(folder, table("t", ["region"]) | {"rules": []})).assess(Run(), {})


def test_a_percentage_below_one_that_is_confirmed_is_told(folder):
    with pytest.raises(InputError, match="confirmed: true"):
        job(folder, table("t", ["region"], rules=[{"p_percent": 0.1}]))
    found = run(job(folder, table("t", ["region"], rules=[{"p_percent": {"p": 0.1, "confirmed": True}}])))
    said = "table 't': the rule p_percent 0.1: p is 0.1 %; did you mean 10 %? (the job confirms it)"
    assert said in found.summary["warnings"]


def grouped(folder, groups, header="id,muni,w,x"):
    """Write firms of the given municipalities: their weights and what they contribute."""
    rows = [(muni, weight, value) for muni, weight, values in groups for value in values]
    lines = [header, *(f"F{i:04},{muni},{weight},{value}" for i, (muni, weight, value) in enumerate(rows))]
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("levels", [[0, 1], [1]])
def test_two_groupings_of_one_dimension_imply_a_cell(tmp_path, levels):
    """P0 and P1 without the coast is one municipality, whose largest firm is nearly all of it."""
    alike = range(80, 120)
    grouped(tmp_path, [("m0", 1, alike), ("m1", 1, (2000, 60, 40, 12, 9, 7, 5, 4)), ("m2", 1, alike), ("m3", 1, alike)])
    (tmp_path / "province.csv").write_text("province,muni\nP0,m0\nP0,m1\nP1,m2\nP2,m3\n")
    (tmp_path / "coast.csv").write_text("zone,muni\nCoast,m0\nInland,m1\nCoast,m2\nInland,m3\n")
    dimensions = {"muni": {"levels": "province.csv", "also": [{"name": "zone", "levels": "coast.csv"}]}}
    done = run(job(tmp_path, table("t", ["muni"], "x", publish={"muni": levels}), dimensions=dimensions))
    assert not done.protected.check.tables[0].unsafe.any()
    assert [f.kind for f in done.protected.check.open] == ["implied"] and not (done.release is not None)
    alone = {"muni": {"levels": "province.csv"}}
    done = run(job(tmp_path, table("t", ["muni"], "x", publish={"muni": levels}), dimensions=alone))
    assert done.protected.check.verdict == "safe"


def test_weights_hide_a_few_sampled_firms(tmp_path):
    """With weights of 22 and 20 the sum of two firms tells neither of them; without, it does."""
    microdata = {"source": "firms.csv", "respondent": "id", "weight": "w"}
    for weight, verdict in ((20, "safe"), (1, "unsafe")):
        grouped(tmp_path, [("m0", weight, (130, 110)), ("m1", 20, range(80, 120))])
        done = run(job(tmp_path, table("t", ["muni"], "x"), microdata=microdata))
        assert done.protected.check.verdict == verdict


def test_what_was_not_looked_at_is_not_proven(folder, tmp_path, monkeypatch):
    """Without a complete proof there is no release, unless the job answers for it; then every file says so."""
    monkeypatch.setattr("cellguard.methods.perturb.method.Watch", lambda **more: Watch(programs=0, **more))
    done = run(job(folder, table("t", ["region"])))
    assert (done.verdict.kind, done.release is not None, done.summary["released"]) == (
        "not proven",
        False,
        False,
    )
    OutputFolder(tmp_path / "none").write(done)
    assert sorted(p.name for p in (tmp_path / "none").iterdir()) == ["internal"]
    assert not (tmp_path / "none/internal/multipliers.parquet").exists()
    page = (tmp_path / "none/internal/report.html").read_text()
    assert "NOT PROVEN: not everything was looked at" in page and "So nothing was released" in page
    assert "nothing found, not all looked at" in page and "may be released" not in page
    assert any("unproven: accept" in line for line in done.protected.check.advice)
    done = run(job(folder, table("t", ["region"]), perturb={"seed": 7, "unproven": "accept"}))
    assert (done.verdict.kind, done.release is not None, done.summary["released"]) == (
        "not proven",
        True,
        True,
    )
    assert done.summary["not_looked_at"] == ["bounds on single contributions were not worked out, at your request"]
    OutputFolder(tmp_path / "out").write(done)
    about = json.loads((tmp_path / "out/release/metadata.json").read_text())
    assert about["tables"]["t"]["calibration"] == "in the calibration set: checked in part"
    assert "Checked in part before release: t" in (tmp_path / "out/release/report.html").read_text()
    assert "The job accepts that" in (tmp_path / "out/internal/report.html").read_text()
    with (tmp_path / "out/internal/t.csv").open() as file:
        assert {row["status"] for row in csv.DictReader(file)} == {"not proven"}


def test_an_earlier_table_counts_as_seen_only_with_all_its_cells(folder, tmp_path):
    """What was published by region and size is not checked by looking at sizes alone, whatever the table is called."""
    first = run(job(folder, table("t", ["region", "size"])))
    OutputFolder(tmp_path / "out").write(first)
    saved = tmp_path / "out/internal/multipliers.parquet"
    for publish, verdict in (({"region": [0, 1]}, "safe"), ({"region": [0]}, "safe by itself")):
        later = job(folder, table("again", ["region", "size"], publish=publish), table("u", ["size"]))
        assert run(later, multipliers=saved).protected.check.verdict == verdict


def test_digests_are_those_of_what_was_read(folder, monkeypatch):
    done = run(job(folder, table("t", ["region"])))
    assert done.summary["inputs"]
    source = folder / next(name for name in done.summary["inputs"] if name.endswith(".csv"))
    read = job_respondents.read_records

    def meddle(whole):
        found = read(whole)
        source.write_text(source.read_text() + "\n")
        return found

    monkeypatch.setattr(job_respondents, "read_records", meddle)
    with pytest.raises(InputError, match="changed while it was read"):
        run(job(folder, table("t", ["region"])))


def test_surveys_have_the_variance_of_sample_and_noise(folder, tmp_path):
    lines = (folder / "firms.csv").read_text().splitlines()
    weighted = [lines[0] + ",w", *(f"{line},{1 + i % 4}" for i, line in enumerate(lines[1:]))]
    (folder / "firms.csv").write_text("\n".join(weighted) + "\n")
    records = {"source": "firms.csv", "respondent": "id", "weight": "w"}
    done = run(job(folder, table("t", ["region", "size"]), microdata=records))
    OutputFolder(tmp_path / "out").write(done)
    with (tmp_path / "out/internal/t.csv").open() as file:
        rows = list(csv.DictReader(file))
    here = done.protected.check.tables[0]
    x, w = here.table.records.values["turnover"], here.table.records.weight
    assert float(rows[0]["sampling_variance"]) == pytest.approx((w * (w - 1) * x**2).sum(), rel=1e-6)
    for row in rows:
        both = float(row["sampling_variance"]) + float(row["noise"]) ** 2
        assert float(row["published_variance"]) == pytest.approx(both, rel=1e-6)
    page = (tmp_path / "out/internal/report.html").read_text()
    assert "Horvitz-Thompson" in page and "not dominated" in page
    plain = run(job(folder, table("t", ["region", "size"])))
    OutputFolder(tmp_path / "census").write(plain)
    assert "Horvitz-Thompson" not in (tmp_path / "census/internal/report.html").read_text()
