"""Sets of records as rows of one frame, and short words by which equal ones are known."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = np.ndarray[Any, np.dtype[np.intp]]


def digest(*arrays: npt.NDArray[np.integer[Any]], words: Sequence[str] = ()) -> str:
    """Return a short word that only equal arrays and words share."""
    found = hashlib.sha256("\0".join(words).encode())
    for array in arrays:
        found.update(np.ascontiguousarray(array, np.int64).tobytes())
    return found.hexdigest()[:12]
