"""Maps: a million points on fifty thousand hexagons, binned, redistributed, and shown in a browser."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from cellguard.geometry.hexgrid import Grid
from cellguard.methods.maps.algorithms import ALGORITHMS
from cellguard.methods.maps.capping import Cap
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.magnitudes import redistribute_values
from cellguard.methods.maps.mapping import Plan
from cellguard.methods.maps.outlying import treat_outliers
from cellguard.methods.maps.places import Hexagons, Points
from cellguard.report.render import render
from cellguard.report.section import Section
from cellguard.rules.linear import PPercent

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def settlements(points: int, seed: int = 1) -> Points:
    """Towns of very different size and width, and 7 percent of all points anywhere."""
    rng = np.random.default_rng(seed)
    towns = 400
    centre, spread = rng.uniform(0, 1000, (2, towns)), rng.uniform(3, 60, towns)
    weight = rng.pareto(1.1, towns) + 1
    town = rng.choice(towns, int(0.93 * points), p=weight / weight.sum())
    anywhere = rng.uniform(0, 1000, (2, points - len(town)))
    x, y = (
        np.concatenate([centre[i][town] + spread[town] * rng.standard_normal(len(town)), anywhere[i]]) for i in (0, 1)
    )
    return Points(x, y, np.ceil(rng.lognormal(3, 1, points)))


def million(points: int, size: float) -> Callable[[], Iterator[str]]:
    """Time each step of a map; the first calls load compiled kernels, which is not counted."""

    def run() -> Iterator[str]:
        _steps(settlements(5_000), 40.0)
        yield from _steps(settlements(points), size)

    return run


def _steps(points: Points, size: float) -> list[str]:
    lines: list[str] = []

    def timed(name: str, work: Callable[[], object]) -> object:
        start = time.process_time()
        result = work()
        lines.append(f"{name} {time.process_time() - start:.1f} CPU s")
        return result

    hexagons = timed("binning", lambda: Hexagons.of_points(points, Grid.of_size(size)))
    space = hexagons.space
    treated = timed("outliers", lambda: treat_outliers(space, hexagons.count, 3, treatment="remove", apart=3))
    few = int(((hexagons.count > 0) & (hexagons.count < 3)).sum())
    lines.insert(0, f"{len(points):,} points, {len(hexagons.count):,} hexagons, {few:,} sensitive")
    for name, algorithm in ALGORITHMS.items():
        done = timed(name, lambda a=algorithm: a(space, treated.count, 3))
        lines[-1] += f", mu {done.mu:,}, {done.units_moved:,} units"
    values = Contributors.of(hexagons.of_point, points.value, len(hexagons.count))
    after = timed("values, p 10 %", lambda: redistribute_values(space, values, [Cap.of(PPercent(10))], Plan()))
    lines[-1] += f", {after.passes} passes, {int(after.stuck.sum())} stuck, {int(after.close.sum())} close"
    lines.append(_page(hexagons, treated.count))
    return lines


def _page(hexagons: Hexagons, after: np.ndarray) -> str:
    """Make the page with the slider, and open it if there is a browser."""
    start = time.process_time()
    data = {
        "q": hexagons.q.tolist(),
        "r": hexagons.r.tolist(),
        "before": hexagons.count.tolist(),
        "after": [n or None for n in after.tolist()],
        "breaks": [1, 3, 5, 10, 20, 50, 100],
    }
    section = Section("map", "Before and after", {"compares": True, "label": "map"})
    text = render("map_public.html", "map.js", data=data, title="map", sections=[section])
    line = f"page {time.process_time() - start:.1f} CPU s, {len(text.encode()) / 1e6:.1f} MB (bar: 5 MB)"
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return line
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as here, sync_playwright() as playwright:
        path = Path(here) / "map.html"
        path.write_text(text)
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page()
        page.goto(path.as_uri())
        ready = page.evaluate("document.documentElement.dataset.ready")
        slide = page.evaluate(
            "() => { const t = performance.now(); const s = document.querySelector('[data-slider]'); s.value = 20;"
            " s.dispatchEvent(new Event('input')); return Math.round(performance.now() - t); }"
        )
        browser.close()
    return f"{line}; interactive after {ready} ms (bar: 1,000), the slider moves in {slide} ms"


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {"map-1m": million(1_000_000, 5.3)}
