"""Pages of comparisons: words, tables and pictures, whatever is compared."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cellguard.report.render import render
from cellguard.report.section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIGURE = re.compile(r"(-?[\d.,]+(e[+-]\d+)?( %)?|no end|not known)?")


def part(
    name: str,
    title: str,
    *,
    words: Sequence[str] = (),
    tables: Sequence[Mapping[str, Any]] = (),
    figures: Sequence[tuple[str, Figure]] = (),
) -> Section:
    """Return a part of a page; each figure comes with what it shows, in words."""
    drawn = [{"words": said, "picture": _svg(figure, f"{name} {said}"), "said": ""} for said, figure in figures]
    return Section(name, title, {"words": words, "tables": tables, "figures": drawn}, kind="evaluated")


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", note: str = "") -> dict[str, Any]:
    """Return a table of a part: the first column names the rows, and columns of figures are set as such."""
    said = [list(map(str, row)) for row in rows]
    figures = [all(map(_FIGURE.fullmatch, column)) for column in zip(*said, strict=True)]
    return {"heads": list(heads), "rows": said, "figures": figures, "title": title, "note": note}


def evaluation_page(title: str, eyebrow: str, intro: str, sections: Sequence[Section], *, confidential: bool) -> str:
    """Return a comparison as one self-contained page."""
    parts: dict[str, Any] = {"title": title, "eyebrow": eyebrow, "intro": intro, "sections": sections}
    return render("evaluation.html", data={"kinds": {}, "tables": []}, confidential=confidential, **parts)


def _svg(figure: Figure, salt: str) -> str:
    """Return a picture as an element of the page, the same for the same picture."""
    import matplotlib as mpl
    from markupsafe import Markup

    written = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": hashlib.sha256(salt.encode()).hexdigest()[:8], "svg.fonttype": "none"}):
        figure.savefig(written, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = written.getvalue()
    return Markup(text[text.index("<svg") :])  # noqa: S704 - written by matplotlib from our own words
