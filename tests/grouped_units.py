"""Records summed by leaf codes and holding in plain numpy: the oracle of what databases do."""

import numpy as np

from cellguard.microdata.grouped import COUNT, Grouped


def group_units(units):
    keys = np.column_stack([units.holding, *units.codes])
    rows, place = np.unique(keys, axis=0, return_inverse=True)
    place, holdings = place.ravel(), int(units.holding.max(initial=-1)) + 1

    def summed(values):
        return np.bincount(place, values, len(rows)).astype(float)

    total = {name: summed(values) for name, values in units.values.items()}
    weighted = dict(total)
    if units.weight is not None:
        weighted = {name: summed(values * units.weight) for name, values in units.values.items()}
        weighted[COUNT] = summed(units.weight)
    refusing, asking = (np.bincount(units.holding, marks, holdings) > 0 for marks in (~units.waived, units.requested))
    return Grouped(
        columns=units.columns,
        labels=units.labels,
        codes=tuple(column.astype(np.int32) for column in rows[:, 1:].T),
        holding=rows[:, 0],
        records=summed(np.ones(len(units))).astype(np.int64),
        total=total,
        weighted=weighted,
        waived=~refusing[rows[:, 0]],
        requested=asking[rows[:, 0]],
        has_weights=units.weight is not None,
        read_units=lambda: units,
    )
