"""Pages as single files without any address in them. They need the extra `report` (jinja2)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cellguard.errors import MissingExtra
from cellguard.report.words import many, number
from cellguard.words.catalogue import translation
from cellguard.words.language import ENGLISH, spoken
from cellguard.words.retell import retell
from cellguard.words.say import say_number, template

if TYPE_CHECKING:
    from jinja2 import Environment

_SAID_BY_SCRIPT = re.compile(r'\bsay\("([^"\\]+)"')
_NO_WORDS = "const WORDS = {};"
GET_IT = "pip install 'cellguard[report]'"


def available() -> bool:
    """Return whether pages can be made: whether jinja2 is installed."""
    return find_spec("jinja2") is not None


def require_extra() -> None:
    """Refuse to make pages if they cannot be."""
    if not available():
        raise MissingExtra(f"No report was made, since it needs an extra; get it with: {GET_IT}")


def render(page: str, script: str = "page.js", /, *, data: Mapping[str, Any], **parts: Any) -> str:  # noqa: ANN401
    """Fill a template: style, script and data go inside, under a policy that forbids everything from elsewhere."""
    style, script = _asset("page.css"), _worded(_asset(script), data)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    environment = _environment()
    safe = environment.filters["safe"]
    # A "<" inside the data could end the script element that holds it.
    compact = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    inline = {"style": safe(style), "script": safe(script), "policy": safe(policy), "data": safe(compact)}
    return environment.get_template(page).render(version=version("cellguard"), language=spoken(), **inline, **parts)


@cache
def _environment() -> Environment:
    """Return the templates, which are compiled once a process."""
    import jinja2

    loader = jinja2.PackageLoader("cellguard.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"say": _say, "number": _number, "many": _many}
    environment.filters["tell"] = _tell
    return environment


def _say(text: str, **parts: object) -> str:
    """Return a text of a page, which may have tags, in the language that is spoken; its parts are escaped."""
    from markupsafe import Markup

    said = Markup(template(text))  # noqa: S704 - written by us, in templates and in the catalogue
    return said.format(**parts) if parts else said


def _tell(words: object) -> object:
    return retell(words) if isinstance(words, str) else words


def _number(value: float) -> str:
    return say_number(number(value))


def _many(count: int, one: str) -> str:
    return retell(many(count, one))


def _worded(script: str, data: Mapping[str, Any]) -> str:
    """Return a script with what it says in the language that is spoken; its data keep their own words."""
    if spoken() == ENGLISH:
        return script
    statuses = [word for word, _ in data.get("kinds", {}).values()]
    views = [name for grid in data.get("tables", ()) for name, _ in grid.get("views", ())]
    marked = ["suppressed", *(grid["word"] for grid in data.get("tables", ()) if grid.get("word"))]
    asked = [*_SAID_BY_SCRIPT.findall(script), *statuses, *views, *marked]
    said = {text: translation(text, spoken()) for text in asked}
    words = json.dumps({text: told for text, told in sorted(said.items()) if told}, ensure_ascii=False)
    return script.replace(_NO_WORDS, f"const WORDS = {words};".replace("<", "\\u003c"))


@cache
def _asset(name: str) -> str:
    return files("cellguard.report").joinpath("templates", name).read_text(encoding="utf-8")
