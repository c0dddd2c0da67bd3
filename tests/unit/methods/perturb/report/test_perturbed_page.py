"""The pages about perturbed tables: what the officer reads, and what the public page must not tell."""

import json
import re

import numpy as np
import pytest

from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.redesign import redesign
from cellguard.methods.perturb.draw.mu import MuOptions
from cellguard.methods.perturb.draw.multipliers import Settings
from cellguard.methods.perturb.draw.replicate import replicate_as_drawn
from cellguard.methods.perturb.report import checks, pictures, sections
from cellguard.methods.perturb.report.page import perturbed_page, public_perturbed_page
from cellguard.methods.perturb.report.tables import perturbed_grid
from unit.methods.perturb.report import perturbed_cases as cases

SUMMARY = {"warnings": ["look <here>"], "seconds": {"checking": 1.5}, "inputs": {"firms.csv": "abcdef"}}


@pytest.fixture(scope="module")
def safe():
    return cases.case(summary=SUMMARY, made="2026-01-02")


@pytest.fixture(scope="module")
def unsafe():
    return cases.case(singleton=True)


def text_of(page):
    """The page as people read it, without style, scripts and tags."""
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def figures(page):
    """All numbers of a page, separators taken out."""
    return set(re.findall(r"\d+(?:\.\d+)?", page.replace(",", "")))


def data_of(page):
    return json.loads(re.search(r'id="grids">(.*?)</script>', page, re.S).group(1))


def test_the_verdict_comes_first_and_every_part_is_linked(safe):
    page = perturbed_page(safe)
    text = text_of(page)
    assert text.index("Checked, may be released") < text.index("What was perturbed")
    assert "Confidential" in text and "true values and their noise" in text and "look &lt;here&gt;" in text
    for name in ("perturbed", "tables", "noise", "findings", "checked", "run"):
        assert f'<section id="{name}"' in page and f'href="#{name}"' in page
    for words in ("not in the calibration set: checked", "mu = 0.1", "42.8571 %", "checking 1.50 s", "2026-01-02"):
        assert words in text, words
    assert str(cases.SEED) not in page


def test_an_unsafe_set_says_what_forbids_it_with_cells_and_combinations(unsafe):
    page = perturbed_page(unsafe)
    text = text_of(page)
    assert "Not released" in text and "both: " in text and "No multipliers&#39; file was written" in text
    rows = checks.findings(unsafe).data["groups"][0]["rows"]
    assert len(rows) == len(unsafe.protected.check.open) > 2
    told = [f for f in unsafe.protected.check.open if f.kind == "disclosed"]
    shown = [r for r in rows if r["kind"] == "disclosed"]
    assert [r["combination"] for r in shown] == [f.combination() for f in told] and shown[0]["combination"]
    assert all(str(f.cells[0]) in page for f in unsafe.protected.check.open)
    assert [r for r in checks.looked_at(unsafe).data["rows"] if r[3] == "no"]


def test_supersensitive_cells_come_with_the_merges_that_remove_them(safe, unsafe):
    rows = checks.extreme(unsafe).data["rows"]
    by_cell = {(r["table"], r["codes"].replace(" / ", "/")): r["merges"] for r in rows}
    merges = [m for here in unsafe.protected.check.tables for m in redesign(here.needs)]
    assert merges
    for merge in merges:
        assert f"merge {' + '.join(merge.codes)} of {merge.dimension}" in by_cell[merge.table, merge.name]
    assert checks.extreme(safe) is None


def test_the_noise_is_that_of_the_result_table(safe):
    shown = sections.noise(safe).data["tables"]
    assert [t["name"] for t in shown] == ["All tables", "both", "regions"]
    groups = safe.protected.check.statistics.groups
    assert [row[0] for row in shown[0]["rows"]] == [*groups, "dominated", "not dominated"]
    for name, average, maximum, minimum, cells in shown[0]["rows"][: len(groups)]:
        assert int(cells) == groups[name].cells
        if groups[name].cells:
            wanted = groups[name].average, groups[name].maximum, groups[name].minimum
            assert (float(average), float(maximum), float(minimum)) == pytest.approx(wanted, abs=0.005)
    for here, table in zip(safe.protected.check.tables, shown[1:], strict=True):
        loss = np.abs(here.total - here.table.total).mean()
        assert float(table["loss"].replace(",", "")) == pytest.approx(loss, rel=1e-3)


def test_a_study_adds_averages_and_the_cells_that_vary_most(safe):
    study = replicate_as_drawn(
        [here.table for here in safe.protected.check.tables], safe.protected.check.multipliers, replications=40
    )
    case = cases.case(study=study)
    data = sections.noise(case).data
    assert data["tables"][1]["run"] == "averages of 40 replications"
    assert float(data["tables"][1]["rows"][-1][1]) == pytest.approx(
        study.statistics().groups["all nonzero"].average, abs=0.005
    )
    assert [float(r["cv"]) for r in data["cells"]] == pytest.approx(np.sort(study.cv)[::-1][:10], abs=1e-4)
    assert f"{study.mean_ratio.min():.4f}" in data["bias"]
    assert "averages of 40 replications" in text_of(perturbed_page(case))


def test_grids_hold_published_and_true_values_noise_and_marks(unsafe):
    for at, here in enumerate(unsafe.protected.check.tables):
        grid = perturbed_grid(unsafe, at)
        views = {name: [float(x) for x in column.split(" ")] for name, column in grid["views"]}
        assert views["published value"] == pytest.approx(here.total.tolist(), abs=0.006)
        assert views["true value"] == pytest.approx(here.table.total.tolist(), abs=0.006)
        assert views["noise in percent"] == pytest.approx((100 * here.noise / here.table.total).tolist(), abs=0.006)
        names = [here.table.table.cell_name(i) for i in range(len(here.table))]
        wanted = {c.cell for f in unsafe.protected.check.open for c in f.cells if c.table == here.table.name}
        assert {name for name, mark in zip(names, grid["status"], strict=True) if mark == "x"} == wanted
        assert grid["notes"]["at"] == np.flatnonzero(here.needs.sensitive).tolist()


