"""The records of a session: whatever is asked for is tied to them, so that it is known who is in an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.arrays import BoolArray
from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.asking import NamedColumn, bare, plain_column
from cellguard.faces.python.coding import is_column
from cellguard.faces.python.kinds import kind_of
from cellguard.inputs.shown.record_sets import Rows


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some records, and columns of theirs by the argument that named them."""

    rows: Rows
    columns: Mapping[str, list[NamedColumn]]

    def complete(self, words: Sequence[str]) -> Chosen:
        """Return only the records that have an entry in each column of some arguments."""
        there = np.ones(len(self.rows), bool)
        for column in (column for word in words for column in self.columns.get(word, [])):
            there &= ~is_missing(column)
        if there.all():
            return self
        if not there.any():
            raise InputError("no record has an entry in each of the columns, so nothing is left to count")
        places = np.flatnonzero(there)
        columns = {word: [NamedColumn(c.name, _take(c, None, places)) for c in cs] for word, cs in self.columns.items()}
        return Chosen(self.rows[places], columns)


def is_missing(column: Any) -> BoolArray:  # noqa: ANN401
    """Return which entries of a column are missing."""
    values = bare(column)
    if kind_of(values) == "pandas":
        return np.asarray(values.isna(), bool)
    try:
        return np.asarray(pc.is_null(plain_column(values), nan_is_null=True), bool)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # of several kinds
        return np.array([value is None or value != value for value in values], bool)


