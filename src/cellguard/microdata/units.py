"""`Units`: the records themselves in columns, for methods that need each respondent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Units:
    """Records in columns, in the order of the source. Confidential.

    ``codes`` are positions in ``labels`` (the different codes of each column, sorted). ``respondent`` and ``holding``
    are numbers from 0 in the order of the names in the data; without such a column each record is its own.
    ``weight`` is None where the records have none.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    weight: npt.NDArray[np.float64] | None
    respondent: npt.NDArray[np.int64]
    holding: npt.NDArray[np.int64]
    waived: npt.NDArray[np.bool_]
    requested: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.holding)

    def __repr__(self) -> str:
        values = f", values {', '.join(self.values)}" if self.values else ""
        return f"<Units: {len(self)} records by {', '.join(self.columns)}{values}>"
