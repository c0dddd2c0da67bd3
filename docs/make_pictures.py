"""Draw the pictures of the documentation: drawings as SVG, pages of the tutorials as screenshots in headless Chromium.

`make docs` runs it. The pictures are committed, so that README and site show them without a browser; a screenshot is
replaced only if it looks different. Drawings are made from the figures of the first tutorial.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
LARGEST = 150_000
SAVED = re.compile(r"[Ss]ave this as `([\w.-]+)`[^\n]*:\n\n```\w+\n(.*?)```", re.S)
INK, PALE, RED, AMBER, BLUE = "#1f2933", "#f3f5f7", "#f8c9c4", "#fbe7b8", "#cfe3f7"
Cell = tuple[str, str]

# Each page of a tutorial: what is run in its folder, the page that comes of it, and how far down it is shown.
SHOTS: Mapping[str, tuple[str, Sequence[str], str, int]] = {
    "officer-page.png": ("first-safe-table.md", ("init firms.csv", "protect job.yaml --out out"), "out", 1180),
    "map-page.png": ("map.md", ("map map.yaml --out map",), "map", 1320),
    "noise-page.png": ("noise.md", ("perturb noise.yaml --out noise",), "noise", 1320),
}


def text(x: float, y: float, words: str, *, size: int = 15, anchor: str = "middle", weight: str = "normal") -> str:
    """Return a text of a drawing."""
    style = f'font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{INK}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def box(x: float, y: float, wide: float, high: float, fill: str) -> str:
    """Return a rectangle of a drawing."""
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}" stroke="#9aa5b1"/>'


def grid(x: float, y: float, rows: Sequence[Sequence[Cell]], *, wide: int = 84, high: int = 34) -> str:
    """Return a table of a drawing: words and a fill per cell; the first column is wider."""
    parts = []
    for i, row in enumerate(rows):
        left = x
        for j, (words, fill) in enumerate(row):
            width = wide + 10 if j == 0 else wide
            parts += [box(left, y + i * high, width, high, fill)]
            parts += [text(left + width / 2, y + i * high + high / 2 + 5, words)]
            left += width
    return "".join(parts)


def drawing(wide: int, high: int, title: str, *parts: str) -> str:
    """Return a whole drawing; its title is the text alternative."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
    head += 'role="img" font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif">'
    ground = f'<title>{title}</title><rect width="{wide}" height="{high}" fill="#ffffff"/>'
    return head + ground + "".join(parts) + "</svg>\n"


def firms_table(changed: Mapping[tuple[int, int], Cell]) -> list[list[Cell]]:
    """Return the table of the first tutorial, with some cells changed."""
    rows = [
        ["", "Total", "North", "South", "West"],
        ["Total", "6,524", "2,584", "2,135", "1,805"],
        ["food", "2,780", "1,230", "710", "840"],
        ["metal", "2,724", "984", "1,110", "630"],
        ["textile", "1,020", "370", "315", "335"],
    ]
    plain = [[(word, PALE if 0 in (i, j) else "#ffffff") for j, word in enumerate(row)] for i, row in enumerate(rows)]
    for (i, j), cell in changed.items():
        plain[i][j] = cell
    return plain


def before_after() -> str:
    """Draw the table with its sensitive cells, and as it is published."""
    before = {(3, 2): ("984", RED), (4, 4): ("335", RED)}
    after = {(3, 2): ("c", RED), (4, 4): ("c", RED), (3, 4): ("c", AMBER), (4, 2): ("c", AMBER)}
    legend = [box(40, 248, 18, 18, RED), text(66, 262, "sensitive: primary suppression", anchor="start")]
    legend += [box(330, 248, 18, 18, AMBER), text(356, 262, "secondary suppression", anchor="start")]
    heads = [text(255, 36, "Confidential", size=17, weight="bold"), text(735, 36, "Published", size=17, weight="bold")]
    tables = [grid(40, 54, firms_table(before)), grid(520, 54, firms_table(after))]
    return drawing(990, 290, "A table before and after suppression", *heads, *tables, *legend)


def cut() -> str:
    """Draw a row whose only suppressed cell follows from the others."""
    row = [[("metal", PALE), ("2,724", "#ffffff"), ("?", RED), ("1,110", BLUE), ("630", BLUE)]]
    words = [
        text(310, 30, "One suppressed cell in a row: 2,724 − 1,110 − 630 = 984", size=16, weight="bold"),
        text(310, 140, "Capacity cut: of the two blue cells, at least one must be suppressed,"),
        text(310, 162, "and together they must be able to move by the protection level."),
    ]
    return drawing(620, 190, "A capacity cut", grid(95, 60, row), *words)


