"""Which dimension stands behind each column of ready-made cells; where none is given, a flat one of its codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cellguard.errors import InputError
from cellguard.hierarchy.build import TOTAL, flat
from cellguard.hierarchy.code_order import in_code_order
from cellguard.hierarchy.confidential_codes import may_be_values
from cellguard.hierarchy.hierarchy import NOTHING, Dimension, Hierarchy
from cellguard.table.source import Source

_TOTALS = ("total", "all", "sum", "_t", "t", "ensemble", "totaal", "gesamt", "insgesamt", "totale", "tot")
By = Sequence[str | Dimension] | Mapping[str, Dimension | Hierarchy | None]


def bind(by: By, source: Source, *, inner: bool = False) -> Mapping[str, Dimension]:
    """Return for each dimension column its dimension; where none is given, a flat one of the codes that occur.

    With ``inner`` the data hold inner cells only, without totals.
    """
    wanted: dict[str, Dimension | Hierarchy | None] = {}
    if isinstance(by, Mapping):
        wanted.update(by)
    else:
        for item in by:
            wanted[item.name if isinstance(item, Dimension) else item] = item if isinstance(item, Dimension) else None
    if not wanted:
        raise InputError("a table needs at least one dimension; name its columns in `by`")
    dimensions = {}
    for column, given in wanted.items():
        if isinstance(given, Dimension):
            dimensions[column] = given
        elif isinstance(given, Hierarchy):
            dimensions[column] = Dimension(column, given)
        else:
            codes = source.codes(column)[0]
            place = source.place.name
            dimensions[column] = flat_dimension(column, codes, place=place, rows=len(source), inner=inner)
    return dimensions


def flat_dimension(
    name: str,
    codes: Sequence[str],
    *,
    total: str = TOTAL,
    place: str = "",
    column: str = "",
    rows: int = 0,
    labels: Mapping[str, str] = NOTHING,
    inner: bool = False,
) -> Dimension:
    """Return the dimension of codes side by side under a total, which must be among them but for ``inner`` cells.

    The codes are in the order of ``labels`` or else in natural order, whatever the order of the data. They are those
    of a column of so many ``rows``. If the total is a word, it is evidently one of codes.
    """
    if total not in codes and not inner:
        likely = [code for code in codes if code.strip().casefold() in {total.casefold(), *_TOTALS}]
        near = f"; did you mean {' or '.join(map(repr, likely))}?" if likely else "; is it the right column?"
        raise InputError(
            f"{place}: no row has the total {total!r} in column {column or name!r}{near} Name its code with `total`, "
            "give the dimension a hierarchy, or, if the file has no totals at all, say `totals: compute`"
        )
    second = [code for code in codes if code != total and code.strip().casefold() == total.casefold()]
    if second:
        raise InputError(
            f"{place}: column {column or name!r} holds two totals, {total!r} and {second[0]!r}; keep the rows of one "
            "of them, spelled in one way"
        )
    others = flat(in_code_order(set(codes) - {total}, labels), total=total, labels=labels)
    return Dimension(name, replace(others, hushed=may_be_values(codes, rows, total)))
