"""Code columns as positions in their dimensions, recodings applied."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, UnknownCode, did_you_mean
from cellguard.hierarchy.confidential_codes import evidence
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.columns import MARK, headed
from cellguard.table.source import Source

_CUT, _UNKNOWN = -1, -2


def read_codes(source: Source, by: Mapping[str, Dimension]) -> tuple[list[IntArray], npt.NDArray[np.bool_]]:
    """Return the position of each row's code in each dimension, and which rows a recoding keeps.

    A merged code stands for the code it was merged into. A code that was cut off has no cell of its own any more, so
    its rows are not kept. ``by`` maps column names to dimensions.
    """
    keep = np.ones(len(source), bool)
    columns: list[IntArray] = []
    for column, dimension in by.items():
        texts, index = source.codes(column)
        positions = _positions(dimension, texts)[index]
        if (positions == _UNKNOWN).any():
            row = int(np.flatnonzero(positions == _UNKNOWN)[0])
            fault = _strange(dimension, texts, len(index), texts[index[row]])
            raise UnknownCode(f"{source.place.row(row)}, column {column!r}: {fault}")
        keep &= positions >= 0
        columns.append(positions)
    return columns, keep


def _strange(dimension: Dimension, entries: Sequence[str], rows: int, text: str) -> str:
    """Say that an entry of a column is no code of the dimension; it is shown only if the column evidently has codes."""
    shown = evidence(entries, rows, dimension.told).tell(text, "")
    if shown:
        return f"{shown} is not in dimension {dimension.name!r}{did_you_mean(text, dimension.told)}"
    right = "" if set(entries) & set(dimension.codes) else "; is it the right column?"
    return f"the entry is no code of dimension {dimension.name!r}{did_you_mean('', dimension.told)}{right}"


def find_columns(source: Source, by: Mapping[str, Dimension], *, fixed: Collection[str] = ()) -> dict[str, Dimension]:
    """Return the columns that a source has for the dimensions: named as said, or after the dimension itself.

    In a file with columns of its own, ``fixed``, the column of a dimension of such a name has ``by:`` in front.
    """
    columns = {}
    for wanted, dimension in by.items():
        column, own = (headed(name, fixed) if fixed else name for name in (wanted, dimension.name))
        column = column if column in source.names or own not in source.names else own
        if column not in source.names and column.removeprefix(MARK) in fixed:
            raise InputError(
                f"{source.place.name}: no column {column!r}. Such a file has a column {column.removeprefix(MARK)!r} of "
                f"its own, so the codes of dimension {dimension.name!r} are in {column!r}"
            )
        columns[column] = dimension
    return columns


def _positions(dimension: Dimension, codes: Sequence[str]) -> IntArray:
    merged, cut = dimension.main.merged, dimension.main.cut_off
    now = [merged.get(code, code) for code in codes]
    return np.array([_CUT if c in cut else dimension.position.get(c, _UNKNOWN) for c in now], np.int32)
