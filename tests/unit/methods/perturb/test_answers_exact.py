"""What small systems of answers determine, against elimination in fractions, and attackers who know the arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.linalg.residues import PRIMES, secret_prime
from cellguard.linalg.rowspace import RowSpace
from cellguard.methods.perturb.answers import system
from cellguard.methods.perturb.answers.system import Cells, System
from cellguard.methods.perturb.checks.coalitions import tied_pairs
from cellguard.rules.limits import NoiseRule


def kernel_in_fractions(rows):
    """Return a basis of all v with rows v = 0, unknowns by vectors."""
    left, pivots, n = [[Fraction(int(x)) for x in row] for row in rows], [], rows.shape[1]
    for column in range(n):
        at = next((i for i in range(len(pivots), len(left)) if left[i][column]), None)
        if at is None:
            continue
        here = len(pivots)
        left[here], left[at] = left[at], left[here]
        left[here] = [x / left[here][column] for x in left[here]]
        for i, row in enumerate(left):
            if i != here and row[column]:
                left[i] = [x - row[column] * y for x, y in zip(row, left[here], strict=True)]
        pivots.append(column)
    free = [column for column in range(n) if column not in pivots]
    kernel = [[Fraction(int(one == column)) for one in free] for column in range(n)]
    for row, pivot in zip(left, pivots, strict=False):
        kernel[pivot] = [-row[column] for column in free]
    return kernel


def line(vector):
    lead = next((x for x in vector if x), None)
    return None if lead is None else tuple(x / lead for x in vector)


def test_small_systems_are_exact():
    random, prime = np.random.default_rng(3), secret_prime()
    determined = tied = 0
    for _ in range(500):
        n = int(random.integers(5, 14))
        rows = (random.random((int(random.integers(2, n + 2)), n)) < random.choice([0.3, 0.5])).astype(np.int64)
        lines = [line(vector) for vector in kernel_in_fractions(rows)]
        kernel = RowSpace(sp.csr_array(rows)).kernel(prime)
        sure = ~kernel.any(axis=1)
        assert sure.tolist() == [one is None for one in lines]
        moving = np.flatnonzero(~sure)
        pairs = {lines[a] == lines[b] for a, b in tied_pairs(kernel, moving, prime)}
        many = len(moving) - len({lines[at] for at in moving.tolist()})
        assert pairs <= {True} and len(tied_pairs(kernel, moving, prime)) == many
        determined, tied = determined + int(sure.sum()), tied + many
    assert determined > 300 and tied > 100


def last_of_a_chain(factor):
    """Ask for sums by which classes are twice each other, and a last one that tells ``factor`` times a contribution."""
    bits = [i for i in range(factor.bit_length()) if factor >> i & 1]
    names, n = {"a0": [0]}, 1
    for i in range(max(bits)):
        for name in (f"u{i}", f"v{i}", f"a{i + 1}"):
            names[name], n = list(range(n, n + 6)), n + 6
    random = np.random.default_rng(0)
    noise = random.choice([-1, 1], n) * random.uniform(12, 30, n)
    asked = System(np.full(n, 100.0), noise, [NoiseRule(2, p=10)])

    def ask(*classes):
        leaf = np.full(n, -1, np.int32)
        leaf[[record for name in classes for record in names[name]]] = 0
        trial = asked.trial(Cells(leaf, sp.csr_array(np.ones((1, 1)))), np.ones(1, bool))
        if trial.clean:
            asked.take(trial)
        return [finding.unknowns for finding in trial.findings]

    for i in range(max(bits)):  # a1 + u + v less (u + a0) and (v + a0) is a1 less twice a0
        for classes in ((f"u{i}", f"a{i}"), (f"v{i}", f"a{i}"), (f"a{i + 1}", f"u{i}", f"v{i}")):
            if found := ask(*classes):
                return found
    return ask(*(f"a{i}" for i in bits))


@pytest.mark.parametrize("factor", [5, PRIMES[0], PRIMES[1]])
def test_multiples_of_known_primes_hide_nothing(factor):
    assert last_of_a_chain(factor) == [(0,)]


@pytest.mark.parametrize("factor", [5, 4_097, 2**16 + 1, PRIMES[0]])
def test_floats_find_multiples_or_what_comes_near_them(factor, monkeypatch):
    """A contribution that can move by 2^-12 of what others do counts as known, so that no multiple gets too large."""
    monkeypatch.setattr(system, "_EXACT_ROWS", -1)
    assert last_of_a_chain(factor) == [(0,)]
