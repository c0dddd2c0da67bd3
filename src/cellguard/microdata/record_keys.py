"""`RecordKeys`: whose each record is, by a key that stays the same from run to run.

What is drawn for respondents by chance is dealt out in the order of their keys, so that it does not depend on the order
of the records; whoever draws for respondents does it by `RecordKeys.deal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.microdata.checked import Checked

Texts = npt.NDArray[np.str_]
Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, eq=False)
class RecordKeys:
    """The ``unit`` of each record, 0 to U - 1, and the text key of each unit. Confidential.

    A unit is a holding, or a respondent where there is none, or else the record itself.

    >>> owners = RecordKeys.of(["b", "a", "b"])
    >>> owners.unit.tolist(), owners.keys.tolist(), owners.deal(np.array([0.9, 1.1]))[owners.unit].tolist()
    ([1, 0, 1], ['a', 'b'], [1.1, 0.9, 1.1])
    """

    unit: LongArray
    keys: Texts

    def __post_init__(self) -> None:
        if len(self.unit) and not 0 <= int(self.unit.min()) <= int(self.unit.max()) < len(self.keys):
            raise InputError("a record's respondent has no key; number respondents from 0 and give each of them a key")
        keys = self.in_order(self.keys)
        if (keys[1:] == keys[:-1]).any():
            raise InputError("two respondents have the same key; give every holding or respondent a key of its own")

    @classmethod
    def of(cls, keys: Sequence[str] | Texts) -> RecordKeys:
        """Return the units of records from the key of each."""
        different, unit = np.unique(np.asarray(keys, np.str_), return_inverse=True)
        return cls(unit.astype(np.int64), different)

    @cached_property
    def order(self) -> LongArray:
        """The units in the order of their keys."""
        return np.argsort(self.keys, kind="stable").astype(np.int64)

    def in_order(self, column: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
        """Return what units have in the order of their keys."""
        return column[self.order]

    def deal(self, drawn: FloatArray) -> FloatArray:
        """Return what was drawn in the order of the keys, one number per unit."""
        dealt = np.empty(len(self.keys))
        dealt[self.order] = drawn
        return dealt


def read_record_keys(checked: Checked) -> RecordKeys:
    """Return whose each record is: its holding's, or its respondent's, or else its own by its number in the source."""
    how, sql = checked.how, checked.opened.engine.sql
    key = how.holding or how.respondent
    if key is None:
        key = f"lpad({sql.text('nr')}, {len(str(checked.records))}, '0')"
    return RecordKeys.of(read_texts(checked, sql.text(key)))


def read_column(checked: Checked, column: str) -> list[str]:
    """Return a column of the records that are kept as texts without spaces around them, blank where there is none."""
    opened = checked.opened
    return read_texts(checked, f"trim(coalesce({opened.engine.sql.text(opened.column(column))}, ''))")


def read_texts(checked: Checked, expression: str) -> list[str]:
    """Return an expression of SQL for each record that is kept, in the order of the records."""
    sql = f"SELECT {expression} FROM {checked.opened.numbered} WHERE {checked.how.keep} ORDER BY nr"
    return [text for batch in checked.opened.stream(sql) for text in batch.column(0).to_pylist()]
