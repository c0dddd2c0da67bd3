"""A stored output folder beside what its inputs give again: the job, the files' digests, facts and hierarchies.

What follows from the inputs alone is compared, not the pattern, which is for the checks of the certificate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import yaml

from cellguard.errors import InputError, listing
from cellguard.io.folder import hierarchies_text
from cellguard.io.stored_insiders import NAME as INSIDERS
from cellguard.io.stored_insiders import read_insiders
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.files.cell_tables import facts_of
from cellguard.methods.suppress.files.certificate import about_inputs
from cellguard.proofs.problem import listed_grains
from cellguard.rules.assess import Findings
from cellguard.table.contributions import contributions_of

# Sums of many records may differ in the last bits of a float from run to run.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class RebuiltInputs:
    """What a job gives when it is read once more: digests of its files, findings, and totals known from elsewhere."""

    job: Job
    inputs: Mapping[str, str]
    findings: Findings
    known: sp.csr_array


def compare(inside: Path, again: RebuiltInputs) -> dict[str, str | None]:
    """Return for job, inputs and facts what differs between a folder's internal half and its inputs; None if nothing.

    A difference is reported by file, row and column, never by value.
    """
    try:
        return {
            "the job": _job(inside, again.job),
            "the inputs": _inputs(inside, again.inputs),
            "the facts": _hierarchies(inside, again)
            or _facts(inside, again)
            or _claims(inside, again)
            or _insiders(inside, again),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException, yaml.YAMLError):
        raise InputError(f"{str(inside.parent)!r} is damaged: its files cannot be compared with a job") from None


def _job(inside: Path, job: Job) -> str | None:
    """Compare what the jobs say, but for where results are written; what an older one does not say has its default."""
    stored, wanted = (yaml.safe_load(yaml.safe_dump(one.model_dump())) for one in (Job.load(inside / "job.yaml"), job))
    place = _first_difference({**stored, "output": None}, {**wanted, "output": None})
    return None if place is None else f"the stored job differs from this one in {place or 'its form'}"


def _first_difference(left: object, right: object, place: str = "") -> str | None:
    """Return where two plain structures first differ, as ``tables[0].rules``."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys([*left, *right]):
            here = f"{place}.{key}".lstrip(".")
            if key not in left or key not in right:
                return here
            if (place_of_difference := _first_difference(left[key], right[key], here)) is not None:
                return place_of_difference
        return None
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (a, b) in enumerate(zip(left, right, strict=True)):
            if (place_of_difference := _first_difference(a, b, f"{place}[{number}]")) is not None:
                return place_of_difference
        return None
    return None if left == right and type(left) is type(right) else place


def _inputs(inside: Path, inputs: Mapping[str, str]) -> str | None:
    stored = json.loads((inside / "summary.json").read_text(encoding="utf-8"))["inputs"]
    other = [name for name in dict.fromkeys([*stored, *inputs]) if stored.get(name) != inputs.get(name)]
    return f"other files than those that were read: {listing(other)}" if other else None


def _hierarchies(inside: Path, again: RebuiltInputs) -> str | None:
    for dimension in again.findings.tables.dimensions.values():
        path = inside / "hierarchies" / f"{dimension.name}.csv"
        if path.read_text(encoding="utf-8") != hierarchies_text(dimension):
            return f"hierarchies/{dimension.name}.csv is not the dimension that the inputs give"
    return None


def _facts(inside: Path, again: RebuiltInputs) -> str | None:
    linked = again.findings.tables
    values = listed_grains(linked).exact()
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        stored = pq.ParquetFile(inside / "facts" / f"{table.name}.parquet").read()
        wanted = facts_of(table, [values[c] for c in cells.tolist()])
        if table.release == "fitted":  # of which any counts will do that fit
            stored, wanted = (facts.drop_columns(["total", "count"]) for facts in (stored, wanted))
        difference = _other_facts(stored, wanted)
        if difference is not None:
            return f"facts/{table.name}.parquet {difference}"
    return None


def _other_facts(stored: pa.Table, wanted: pa.Table) -> str | None:
    if stored.schema.names != wanted.schema.names or stored.num_rows != wanted.num_rows:
        return "does not have the rows and columns that the inputs give"
    for name in wanted.schema.names:
        differs = _differing(stored.column(name), wanted.column(name))
        if differs.any():
            return f"row {int(np.argmax(differs))}, column {name}, is not what the inputs give"
    return None


def _differing(left: pa.ChunkedArray, right: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which entries of two columns differ; gaps equal gaps, and floats may differ by their last bits."""
    if pa.types.is_floating(left.type) and pa.types.is_floating(right.type):
        a, b = (column.to_numpy().astype(float) for column in (left, right))
        near = (a == b) | (np.abs(a - b) <= _SAME * np.maximum(np.abs(a), np.abs(b)))
        gaps = np.array(left.is_null().to_numpy()) != np.array(right.is_null().to_numpy())
        return gaps | ~(near | (np.isnan(a) & np.isnan(b)))
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return np.array([a != b for a, b in pairs], bool)


def _insiders(inside: Path, again: RebuiltInputs) -> str | None:
    """Compare who contributes what to the suppressed cells, if the folder tells."""
    claim = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))["insiders"]
    if not claim:
        return None
    linked = again.findings.tables
    stored = read_insiders(inside / INSIDERS, linked, linked=claim["respondents"] == "records")
    wanted = contributions_of(linked)
    here = stored.told[wanted.cell]
    grain = 10.0 ** -listed_grains(linked).decimals
    order, other = (np.lexsort((c.insider, c.cell)) for c in (stored, wanted))
    other = other[here[other]]
    same = (
        stored.linked == wanted.linked
        and bool(wanted.told[stored.told].all())
        and np.array_equal(stored.cell[order], wanted.cell[other])
        and np.array_equal(stored.insider[order], wanted.insider[other])
    )
    if same:
        cell = stored.cell[order]
        amount = np.maximum(wanted.amount[other], 0.0)
        same = bool((np.abs(stored.amount[order] - amount) <= 1.5 * grain[cell] + _SAME * amount).all())
        same = same and bool((stored.rest >= np.where(stored.told, np.abs(wanted.rest), 0.0) - 1.5 * grain).all())
    return None if same else f"{INSIDERS} does not have the respondents and contributions that the inputs give"


def _claims(inside: Path, again: RebuiltInputs) -> str | None:
    stored = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))
    wanted = about_inputs(again.job, again.findings, listed_grains(again.findings.tables), again.known)
    place = _first_difference({key: stored[key] for key in wanted}, json.loads(json.dumps(wanted)))
    return None if place is None else f"certificate.json has another {place} than the inputs give"