class Records:
    """The frame of a session. A column is named, or is one of the frame's, filtered or recoded."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401
        named = data.column_names if isinstance(data, pa.Table) else data if isinstance(data, Mapping) else None
        if named is None and not hasattr(data, "columns"):
            raise InputError(
                f"a session is about one frame or mapping of columns, not {type(data).__name__}; read a file first, as "
                "with pandas.read_csv"
            )
        self.names = [str(name) for name in (data.columns if named is None else named)]
        self._data, self.kind = data, kind_of(data)
        self.size = len(data[self.names[0]]) if self.names else 0
        if not self.size:
            raise InputError("the frame of the session has no rows")
        self._index = data.index if self.kind == "pandas" else None
        if self._index is not None and not self._index.is_unique:
            raise InputError(
                "two rows of the frame have the same index, so filtered columns could not be told apart; call "
                "frame.reset_index(drop=True) once, before the session"
            )

    def column(self, name: str) -> Any:  # noqa: ANN401
        """Return a column of the frame by its name."""
        if name not in self.names:
            raise InputError(f"the session's data have no column {name!r}{did_you_mean(name, self.names)}")
        return self._data[name]

    def holds(self, frame: object) -> bool:
        """Tell whether a frame is that of the session, itself and not a copy or a part."""
        return frame is self._data

    def choose(self, asked: Mapping[str, Sequence[Any]], where: Any = None) -> Chosen:  # noqa: ANN401
        """Return the records that columns are about, and the columns for these alone."""
        found = {word: [self._aligned(given, word) for given in listed] for word, listed in asked.items()}
        sets = [rows for listed in found.values() for _, _, rows in listed if rows is not None]
        if any(not np.array_equal(sets[0], other) for other in sets[1:]):
            raise InputError(
                "the columns are about different records of the session; filter the whole frame first and take all "
                "columns from it, or say `where=`"
            )
        rows = sets[0] if sets else np.arange(self.size)
        keep = self._mask(where)
        kept = rows if keep is None else rows[keep[rows]]
        if not len(kept):
            raise InputError("no record of the session is left; correct `where`, or the filter of the columns")
        columns = {
            word: [
                NamedColumn(title, _take(values, rows if own is not None else None, kept))
                for title, values, own in listed
            ]
            for word, listed in found.items()
        }
        return Chosen(kept, columns)

    def _aligned(self, given: Any, word: str) -> tuple[str, Any, Rows | None]:  # noqa: ANN401
        """Return the name of a column, its values, and the records that these are of (None: all)."""
        if isinstance(given, str):
            return given, self.column(given), None
        if not is_column(given):
            raise InputError(f"`{word}` must be a column of the session's data, or its name, not {given!r}")
        title = str(getattr(given, "name", None) or word)
        if kind_of(given) != "pandas" or self._index is None or not hasattr(given, "index"):
            if len(given) != self.size:
                raise InputError(
                    f"{title!r} has {len(given):,} rows and the session's data {self.size:,}; name the column, and say "
                    "`where=` for some of the records"
                )
            return title, given, None
        rows = np.asarray(self._index.get_indexer(given.index), np.intp)
        if (rows < 0).any() or len(np.unique(rows)) < len(rows):
            raise InputError(
                f"{title!r} has rows that are not in the session's data, or some twice; a session is about one frame: "
                "make new columns in it, and filter it without a new index"
            )
        self._refuse_shifted(title, given, rows)
        return title, given, None if np.array_equal(rows, np.arange(self.size)) else rows

    def _refuse_shifted(self, title: str, given: Any, rows: Rows) -> None:  # noqa: ANN401
        """Refuse a column whose index was made anew: it would stand for other records than it is about."""
        import pandas as pd

        advice = "keep the frame's own index when filtering (no reset_index), or name the column and say `where=`"
        if title not in self.names:
            anew = (
                isinstance(given.index, pd.RangeIndex)
                and len(given) < self.size
                and isinstance(self._index, pd.RangeIndex)
            )
            if anew and given.index.start == 0 and given.index.step == 1:
                raise InputError(
                    f"{title!r} looks as if its index was made anew, so its records are not known; {advice}"
                )
            return
        # Here a missing entry (-1) is a code as any other: it comes from one code, as all others do.
        own, other = pd.factorize(pd.Series(self.column(title)).iloc[rows])[0], pd.factorize(pd.Series(given))[0]
        if len(np.unique(np.stack([own, other]), axis=1).T) > len(np.unique(own)):
            raise InputError(
                f"the column {title!r} is not that of the session's data, nor a recoding of it; {advice}, or give "
                "another variable a name of its own"
            )

    def _mask(self, where: Any) -> BoolArray | None:  # noqa: ANN401
        """Return which records `where` asks for: a column of booleans, or codes by column."""
        if where is None:
            return None
        if isinstance(where, Mapping):
            keep = np.ones(self.size, bool)
            for name, codes in where.items():
                listed = codes if isinstance(codes, (list, tuple, set)) else [codes]
                here = np.array([str(v) for v in plain_column(self.column(str(name))).to_pylist()], object)
                wanted = [str(code) for code in listed]
                known = set(here.tolist())
                for code in wanted:
                    if code not in known:
                        raise InputError(
                            f"where: no record has {code!r} in {name!r}{did_you_mean(code, sorted(known)[:50])}"
                        )
                keep &= np.isin(here, wanted)
            return keep
        if not is_column(where):
            raise InputError(f"`where` must be a column of booleans or a mapping such as {{'sex': 'f'}}, not {where!r}")
        values = where
        if kind_of(where) == "pandas" and self._index is not None and hasattr(where, "index"):
            if not where.index.equals(self._index):
                raise InputError("`where` must have the index of the session's data, one boolean per record")
            values = where.fillna(False) if where.hasnans else where
        array = np.asarray(values)
        if array.dtype != bool or len(array) != self.size:
            raise InputError(f"`where` must be {self.size:,} booleans, one per record of the session's data")
        return array


def _take(values: Any, own: Rows | None, kept: Rows) -> Any:  # noqa: ANN401
    """Return the values of some records; ``own`` are the records that a filtered column is of."""
    values = bare(values)
    places = kept if own is None else np.searchsorted(np.sort(own), kept)
    if own is not None:
        places = np.argsort(own, kind="stable")[places]
    if kind_of(values) == "pandas" and hasattr(values, "iloc"):
        return values.iloc[places]
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.take(pa.array(places))
    if hasattr(values, "gather"):
        return values.gather(places)
    return (
        np.asarray(values, object)[places].tolist() if isinstance(values, (list, tuple)) else np.asarray(values)[places]
    )
