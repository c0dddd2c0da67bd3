"""Cells with their keys and their published counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.job.jobfile import Job
from cellguard.methods.keys.declared import fixed_cells, shown_cells
from cellguard.methods.keys.keyed_hash import keyed_hash
from cellguard.methods.keys.perturbation_table import FINE, PerturbationTable
from cellguard.methods.keys.posterior import Published
from cellguard.methods.keys.record_keys import Secret
from cellguard.methods.keys.shown import shown_relations
from cellguard.rules.rule import fewest_of
from cellguard.table.fact import KeySum
from cellguard.table.tableset import TableSet

_MOST_COUNTS = 64  # counts of which the distribution is told apart in a prior


@dataclass(frozen=True, eq=False)
class KeyedCells:
    """The distinct cells of linked tables: true counts, cell keys modulo ``modulus``, and from where counts are safe.

    ``fixed`` cells are published as they are; those that are not ``shown`` by any table are not published.
    """

    tables: TableSet
    count: LongArray
    key: LongArray
    modulus: int
    threshold: LongArray
    fixed: BoolArray
    shown: BoolArray

    @classmethod
    def of(cls, tables: TableSet, job: Job, fixed: Sequence[str]) -> KeyedCells:
        """Take the keys from the tables' facts."""
        fact = next(fact for fact in tables.tables[0].facts if isinstance(fact, KeySum))
        keys = [np.asarray(table.facts[fact], np.int64) for table in tables.tables]
        threshold = np.zeros(len(tables), np.int64)
        for table, cells in zip(tables.tables, tables.cells_of, strict=True):
            spec = next(spec for spec in job.tables if spec.name == table.name)
            threshold[cells] = np.maximum(threshold[cells], fewest_of(spec.rules) or 0)
        counts, shown = np.rint(tables.value).astype(np.int64), shown_cells(tables)
        return cls(tables, counts, tables.gather(keys), fact.modulus, threshold, fixed_cells(tables, fixed), shown)

    @cached_property
    def small(self) -> BoolArray:
        """Which published cells have records, but too few."""
        return self.shown & (self.count > 0) & (self.count < self.threshold)

    def published(self, table: PerturbationTable, secret: Secret) -> LongArray:
        """Return the counts with their noise, by the sum of the record keys, or by a keyed hash of it and the count.

        The hash makes the noise of a sum independent of that of its parts, which the plain sum of keys does not.
        """
        if secret.lookup == "plain":
            noise = table.noise(self.count, self.key, self.modulus)
        else:
            hashed = keyed_hash(secret.of("lookup"), self.key, self.count) >> np.uint64(32)
            noise = table.noise(self.count, hashed.astype(np.int64), FINE)
        return self.count + np.where(self.fixed, 0, noise)

    def seen(self, counts: LongArray, table: PerturbationTable, secret: Secret, prior: FloatArray) -> Published:
        """Return what an attacker sees of published counts."""
        keys = self.modulus if secret.lookup == "plain" else FINE
        chances = table.chances(keys)
        relations, left_out = shown_relations(self.tables.relations, self.shown)
        return Published(counts, relations, table, chances, self.known_filled, self.fixed, prior, left_out=left_out)

    @cached_property
    def known_filled(self) -> BoolArray:
        """Which cells everybody knows to have records.

        Where zeros are known, all that are listed. Else those of a single code: only codes that records have are
        listed, so their totals are not 0.
        """
        filled = np.zeros(len(self.count), bool)
        for table, cells in zip(self.tables.tables, self.tables.cells_of, strict=True):
            totals = [d.position[d.main.total] for d in table.dimensions]
            own = np.sum([codes != total for codes, total in zip(table.codes, totals, strict=True)], axis=0)
            filled[cells] |= (own <= 1) | (table.zeros == "known")
        return filled

    def distribution(self) -> FloatArray:
        """Return how often each count is that of an inner cell; no count is taken to be impossible."""
        inner = np.ones(len(self.count), bool)
        relations = shown_relations(self.tables.relations, self.shown).relations
        inner[np.unique(relations.indices[relations.data > 0])] = False
        inner &= self.shown
        often = np.bincount(np.minimum(self.count[inner], _MOST_COUNTS), minlength=_MOST_COUNTS + 1) + 0.5
        often[-1] = often[_MOST_COUNTS // 2 : -1].mean()  # all larger counts are as likely as the larger ones here
        return often / often.sum()
