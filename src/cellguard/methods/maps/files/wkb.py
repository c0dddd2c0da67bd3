"""Outlines in well-known binary, the form in which GeoPackage and GeoParquet hold them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from cellguard.geometry.tiling import Rings, Shape

_LITTLE = b"\x01"
_POLYGON, _MULTIPOLYGON = 3, 6


def of_shapes(shapes: Sequence[Shape]) -> list[bytes]:
    """Return each outline as a multipolygon, whatever its number of parts, so that all are of one kind.

    >>> import numpy as np
    >>> len(of_shapes([[[np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])]]])[0])  # 9 + 9 + 4 + 4 corners of 16 bytes
    86
    """
    return [
        _LITTLE + struct.pack("<II", _MULTIPOLYGON, len(shape)) + b"".join(map(_polygon, shape)) for shape in shapes
    ]


def _polygon(rings: Rings) -> bytes:
    """Return one part: its rings, each with the first corner again at its end."""
    closed = [np.vstack([ring, ring[:1]]).astype("<f8") for ring in rings]
    body = b"".join(struct.pack("<I", len(ring)) + ring.tobytes() for ring in closed)
    return _LITTLE + struct.pack("<II", _POLYGON, len(rings)) + body
