"""What a session hands over: the outputs, a report, `results.json` as SACRO's viewer reads it, and the proof.

The layout is that of ACRO (version 0.4): `results.json` names each output with its files, status, outcome per cell and
comments, and `checksums` has the sha-256 of each file.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.errors import NotProtected
from cellguard.faces.python.python_words import in_python
from cellguard.faces.python.result import ProtectedFrame
from cellguard.faces.python.session.memory import Output
from cellguard.faces.python.wide import MARK, Layout, Wide
from cellguard.inputs.shown.memory import Shown
from cellguard.io.folder import OutputFolder
from cellguard.io.write import check_folder, whole_folder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job, run
from cellguard.seam.outcome import Outcome
from cellguard.table.columns import all_headed

LAYOUT = "0.4.8"  # the version of ACRO whose layout this is
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}"
    ".fail td{background:#fdd}.review td{background:#fff3cd}"
)


def write_session(
    outputs: Sequence[Output], records: int, attack: Mapping[str, object], folder: Path, *, force: bool
) -> Path:
    """Write the folder of a session, whole or not at all: all tables are first proven safe together."""
    with in_python():
        check_folder(folder, force=force)
        proofs = _proofs(outputs, attack)
    with in_python(), whole_folder(folder, force=force) as whole:
        (whole / "proof").mkdir(mode=0o700)
        for population, outcome in proofs.items():
            OutputFolder(whole / "proof" / population).write(outcome)
        results = {output.uid: _result(output, whole, proofs) for output in outputs}
        text = {"version": LAYOUT, "results": results}
        (whole / "results.json").write_text(json.dumps(text, indent=2, ensure_ascii=False), encoding="utf-8")
        (whole / "report.html").write_text(_report(outputs, records, proofs, results), encoding="utf-8")
        _checksums(whole)
    return folder


def _proofs(outputs: Sequence[Output], attack: Mapping[str, object]) -> dict[str, Outcome[Any]]:
    """Return for each population the joint audit of all its tables; NotProtected if they are not safe together."""
    found = {}
    for population in dict.fromkeys(shown.population for output in outputs for shown in output.shown):
        mine = [o for o in outputs if o.shown and o.shown[0].population == population]
        outcome = audit_job(_joint(mine, attack, "secondary"))
        if outcome.release is None:
            outcome = run(_joint(mine, attack, "must_suppress"))
        if outcome.release is None:
            raise NotProtected(
                f"the tables about {population!r} are not safe together: {outcome.verdict.text}. Take outputs back "
                "with session.remove(...), the latest first"
            )
        found[population] = outcome
    return found


def _joint(outputs: Sequence[Output], attack: Mapping[str, object], word: str) -> Job:
    """Return one job with all tables of some outputs, in which what is suppressed stays so."""
    import pyarrow as pa

    held: dict[str, object] = {}
    columns: dict[str, Any] = {}
    tables, dimensions = list[dict[str, Any]](), dict[str, Any]()
    spec: dict[str, Any] = {}
    for output in outputs:
        asked = output.asked
        if asked is None:
            continue
        call = asked.call()
        assert isinstance(call.data, pa.Table)  # noqa: S101
        spec = call.job().model_dump()["microdata"]
        for name in call.data.column_names:
            columns.setdefault(name, call.data[name])
        for coded in asked.coded:
            held[f"the hierarchy of {coded.name}"] = asked.tree(coded)
            dimensions[coded.name] = {"parents": f"the hierarchy of {coded.name}", "total": asked.totals[coded.name]}
        for table, shown in zip(call.tables, output.shown, strict=True):
            said = dict.fromkeys(shown.secondary, word)
            one = dict(table)
            if said:
                one["apriori"] = f"what is suppressed in {shown.name}"
                heads = all_headed(one["by"], ("status",))
                cells = {head: [cell[i] for cell in said] for i, head in enumerate(heads)}
                held[one["apriori"]] = {**cells, "status": [*said.values()]}
            tables.append(one)
    held["the records"] = pa.table(columns)
    spec = {
        key: value for key, value in spec.items() if key in {"respondent", "holding", "weight", "missing"} and value
    }
    if not all(output.asked.dropna for output in outputs if output.asked is not None):
        spec["missing"] = {**(spec.get("missing") or {}), "code": "category"}  # no record of the others misses a code
    job = {
        "version": 1,
        "microdata": {"source": "the records", **spec},
        "dimensions": dimensions,
        "tables": tables,
        "attack": dict(attack),
    }
    return Job.parse(job, source="the session", held=held)


def _result(output: Output, whole: Path, proofs: Mapping[str, Outcome[Any]]) -> dict[str, Any]:
    """Write the files of an output, and return what `results.json` says of it."""
    files, outcome, summary, properties = _written(output, whole, proofs)
    return {
        "uid": output.uid,
        "status": output.status,
        "type": {"table": "table", "regression": "regression", "figure": "custom"}[output.kind],
        "properties": properties,
        "files": files,
        "outcome": outcome,
        "command": output.command,
        "summary": summary,
        "timestamp": output.timestamp,
        "comments": output.comments,
        "exception": output.exception,
    }


def _written(
    output: Output, whole: Path, proofs: Mapping[str, Outcome[Any]]
) -> tuple[list[dict[str, Any]], dict[str, Any], str, dict[str, Any]]:
    name = f"{output.uid}_0.csv"
    if output.frame is not None:
        released = _as_released(output.frame, proofs[output.shown[0].population])
        wide, layout = released._wide(None, None)
        (whole / name).write_text(_csv(wide, layout), encoding="utf-8")
        cells, outcome = _marks(wide, output.shown)
        hidden = int(wide.hidden.sum())
        words = f"{hidden} of {wide.hidden.size} cells suppressed" if hidden else "nothing suppressed"
        sdc = {"summary": {"suppressed": bool(hidden), **{flag: len(at) for flag, at in cells.items()}}, "cells": cells}
        return [{"name": name, "sdc": sdc}], outcome, f"pass; {words}; ", {"method": _method(output)}
    checked = output.checked
    assert checked is not None  # noqa: S101
    summary = f"{output.status}; {'; '.join(checked.words)}; "
    sdc = {"summary": {"suppressed": False}, "cells": {}}
    if output.kind == "regression":
        rows = [["", *checked.table]]
        names = dict.fromkeys(name for column in checked.table.values() for name in column)
        rows += [[one, *(f"{column.get(one, float('nan')):.6g}" for column in checked.table.values())] for one in names]
        rows += [[fact, f"{value:.6g}"] for fact, value in checked.facts.items()]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        (whole / name).write_text(text.getvalue(), encoding="utf-8")
        return [{"name": name, "sdc": sdc}], {}, summary, {"method": "regression", **checked.facts}
    picture = whole / f"{output.uid}.png"
    if isinstance(checked.figure, (str, Path)):
        picture = picture.with_suffix(Path(checked.figure).suffix)
        shutil.copyfile(checked.figure, picture)
    else:
        checked.figure.savefig(picture)
    return [{"name": picture.name, "sdc": sdc}], {}, summary, {"method": "figure"}


def _method(output: Output) -> str:
    return "pivot_table" if "pivot_table" in output.command else "crosstab"


def _as_released(frame: ProtectedFrame, proof: Outcome[Any]) -> ProtectedFrame:
    """Return an output as the joint release has it, which may suppress more than was shown."""
    return replace(frame, method=proof.method, protected=proof.protected)


def _csv(wide: Wide, layout: Layout) -> str:
    """Return a wide table as text with one line of headers and one column of codes, so that cells have places."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_words([layout.title(name) for name in layout.rows]), *map(_words, wide.columns)])
    for i, row in enumerate(wide.rows):
        values = zip(wide.value[i].tolist(), wide.hidden[i].tolist(), wide.counted, strict=True)
        writer.writerow([_words(row), *(MARK if gone else _number(value, counted) for value, gone, counted in values)])
    return text.getvalue()


