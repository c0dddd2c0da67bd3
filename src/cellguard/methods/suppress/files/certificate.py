"""The certificate: what is claimed, what it follows from, and the digests of all files that it speaks of.

The format is described in docs/reference/certificate.md; `cellguard.verify` checks it with code of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from cellguard.attack.audit import Audit
from cellguard.attack.witnesses import Witnesses, witnesses
from cellguard.io.sealed import seal
from cellguard.io.stored_insiders import NAME as INSIDERS
from cellguard.io.stored_insiders import write_insiders
from cellguard.io.write import plain_number
from cellguard.job.jobfile import Job
from cellguard.job.rulespec import dump_rule
from cellguard.job.trusted_rules import taken_on_trust
from cellguard.methods.suppress.files.stored_world import stated_between, write_world
from cellguard.methods.suppress.files.sums import write_sums
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.proofs.problem import Grains
from cellguard.rules.assess import Findings, TableFindings
from cellguard.seam.outcome import Outcome
from cellguard.table.tableset import TableSet


def write_certificate(folder: Path, outcome: Outcome[SuppressionResult]) -> None:
    """Write the witnesses, the world behind the tables and the certificate into a folder that is complete otherwise."""
    job, proven = outcome.job, outcome.protected
    audit = proven.audit
    proof = witnesses(audit)
    _write_witnesses(folder / "internal" / "certificate.parquet", proof, audit)
    if audit.inside is not None:
        write_insiders(folder / "internal" / INSIDERS, audit.inside.knowledge, audit.needs.tables)
    world = write_world(folder / "internal", audit)
    head = proven.verdict
    document: dict[str, Any] = {
        "format": 2,
        "claim": "outsider",
        "headline": head.text,
        "not_checked": [attack.key for attack in head.not_checked],
        **about_inputs(job, proven.findings, audit.grains, proven.known.sums),
        "world": world,
        "witnesses": proof.n,
        "insiders": _insiders(audit),
        "sums": write_sums(folder / "internal", proven),
        "trusted": taken_on_trust(rule for here in proven.findings.by_table for rule in here.rules),
    }
    seal(folder, "certificate.json", document)


def about_inputs(job: Job, findings: Findings, grains: Grains, known: sp.csr_array) -> dict[str, Any]:
    """Return the part of a certificate that follows from the inputs alone, whatever is suppressed."""
    linked = findings.tables
    response_keys = {t.response_key: c for t, c in zip(linked.tables, linked.cells_of, strict=True)}
    return {
        "tables": [_table_spec(here, here.rules) for here in findings.by_table],
        "equations": [str(e) for e in linked.equations],
        "attack": {
            "lower": _bound(job.attack.lower),
            "upper": _bound(job.attack.upper),
            "percent": None if job.attack.percent is None else plain_number(job.attack.percent),
        },
        "crossing": job.attack.crossing,
        "known": _known(linked, known) if known.shape[0] else [],
        "grains": [
            {"response": r, "population": p, "decimals": int(grains.decimals[cells[0]])}
            for (r, p), cells in response_keys.items()
        ],
    }


def _known(tables: TableSet, known: sp.csr_array) -> list[list[list[int]]]:
    """Return each sum that the attacker knows as cells: the position of a table, and a row in it."""
    table, row = tables.first
    return [
        np.column_stack([table[cells], row[cells]]).tolist() for cells in np.split(known.indices, known.indptr[1:-1])
    ]


def _insiders(audit: Audit) -> dict[str, Any] | list[Any]:
    """Return the claim about insiders: its first witness, where respondents are known from, and how many together."""
    if audit.inside is None:
        return []
    more: dict[str, Any] = {"coalition": audit.inside.size} if audit.inside.size > 1 else {}
    known = "records" if audit.inside.linked else "cells"
    return {"witness": len(audit.decided.moves), "respondents": known, **more}


def _write_witnesses(path: Path, proof: Witnesses, audit: Audit) -> None:
    world = audit.needs.world
    table, row = world.tables.first
    # A latent cell belongs to no table: its row is that of world.parquet.
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
        "release": table.release,
    }


def _bound(value: float) -> str:
    return "unbounded" if np.isinf(value) else plain_number(value)
