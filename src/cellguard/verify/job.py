"""Whether the certificate speaks of the job that is stored beside it: same tables, rules, equations and attacker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import yaml

from cellguard.verify.facts import Facts
from cellguard.verify.read import Folder, read_bytes
from cellguard.verify.rules import parse_rule
from cellguard.verify.spec import Spec, TableSpec
from cellguard.verify.stages import Refused, attempt

NAME = "internal/job.yaml"
_WEIGHTED_TOTAL = ("virtual", "handbook", "published_weights")


def check_job(folder: Folder, spec: Spec) -> None:
    """Compare what the stored job says with the certificate; what the job leaves out is not compared."""
    job = attempt(NAME, lambda: yaml.safe_load(read_bytes(folder, NAME)))
    if not isinstance(job, dict) or not isinstance(job.get("tables"), list):
        raise Refused(f"{NAME} is not a job")
    if [t.get("name") if isinstance(t, dict) else None for t in job["tables"]] != [t.name for t in spec.tables]:
        raise Refused(f"{NAME} does not have the tables of the certificate")
    records = job.get("microdata") if isinstance(job.get("microdata"), dict) else None
    for found, table in zip(job["tables"], spec.tables, strict=True):
        attempt(NAME, lambda found=found, table=table: _check_table(found, table, records))  # type: ignore[misc]
    if "equations" in job and list(job["equations"] or []) != list(spec.equations):
        raise Refused(f"{NAME} does not have the equations of the certificate")
    if job.get("known") and not spec.known:
        raise Refused(f"{NAME} speaks of totals known from elsewhere, but the certificate does not")
    _check_crossing(job.get("attack"), spec)
    if job.get("attack") is not None:
        attempt(NAME, lambda: _check_attack(job["attack"], spec))


def check_origins(folder: Folder, spec: Spec, facts: Sequence[Facts]) -> None:
    """Refuse facts that a table cannot have: only tables from records have some, only weighted ones have a base."""
    job = attempt(NAME, lambda: yaml.safe_load(read_bytes(folder, NAME)))
    if not isinstance(job, dict) or not isinstance(job.get("tables"), list) or len(job["tables"]) != len(facts):
        return  # which the check of the job itself refuses
    records = job.get("microdata") if isinstance(job.get("microdata"), dict) else None
    for found, table, here in zip(job["tables"], spec.tables, facts, strict=True):
        from_records = bool(records) and not found.get("cells")
        weighted = from_records and bool(records and (records.get("weight") or records.get("rda")))
        if not from_records and (here.unwaived is not None or here.requested is not None):
            raise Refused(f"{table.facts} has facts that only tables from records have")
        if not weighted and (here.base is not None or here.excess):
            raise Refused(f"{table.facts} has facts that only weighted tables have")
        if here.base is not None and (found.get("survey") or "virtual") in _WEIGHTED_TOTAL:
            apart = np.abs(here.base - here.total) > 1e-9 * np.abs(here.total) + 10.0 ** -spec.grains[table.group]
            if apart.any():
                raise Refused(f"{table.facts} row {int(np.argmax(apart))}: base is not the total of the survey mode")


def _check_table(found: Mapping[str, Any], table: TableSpec, records: Mapping[str, Any] | None) -> None:
    where = f"{NAME}, table {table.name},"
    said: dict[str, object] = {"by": list(table.by), "population": table.population, "response": table.response}
    said |= {"decimals": table.decimals, "zeros": table.zeros}
    for key, value in said.items():
        if found.get(key) is not None and found[key] != value:
            raise Refused(f"{where} does not have the certificate's {key}")
    if "value" in found and table.count not in _frequencies(found, records):
        raise Refused(f"{where} and the certificate differ on whether it has frequencies")
    if "rules" in found:
        rules = [parse_rule(rule) for rule in found["rules"] or []]
        if rules != [parse_rule(rule) for rule in table.rules]:
            raise Refused(f"{where} does not have the certificate's rules")


def _frequencies(found: Mapping[str, Any], records: Mapping[str, Any] | None) -> tuple[bool, ...]:
    """Return whether a table may have frequencies, or not: weighted counts are estimates, and need not be whole."""
    if found["value"] != "count":
        return (False,)
    if records is None or found.get("cells"):
        return (True,)
    if records.get("weight"):
        return (False,)
    return (True, False) if records.get("rda") else (True,)


def _check_crossing(attack: object, spec: Spec) -> None:
    """Only a job that says so itself may leave crossing tables unchecked."""
    said = attack.get("crossing") or "checked" if isinstance(attack, dict) else "checked"
    if said != ("checked" if spec.crossing else "not_checked"):
        raise Refused(f"{NAME} does not have the certificate's crossing")


def _check_attack(found: Mapping[str, Any], spec: Spec) -> None:
    for key in ("lower", "upper", "percent"):
        if key in found and _number(found[key]) != getattr(spec.attack, key):
            raise Refused(f"{NAME} does not have the certificate's attack.{key}")


def _number(found: object) -> Fraction | None:
    if found is None or found == "unbounded" or (isinstance(found, float) and math.isinf(found)):
        return None
    return Fraction(str(found))
