"""Pages as single files without any address in them. They need the extra `report` (jinja2)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cellguard.errors import MissingExtra

if TYPE_CHECKING:
    from jinja2 import Environment

GET_IT = "pip install 'cellguard[report]'"


def available() -> bool:
    """Return whether pages can be made: whether jinja2 is installed."""
    return find_spec("jinja2") is not None


def require_extra() -> None:
    """Refuse to make pages if they cannot be."""
    if not available():
        raise MissingExtra(f"No report was made, since it needs an extra; get it with: {GET_IT}")


def render(template: str, script: str = "page.js", /, *, data: Mapping[str, Any], **parts: Any) -> str:  # noqa: ANN401
    """Fill a template: style, script and data go inside, under a policy that forbids everything from elsewhere."""
    style, script = _asset("page.css"), _asset(script)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    environment = _environment()
    safe = environment.filters["safe"]
    # A "<" inside the data could end the script element that holds it.
    compact = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    inline = {"style": safe(style), "script": safe(script), "policy": safe(policy), "data": safe(compact)}
    return environment.get_template(template).render(version=version("cellguard"), **inline, **parts)


def _environment() -> Environment:
    import jinja2

    loader = jinja2.PackageLoader("cellguard.report")
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return files("cellguard.report").joinpath("templates", name).read_text(encoding="utf-8")
