"""The pages in a real browser: no errors, no network, keyboard, narrow screens, print and contrast."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.perturb.report.page import perturbed_page, public_perturbed_page
from cellguard.methods.suppress.report.page import internal_page, public_page
from cellguard.table.pattern import Release, ReleasedTable, release
from unit.methods.perturb.report import perturbed_cases
from unit.methods.suppress.report import cases

from system.browsing import CONTRAST, DESKTOP, NEEDS_BROWSER, PAPER, PHONE

pytestmark = NEEDS_BROWSER
SUMMARY = {
    "cost": 5.0,
    "lower_bound": 4.0,
    "gap": 0.2,
    "seconds": {"auditing": 0.2},
    "inputs": {"a_file_with_a_rather_long_name_for_a_phone.csv": "0123456789abcdef" * 4},
    "versions": {"cellguard": "1"},
    "warnings": ["dimension 'region': groupings that do not nest overlap"],
}


AXE = Path(__file__).parents[2] / "build" / "axe" / "package" / "axe.min.js"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Both pages of a linked set, by one, two and three dimensions."""
    home = tmp_path_factory.mktemp("pages")
    axes = ("A1", "A2", "B1", "B2"), tuple(f"region{i}" for i in range(12)), ("x", "y")
    tables = [cases.table(f"t{n}", axes[:n], response=f"r{n}", seed=n) for n in (1, 2, 3)]
    case = cases.case(cg.link(tables), SUMMARY, made="2026-01-02")
    audit = case.protected.audit
    noisy = perturbed_cases.case(singleton=True, summary=SUMMARY, made="2026-01-02")
    pages = {
        "internal": internal_page(case),
        "public": public_page(release(audit.pattern, audit.grains.value, audit.grains.decimals)),
        "unsafe": internal_page(cases.unsafe_case()),
        "perturbed": perturbed_page(noisy),
        "noisy": public_perturbed_page(perturbed_cases.release(noisy)),
    }
    for name, text in pages.items():
        (home / f"{name}.html").write_text(text, encoding="utf-8")
    return home


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["internal", "public", "unsafe", "perturbed", "noisy"])
def test_a_page_opens_without_errors_and_does_not_scroll_sideways(visit, name, size):
    page = visit(name, size)
    grids = page.locator("[role=treegrid]").count()
    assert grids == {"unsafe": 1, "perturbed": 2, "noisy": 2}.get(name, 3)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for button in page.get_by_role("button", name="Open all").all():
        button.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_the_first_screen_tells_the_verdict(visit):
    page = visit("internal")
    box = page.get_by_text("Safe against outsiders only").first.bounding_box()
    assert box["y"] + box["height"] < 400
    assert "UNSAFE" in visit("unsafe").locator(".verdict").inner_text()


def row(page, code, grid=1):
    return (
        page.locator("[role=treegrid]").nth(grid).locator("tbody tr", has=page.locator(f"th:has-text('{code}')")).first
    )


