"""Maps: a million points on fifty thousand tiles, binned, redistributed, and shown in a browser."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.geometry.hexgrid import Grid
from cellguard.geometry.pieces import Quads
from cellguard.geometry.squaregrid import Squares
from cellguard.methods.maps.algorithms import ALGORITHMS
from cellguard.methods.maps.capping import Cap
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.magnitudes import redistribute_values
from cellguard.methods.maps.mapping import Plan
from cellguard.methods.maps.merging.audit import audit
from cellguard.methods.maps.merging.known import Known
from cellguard.methods.maps.merging.merge import merge
from cellguard.methods.maps.merging.result import inside_of
from cellguard.methods.maps.merging.tree import levels_to_one, quadtree
from cellguard.methods.maps.outlying import treat_outliers
from cellguard.methods.maps.places import Points, Tiles
from cellguard.methods.maps.report.drawn import place
from cellguard.methods.maps.smoothing.kernel_smoothing import Raster, reach
from cellguard.report.render import render
from cellguard.report.section import Section
from cellguard.rules.linear import PPercent
from cellguard.rules.simple import MinFrequency

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def settlements(points: int, seed: int = 1) -> tuple[Points, FloatArray]:
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
    return Points(x, y), np.ceil(rng.lognormal(3, 1, points))


def million(points: int, size: float) -> Callable[[], Iterator[str]]:
    """Time each step of a map; the first calls load compiled kernels, which is not counted."""

    def run() -> Iterator[str]:
        _steps(*settlements(5_000), 40.0)
        yield from _steps(*settlements(points), size)

    return run


def _steps(points: Points, value: FloatArray, size: float) -> list[str]:
    lines: list[str] = []

    def timed(name: str, work: Callable[[], object]) -> object:
        start = time.process_time()
        result = work()
        lines.append(f"{name} {time.process_time() - start:.1f} CPU s")
        return result

    tiles = timed("binning", lambda: Tiles.of_points(points, Grid.of_size(size)))
    space = tiles.space
    treated = timed("outliers", lambda: treat_outliers(space, tiles.count, 3, treatment="remove", apart=3))
    few = int(((tiles.count > 0) & (tiles.count < 3)).sum())
    lines.insert(0, f"{len(points):,} points, {len(tiles.count):,} hexagons, {few:,} sensitive")
    for name, algorithm in ALGORITHMS.items():
        done = timed(name, lambda a=algorithm: a(space, treated.count, 3))
        lines[-1] += f", mu {done.mu:,}, {done.units_moved:,} units"
    values = Contributors.of(tiles.of_point, value, len(tiles.count))
    after = timed("values, p 10 %", lambda: redistribute_values(space, values, [Cap.of(PPercent(10))], Plan()))
    lines[-1] += f", {after.passes} passes, {int(after.stuck.sum())} stuck, {int(after.close.sum())} close"
    lines.append(_page(tiles, treated.count))
    return lines


def _page(tiles: Tiles, after: np.ndarray) -> str:
    """Make the page with the slider, and open it if there is a browser."""
    start = time.process_time()
    data = {
        **place(tiles.grid.drawn(tiles.q, tiles.r), None),
        "before": tiles.count.tolist(),
        "after": [n or None for n in after.tolist()],
        "breaks": [1, 3, 5, 10, 20, 50, 100],
    }
    section = Section("map", "Before and after", {"compares": True, "label": "map"})
    text = render("map_public.html", "map.js", data=data, title="map", sections=[section], how="moved")
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


def squares(points: int, size: float) -> Callable[[], Iterator[str]]:
    """Time squares: binned, redistributed, merged with an audit of all differences, and smoothed."""

    def run() -> Iterator[str]:
        list(_square_steps(*settlements(5_000), 40.0))
        yield from _square_steps(*settlements(points), size)

    return run


def _square_steps(points: Points, value: FloatArray, size: float) -> Iterator[str]:
    start = time.process_time()

    def since(name: str) -> str:
        nonlocal start
        took, start = time.process_time() - start, time.process_time()
        return f"{name} {took:.1f} CPU s"

    tiles = Tiles.of_points(points, Squares(size))
    few = int(((tiles.count > 0) & (tiles.count < 3)).sum())
    yield f"{len(points):,} points, {len(tiles.count):,} squares, {few:,} sensitive: {since('binning')}"
    treated = treat_outliers(tiles.space, tiles.count, 3, treatment="remove", apart=3)
    for name in ("group", "optimal"):
        done = ALGORITHMS[name](tiles.space, treated.count, 3)
        yield f"{since(name)}, mu {done.mu:,}"
    rules = [MinFrequency(3), PPercent(10)]
    tree = quadtree(tiles.q, tiles.r, levels_to_one(tiles.q, tiles.r))
    merged = merge(tree, Known.of_leaves(Contributors.of(tiles.of_point, value, tree.leaves), 2), rules)
    yield f"{since('quadtree, min_frequency 3 and p 10 %')}, {len(merged.shown):,} squares shown"
    shown = merged.shown
    pieces = Quads(Squares(size), tree.level[shown], tree.q[shown], tree.r[shown])
    found = audit(inside_of(pieces, tiles), merged.known.total[shown], tiles.of_point, value, rules)
    yield f"{since('its audit')}, safe: {found.is_safe}"
    before = Raster.of(tiles.q, tiles.r, Contributors.of(tiles.of_point, value, len(tiles.count)), reach(1.0))
    after = before.smoothed(1.0)
    share = after.sensitive("external", 0.95, 3).sum() / after.reached.sum()
    yield f"{since('smoothing')}, {share:.1%} still sensitive"


BENCHMARKS: dict[str, Callable[[], Iterator[str]]] = {
    "map-1m": million(1_000_000, 5.3),
    "map-squares-1m": squares(1_000_000, 5.0),
}
