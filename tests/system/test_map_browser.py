"""The pages of a map in a real browser: slider, zoom, legend, details, no errors, no network, and how fast."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.geometry.hexgrid import Grid
from cellguard.methods.maps.report.page import internal_map, public_map
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.simulate import simulate
from cellguard.seam.outcome import Outcome

from system.browsing import CONTRAST, DESKTOP, NEEDS_BROWSER, PHONE

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def outcome(tmp_path_factory) -> Outcome:
    home = tmp_path_factory.mktemp("map")
    x, y = simulate("outliers", seed=2)
    rows = "".join(f"{a:.5f},{b:.5f}\n" for a, b in zip(x, y, strict=True))
    (home / "points.csv").write_text("x,y\n" + rows)
    table = {
        "name": "shops",
        "by": ["hexagon"],
        "value": "count",
        "rules": [{"min_frequency": 3}],
        "protect": {"method": "redistribute"},
    }
    job = cg.Job.parse({"version": 1, "microdata": {"source": "points.csv"}, "tables": [table]}, folder=home)
    return cg.run(job)


@pytest.fixture(scope="module")
def files(outcome, tmp_path_factory):
    home = tmp_path_factory.mktemp("pages")
    (home / "internal.html").write_text(internal_map(outcome))
    (home / "public.html").write_text(public_map(outcome.protected.shown))
    return home


PIXELS = "document.querySelector('canvas').toDataURL()"


def eventually(page, condition):
    """Wait for what happens in the next picture; the page's policy forbids waiting inside of it."""
    for _ in range(50):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen")


def slide(page, value):
    page.locator("[data-slider]").evaluate(
        f"(node) => {{ node.value = {value}; node.dispatchEvent(new Event('input')); }}"
    )


def test_the_slider_goes_from_before_to_after(visit):
    page = visit("internal")
    pictures = []
    for value in (0, 50, 100):
        slide(page, value)
        pictures.append(page.evaluate(PIXELS))
    assert len(set(pictures)) == 3
    slide(page, 0)
    assert page.evaluate(PIXELS) == pictures[0]
    page.get_by_label("show what changed").check()
    eventually(page, lambda: page.evaluate(PIXELS) != pictures[0])


def test_zoom_by_button_wheel_and_keyboard(visit):
    page = visit("internal")
    scale = lambda: page.evaluate("cellguardMap.view.scale")  # noqa: E731
    first = scale()
    page.get_by_role("button", name="Zoom in").click()
    assert scale() == pytest.approx(1.5 * first)
    page.get_by_role("button", name="Whole map").click()
    assert scale() == pytest.approx(first)
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    canvas.hover()
    page.mouse.wheel(0, -100)
    eventually(page, lambda: scale() > 1.1 * first)
    canvas.focus()
    page.keyboard.press("0")
    page.keyboard.press("+")
    assert scale() == pytest.approx(1.3 * first)
    before = page.evaluate("cellguardMap.view.x")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("cellguardMap.view.x") == before + 40


def test_a_hexagon_tells_about_itself(visit, outcome):
    done = outcome.protected
    cell = int(np.argmax(done.after))
    q, r = int(done.tiles.q[cell]), int(done.tiles.r[cell])
    place = f"const v = cellguardMap.view, x = {q} + {r} / 2, y = -{r} * Math.sqrt(3) / 2;"
    for name, words in (
        ("internal", f"h{q}:{r}: before {done.before[cell]:.0f}, after {done.after[cell]:.0f}."),
        ("public", f"h{q}:{r}: {done.after[cell]:.0f}."),
    ):
        page = visit(name)
        page.evaluate(
            f"() => {{ {place} cellguardMap.tell(cellguardMap.hexagonAt(v.x + v.scale * x, v.y + v.scale * y)); }}"
        )
        assert page.locator(".detail").inner_text() == words


def test_legends_and_words(visit):
    page = visit("internal")
    legend = page.locator(".map .legend").inner_text()
    assert "and more" in legend and "changes: raised" in legend
    assert "Safe from recovery" in page.locator(".verdict").inner_text()
    assert page.locator("figure svg").count() == 3
    public = visit("public")
    assert public.locator("[data-slider]").count() == 0
    assert "may have been" in public.locator("main").inner_text()
    assert "changes" not in public.locator(".map .legend").inner_text()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["internal", "public"])
def test_pages_fit_and_can_be_read(visit, name, size):
    page = visit(name, size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate(CONTRAST) == []


def test_fifty_thousand_hexagons_are_no_burden(browser, tmp_path):
    """The bar: below 5 MB, and interactive within a second (here: three, on machines that do other things too)."""
    q, r = (part.ravel() for part in np.meshgrid(np.arange(250), np.arange(200), indexing="ij"))
    value = [3 + (a * b) % 97 for a, b in zip(q.tolist(), r.tolist(), strict=True)]
    shown = ShownMap("big", "hexagon", Grid.of_size(1.0), q - r // 2, r, value, "count", "all", 0)
    text = public_map(shown)
    assert len(text.encode()) < 5_000_000
    (tmp_path / "big.html").write_text(text)
    page = browser.new_page()
    page.goto((tmp_path / "big.html").as_uri())
    ready = int(page.evaluate("document.documentElement.dataset.ready"))
    page.close()
    assert ready < 3000