def test_accepted_findings_are_told_as_such():
    first = cases.case(singleton=True)
    cells = [c for f in first.protected.check.open for c in f.cells]
    case = cases.case(singleton=True, accept=cells)
    assert case.protected.check.verdict == "safe" and len(case.protected.accepted) == len(first.protected.check.open)
    text = text_of(perturbed_page(case))
    assert "since the job accepts it" in text and "Accepted in the job" in text
    assert set("".join(perturbed_grid(case, at)["status"] for at in range(2))) >= {"a"}
    assert "x" not in perturbed_grid(case, 0)["status"]
    one = cases.case(singleton=True, accept=[Cell("both", "Total/W")])
    assert checks.verdict(one)["kind"] == "unsafe"


def test_without_checks_the_page_says_so():
    case = cases.case(singleton=True, checked=False)
    text = text_of(perturbed_page(case))
    assert "NOT CHECKED: released without checks" in text and "– not checked" in text and "nothing found" not in text
    assert "x" in perturbed_grid(case, 0)["status"]


def test_how_mu_was_chosen_is_shown_for_zes_mu(safe):
    case = cases.case(singleton=True, settings=Settings("zes_mu", mu=MuOptions(cap=0.4)))
    cells = case.protected.check.multipliers.choice.cells
    section = sections.chosen_mu(case)
    assert len(section.data["rows"]) == min(len(cells), 20) > 0 and f"{len(cells)} sensitive" in section.data["lead"]
    assert sections.chosen_mu(safe) is None


def secrets(case):
    """True values, noise, needs, multipliers and parameters, as they could be written, without what is published."""
    made, found = case.protected.check.multipliers, set()
    for here in case.protected.check.tables:
        for column in (here.table.total, here.noise, np.abs(here.noise), here.needs.need, here.s_n):
            found |= {f"{x:.{d}f}" for x in column.tolist() for d in (0, 1, 2)}
        ratio = here.total / here.table.total
        for column in (ratio, 100 * np.abs(ratio - 1)):
            found |= {f"{x:.{d}f}" for x in column.tolist() for d in (3, 4, 6)}
    found |= {f"{m:.{d}f}" for m in made.base.tolist() for d in (3, 4, 6)}
    found |= {str(int(x)) for x in made.records.value("x")} | {str(cases.SEED), "0.02", "0.1", "0.10", "42.8571"}
    return {text.lstrip("-") for text in found} - {"0", "0.0", "0.00"}


@pytest.mark.parametrize("singleton", [False, True])
def test_the_public_page_holds_nothing_but_published_figures(singleton):
    case = cases.case(singleton)
    page = public_perturbed_page(cases.release(case))
    body = re.sub(r"Made by cellguard [\d.]+", "", page[page.index("<body>") : page.rindex("<script>")])
    published = {f"{x:.2f}" for here in case.protected.check.tables for x in here.total.tolist()}
    assert published <= figures(body)
    small = {str(n) for n in range(100)}
    kept = secrets(case) - published - small
    assert len(kept) > 500 and not kept & figures(body)
    assert not re.search(r"\bmu\b|sigma|seed|zes|need|sensitive|unsafe|calibrat|firm\d", body, re.I)
    # The search would find them: it does so on the officer's page.
    assert len(kept & figures(perturbed_page(case))) > 10


def test_the_public_page_says_in_general_words_what_was_done(safe):
    release = cases.release(safe)
    page = public_perturbed_page(release)
    text = text_of(page)
    assert "source data perturbation" in text and "noise" in text and "The tables add up" in text
    assert "Suppressed" not in text and {grid["word"] for grid in data_of(page)["tables"]} == {""}
    assert all(set(grid["status"]) == {"."} for grid in data_of(page)["tables"])
    rounded = text_of(public_perturbed_page(release, adds_up=False))
    assert "need not add up" in rounded and "The tables add up" not in rounded


def test_labels_cannot_break_out(safe):
    for page in (perturbed_page(safe), public_perturbed_page(cases.release(safe))):
        assert "<fields>" not in page and "Farms & \\u003cfields>" in page


def test_of_many_supersensitive_cells_the_first_are_listed_and_the_rest_counted(unsafe, monkeypatch):
    whole = checks.extreme(unsafe).data
    assert whole["more"] == 0 and len(whole["rows"]) > 2
    monkeypatch.setattr(checks, "_MOST_EXTREME", 2)
    some = checks.extreme(unsafe).data
    assert some["rows"] == whole["rows"][:2] and some["more"] == len(whole["rows"]) - 2


def test_pictures_show_every_sensitive_cell_and_all_multipliers(unsafe):
    section = pictures.pictures(unsafe)
    spread, noise = section.data["figures"]
    check = unsafe.protected.check
    left = sum(int(here.unsafe.sum()) for here in check.tables)
    sensitive = sum(int(here.needs.sensitive.sum()) for here in check.tables)
    assert left and f"{left:,} still unsafe" in noise["words"]
    assert noise["picture"].count("M") == left, "a cross for each"
    cells = sum(len(here.table) for here in check.tables)
    assert noise["picture"].count("<circle") == cells - left
    assert f"{cells - sensitive:,} others" in noise["words"]
    leaves = check.multipliers.by_leaf([here.table.response for here in check.tables])
    assert f"{sum(map(len, leaves.values())):,} multipliers" in spread["words"]
    assert spread["picture"] in perturbed_page(unsafe)
