"""The public page: whether its data are those of the CSV files, and whether it holds any other number.

Style and script of the page are covered by its digest, and the script by the page's own policy; they are not read.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa

from cellguard.verifier.cells import Cells
from cellguard.verifier.hierarchies import Dimension
from cellguard.verifier.numbers import Bools, Int64
from cellguard.verifier.rows import Published, blank
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.stored import Folder, read_bytes, read_json

NAME = "release/report.html"
GROUPS = {"en": ",", "fr": "\u202f", "de": "\u202f"}  # what each language writes between thousands
KINDS = {".": ["published", ""], "c": ["suppressed", "c"]}
_NUMBER = re.compile(r"[0-9][0-9.,\u202f]*")
_VERSION = re.compile(r"cellguard [0-9]+(\.[0-9A-Za-z+]+)*")
_ATTRIBUTES = {
    ("meta charset", "utf-8"),
    ("meta content", "width=device-width, initial-scale=1"),
    ("div tabindex", "0"),
}
_SAMPLE = "123"  # of a published figure, in the legend


def check_page(folder: Folder, cells: Cells, release: Sequence[Published], language: str) -> None:
    """Refuse a public page that shows something else than the CSV files, or speaks another language than the job."""
    if language not in GROUPS:
        raise Refused(f"{NAME}: the job names a language that no page speaks")
    text = attempt(NAME, lambda: read_bytes(folder, NAME).decode("utf-8"))
    page = _Page()
    attempt(NAME, lambda: page.feed(text))
    page.close()
    if [value for name, value in page.attributes if name == "html lang"] != [language]:
        raise Refused(f"{NAME} does not speak the language of the job")
    if page.comments:
        raise Refused(f"{NAME} has a comment, which the page does not show")
    data = read_json(_only_data(page).encode("utf-8"), NAME)
    if set(data) != {"kinds", "tables"} or data["kinds"] != KINDS or not isinstance(data["tables"], list):
        raise Refused(f"{NAME} does not have exactly the data that a public page has")
    released = [number for number, table in enumerate(cells.spec.tables) if table.released]
    if len(data["tables"]) != len(released):
        raise Refused(f"{NAME} does not have the tables of the certificate")
    for number, drawn in zip(released, data["tables"], strict=True):
        name, shown = cells.spec.tables[number].name, release[number]
        if attempt(NAME, lambda drawn=drawn, n=number, shown=shown: _grid(drawn, cells, n, shown)) != drawn:  # type: ignore[misc]
            raise Refused(f"{NAME} does not show of {name} what its CSV file shows, and nothing else")
    numbers = {count for grid in data["tables"] for count in (len(grid["status"]), grid["left_out"])}
    _check_numbers(page, cells, release, {_SAMPLE, *(_grouped(count, language) for count in numbers)}, language)


@dataclass
class _Page(HTMLParser):
    """The parts of a page: its texts, its attributes, and what its script and style elements hold."""

    texts: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    inner: list[tuple[str, dict[str, str | None], list[str]]] = field(default_factory=list)
    comments: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes; what follows a script or style tag is kept apart."""
        self.attributes += [(f"{tag} {name}", value or "") for name, value in attrs]
        self._open = tag in ("script", "style")
        if self._open:
            self.inner.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script or style."""
        self._open = False

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if self._open:
            self.inner[-1][2].append(data)
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """Count comments, which the page has none of."""
        self.comments += 1

    def handle_pi(self, data: str) -> None:
        """Count instructions, which the page has none of."""
        self.comments += 1

    def unknown_decl(self, data: str) -> None:
        """Count declarations, which the page has none of."""
        self.comments += 1


def _only_data(page: _Page) -> str:
    """Return the page's data; refuse a page with more than one style, one script that its policy allows, and data."""
    policies = [value for name, value in page.attributes if name == "meta content" and "script-src" in value]
    kinds = [(tag, tuple(sorted(attributes.items()))) for tag, attributes, _ in page.inner]
    data = ("script", (("id", "grids"), ("type", "application/json")))
    if kinds != [("style", ()), data, ("script", ())] or len(policies) != 1:
        raise Refused(f"{NAME} does not have exactly one style, one script, one set of data and a policy")
    _, found, script = ("".join(words) for _, _, words in page.inner)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    if policies[0] != f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'":
        raise Refused(f"{NAME} has another script or another policy than a public page")
    return found