def circuit() -> str:
    """Draw a circuit around four cells."""
    signs = [
        [("", PALE), ("North", PALE), ("South", PALE), ("West", PALE), ("sum", PALE)],
        [("metal", PALE), ("+1", RED), ("0", "#ffffff"), ("−1", AMBER), ("0", PALE)],
        [("textile", PALE), ("−1", AMBER), ("0", "#ffffff"), ("+1", RED), ("0", PALE)],
        [("sum", PALE), ("0", PALE), ("0", PALE), ("0", PALE), ("0", PALE)],
    ]
    line = 'fill="none" stroke="#52606d" stroke-width="2" stroke-dasharray="6 4"'
    loop = f'<rect x="138" y="69" width="234" height="58" rx="10" {line}/>'
    return drawing(500, 200, "A circuit", grid(35, 30, signs), loop)


def witness() -> str:
    """Draw the true table beside a witness that agrees in all published cells."""
    true = {(3, 2): ("984", RED), (4, 4): ("335", RED), (3, 4): ("630", AMBER), (4, 2): ("370", AMBER)}
    other = {(3, 2): ("1,053", RED), (4, 4): ("404", RED), (3, 4): ("561", AMBER), (4, 2): ("301", AMBER)}
    names = ((255, "The true table"), (735, "A witness"))
    heads = [text(x, 36, name, size=17, weight="bold") for x, name in names]
    tables = [grid(40, 54, firms_table(true)), grid(520, 54, firms_table(other))]
    foot = text(495, 258, "All published cells agree. 984 + 69 = 1,053 reaches the protection level of p %, p = 10.")
    return drawing(990, 285, "The true table and a witness", *heads, *tables, foot)


LAYERS = [
    ("faces", "command line and Python; they ask, and show results"),
    ("evaluate · suggest", "comparisons of rules and policies; init"),
    ("pipeline", "run(job): the one way from a job to its outcome"),
    ("methods", "suppress · perturb · maps: one folder each"),
    ("answers", "questions on the fly: register first, limits, the same answer again"),
    ("inputs", "a job's data become tables"),
    ("io · report · views", "output folder, formats, pages, terminal"),
    ("seam", "Method, Outcome, Verdict: what every method gives"),
    ("attack · proofs · linalg", "what an attacker can conclude; exact proofs"),
    ("protection · world", "protection levels; one set of records behind all tables"),
    ("job", "the job file: frozen, validated"),
    ("rules · solver", "one declaration per rule; one door to the solver"),
    ("table", "cells, facts, relations, patterns, releases"),
    ("microdata", "records and their roles; databases"),
    ("geometry · hierarchy · verifier", "hexagons; codes in a tree; the independent verifier"),
    ("reading · randomness · errors · words", "text files, seeds, the error tree, languages"),
]


def layers() -> str:
    """Draw the layers: each imports only from below."""
    parts = []
    for i, (name, what) in enumerate(LAYERS):
        fill = BLUE if name in {"methods", "seam"} else PALE
        parts += [box(20, 20 + 38 * i, 760, 34, fill), text(36, 42 + 38 * i, name, anchor="start", weight="bold")]
        parts += [text(310, 42 + 38 * i, what, anchor="start", size=14)]
    return drawing(800, 40 + 38 * len(LAYERS), "Layers: a module imports only from lower ones", *parts)


def draw() -> None:
    """Write all drawings."""
    drawings = {"before-after": before_after, "cut": cut, "circuit": circuit, "witness": witness, "layers": layers}
    for name, make in drawings.items():
        (PICTURES / f"{name}.svg").write_text(make())


def run_tutorial(page: str, commands: Sequence[str], folder: Path) -> None:
    """Run the commands of a tutorial on the files that its page says to save."""
    for name, words in SAVED.findall((DOCS / "tutorials" / page).read_text()):
        (folder / name).write_text(words)
    for script in folder.glob("*.py"):
        subprocess.run([sys.executable, script.name], cwd=folder, check=True)  # noqa: S603
    code = "from cellguard.faces.cli.entry import main; main()"
    for command in commands:
        subprocess.run([sys.executable, "-c", code, *command.split(), "-q"], cwd=folder, check=True)  # noqa: S603


