"""All that was answered about one response, as one linear system in the perturbed contributions, and what it tells.

`System.trial` takes further cells in on trial and says what all cells together then tell that they did not before:

- determined: the sum of a class of contributors whom no published cell tells apart, if the class has no more than n
  members (a single one learns its multiplier) or is unsafe as a cell;
- tied: two classes with n members together, of which a combination of cells holds no others;
- dominated: a contributor whom an outsider learns too closely by some combination, see `domination`.

Two metrics serve: that of ones for the first two, that of sizes for the third. Small systems are decided modulo a prime
that nobody knows, and by linear programs; in large ones floats with the tolerances below find what is determined, and
what is not proven safe counts as dangerous. Records of value 0 are taken to be known to everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.linalg.growing import SAMPLES, Extension, Growing, Parts
from cellguard.linalg.layers import Ints, Rows
from cellguard.linalg.residues import secret_prime
from cellguard.linalg.rowspace import RowSpace
from cellguard.methods.perturb.answers.domination import (
    dangerous,
    dominated,
    programs_decide,
    suspects,
    thresholds,
)
from cellguard.methods.perturb.answers.figures import largest_of, unsafe
from cellguard.methods.perturb.checks.coalitions import tied_pairs
from cellguard.rules.limits import NoiseRule

DETERMINED = 1e-7  # mean square of what worlds give to the sum of a class, per member
_NOTHING = 1e-5  # of what a cell sees of worlds, per square root of its contributors
_SAME = 1e-4  # how near two directions are that are taken as one
_EXACT_ROWS, _EXACT_CLASSES = 400, 2_000
_LISTED = 48  # combinations that are taken apart to see which cells take part


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells that may be published: sums (``sums``, cells by parts) of the parts of a partition of the contributors.

    ``leaf`` is the part of each contributor, -1 for those in no cell.
    """

    leaf: Ints
    sums: sp.csr_array


@dataclass(frozen=True, eq=False)
class Finding:
    """A combination that tells too much: its contributors with their shares, and in which metric it was found."""

    kind: str
    unknowns: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Trial:
    """What a system would be with further cells, and what they tell that it did not tell before."""

    cells: Cells
    shown: BoolArray
    plain: Extension
    sized: Extension
    plain_worlds: FloatArray
    sized_worlds: FloatArray
    marks: np.ndarray
    known: BoolArray
    exposed: BoolArray
    findings: tuple[Finding, ...]
    unresolved: LongArray
    order: LongArray

    @property
    def clean(self) -> bool:
        """Whether nothing more is told."""
        return not self.findings and not len(self.unresolved)

    @property
    def rank(self) -> int:
        """How many cells say something of their own."""
        return len(self.order)