def test_rows_open_and_close_by_keyboard(visit):
    page = visit("internal")
    page.get_by_role("button", name="Close all").nth(1).click()
    top = row(page, "Total")
    rows = page.locator("[role=treegrid]").nth(1).locator("tbody tr")
    assert (rows.count(), top.get_attribute("aria-expanded")) == (1, "false")
    top.locator("th").focus()
    for key, many in (("Enter", 3), ("Enter", 1), ("Space", 3), ("Space", 1), ("ArrowRight", 3), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        assert rows.count() == many, key
        assert top.get_attribute("aria-expanded") == ("true" if many > 1 else "false")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert rows.count() == 5 and row(page, "A1").get_attribute("aria-level") == "3"
    assert page.evaluate("document.activeElement.textContent").startswith("▾A")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.textContent").startswith("▾A ")


def test_one_tab_stop_a_grid_and_cells_tell_about_themselves(visit):
    page = visit("internal")
    grid = page.locator("[role=treegrid]").nth(1)
    assert grid.locator("tbody [tabindex='0']").count() == 1
    grid.locator("tbody tr").first.locator("th").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert grid.locator("tbody [tabindex='0']").count() == 1
    detail = page.locator(".detail").nth(1)
    assert "Total / Total: published" in detail.inner_text()
    grid.locator("td.p").first.click()
    told = detail.inner_text()
    assert (
        "primary" in told and "min_frequency 4: " in told and "Protection level" in told and "an outsider sees" in told
    )
    grid.locator("td.s").first.click()
    assert "secondary" in detail.inner_text() and "protects" in detail.inner_text()


def test_columns_open_too_and_rows_without_hidden_cells_can_be_left_out(visit):
    page = visit("internal")
    grid = page.locator("[role=treegrid]").nth(1)
    total = grid.locator("thead button[aria-expanded]")
    assert (total.get_attribute("aria-expanded"), grid.locator("thead th").count()) == ("true", 15)
    total.focus()
    page.keyboard.press("Enter")
    assert (total.get_attribute("aria-expanded"), grid.locator("thead th").count()) == ("false", 3)
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    shown = page.locator("[role=treegrid]").nth(0)
    before = shown.locator("tbody tr").count()
    page.get_by_label("only rows with suppressed cells").nth(0).check()
    left = shown.locator("tbody tr").all_inner_texts()
    assert 0 < len(left) < before and not any("none" in text for text in left)


def test_a_cell_of_a_list_is_found_in_its_grid(visit):
    page = visit("internal")
    links = page.locator("#hidden a[data-go]")
    for at in (0, links.count() // 2, links.count() - 1):
        links.nth(at).click()
        table, codes = json.loads(links.nth(at).get_attribute("data-go"))
        here = page.locator("[data-grid]").nth(["t1", "t2", "t3"].index(table))
        told = here.locator(".detail strong").inner_text().split(" / ")
        assert [name.split(" ")[0] for name in told] == codes
        assert page.evaluate("document.activeElement.getAttribute('role')") == "gridcell"


def test_the_list_of_hidden_cells_is_searched_and_filtered(visit):
    page = visit("internal")
    rows, count = page.locator("#hidden tbody tr:visible"), page.locator("#hidden .tools .muted")
    every = rows.count()
    page.locator("#hidden input[type=search]").fill("region3")
    assert 0 < rows.count() < every and all("region3" in text for text in rows.locator("th").all_inner_texts())
    assert count.inner_text() == f"{rows.count()} of {every} cells"
    page.locator("#hidden input[type=search]").fill("")
    page.locator("#hidden select").first.select_option("secondary")
    assert set(rows.evaluate_all("rows => rows.map(row => row.dataset.status)")) == {"secondary"}


def test_counts_of_rows_and_only_rows_with_hidden_cells_follow_the_slice(visit):
    page = visit("internal")
    grid = page.locator("[data-grid]").nth(2)
    told = {}
    for slice_ in ("Total", "x", "y"):
        option = grid.locator("select option", has_text=slice_).first
        grid.locator("select").last.select_option(option.get_attribute("value"))
        told[slice_] = grid.locator("tbody tr").first.locator("td.below").inner_text()
        marked = grid.locator("tbody td.p, tbody td.s").count()
        assert (told[slice_] == "none") == (marked == 0)
    assert len(set(told.values())) > 1


def test_a_narrow_screen_shows_columns_with_hidden_cells_first(visit):
    page = visit("internal", PHONE)
    grid = page.locator("[role=treegrid]").nth(1)
    page.get_by_role("button", name="Open all").nth(1).click()
    marked = grid.locator("tbody tr").evaluate_all(
        "rows => rows.flatMap(r => [...r.children].flatMap((c, i) => /\\b[ps]\\b/.test(c.className) ? [i] : []))"
    )
    width = grid.locator("thead th").count()
    assert marked and sorted(set(marked)) == list(range(2, 2 + len(set(marked)))) and 2 + len(set(marked)) < width


def test_values_of_a_slice_are_those_of_the_table(visit):
    page = visit("public")
    table = cases.table("t3", (("A1", "A2", "B1", "B2"), tuple(f"region{i}" for i in range(12)), ("x", "y")), seed=3)
    options = page.locator("select option").all_inner_texts()
    place = table.dimensions[2].position["x"]
    assert [text.split(" (")[0].strip() for text in options] == ["Total", "x", "y"]
    assert options[place].endswith("suppressed)")
    page.locator("select").select_option(index=place)
    cell = row(page, "Total", 2).locator("td").nth(1)
    assert cell.inner_text() == f"{table.value[table.find('Total/Total/x')]:,.0f}"


def test_a_public_cell_tells_no_more_than_it_shows(visit):
    page = visit("public")
    page.locator("td.c").first.click()
    assert page.locator(".detail").first.inner_text().endswith(": suppressed.")


@pytest.mark.parametrize(("media", "scheme"), [("screen", "light"), ("screen", "dark"), ("print", "light")])
@pytest.mark.parametrize("name", ["internal", "public", "unsafe", "perturbed", "noisy"])
def test_all_text_has_enough_contrast(visit, name, media, scheme):
    page = visit(name)
    page.emulate_media(media=media, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    # The measure does find faint text.
    faint = "#555" if scheme == "dark" else "#aaa"
    page.evaluate(f"document.querySelector('h1').style.color = '{faint}'")
    assert len(page.evaluate(CONTRAST)) == 1


def test_marks_differ_without_colour(visit):
    page = visit("internal")
    grid = page.locator("[role=treegrid]").nth(0)
    assert {text[0] for text in grid.locator("td.p").all_inner_texts()} == {"●"}
    assert {text[0] for text in grid.locator("td.s").all_inner_texts()} == {"○"}
    labels = [node.get_attribute("aria-label") for node in grid.locator("td.p, td.s").all()]
    assert labels and all(label.endswith(("primary", "secondary")) for label in labels)
    assert set(visit("public").locator("td.c").all_inner_texts()) == {"c"}


def test_perturbed_tables_show_values_noise_and_marks(visit):
    page = visit("perturbed")
    box = page.get_by_text("Not released").bounding_box()
    assert box["y"] + box["height"] < 400
    grid = page.locator("[role=treegrid]").nth(1)
    total = grid.locator("tbody tr").first.locator("td").last
    published = total.inner_text()
    page.get_by_label("show").nth(1).select_option("true value")
    true = total.inner_text()
    page.get_by_label("show").nth(1).select_option("noise in percent")
    noise = float(total.inner_text().replace("✕", ""))
    figures = [float(text.replace(",", "").replace("✕", "")) for text in (published, true)]
    assert noise == pytest.approx(100 * (figures[0] / figures[1] - 1), abs=0.006) and noise != 0
    alone = row(page, "W").locator("td").last
    assert "✕" in alone.inner_text() and "x" in alone.get_attribute("class")
    alone.click()
    told = page.locator(".detail").nth(1).inner_text()
    assert all(words in told for words in ("unsafe", "true value", "noise in percent", "needs noise of", "S_N"))


def test_public_perturbed_tables_have_values_and_no_marks(visit):
    page = visit("noisy")
    assert page.get_by_text("only rows with").count() == 0 and page.get_by_label("show").count() == 0
    grid = page.locator("[role=treegrid]").first
    assert grid.locator("thead th").all_inner_texts() == ["industry \\ region", "▾ Total", "N", "S", "W"]
    grid.locator("tbody tr").first.locator("td").first.click()
    assert page.locator(".detail").first.inner_text().startswith("Total / Total: published, ")


def test_paper_shows_everything_that_is_open_and_no_controls(visit):
    page = visit("internal", PAPER)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator(".tools").first.is_hidden() and page.locator("nav").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER[0]
    clipped = (
        "[...document.querySelectorAll('.sheet, .scroll')].filter((e) => getComputedStyle(e).overflowX !== 'visible')"
    )
    assert page.evaluate(f"{clipped}.length") == 0
    assert page.pdf().startswith(b"%PDF")


def test_a_page_says_what_to_do_without_scripts(visit):
    page = visit("public", java_script_enabled=False)
    assert "drawn by a script inside the page" in page.locator(".grid").first.inner_text()


@pytest.mark.parametrize("many", [250, pytest.param(1_000, marks=pytest.mark.endless)])
def test_a_hundred_thousand_cells_open_quickly(browser, tmp_path, many):
    """A flat table of 1,000 by 100 codes, or a sample: rows come in portions."""
    rows, columns = [f"row {i}" for i in range(many)], [f"c{i}" for i in range(100)]
    first = np.repeat(np.array(["Total", *rows], object), 101)
    second = np.tile(np.array(["Total", *columns], object), many + 1)
    value = list(range(len(first)))
    table = ReleasedTable("big", ("r", "s"), (first, second), value, np.zeros(len(first), bool), "x", "all", 0)
    dimensions = {"r": cg.Dimension("r", cg.Hierarchy.flat(rows)), "s": cg.Dimension("s", cg.Hierarchy.flat(columns))}
    start = time.process_time()
    text = public_page(Release.of([table], dimensions))
    assert time.process_time() - start < 10 and len(text.encode()) < 10_000 * many
    (tmp_path / "big.html").write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "big.html").as_uri())
    body = page.locator("[role=treegrid] tbody tr")
    assert body.count() == 1 + 100 + 1
    assert page.locator("[role=treegrid] thead th").count() == 2 + 1 + 16 + 1
    body.last.locator("th").focus()
    page.keyboard.press("Enter")
    assert body.count() == 1 + 200 + 1 and page.evaluate("document.activeElement.textContent") == "row 100"
    page.close()


@pytest.mark.long
@pytest.mark.skipif(not AXE.is_file(), reason="`make axe` gets the checker of accessibility")
@pytest.mark.parametrize("name", ["internal", "public", "unsafe", "perturbed", "noisy"])
def test_a_checker_of_accessibility_finds_no_serious_fault(visit, name):
    page = visit(name, bypass_csp=True)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run().then((r) => r.violations.map((v) => [v.id, v.impact, v.nodes[0].html]))")
    assert [fault for fault in found if fault[1] in ("serious", "critical")] == []