def smaller(png: bytes) -> bytes:
    """Return a screenshot with few colours, which a page of text and fills does not miss."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def looks_different(png: bytes, path: Path, few: float) -> bool:
    """Tell whether more than a few pixels of a picture changed: a word of it is some hundred pixels."""
    import numpy as np
    from PIL import Image

    if not path.exists():
        return True
    new, old = (np.asarray(Image.open(file).convert("RGB"), int) for file in (io.BytesIO(png), path))
    return new.shape != old.shape or float((abs(new - old).max(axis=2) > 32).mean()) > few


def shoot() -> None:
    """Take all screenshots."""
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for name, (page_name, commands, out, high) in SHOTS.items():
            folder = Path(home, name)
            folder.mkdir()
            run_tutorial(page_name, commands, folder)
            page = browser.new_page(viewport={"width": 1200, "height": high})
            page.goto((folder / out / "internal/report.html").as_uri())
            page.wait_for_timeout(500)
            page.evaluate("document.querySelector('.eyebrow').textContent = 'Disclosure control report'")  # not when
            keep(name, page.screenshot(), few=0.0002)
            page.close()
        browser.close()


def residuals() -> None:
    """Draw the map of the literature before and after: the piecewise regression, and its standardised residuals."""
    import numpy as np

    from cellguard.geometry.hexgrid import Grid
    from cellguard.methods.maps.mapping import redistribute
    from cellguard.methods.maps.places import Points, Tiles
    from cellguard.methods.maps.report.classes import breaks
    from cellguard.methods.maps.report.figures import map_figure, picture
    from cellguard.methods.maps.simulate import simulate

    x, residual = simulate("piecewise", seed=1)
    tiles = Tiles.of_points(Points(x, residual), Grid.fit(x, residual, 30))
    done = redistribute(tiles.space, tiles.count)
    before, after = done.before.astype(float), done.after.astype(float)
    starts = breaks(np.concatenate([before, after[after > 0]]))
    for name, value, title in (("before", before, "Before"), ("after", after, "After, by Algorithm 1")):
        here = value > 0
        shapes = tiles.grid.shapes(tiles.q[here], tiles.r[here])
        raised = (after > before)[here] if name == "after" else None
        figure = map_figure(shapes, value[here], title=title, starts=starts, raised=raised)
        figure.axes[0].set_aspect("auto")
        keep(f"residuals-{name}.png", picture(figure, "png"))


def keep(name: str, png: bytes, few: float = 0.002) -> None:
    """Write a screenshot, unless it looks as it did."""
    png = smaller(png)
    if len(png) > LARGEST:
        sys.exit(f"{name} is larger than {LARGEST:,} bytes")
    if looks_different(png, PICTURES / name, few):
        (PICTURES / name).write_bytes(png)


def shoot_studio() -> None:
    """Take screenshots of the studio, on the records of the first tutorial."""
    from playwright.sync_api import sync_playwright

    from cellguard.faces.studio.serve import Place, Server, studio_of

    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        folder = Path(home, "firms")
        folder.mkdir()
        run_tutorial("first-safe-table.md", ("init firms.csv",), folder)
        server = Server(studio_of(Place.of(folder / "job.yaml")))
        serving = Thread(target=server.run, daemon=True)
        serving.start()
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])

        def enter(role: str, name: str) -> Page:
            page = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB").new_page()
            page.goto(server.link(role))
            page.locator("#name").fill(name)
            page.keyboard.press("Enter")
            page.locator("body[data-ready]").wait_for()
            return page

        def room(page: Page, name: str, ready: str) -> None:
            page.locator(f"nav a[href='#{name}']").click()
            page.locator(ready).first.wait_for()

        page = enter("maker", "Ada")
        room(page, "rules", "#bars tr")
        keep("studio-rules.png", page.screenshot())
        room(page, "protect", "button#protect")
        page.locator("button#protect").click()
        page.locator("details.run .headline").wait_for()
        page.locator("button.look").first.click()
        page.locator("#grid td.s").first.click()
        page.locator("#cell .chip.s").first.wait_for()
        page.locator("#grid td.p").first.click()
        page.locator("#cell .chip.p").first.wait_for()
        page.wait_for_timeout(300)
        keep("studio-tables.png", page.screenshot())
        room(page, "sign", "[data-do=request]")
        page.locator(".reason").fill("for the yearbook")
        page.locator("[data-do=request]").click()
        page.locator(".chip.requested").wait_for()
        other = enter("checker", "Bea")
        other.locator("button.verify").click()
        other.locator(".checks-found .good").first.wait_for()
        other.wait_for_timeout(300)
        keep("studio-sign.png", other.screenshot())
        browser.close()
        server.stop()
        serving.join(10)


if __name__ == "__main__":
    draw()
    residuals()
    shoot()
    shoot_studio()
