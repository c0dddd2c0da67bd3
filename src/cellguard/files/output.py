"""The output folder: what may be published, what stays inside, and the certificate that ties them together.

The format is described in docs/certificate.md; `cellguard.verify` checks it with code of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import yaml

from cellguard.attack.audit import Audit
from cellguard.attack.certificate import Witnesses, witnesses
from cellguard.attack.problem import Grains
from cellguard.errors import InputError
from cellguard.files import layout
from cellguard.files.formats import write_formats
from cellguard.files.guard import written_codes
from cellguard.files.jobfile import Job
from cellguard.files.names import check_names
from cellguard.files.rulespec import dump_rule, taken_on_trust
from cellguard.files.world import stated_between, write_world
from cellguard.files.write import csv_text, whole_folder
from cellguard.headline import headline
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.protect.suppress.explain import Explanations
from cellguard.rules.assess import Findings, TableFindings
from cellguard.table.apriori import NUMBERS, State
from cellguard.table.facts import FloatArray
from cellguard.table.pattern import Release, release
from cellguard.table.stored import stored_columns
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leaves: findings, a safe audit, its summary, which cells protect which, what hiding each costs.

    ``pages`` are reports to put into the output folder, by their path in it; ``known`` has one row for each sum of
    distinct cells that the attacker has from elsewhere.
    """

    job: Job
    findings: Findings
    audit: Audit
    summary: Mapping[str, Any]
    explanations: Explanations
    costs: FloatArray | None = None
    pages: Mapping[str, str] = field(default_factory=dict)
    known: sp.csr_array | None = None


def write_output(folder: str | Path, outcome: Outcome, *, force: bool = False) -> None:
    """Write release and internal files of a proven pattern, all or nothing."""
    audit = outcome.audit
    if audit.verdict != "safe":
        raise InputError(f"nothing is released: the audit's verdict is {audit.verdict}")
    check_names(audit.needs.tables.tables)
    with whole_folder(folder, force=force) as made:
        published = release(audit.pattern, audit.values)
        _write_release(made / "release", published, outcome.job.raw_codes)
        write_formats(made / "release", published, outcome.job.formats)
        _write_internal(made / "internal", outcome)
        for name, page in outcome.pages.items():
            (made / name).write_text(page, encoding="utf-8")
        _write_certificate(made, outcome)


def _write_release(folder: Path, published: Release, raw_codes: bool) -> None:
    """Write the publishable half; it takes a `Release`, so there is no hidden value to let out."""
    folder.mkdir()
    about = {}
    for table in published.tables:
        flags = np.where(table.suppressed, "c", "")
        codes, guarded = written_codes(table, raw=raw_codes)
        rows = zip(*codes, table.value, flags.tolist(), strict=True)
        (folder / f"{table.name}.csv").write_text(csv_text(layout.released(table.by), rows), encoding="utf-8")
        about[table.name] = {
            "by": list(table.by),
            "response": table.response,
            "population": table.population,
            "decimals": table.decimals,
            "cells": len(table),
            "suppressed": int(table.suppressed.sum()),
            **({"guarded": guarded} if guarded else {}),
        }
    _write_json(folder / "metadata.json", {"tables": about})


def _write_internal(folder: Path, outcome: Outcome) -> None:
    audit = outcome.audit
    folder.mkdir(mode=0o700)
    (folder / "hierarchies").mkdir()
    (folder / "facts").mkdir()
    needs = [audit.in_grains(_on_cells(audit, amounts)) for amounts in _needs(audit)]
    for number, here in enumerate(outcome.findings.by_table):
        _write_cells(folder, number, here, outcome, needs)
        cells = audit.needs.tables.cells_of[number]
        facts = facts_of(here.table, [audit.values[c] for c in cells.tolist()])
        pq.write_table(facts, folder / "facts" / f"{here.table.name}.parquet")
    for dimension in {d.name: d for t in audit.needs.tables.tables for d in t.dimensions}.values():
        path = folder / "hierarchies" / f"{dimension.name}.csv"
        path.write_text(hierarchies_text(dimension), encoding="utf-8")
    resolved = yaml.safe_dump(outcome.job.model_dump(), sort_keys=False, allow_unicode=True)
    (folder / "job.yaml").write_text(resolved, encoding="utf-8")
    _write_json(folder / "summary.json", outcome.summary)