def _grid(drawn: Mapping[str, Any], cells: Cells, number: int, shown: Published) -> dict[str, Any]:
    """Return what the page should have of a table: of one that it does not show whole, the coarser levels."""
    table = cells.spec.tables[number]
    axes = cells.axes(table)
    codes = cells.row_codes[cells.rows(number)][shown.shown]
    kept = _coarser([cells.dimensions[a].levels()[codes[:, a]] for a in axes], len(drawn["status"]))
    made = [_axis(cells.dimensions[a], codes[kept, a]) for a in axes]
    value = shown.value.take(pa.array(np.flatnonzero(kept))).to_pylist()
    return {
        "name": table.name,
        "response": table.response,
        "decimals": table.decimals,
        "axes": [axis for axis, _ in made],
        "codes": [column for _, column in made],
        "value": " ".join(value),
        "status": "".join("c" if text == "" else "." for text in value),
        "left_out": int((~kept).sum()),
    }


def _coarser(levels: Sequence[Int64], wanted: int) -> Bools:
    """Return so many rows of the coarsest levels; if these are not whole levels, all rows."""
    depth = np.sum(levels, axis=0)
    for deepest in range(int(depth.max(initial=0)) + 1):
        if int((depth <= deepest).sum()) == wanted:
            return np.asarray(depth <= deepest, dtype=bool)
    return np.ones(depth.size, dtype=bool)


def _axis(dimension: Dimension, column: Int64) -> tuple[dict[str, Any], list[int]]:
    """Return the codes that occur and those above them, with labels and parents, and the column in their numbers."""
    above = dimension.first_parents()
    keep = np.zeros(len(dimension.codes), dtype=bool)
    for code in np.unique(column).tolist():
        at = code
        while at >= 0 and not keep[at]:
            keep[at], at = True, int(above[at])
    kept, labels = np.flatnonzero(keep), dimension.labels
    place = np.cumsum(keep) - 1
    axis = {
        "title": dimension.name,
        "codes": (codes := [dimension.codes[code] for code in kept]),
        "labels": {str(n): labels[code] for n, code in enumerate(codes) if code in labels},
        "parent": [int(place[above[code]]) if above[code] >= 0 else -1 for code in kept],
    }
    return axis, place[column].tolist()


def _grouped(count: int, language: str) -> str:
    return f"{count:,}".replace(",", GROUPS[language])


def _check_numbers(page: _Page, cells: Cells, release: Sequence[Published], numbers: set[str], language: str) -> None:
    """Refuse a number outside the data that is neither one of these nor a public fact about the tables."""
    words: set[str] = set()
    usual = set(_ATTRIBUTES)
    tables = [(table, shown) for table, shown in zip(cells.spec.tables, release, strict=True) if table.released]
    for at, (table, shown) in enumerate(tables):
        usual |= {("article aria-labelledby", f"grid-{at}"), ("h3 id", f"grid-{at}"), ("div data-grid", f"{at}")}
        counts = (table.decimals, shown.shown.size, int(blank(shown.value).sum()))
        numbers = numbers | {_grouped(count, language) for count in counts}
        words |= {table.name, table.response, table.population, *table.by}
    for data in page.texts:
        _refuse_others(_VERSION.sub("", data), words, numbers)
    for name, value in page.attributes:
        if name == "meta content" and ("script-src" in value or _VERSION.fullmatch(value)):
            continue
        if (name, value) not in usual:
            _refuse_others(value, words, numbers)


def _refuse_others(text: str, words: Iterable[str], numbers: set[str]) -> None:
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.,]){re.escape(word)}(?!\w)", " ", text)
    for number in _NUMBER.findall(text):
        if number.rstrip(".,") not in numbers:
            raise Refused(f"{NAME} holds a number besides its data that is no public fact about the tables")