class System:
    """The published cells of one response. ``size`` and ``noise`` are those of the contributors, none of size 0."""

    def __init__(self, size: FloatArray, noise: FloatArray, rules: Sequence[NoiseRule]) -> None:
        self.size, self.noise, self.rules = size, noise, tuple(rules)
        self.n = max(rule.n for rule in rules)
        self.tau = thresholds(size, noise, self.rules)
        random = np.random.default_rng()  # whoever asks must not know by what is looked at
        self._prime = secret_prime()
        self.rows = Rows(len(size))
        worlds = random.standard_normal((len(size), SAMPLES))
        self.plain, self.sized = Growing(np.ones(len(size)), worlds), Growing(size, worlds)
        self.marks = np.zeros(len(size), np.uint64)
        self.known, self.exposed = np.zeros(len(size), bool), np.zeros(len(size), bool)
        self._held: tuple[Cells, Parts, Parts] | None = None

    def __len__(self) -> int:
        return len(self.size)

    @property
    def rank(self) -> int:
        """How many published cells say something of their own."""
        return self.plain.rank

    @property
    def exposure(self) -> float:
        """The mean over contributors of how far they are determined: rank / number."""
        return self.rank / max(len(self), 1)

    def trial(self, cells: Cells, shown: BoolArray, *, judge: bool = True) -> Trial:
        """Return the system with some of the cells; without ``judge`` nothing is looked for."""
        plain_parts, sized_parts = self._parts(cells)
        candidates = np.flatnonzero(shown)
        sums = sp.csr_array(cells.sums[candidates])
        plain, order = Extension.of(plain_parts, sums)
        sized, doubtful = Extension.all_of(sized_parts, sp.csr_array(sums[order]))
        unresolved = candidates[order[doubtful]]
        if sized is None:  # sizes differ too much for the metric of sizes
            kept = np.setdiff1d(np.arange(len(order)), doubtful)
            sized, _ = Extension.of(sized_parts, sp.csr_array(sums[order[kept]]))
        worlds = plain.project(self.rows, cells.leaf, plain_parts.seen, self.plain.worlds)
        sized_worlds = sized.project(self.rows, cells.leaf, sized_parts.seen, self.sized.worlds)
        unresolved = np.union1d(unresolved, candidates[_seen(sums, _by_part(cells, worlds), cells)])
        marks = self._marked(cells, sums, len(candidates))
        known, exposed, findings = self.known, self.exposed, tuple[Finding, ...]()
        if judge:
            known, exposed, findings = self._judged(cells, sums, plain, sized, worlds, sized_worlds, marks)
        return Trial(
            cells,
            shown,
            plain,
            sized,
            worlds,
            sized_worlds,
            marks,
            known,
            exposed,
            findings,
            unresolved,
            candidates[order],
        )

    def take(self, trial: Trial) -> None:
        """Take the cells of a trial in for good."""
        self.rows = self.rows.joined(trial.cells.leaf, trial.plain.chosen)
        self.plain.add(trial.plain.against, trial.plain.own, trial.plain_worlds)
        self.sized.add(trial.sized.against, trial.sized.own, trial.sized_worlds)
        self.marks, self.known, self.exposed = trial.marks, trial.known, trial.exposed
        self._held = None

    def taking_part(self, trial: Trial) -> tuple[LongArray, FloatArray]:
        """Return for some findings how much each new cell has to do with them: the cells, and cells by findings."""
        some = trial.findings[:: max(1, len(trial.findings) // _LISTED)][:_LISTED]
        parts = []
        for metric, extension in (("plain", trial.plain), ("sized", trial.sized)):
            here = [f for f in some if (f.kind == "dominated") == (metric == "sized")]
            if not here:
                continue
            unknowns = [u for f in here for u in f.unknowns]
            shares = [s for f in here for s in f.shares]
            column = [i for i, f in enumerate(here) for _ in f.unknowns]
            sums = sp.csc_array((shares, (unknowns, column)), shape=(len(self), len(here)))
            part = extension.taking_part(self.rows, trial.cells.leaf, sums)
            parts.append(part / np.maximum(part.max(axis=0, initial=0.0), 1e-300))
        return trial.order, np.hstack(parts)

    def prepare(self, cells: Cells) -> None:
        """Get ready for many trials of the same cells."""
        for parts in self._parts(cells):
            parts.prepare()

    def implied(self, cells: Cells, shown: BoolArray) -> bool:
        """Return whether some cells follow from what is published: no world that it leaves open changes them."""
        seen = _by_part(cells, self.plain.worlds)
        return not len(_seen(sp.csr_array(cells.sums[np.flatnonzero(shown)]), seen, cells))

    def _parts(self, cells: Cells) -> tuple[Parts, Parts]:
        if self._held is None or self._held[0] is not cells:
            many = cells.sums.shape[1]
            both = [Parts.of(metric, self.rows, cells.leaf, many) for metric in (self.plain, self.sized)]
            self._held = (cells, both[0], both[1])
        return self._held[1:]

    def _marked(self, cells: Cells, sums: sp.csr_array, many: int) -> np.ndarray:
        """Return new marks: two contributors have one mark if they are in the same cells."""
        keys = np.random.default_rng().integers(1, 2**63, many).astype(np.uint64)
        by_part = np.zeros(cells.sums.shape[1] + 1, np.uint64)
        row = np.repeat(np.arange(many), np.diff(sums.indptr))
        np.add.at(by_part, sums.indices, keys[row])
        return np.asarray(self.marks + by_part[cells.leaf])

    def _judged(
        self,
        cells: Cells,
        sums: sp.csr_array,
        plain: Extension,
        sized: Extension,
        worlds: FloatArray,
        sized_worlds: FloatArray,
        marks: np.ndarray,
    ) -> tuple[BoolArray, BoolArray, tuple[Finding, ...]]:
        classes = _Classes.of(marks)
        many = self.rank + sums.shape[0]
        small = np.flatnonzero(classes.width < self.n)
        if many <= _EXACT_ROWS and classes.many <= _EXACT_CLASSES:
            kernel = RowSpace(self._by_class(cells, sums, classes)).kernel(self._prime)
            sure = np.asarray(~kernel.any(axis=1), bool)
            pairs = tied_pairs(kernel, small[~sure[small]], self._prime)
            shares = [(1.0, 1.0)] * len(pairs)
        else:
            moved = [np.bincount(classes.of_each, world, classes.many) for world in worlds.T]
            seen = np.asarray(np.stack(moved, axis=1), float)
            sure = np.asarray((seen**2).mean(axis=1) < DETERMINED * classes.width, bool)
            pairs, shares = _parallel(seen, small[~sure[small]])
        known, findings = self.known.copy(), list[Finding]()
        for at in np.flatnonzero(sure & self._unsafe(classes, sure)).tolist():
            members = classes.members(at)
            if not self.known[members].all():
                findings.append(Finding("determined", tuple(members.tolist()), (1.0,) * len(members)))
            known[members] = True
        for (a, b), (one, two) in zip(pairs, shares, strict=True):
            if classes.width[a] + classes.width[b] > self.n:
                continue
            first, second = classes.members(a), classes.members(b)
            both = np.concatenate([first, second])
            if not self.known[both].all():
                share = (one,) * len(first) + (two,) * len(second)
                findings.append(Finding("tied", tuple(both.tolist()), share))
            known[both] = True
        exposed = self.exposed | known
        doubtful = np.flatnonzero(suspects(sized_worlds, self.tau) & ~exposed)
        open_ = dominated(sized, self.rows, cells.leaf, doubtful, self.tau)
        if len(open_) and programs_decide(many, classes.many, len(open_)):
            rows, of = self._by_class(cells, sums, classes), classes.of_each
            told = [dangerous(rows, of, self.size, self.noise, t, self.rules) for t in open_.tolist()]
            open_ = open_[np.array(told, bool)]
        findings += [Finding("dominated", (t,), (1.0,)) for t in open_.tolist()]
        exposed[open_] = True
        return known, exposed, tuple(findings)

    def _by_class(self, cells: Cells, sums: sp.csr_array, classes: _Classes) -> sp.csr_array:
        """Return all cells, the new ones included, by classes, which are in them whole."""
        first = classes.first
        wide = sp.csc_array(sp.hstack([sums, sp.csr_array((sums.shape[0], 1))]))
        new = wide[:, np.where(cells.leaf[first] < 0, sums.shape[1], cells.leaf[first])]
        return sp.csr_array(sp.vstack([self.rows.columns(first), new], format="csr").astype(np.int64))

    def _unsafe(self, classes: _Classes, among: BoolArray) -> BoolArray:
        """Return which of some classes are unsafe, should their sums be known."""
        inside = among[classes.of_each]
        part = np.where(inside, classes.of_each, -1)
        top = largest_of(part, self.size, classes.many, self.n)
        size = np.asarray(np.bincount(classes.of_each, self.size, classes.many), float)
        noise = np.asarray(np.bincount(classes.of_each, self.noise, classes.many), float)
        few: BoolArray = classes.width <= self.n
        return few | unsafe(size, noise, top, self.rules)


def _by_part(cells: Cells, columns: FloatArray) -> FloatArray:
    """Return what columns of the contributors add up to in each part."""
    many = cells.sums.shape[1]
    part = np.where(cells.leaf < 0, many, cells.leaf).astype(np.int64)
    return np.stack([np.bincount(part, column, many + 1)[:many] for column in columns.T], axis=1)


def _seen(sums: sp.csr_array, by_part: FloatArray, cells: Cells) -> LongArray:
    """Return which cells see something of the worlds."""
    many = cells.sums.shape[1]
    width = sums @ np.bincount(np.where(cells.leaf < 0, many, cells.leaf), minlength=many + 1)[:many]
    return np.flatnonzero(np.abs(sums @ by_part).max(axis=1, initial=0.0) > _NOTHING * np.sqrt(width + 1))


@dataclass(frozen=True, eq=False)
class _Classes:
    """Contributors whom no published cell tells apart."""

    of_each: LongArray
    first: LongArray
    width: LongArray

    @classmethod
    def of(cls, marks: np.ndarray) -> _Classes:
        """Return the classes of equal marks."""
        _, first, of_each, width = np.unique(marks, return_index=True, return_inverse=True, return_counts=True)
        return cls(of_each.astype(np.int64), first.astype(np.int64), width.astype(np.int64))

    @property
    def many(self) -> int:
        return len(self.width)

    @cached_property
    def _order(self) -> tuple[LongArray, LongArray]:
        return np.argsort(self.of_each, kind="stable"), np.concatenate([[0], np.cumsum(self.width)])

    def members(self, at: int) -> LongArray:
        order, start = self._order
        return order[start[at] : start[at + 1]]


def _parallel(seen: FloatArray, candidates: LongArray) -> tuple[list[tuple[int, int]], list[tuple[float, float]]]:
    """Return pairs of classes that worlds move along one line, and the shares with which their moves cancel."""
    rows = seen[candidates]
    length = np.sqrt((rows**2).sum(axis=1))
    direction = rows / np.maximum(length, 1e-300)[:, None]
    lead = np.abs(direction).argmax(axis=1)
    direction = direction * np.sign(direction[np.arange(len(rows)), lead])[:, None]
    pairs, shares, done = list[tuple[int, int]](), list[tuple[float, float]](), set[tuple[int, int]]()
    for offset in (0.0, 0.5):  # a pair that one grid parts is whole in the other
        grid = np.floor(direction[:, :4] / (8 * _SAME) + offset).astype(np.int64)
        key = ((grid[:, 0] * 1_000_003 + grid[:, 1]) * 1_000_003 + grid[:, 2]) * 1_000_003 + grid[:, 3]
        order = np.argsort(key, kind="stable")
        same = np.flatnonzero(key[order][1:] == key[order][:-1])
        for i in same.tolist():
            a, b = int(order[i]), int(order[i + 1])
            if np.abs(direction[a] - direction[b]).max() >= _SAME:
                continue
            pair = (int(candidates[min(a, b)]), int(candidates[max(a, b)]))
            if pair in done:
                continue
            done.add(pair)
            pairs.append(pair)
            one, two = seen[pair[0]], seen[pair[1]]
            shares.append((1.0, -float(one @ two) / float(two @ two)))
    return pairs, shares
