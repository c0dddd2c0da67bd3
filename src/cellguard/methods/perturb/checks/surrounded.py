"""Which unknowns no combination of cells can take out of their surroundings: a proof by linear algebra alone.

Let a_b be the column of unknown b in the matrix A of cells by unknowns. If a_g is in the span of the columns of a set Q
that g is not in, every combination of cells that holds g holds an unknown of Q too: for a_g = sum of z_b a_b over Q,
any c = A'y has c_g = sum of z_b c_b. So g is safe

- if every unknown of Q is so large that it is more than the rest may be even without its largest contributors; or
- if there are n sets without common contributors, each unknown being more than the rest may be: a coalition of n - 1
  can know unknowns of n - 1 of them, and that of the one that is left is too much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.linalg.span import rows_apart, spanned
from cellguard.methods.perturb.checks.judged import Judge
from cellguard.run_context import Run

_CHUNK, _ALIKE, _WIDE = 256, 1.25, 8
_SPARSE = 1_000  # what an entry of the matrix costs besides, in multiplications


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Independent rows of a system (``matrix``, by unknowns) and who judges sums of its unknowns.

    ``work`` is the number of multiplications that may be spent.
    """

    matrix: sp.csr_array
    judge: Judge
    work: float = 2e11
    run: Run = field(default_factory=Run)

    def surrounded(self, entries: LongArray) -> BoolArray:
        """Return for entries of ``amounts``, each a unit in an unknown, which are safe in every sum with this
        unknown.
        """
        judge, safe, random = self.judge, np.zeros(len(entries), bool), np.random.default_rng(0)
        n, q, system = judge.rule.n, judge.rule.prior, judge.system
        unknown, allowed = judge.unknown[entries], self._allowed(entries)
        everywhere = np.where(self._wide[system.amounts.indices], np.abs(system.amounts.data), 0.0)
        apart, beyond = q * (system.size - judge.by_unknown(everywhere)), q * (system.size - judge.top(n))
        for chunk in self._chunks(allowed):
            self.run.check()
            most, wanted = float(allowed[chunk].max()), unknown[chunk]
            safe[chunk] = self._spanned(self._at_least(most, beyond, wanted), wanted, random)
            left = chunk[~safe[chunk]]
            group = random.integers(0, n, int(self._clusters.max(initial=0)) + 1)[self._clusters]
            large, sure = self._at_least(most, apart, wanted), np.ones(len(left), bool)
            for number in range(n):
                sure[sure] = self._spanned(large[group[large] == number], unknown[left[sure]], random)
            safe[left] = sure
        return safe

    @cached_property
    def _wide(self) -> BoolArray:
        """Units in so many unknowns that they would tie together what has little to do with each other."""
        amounts = self.judge.system.amounts
        return np.asarray(np.bincount(amounts.indices, minlength=amounts.shape[1]) > _WIDE, bool)

    @cached_property
    def _clusters(self) -> LongArray:
        """The cluster of each unknown: all unknowns of a unit are in one, so that a coalition of n - 1 is in n - 1."""
        amounts = self.judge.system.amounts
        there = np.flatnonzero(~self._wide[amounts.indices])
        unknowns, units = amounts.shape
        edges = sp.csr_array(
            (np.ones(len(there)), (self.judge.unknown[there], unknowns + amounts.indices[there])),
            shape=(unknowns + units,) * 2,
        )
        return np.asarray(connected_components(edges, directed=False)[1][:unknowns], np.int64)

    def _allowed(self, entries: LongArray) -> FloatArray:
        """Return for each entry how much rest, times q, makes every sum safe that holds its unknown."""
        judge, amounts = self.judge, self.judge.system.amounts
        unit = amounts.indices[entries]
        whole = np.bincount(amounts.indices, np.abs(amounts.data), amounts.shape[1])
        need = np.where(judge.several[unit], judge.rule.accuracy * whole[unit], judge.gains[entries])
        # Weights below 1 make a rest below 0 possible, which other unknowns have to make up for.
        short = float(np.maximum(judge.top(judge.rule.n) - judge.system.size, 0.0).sum())
        return np.asarray(need + judge.rule.prior * short, float)

    def _chunks(self, allowed: FloatArray) -> list[LongArray]:
        """Return the entries in parts that ask for about the same; in fewer, or none, if that is too much work."""
        core = float((~rows_apart(self.matrix)).sum())
        cost = (self.judge.rule.n + 1) * (core**3 / 3 + core**2 * _CHUNK + _SPARSE * self.matrix.nnz) + 1
        order = np.argsort(-allowed, kind="stable").astype(np.int64)
        chunks: list[LongArray] = []
        while len(order):
            alike = int((allowed[order] * _ALIKE >= allowed[order[0]]).sum())
            chunks.append(order[: min(alike, _CHUNK)])
            order = order[len(chunks[-1]) :]
        few = int(self.work / cost)
        if len(chunks) <= few:
            return chunks
        whole = np.concatenate(chunks)
        return [part for part in np.array_split(whole, few) if len(part)] if few else []

    def _at_least(self, least: float, size: FloatArray, without: LongArray) -> LongArray:
        """Return the unknowns of some size, without the clusters of those given."""
        chosen = np.flatnonzero(size >= least)
        return chosen[~np.isin(self._clusters[chosen], self._clusters[without])].astype(np.int64)

    def _spanned(self, group: LongArray, wanted: LongArray, random: np.random.Generator) -> BoolArray:
        """Return which wanted columns are combinations of those of a group, modulo a prime."""
        if not len(group) or not len(wanted):
            return np.zeros(len(wanted), bool)
        return spanned(sp.csr_array(self._columns[:, group]), self._columns[:, wanted].toarray(), random)

    @cached_property
    def _columns(self) -> sp.csc_array:
        return sp.csc_array(self.matrix.astype(np.int64))
