"""Brute force against perturbed tables: every set of contributors that the published cells determine, in fractions.

Written apart from the package. A cell is the list of its records; nothing else of a table is used.
"""

import itertools
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Record:
    """What one record contributes: its holding, value, weight, and what it adds to perturbed totals."""

    unit: str
    value: float
    weight: float
    added: float


def echelon(rows):
    """Return the reduced row echelon form in fractions, as pivot column to row."""
    form = {}
    for given in rows:
        row = [Fraction(x) for x in given]
        for pivot, other in form.items():
            f = row[pivot]
            row = [a - f * b for a, b in zip(row, other, strict=True)] if f else row
        pivot = next((i for i, x in enumerate(row) if x), None)
        if pivot is None:
            continue
        row = [x / row[pivot] for x in row]
        for key, other in form.items():
            f = other[pivot]
            form[key] = [a - f * b for a, b in zip(other, row, strict=True)] if f else other
        form[pivot] = row
    return form


def lies_in(form, vector):
    """Whether a vector is a combination of the rows of an echelon form."""
    left = [Fraction(x) for x in vector]
    for pivot, row in form.items():
        f = left[pivot]
        left = [a - f * b for a, b in zip(left, row, strict=True)] if f else left
    return not any(left)


class Attacker:
    """Knows which record is in which published cell, and so which sums of contributions are determined."""

    def __init__(self, records, cells):
        """``cells`` are the published cells, each as record numbers."""
        self.records = records
        columns = {}
        for i, record in enumerate(records):
            inside = tuple(at for at, cell in enumerate(cells) if i in cell)
            if inside and record.value and record.weight:
                columns.setdefault(inside, []).append(i)
        self.groups = list(columns.values())
        self.cells = [tuple(int(at in inside) for inside in columns) for at in range(len(cells))]
        self.form = echelon(self.cells)

    def gives(self, shares):
        """Whether a combination of cells holds the groups with these shares, and nothing else."""
        return lies_in(self.form, shares)

    def is_smallest(self, shares):
        """Whether no other combination of cells holds only groups that are among these."""
        outside = [i for i, s in enumerate(shares) if not s]
        free = [[row[i] for i in outside] for row in self.form.values()]
        return len(self.form) - len(echelon(free)) == 1

    def s_n(self, shares, rule):
        """S_N of the sum of groups with these shares: how far a coalition comes too close to the largest."""
        units, size, noise = {}, 0.0, 0.0
        for share, group in zip(shares, self.groups, strict=True):
            for i in group if share else ():
                r = self.records[i]
                units[r.unit] = units.get(r.unit, 0.0) + share * r.value
                size += abs(share) * abs(r.value) * r.weight
                noise += share * (r.added - r.value * r.weight)
        largest = sorted((abs(x) for x in units.values()), reverse=True)
        rest = size - sum(largest[: rule.n])
        return rule.accuracy * largest[0] - rule.prior * rest - abs(noise), size

    def unsafe(self, rule, *, signs=(0, 1)):
        """Return the determined sums with S_N > 0; with a sign of -1 only those that hold no other such sum."""
        found = []
        for shares in itertools.product(signs, repeat=len(self.groups)):
            first = next((s for s in shares if s), 0)
            if first == 1 and self.gives(shares):
                over, size = self.s_n(shares, rule)
                if over > 1e-7 * size and (min(shares) >= 0 or self.is_smallest(shares)):
                    found.append(shares)
        return found

    def most(self, shares):
        """Return the number of units in a sum."""
        return len({self.records[i].unit for s, g in zip(shares, self.groups, strict=True) if s for i in g})
