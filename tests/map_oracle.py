"""Maps in plain words: everything worked out cell by cell from definitions, to judge the kernels by."""

import itertools
from collections import deque

import numpy as np
from scipy.optimize import linear_sum_assignment

STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))


def path_length(start, end, limit=60):
    """The number of steps between two hexagons by search over the full grid."""
    queue, seen = deque([(start, 0)]), {start}
    while queue:
        (q, r), steps = queue.popleft()
        if (q, r) == end:
            return steps
        if steps < limit:
            for dq, dr in STEPS:
                place = (q + dq, r + dr)
                if place not in seen:
                    seen.add(place)
                    queue.append((place, steps + 1))
    return None


def far(a, b):
    dq, dr = a[0] - b[0], a[1] - b[1]
    return (abs(dq) + abs(dr) + abs(dq + dr)) // 2


def clusters(cells):
    """The sets of adjacent data cells."""
    left, found = set(cells), []
    while left:
        group, edge = set(), [min(left)]
        while edge:
            cell = edge.pop()
            if cell in left:
                left.discard(cell)
                group.add(cell)
                edge += [(cell[0] + dq, cell[1] + dr) for dq, dr in STEPS]
        found.append(group)
    return found


def outliers(counts, t, d, largest=2):
    cells = {c: n for c, n in counts.items() if n > 0}
    return {
        cell
        for group in clusters(cells)
        if len(group) <= largest
        and all(cells[c] < t for c in group)
        and all(far(a, b) > d for a in group for b in cells if b not in group)
        for cell in group
    }


def algorithm1(counts, t, grouped=True):
    """Counts after Algorithm 1, and mu; None if a cell cannot be filled."""
    counts, mu = {c: n for c, n in counts.items() if n > 0}, 0
    while any(n < t for n in counts.values()):
        first = min((n, c) for c, n in counts.items() if n < t)[1]
        by_distance = sorted(counts, key=lambda c: (far(first, c), -counts[c], c))
        group, total = [], 0
        for cell in by_distance:
            group.append(cell)
            total += counts[cell]
            if total >= t * len(group):
                break
        else:
            return None
        pool = group if grouped else list(counts)
        needy = sorted((c for c in group if counts[c] < t), key=lambda c: (counts[c], c)) if grouped else [first]
        for cell in needy:
            while counts[cell] < t:
                donors = [c for c in pool if counts[c] > t]
                giver = min(donors, key=lambda c: (far(cell, c), -counts[c], c))
                while counts[cell] < t and counts[giver] > t:
                    counts[giver] -= 1
                    counts[cell] += 1
                    mu += far(cell, giver)
    return counts, mu


def least_mu(supply, counts, t):
    """The cost of the best assignment of single units, supplies by cell."""
    wanted = [c for c, n in counts.items() if 0 < n < t for _ in range(t - n)]
    given = [c for c, n in supply.items() for _ in range(n)]
    if not wanted:
        return 0
    cost = np.array([[far(a, b) for b in given] for a in wanted])
    return int(cost[linear_sum_assignment(cost)].sum())


def all_maps(cells, highest):
    """Every map on some cells with counts up to a highest."""
    for counts in itertools.product(range(highest + 1), repeat=len(cells)):
        yield dict(zip(cells, counts, strict=True))
