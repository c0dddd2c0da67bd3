"""The officer's page: the verdict first, then what it was made from; nothing in the data can break out of it."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

import cellguard as cg
from cellguard.attack.external_totals import ExternalTotals
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.suppress.report import assurance, sections
from cellguard.methods.suppress.report.page import internal_page
from cellguard.methods.suppress.result import SuppressionResult, exact_intervals
from cellguard.proofs.probe import Unsolved
from cellguard.table.pattern import Pattern
from unit.methods.suppress.report import cases

SUMMARY = {
    "cost": 1_234.0,
    "lower_bound": 1_000.0,
    "gap": 0.19,
    "deterministic": True,
    "insiders": "not checked",
    "seconds": {"reading the tables": 1.5},
    "versions": {"cellguard": "9.9"},
    "seed": "fixed",
    "inputs": {"t.csv": "abcdef0123"},
    "set": {"witnesses": 7},
    "warnings": ["look <here>"],
}


@pytest.fixture(scope="module")
def case():
    two = ExternalTotals(sp.csr_array((2, len(cases.table()))), np.full(2, np.nan))
    return cases.case(summary=SUMMARY, known=two, made="2026-01-02")


@pytest.fixture(scope="module")
def page(case):
    return internal_page(case)


def data_of(page):
    text = re.search(r'<script type="application/json" id="grids">(.*?)</script>', page, re.S).group(1)
    return json.loads(text)


def text_of(page):
    """The page as people read it, without style, scripts and tags."""
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_the_verdict_comes_before_everything_else(page):
    text = text_of(page)
    assert text.index("Safe against outsiders only; insiders not checked") < text.index("What was protected")
    assert "sums of suppressed cells (unions) not checked" in text and "Confidential" in text


def test_all_parts_are_there_and_linked(page):
    for name in ("protected", "tables", "levels", "largest", "edge", "reasons", "checked", "run"):
        assert f'<section id="{name}"' in page and f'href="#{name}"' in page


def test_what_a_run_was_is_told(page):
    text = text_of(page)
    for words in (
        "fewer than 4 respondents",
        "min_frequency 4",
        "no safe pattern costs less than 1,000, so at most 19.0 % could be saved",
        "2 totals that an attacker has",
        "7 witnesses",
        "abcdef0123",
        "reading the tables 1.50 s",
        "cellguard 9.9",
        "2026-01-02",
        "look &lt;here&gt;",
    ):
        assert words.lower() in text.lower(), words


def test_counts_are_those_of_the_audit(case, page):
    figures = {word: int(number.replace(",", "")) for number, word, _ in assurance.verdict(case)["figures"]}
    pattern = case.protected.audit.pattern
    assert figures["unsafe"] == pattern.primary.sum() > 0
    assert figures["suppressed to protect them"] == pattern.secondary.sum() > 0
    assert figures["cells"] == figures["published"] + pattern.hidden.sum()
    status = data_of(page)["tables"][0]["status"]
    assert (status.count("p"), status.count("s")) == (pattern.primary.sum(), pattern.secondary.sum())


def test_the_explanations_name_secondaries_and_what_they_protect(case):
    rows = sections.reasons(case).data["rows"]
    assert len(rows) == case.protected.audit.pattern.secondary.sum()
    primaries = {
        case.protected.cell(int(c))["codes"].replace(" / ", "/")
        for c in np.flatnonzero(case.protected.audit.pattern.primary)
    }
    named = [row["protects"].removeprefix("protects ").split(", ") for row in rows if "protects" in row["protects"]]
    assert named and all(set(names[:6]) <= primaries for names in named if "more" not in names[-1])


def test_intervals_and_needs_of_hidden_cells_are_in_the_notes(case, page):
    notes = data_of(page)["tables"][0]["notes"]
    hidden = np.flatnonzero(case.protected.audit.pattern.hidden)
    assert notes["at"] == hidden.tolist()
    assert notes["upper"] == pytest.approx(case.protected.audit.needs.upper[hidden].tolist())
    assert len(notes["interval"]) == len(hidden) and " to " in notes["interval"][0]


@pytest.mark.parametrize(("most", "words"), [(1, "too many suppressed cells"), (2_000, "A margin of 1")])
def test_exact_intervals_are_only_promised_where_they_are(monkeypatch, most, words):
    findings, audit = cases.protect(cases.table())
    plain = cg.audit(audit.needs, audit.pattern)
    monkeypatch.setattr(exact_intervals, "__defaults__", (most,))
    page = internal_page(cases.Told(SuppressionResult(findings, plain), {}))
    assert words in text_of(page)
    assert ("interval" in data_of(page)["tables"][0]["notes"]) == (most > 1)


def test_intervals_beyond_the_solver_are_left_out(monkeypatch, tmp_path):
    """The proof stands without them: what is safe is written."""

    def unsolved(problem, *, run):
        raise Unsolved("the numbers are too large")

    monkeypatch.setattr("cellguard.methods.suppress.result.exact_moves", unsolved)
    findings, audit = cases.protect(cases.table())
    proven = SuppressionResult(findings, cg.audit(audit.needs, audit.pattern))
    assert proven.intervals is None and proven.release is not None
    assert "interval" not in data_of(internal_page(cases.Told(proven, {})))["tables"][0]["notes"]


def test_an_unsafe_verdict_is_said_first_and_in_full():
    case = cases.unsafe_case()
    page = text_of(internal_page(case))
    assert "UNSAFE: an outsider can estimate too closely" in page and "do not publish" in page and "✕ fails" in page
    assert f"{int(case.protected.audit.failing.sum())} unsafe cell" in page
    assert "too large to explain" in page


def test_nothing_unsafe_is_said_plainly():
    t = cg.cells({"r": ["Total", "N", "S"], "x": [9, 4, 5], "n": [9, 5, 4]}, by=["r"], value="x", count="n")
    findings, audit = cases.protect(t, [cg.MinFrequency(3)])
    text = text_of(internal_page(cases.Told(SuppressionResult(findings, audit), {})))
    assert "No cell is unsafe under the rules" in text and "Nothing is suppressed" in text


def test_counts_linked_sets_and_unpublished_levels_have_pages_too():
    people = cg.cells(
        {"r": ["Total", "N", "S", "W"], "n": [30, 2, 18, 10]}, by=["r"], value="n", count="n", name="people"
    )
    text = text_of(internal_page(cases.case(people)))
    assert "Whole numbers" in text and "1 wide" in text
    first = cases.table(axes=(("A1", "A2", "B1", "B2"),), name="one")
    second = cases.table(name="two", response="y")
    linked = cases.case(cg.link([first, second]))
    assert "All tables were protected as one linked set" in text_of(internal_page(linked))
    assert len(data_of(internal_page(linked))["tables"]) == 2


EVIL = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{ 7*7 }}", "a&b'\"", "\u2028x", "$x^2$"]


def test_codes_and_labels_cannot_break_out():
    labels = {code: f"<b>{code}</b>" for code in EVIL}
    tree = Dimension("<i>r</i>", cg.Hierarchy.flat(EVIL, labels=labels))
    n = len(EVIL)
    columns = {"<i>r</i>": ["Total", *EVIL], "x": [10 * n, *[10] * n], "n": [9 * n, 1, *[9] * (n - 1)]}
    table = cg.cells(columns, by=[tree], value="x", count="n", name="t<u>")
    page = internal_page(cases.case(table))
    assert page.count("<script") == page.count("</script>") == 2
    for piece in ("<img", "<b><", "<i>r", "t<u>", "> 49 <", ">49<"):
        assert piece not in page
    assert "{{ 7*7 }}" in page and "&lt;i&gt;r" in page
    assert data_of(page)["tables"][0]["axes"][0]["codes"][1:] == EVIL


def test_the_page_names_no_address_and_allows_only_its_own_script(page):
    assert (
        "http:" not in page.replace("http-equiv", "")
        and "https:" not in page
        and "//" not in re.sub(r"\s//[^\n]*", "", page)
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy


def test_the_same_case_gives_the_same_page(case, page):
    assert internal_page(case) == page


def test_words_about_the_optimum():
    said = {
        "optimum": ({"cost": 5.0, "lower_bound": 5.0, "gap": 0.0}, "proven to be the optimum"),
        "gap": ({"cost": 5.0, "lower_bound": 4.0, "gap": 0.2}, "at most 20.0 %"),
        "no bound": ({"cost": 5.0, "lower_bound": 0.0, "gap": 1.0}, "No useful lower bound"),
        "free": ({"cost": 0.0, "lower_bound": 0.0, "gap": 0.0}, "No secondary cell was needed"),
        "given": ({}, "The pattern was given"),
        "stopped": ({"cost": 5.0, "lower_bound": 4.0, "gap": 0.2, "deterministic": False}, "ended early"),
    }
    findings, audit = cases.protect(cases.table())
    for summary, words in said.values():
        assert words in assurance.run(cases.Told(SuppressionResult(findings, audit), summary)).data["lead"]


def test_levels_without_losses_are_counted_and_a_share_of_nothing_is_a_dash():
    t = cg.cells({"r": ["Total", "N", "S"], "x": [0, 0, 0]}, by=["r"], value="x")
    nothing = np.zeros(3, bool)
    needs = cg.require(cg.assess(t, []))
    audit = cg.audit(needs, Pattern(needs.tables, nothing, nothing))
    data = sections.levels(cases.Told(SuppressionResult(cg.assess(t, []), audit), {})).data["tables"][0]
    assert (data["rows"], data["whole"], data["whole_cells"]) == ([], 2, "3 cells")
    hidden = Pattern(needs.tables, nothing, np.array([False, True, True]))
    data = sections.levels(cases.Told(SuppressionResult(cg.assess(t, []), cg.audit(needs, hidden)), {})).data["tables"][
        0
    ]
    assert [row["value_share"] for row in data["rows"]] == ["–"] and data["whole"] == 1
