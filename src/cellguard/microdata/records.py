"""`records`: from a file or a frame to records summed by leaf codes and holding, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cellguard.errors import InputError
from cellguard.microdata.checked import check_records
from cellguard.microdata.grouped import Grouped
from cellguard.microdata.query import group_records
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records
from cellguard.reading.dialect import Dialect


def records(
    data: object,
    by: Sequence[str],
    values: Sequence[str] = (),
    *,
    weight: str | None = None,
    respondent: str | None = None,
    holding: str | None = None,
    waiver: str | None = None,
    request: str | None = None,
    missing: Missing | None = None,
    query: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    remote: str | None = None,
    name: str = "the records",
) -> Grouped:
    """Read records, check every entry, and sum them by leaf codes and contributor; `tabulate` makes tables of them.

    A holding counts once in each cell, with the sum of its records; without one the respondent does so, and without
    that each record is its own contributor.

    Parameters
    ----------
    data
        A path (CSV, Parquet, or a DuckDB file with a ``query``), a mapping of columns, a frame that speaks Arrow, or
        an address: ``postgresql://HOST/DATABASE`` with a ``query``, ``spark:TABLE`` with the ``remote`` cluster.
    by
        The dimension columns.
    values
        The columns to sum.
    weight
        The column of the survey weight.
    respondent, holding
        The columns of the respondent and of its group.
    waiver, request
        Yes-or-no columns: the respondent allows publication, or asks for protection.
    missing
        What to do about missing values, codes and holdings; by default they are errors.
    query
        For databases: a ``SELECT`` that returns the records.
    delimiter, decimal, encoding
        Of text files; found out by default.
    remote
        The address of a Spark cluster.
    name
        What messages call the data.

    Returns
    -------
    Grouped
        The records by leaf codes and contributor.

    Raises
    ------
    InputError
        If an entry is wrong; the message names its line and column.

    Examples
    --------
    >>> firms = records({"region": ["N", "N", "S"], "group": ["a", "a", "b"], "turnover": [5, 2.5, 1]},
    ...                 by=["region"], values=["turnover"], holding="group")
    >>> firms.labels, firms.codes[0].tolist(), firms.records.tolist(), firms.total["turnover"].tolist()
    ((('N', 'S'),), [0, 1], [2, 1], [7.5, 1.0])
    """
    for option, names in (("by", by), ("values", values)):
        if isinstance(names, str):
            raise InputError(f"`{option}` must be a list of columns; give [{names!r}]")
    if not by:
        raise InputError("records need at least one dimension column")
    opened = open_records(data, name=name, query=query, dialect=Dialect(delimiter, decimal, encoding), remote=remote)
    roles = Roles(tuple(by), tuple(values), weight, respondent, holding, waiver, request, missing or Missing())
    return replace(group_records(check_records(opened, roles)), name=opened.name)