def _needs(audit: Audit) -> tuple[Any, Any, Any]:
    return audit.problem.lower, audit.problem.upper, audit.problem.sliding


def _on_cells(audit: Audit, amounts: Any) -> Any:  # noqa: ANN401
    """Return amounts of the problem's cells over all distinct cells."""
    found = np.zeros(len(audit.needs.world), np.int64)
    found[audit.problem.cells] = amounts
    return found[: len(audit.needs.tables)]


def _write_cells(
    folder: Path, number: int, here: TableFindings, outcome: Outcome, needs: Sequence[Sequence[Decimal]]
) -> None:
    audit = outcome.audit
    table, cells = here.table, audit.needs.tables.cells_of[number]
    status, reasons = audit.pattern.status(number).tolist(), _reasons(here, cells, outcome)
    primary = audit.needs.primary[cells]
    count = [""] * len(table) if table.facts.count is None else [f"{n:.0f}" for n in table.facts.count.tolist()]
    costs = table.apriori.cost if outcome.costs is None else outcome.costs[cells]
    cost = ["" if np.isnan(c) else repr(c) for c in costs.tolist()]
    codes = [np.array(d.codes, object)[c].tolist() for d, c in zip(table.dimensions, table.codes, strict=True)]
    hidden = audit.pattern.unknown & audit.exact
    at = cells.tolist()
    columns: list[Sequence[object]] = [*codes, [_plain(audit.values[c]) for c in at], count, status, reasons, cost]
    columns += [[_plain(need[c]) if p else "" for c, p in zip(at, primary, strict=True)] for need in needs]
    columns += [
        [_number(ends[c]) if hidden[c] else "" for c in at] for ends in (audit.lower.tolist(), audit.upper.tolist())
    ]
    header = layout.cells([d.name for d in table.dimensions])
    text = csv_text(header, zip(*columns, strict=True))
    (folder / f"{table.name}.csv").write_text(text, encoding="utf-8")


def _reasons(here: TableFindings, cells: Any, outcome: Outcome) -> list[str]:  # noqa: ANN401
    """Return why each cell is hidden: the rules that say so, or the unsafe cells that it protects."""
    tables, reasons, protects = outcome.audit.needs.tables, here.reasons(), outcome.explanations.protects
    for at in np.flatnonzero(outcome.audit.pattern.secondary[cells]).tolist():
        names = [tables.cell_name(c) for c in protects.get(int(cells[at]), ())]
        if names:
            reasons[at] = (
                "protects " + ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
            )
    return reasons


def facts_of(table: Table, values: Sequence[Decimal]) -> pa.Table:
    """Return what is stored of a table's facts; ``values`` are the exact values of its cells."""
    codes = zip(layout.facts([d.name for d in table.dimensions]), table.dimensions, table.codes, strict=True)
    columns: dict[str, pa.Array] = {name: pa.array(np.array(d.codes, object)[c].tolist()) for name, d, c in codes}
    columns |= stored_columns(table.facts, [float(value) for value in values])
    names = [None if s == State.none else State(s).name for s in table.apriori.state.tolist()]
    columns["state"] = pa.array(names, pa.string())
    for name in NUMBERS:
        said = getattr(table.apriori, name)
        columns[name] = pa.array(said, pa.float64(), mask=np.isnan(said))
    return pa.table(columns)


def hierarchies_text(dimension: Dimension) -> str:
    """Return what is stored of a dimension."""
    rows = [
        (number, code, h.parent_of(code) or "", dimension.labels.get(code, ""))
        for number, h in enumerate(dimension.hierarchies)
        for code in h.codes
    ]
    return csv_text(("hierarchy", "code", "parent", "label"), rows)


