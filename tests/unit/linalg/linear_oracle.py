"""Plain elimination in fractions, written apart from the package: which unknowns a system of sums determines."""

from fractions import Fraction


def reduced(rows):
    """Return the reduced row echelon form as a mapping of pivot column to row."""
    form = {}
    for given in rows:
        row = [Fraction(int(x)) for x in given]
        for pivot, other in form.items():
            f = row[pivot]
            row = [a - f * b for a, b in zip(row, other, strict=True)]
        pivot = next((i for i, x in enumerate(row) if x), None)
        if pivot is None:
            continue
        row = [x / row[pivot] for x in row]
        for key, other in form.items():
            f = other[pivot]
            form[key] = [a - f * b for a, b in zip(other, row, strict=True)]
        form[pivot] = row
    return form


def determined(rows, columns):
    """Return for each unknown whether its unit vector is in the row space."""
    form = reduced(rows)
    return [c in form and all(x == (i == c) for i, x in enumerate(form[c])) for c in range(columns)]


def rank(rows):
    return len(reduced(rows))
