"""Whether the certificate speaks of the job that is stored beside it: same tables, rules, equations and attacker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import yaml

from cellguard.verify.read import Folder, read_bytes
from cellguard.verify.rules import parse_rule
from cellguard.verify.spec import Spec, TableSpec
from cellguard.verify.stages import Refused, attempt

NAME = "internal/job.yaml"


def check_job(folder: Folder, spec: Spec) -> None:
    """Compare what the stored job says with the certificate; what the job leaves out is not compared."""
    job = attempt(NAME, lambda: yaml.safe_load(read_bytes(folder, NAME)))
    if not isinstance(job, dict) or not isinstance(job.get("tables"), list):
        raise Refused(f"{NAME} is not a job")
    if [t.get("name") if isinstance(t, dict) else None for t in job["tables"]] != [t.name for t in spec.tables]:
        raise Refused(f"{NAME} does not have the tables of the certificate")
    records = job.get("microdata")
    weighted = isinstance(records, dict) and bool(records.get("weight") or records.get("rda"))
    for found, table in zip(job["tables"], spec.tables, strict=True):
        attempt(NAME, lambda found=found, table=table: _check_table(found, table, weighted))  # type: ignore[misc]
    if "equations" in job and list(job["equations"] or []) != list(spec.equations):
        raise Refused(f"{NAME} does not have the equations of the certificate")
    if job.get("known") and not spec.known:
        raise Refused(f"{NAME} speaks of totals known from elsewhere, but the certificate does not")
    if job.get("attack") is not None:
        attempt(NAME, lambda: _check_attack(job["attack"], spec))


def _check_table(found: Mapping[str, Any], table: TableSpec, weighted: bool) -> None:
    where = f"{NAME}, table {table.name},"
    said: dict[str, object] = {"by": list(table.by), "population": table.population, "response": table.response}
    said |= {"decimals": table.decimals, "zeros": table.zeros}
    for key, value in said.items():
        if found.get(key) is not None and found[key] != value:
            raise Refused(f"{where} does not have the certificate's {key}")
    # Weighted counts from records are estimates, and need not be whole.
    estimated = weighted and not found.get("cells")
    if "value" in found and (found["value"] == "count") != table.count and not estimated:
        raise Refused(f"{where} and the certificate differ on whether it has frequencies")
    if "rules" in found:
        rules = [parse_rule(rule) for rule in found["rules"] or []]
        if rules != [parse_rule(rule) for rule in table.rules]:
            raise Refused(f"{where} does not have the certificate's rules")


def _check_attack(found: Mapping[str, Any], spec: Spec) -> None:
    for key in ("lower", "upper", "percent"):
        if key in found and _number(found[key]) != getattr(spec.attack, key):
            raise Refused(f"{NAME} does not have the certificate's attack.{key}")


def _number(found: object) -> Fraction | None:
    if found is None or found == "unbounded" or (isinstance(found, float) and math.isinf(found)):
        return None
    return Fraction(str(found))
