"""The posterior of noisy counts by listing every possible truth: nothing of the code under test but the table."""

import itertools
from collections.abc import Sequence

import numpy as np


def chance(table, count, change):
    """The probability of a change, from the table's own ends."""
    row = count if count <= table.last else table.last
    shares = np.diff(table.upper[row], prepend=0.0)
    return float(shares[table.changes[row] == change].sum())


def brute(table, published, members, inner, *, filled=(), fixed=(), prior=lambda count: 1.0):
    """For each cell a mapping from counts to probabilities. Cells with the same records have the same noise."""
    reach = table.deviation
    options = [
        range(max(published[c] - (0 if c in fixed else reach), 0), published[c] + (0 if c in fixed else reach) + 1)
        for c in inner
    ]
    found = [{} for _ in published]
    for counts in itertools.product(*options):
        true = [sum(counts[i] for i in m) for m in members]
        if any(true[c] == 0 for c in filled):
            continue
        weight, noise = float(np.prod([prior(count) for count in counts])), {}
        for c, said in enumerate(published):
            change, records = said - true[c], frozenset(i for i in members[c] if counts[i])
            if c in fixed:
                weight *= change == 0
            elif records in noise:
                weight *= noise[records] == change
            else:
                weight *= chance(table, true[c], change)
                noise[records] = change
            if not weight:
                break
        if weight:
            for c, count in enumerate(true):
                found[c][count] = found[c].get(count, 0.0) + weight
    whole = sum(found[0].values())
    return [{count: weight / whole for count, weight in one.items()} for one in found]


def publish(table, counts: Sequence[int], members, rng):
    """Counts with noise that is one for one set of records."""
    noise, said = {frozenset(): 0}, []
    for m in members:
        records, true = frozenset(i for i in m if counts[i]), sum(counts[i] for i in m)
        if records not in noise:
            row = min(true, table.last)
            noise[records] = int(rng.choice(table.changes[row], p=np.diff(table.upper[row], prepend=0.0)))
        said.append(true + noise[records])
    return said