def _write_certificate(folder: Path, outcome: Outcome) -> None:
    job, audit = outcome.job, outcome.audit
    proof = witnesses(audit)
    _write_witnesses(folder / "internal" / "certificate.parquet", proof, audit)
    world = write_world(folder / "internal", audit)
    head = headline(outcome.findings, audit)
    document: dict[str, Any] = {
        "format": 2,
        "claim": "outsider",
        "headline": head.text,
        "not_checked": [attack.key for attack in head.not_checked],
        **about_inputs(job, outcome.findings, audit.grains, outcome.known),
        "world": world,
        "witnesses": proof.many,
        "insiders": [],
        "trusted": taken_on_trust(rule for spec in job.tables for rule in spec.rules),
        "files": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["digest"] = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    _write_json(folder / "internal" / "certificate.json", document)


def about_inputs(job: Job, findings: Findings, grains: Grains, known: sp.csr_array | None) -> dict[str, Any]:
    """Return the part of a certificate that follows from the inputs alone, whatever is hidden."""
    linked = findings.tables
    topics = {(t.response, t.population): c for t, c in zip(linked.tables, linked.cells_of, strict=True)}
    rules = [tuple(spec.rules) for spec in job.tables]
    return {
        "tables": [_table_spec(here, own) for here, own in zip(findings.by_table, rules, strict=True)],
        "equations": [str(e) for e in linked.equations],
        "attack": {
            "lower": _bound(job.attack.lower),
            "upper": _bound(job.attack.upper),
            "percent": None if job.attack.percent is None else _number(job.attack.percent),
        },
        "crossing": job.attack.crossing,
        "known": [] if known is None else _known(linked, known),
        "grains": [
            {"response": r, "population": p, "decimals": int(grains.decimals[cells[0]])}
            for (r, p), cells in topics.items()
        ],
    }


def _known(tables: TableSet, known: sp.csr_array) -> list[list[list[int]]]:
    """Return each sum that the attacker knows as cells: the position of a table, and a row in it."""
    table, row = tables.first
    return [
        np.column_stack([table[cells], row[cells]]).tolist() for cells in np.split(known.indices, known.indptr[1:-1])
    ]


def _write_witnesses(path: Path, proof: Witnesses, audit: Audit) -> None:
    world = audit.needs.world
    table, row = world.tables.first
    # A cell between belongs to no table: its row is that of world.parquet.
    place = np.full(world.between, -1)
    stated = stated_between(world)
    place[stated] = np.arange(len(stated))
    table, row = world.extend(table, -1), world.extend(row, place)
    keep = row[proof.cell] >= 0
    cell = proof.cell[keep]
    columns = {
        "witness": pa.array(proof.witness[keep], pa.int32()),
        "table": pa.array(table[cell], pa.int32()),
        "row": pa.array(row[cell], pa.int64()),
        "move": pa.array(proof.move[keep], pa.int64()),
        "denominator": pa.array(proof.denominator[keep], pa.int64()),
    }
    pq.write_table(pa.table(columns), path)


def _table_spec(here: TableFindings, rules: tuple[Any, ...]) -> dict[str, Any]:
    table = here.table
    return {
        "name": table.name,
        "by": [d.name for d in table.dimensions],
        "response": table.response,
        "population": table.population,
        "decimals": table.decimals,
        "count": table.is_count,
        "zeros": table.zeros,
        "tolerance": table.tolerance,
        "rules": [dump_rule(rule) for rule in rules],
    }


def _plain(number: Decimal) -> str:
    """Write a decimal without an exponent and without zeros that say nothing."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _number(value: float) -> str:
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return _plain(Decimal(repr(float(value))))


def _bound(value: float) -> str:
    return "unbounded" if np.isinf(value) else _number(value)


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
