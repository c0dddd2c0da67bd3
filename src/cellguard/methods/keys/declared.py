"""What jobs say of cell keys, of counts and of sums alike: keys, seed, cells without noise, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from cellguard.arrays import BoolArray
from cellguard.errors import JobError, UnknownCode
from cellguard.job.jobfile import Job
from cellguard.job.specs import AttackSpec, ProtectSpec, Spec, TableSpec
from cellguard.seam.look import Look
from cellguard.table.tableset import TableSet

_NOT_READ = ("cells", "apriori", "survey", "negative", "impossible", "tolerance", "where", "counts")


class KeyedSpec(Spec):
    """What both kinds of cell keys have in common; ``designs`` are the keys that design a perturbation table."""

    designs: ClassVar[frozenset[str]] = frozenset()
    keys: str | None = Field(None, min_length=1, description="the record_keys.json of an earlier run, to agree with it")
    seed: int | None = Field(None, ge=0, lt=2**63, description="of keys and of the lookup (default: a secret one)")
    fixed: list[str] = Field([], description="cells that are published as they are, as `table: cell`")

    @model_validator(mode="after")
    def _one_table_and_one_secret(self) -> Self:
        said = self.designs & self.model_fields_set
        plain = {name for name in said if getattr(self, name) != type(self).model_fields[name].default}
        if getattr(self, "table", None) and plain:
            raise ValueError(f"a perturbation `table` is given, so leave out `{min(plain)}`, which designs one")
        if self.keys is not None and self.seed is not None:
            raise ValueError("give one of keys and seed, not both: the file of an earlier run has its seed")
        return self


class KeyedDeclaration:
    """What a job must know of either method, without its numerics; ``figures`` are what gets noise."""

    participle: ClassVar[str] = "perturbed by cell keys"
    options: ClassVar[type[ProtectSpec]] = ProtectSpec
    attacked: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False
    tabular: ClassVar[bool] = True
    look: ClassVar[Look]
    figures: ClassVar[str]
    why_no_weights: ClassVar[str]

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what the job says that does not go with cell keys."""
        if job.previous:
            return (
                f"`previous` is not looked at when {cls.figures} are perturbed by cell keys; leave it out, and name "
                "the record_keys.json of the earlier run as `keys`, so that cells of the same records agree"
            )
        given = (("known", job.known), ("attack", job.attack != AttackSpec()), ("equations", job.equations))
        for key, said in given:
            if said:
                return f"`{key}` is not looked at when {cls.figures} are perturbed by cell keys; leave it out"
        for table in job.tables:
            if why := _fault_of_any(table) or cls.fault_of(table):
                return f"table {table.name!r}: {why}"
        if job.microdata is not None and job.microdata.weight:
            return f"`weight` does not go with cell keys: {cls.why_no_weights}"
        return None

    @classmethod
    def fault_of(cls, table: TableSpec) -> str:
        """Describe what a table says that does not go with this method, '' if nothing."""
        raise NotImplementedError


def _fault_of_any(table: TableSpec) -> str:
    for name in _NOT_READ:
        if getattr(table, name) is not None:
            return f"`{name}` does not go with cell keys; leave it out"
    if isinstance(table.publish, str):
        return "`publish: nothing` does not go with cell keys; leave the table out"
    why = next((rule.only_suppressed for rule in table.rules if rule.only_suppressed), "")
    return f"{why}; leave it out" if why else ""


def fixed_cells(tables: TableSet, said: Sequence[str]) -> BoolArray:
    """Return the distinct cells that a job names under `fixed`."""
    fixed = np.zeros(len(tables), bool)
    names = [table.name for table in tables.tables]
    for text in said:
        name, colon, cell = text.partition(":")
        if not colon or name.strip() not in names:
            raise JobError(f"`fixed`: {text!r} is not of the form 'table: cell', as '{names[0]}: Total'")
        number = names.index(name.strip())
        try:
            fixed[tables.cells_of[number][tables.tables[number].find(cell.strip())]] = True
        except UnknownCode as error:
            raise JobError(f"`fixed`: {error}") from None
    if (fixed & ~shown_cells(tables)).any():
        raise JobError("`fixed` names a cell that is not published; only published cells can be as they are")
    return fixed


def shown_cells(tables: TableSet) -> BoolArray:
    """Return the distinct cells that some table publishes."""
    shown = np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        shown[cells[~table.unpublished]] = True
    return shown
