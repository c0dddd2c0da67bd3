"""An attacker of its own on answers from a small source: elimination modulo a prime, and linear programs of its own.

Nothing here is shared with what it judges. It takes the cells that were shown as sets of records, and says whose
contribution is known: determined, tied to one other, or dominating some combination of cells within the rule.
"""

import numpy as np
from scipy.optimize import linprog

PRIME = 2_147_483_647


def reduced(rows):
    """Return the rows in reduced echelon form modulo the prime, and their pivots."""
    rows = np.array(rows, np.int64) % PRIME
    pivots, at = [], 0
    for column in range(rows.shape[1]):
        hit = np.flatnonzero(rows[at:, column])
        if not len(hit):
            continue
        pick = at + int(hit[0])
        rows[[at, pick]] = rows[[pick, at]]
        rows[at] = rows[at] * pow(int(rows[at, column]), -1, PRIME) % PRIME
        for other in np.flatnonzero(rows[:, column]):
            if other != at:
                rows[other] = (rows[other] - rows[other, column] * rows[at]) % PRIME
        pivots.append(column)
        at += 1
        if at == len(rows):
            break
    return rows[:at], pivots


def kernel_of(rows, n):
    """Return a basis of all v with rows v = 0 modulo the prime: unknowns by basis vectors."""
    echelon, pivots = reduced(rows)
    free = [c for c in range(n) if c not in set(pivots)]
    kernel = np.zeros((n, len(free)), np.int64)
    kernel[free, np.arange(len(free))] = 1
    for row, pivot in zip(echelon, pivots, strict=True):
        kernel[pivot] = -row[free] % PRIME
    return kernel


def parallel(one, two):
    """Return whether two rows of residues are multiples of each other."""
    lead = np.flatnonzero(one)
    if not len(lead) or not two.any():
        return False
    share = int(two[lead[0]]) * pow(int(one[lead[0]]), -1, PRIME) % PRIME
    return bool(((one * share - two) % PRIME == 0).all())


def closest(rows, size, noise, target, q):
    """Return the least that a combination of rows with 1 for the target leaves beside it, as a share of its size.

    It is q times the sizes of the others plus the combination's noise, over all real coefficients.
    """
    k, n = rows.shape
    others = np.arange(n) != target
    scaled = rows.T * 1.0
    weight = q * size[others] / size[target]
    shift = (rows @ noise) / size[target]
    wide = np.eye(n - 1)
    upper = np.block(
        [
            [scaled[others], -wide, np.zeros((n - 1, 1))],
            [-scaled[others], -wide, np.zeros((n - 1, 1))],
            [shift[None, :], np.zeros((1, n - 1)), -np.ones((1, 1))],
            [-shift[None, :], np.zeros((1, n - 1)), -np.ones((1, 1))],
        ]
    )
    fixed = np.concatenate([scaled[target], np.zeros(n)])[None, :]
    bounds = [(None, None)] * k + [(0, None)] * n
    cost = np.concatenate([np.zeros(k), weight, [1.0]])
    done = linprog(cost, A_ub=upper, b_ub=np.zeros(len(upper)), A_eq=fixed, b_eq=[1.0], bounds=bounds, method="highs")
    return done.fun if done.status == 0 else np.inf


def known_contributions(rows, size, noise, *, p, q, n, targets=()):
    """Return who is known, and how: (record, "determined" | "tied" | "dominated"), of contributors of size above 0."""
    rows = np.unique(np.array(rows, np.int64)[:, size > 0], axis=0)
    mine = np.flatnonzero(size > 0)
    size, noise = size[mine], noise[mine]
    kernel = kernel_of(rows, len(mine))
    found = [(int(mine[t]), "determined") for t in np.flatnonzero(~kernel.any(axis=1))]
    if n > 1:
        for a in range(len(mine)):
            found += [(int(mine[a]), "tied") for b in range(a) if parallel(kernel[a], kernel[b])]
    place = {int(record): t for t, record in enumerate(mine)}
    for record in targets:
        t = place.get(int(record))
        if t is not None and closest(rows, size, noise, t, q) < p * (1 - 1e-7):
            found.append((int(record), "dominated"))
    return found
