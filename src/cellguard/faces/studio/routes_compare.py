"""What if: several policies side by side, on the picture of risk and utility."""

from __future__ import annotations

from io import StringIO
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from cellguard.errors import CellguardError
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.evaluate.risk_utility import RiskUtility
from cellguard.faces.studio.asking import Answer, Anyone, Here, Maker
from cellguard.faces.studio.models import WhatIfAsked
from cellguard.faces.studio.studio import Studio
from cellguard.faces.studio.work import Work

router = APIRouter(prefix="/api")
_STYLE = "default-src 'none'; style-src 'unsafe-inline'"


@router.post("/what-if")
def begin(asked: WhatIfAsked, studio: Here, session: Maker) -> Answer:
    """Begin to protect the tables by each policy; nothing is released."""
    policies = parse_policies(",".join(asked.methods), asked.rules, costs=asked.costs, efforts=asked.efforts)
    job = studio.job.load()
    work = studio.begin(Work("what-if", lambda run: compare_policies(job, policies, within=run)))
    studio.compared = work
    return {"work": work.plain()}


@router.get("/what-if")
def compared(studio: Here, session: Anyone) -> Answer:
    """Return the last comparison, as far as there is one."""
    work = studio.compared
    found = None if work is None else work.result
    if found is None:
        return {"points": [], "words": "", "work": work.plain() if work else None}
    best = found.recommended
    points = [{**p.plain(), "is_end": p.is_end, "measured": p.measured, "best": p is best} for p in found.points]
    said = {"points": points, "words": found.words(), "differences": list(found.differences)}
    return {**said, "work": work.plain() if work else None, "drawn": _figure(found) is not None}


@router.get("/what-if/map.svg")
def picture(studio: Here, session: Anyone) -> Response:
    """Return the picture of the last comparison."""
    figure = _figure(_result(studio))
    if figure is None:
        raise HTTPException(404, "there is no picture; pip install 'cellguard[report]'")
    return Response(figure, media_type="image/svg+xml", headers={"Content-Security-Policy": _STYLE})


def _result(studio: Studio) -> RiskUtility:
    found: Any = None if studio.compared is None else studio.compared.result
    if not isinstance(found, RiskUtility):
        raise HTTPException(404, "nothing was compared yet")
    return found


def _figure(found: RiskUtility) -> str | None:
    try:
        from cellguard.evaluate.policy_page import risk_utility_figure

        text = StringIO()
        risk_utility_figure(found).savefig(text, format="svg")
    except (ImportError, CellguardError):  # matplotlib is an extra
        return None
    return text.getvalue()