def _words(key: Sequence[object]) -> str:
    return " / ".join(str(part) for part in key if part != "")


def _number(value: float, counted: bool) -> str:
    return "" if np.isnan(value) else f"{value:.0f}" if counted else f"{value:.12g}"


def _marks(wide: Wide, shown: Sequence[Shown]) -> tuple[dict[str, list[list[int]]], dict[str, Any]]:
    """Return the places of suppressed cells, and of each cell in words what became of it.

    Primary and secondary suppressions look the same: which is which is for the confidential report.
    """
    places = [[int(i), int(j)] for i, j in np.argwhere(wide.hidden)]
    outcome = {
        _words(column): {_words(row): "suppressed; " if wide.hidden[i, j] else "ok" for i, row in enumerate(wide.rows)}
        for j, column in enumerate(wide.columns)
    }
    return ({"suppressed": places} if places else {}), outcome


def _checksums(whole: Path) -> None:
    (whole / "checksums").mkdir()
    for path in sorted(whole.iterdir()):
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            (whole / "checksums" / f"{path.name}.txt").write_text(digest, encoding="utf-8")


def _report(
    outputs: Sequence[Output],
    records: int,
    proofs: Mapping[str, Outcome[Any]],
    results: Mapping[str, Mapping[str, Any]],
) -> str:
    """Return the page of the output checker: what is asked for, what was found, and what was not checked."""
    lines = [
        "<h1>Outputs for checking</h1>",
        f"<p>{len(outputs)} outputs from {records:,} records.</p>",
        "<h2>Tables together</h2>",
    ]
    for population, outcome in proofs.items():
        whom = "all records" if population == "all" else f"some of the records ({population})"
        place = html.escape(f"proof/{population}")
        lines.append(
            f"<p>Tables about {html.escape(whom)}: <b>{html.escape(outcome.verdict.text)}</b>. The proof is in "
        )
        lines.append(f"{place}; <code>cellguard verify {place}</code> checks it.</p>")
    if len(proofs) > 1:
        lines.append(
            "<p>Tables about different records were compared cell by cell with all others: none differs from a union "
            "of shown cells of another one by fewer respondents than a safe cell needs. Not checked: how large the "
            "largest contribution is among those by whom two such cells differ.</p>"
        )
    heads = ("output", "status", "what was found", "asked for by", "reason", "comments")
    lines.append(f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>")
    for output in outputs:
        said = results[output.uid]
        cells = [output.uid, output.status, str(said["summary"]).partition("; ")[2], output.command, output.exception]
        row = "".join(f"<td>{html.escape(cell)}</td>" for cell in [*cells, "; ".join(output.comments)])
        lines.append(f"<tr class='{output.status}'>{row}</tr>")
    lines.append("</table>")
    title = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Outputs for checking</title>"
    return f"{title}<style>{_STYLE}</style><body>{''.join(lines)}</body></html>\n"
