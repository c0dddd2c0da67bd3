"""The order of a table's cells: that of the codes in their dimensions, and nothing else.

Rows are released in the order of the cells. Any other order tells something: that of the input may follow the values,
and empty cells behind the others tell that they are empty.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellguard.table.keys import combine
from cellguard.table.table import Table


def in_hierarchy_order(table: Table) -> Table:
    """Return the table with its cells by the positions of their codes, those of the first dimension slowest.

    >>> from cellguard.table.read import cells
    >>> table = cells({"r": ["B", "Total", "A"], "x": [3, 5, 2]}, by=["r"], value="x")
    >>> [table.cell_name(i) for i in range(3)], table.rows.tolist()
    (['Total', 'A', 'B'], [1, 2, 0])
    """
    keys = combine(table.codes, [len(d.codes) for d in table.dimensions])
    if (keys[1:] >= keys[:-1]).all():
        return table
    # Few runs in order are put together in linear time.
    order = np.argsort(keys, kind="stable")
    return replace(
        table,
        codes=tuple(column[order] for column in table.codes),
        facts=table.facts.take(order),
        apriori=table.apriori.take(order),
        rows=table.rows[order] if len(table.rows) else order,
    )
