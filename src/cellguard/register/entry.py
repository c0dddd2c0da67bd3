"""`Entry`: one answer (or refusal) as the register keeps it, chained to the one before by its digest.

It holds no value of a cell: the figures are made again from the multipliers, and their digest tells that they are the
same. ``shown`` is a bitmap of the cells that were published, in the order of the table's cells.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray

ANSWER, REFUSAL = "answer", "refusal"
FIRST = "0" * 64


@dataclass(frozen=True)
class Entry:
    """What was asked, by whom and when; which cells were shown, and how many said something of their own (``rank``).

    ``method`` is how it was protected, ``figures`` the digest of what was published, ``about`` why cells were withheld
    or the question refused. ``digest`` is that of all this and of the entry before.
    """

    number: int
    time: str
    who: str
    kind: str
    method: str
    question: Mapping[str, Any]
    asked: str
    shown: str
    rank: int
    figures: str
    about: str
    previous: str
    digest: str

    @classmethod
    def after(
        cls,
        last: Entry | None,
        *,
        who: str,
        kind: str,
        method: str,
        question: Mapping[str, Any],
        asked: str,
        shown: BoolArray,
        rank: int,
        figures: str,
        about: str,
    ) -> Entry:
        """Return the entry that follows the last one (None: the first)."""
        number, previous = (1, FIRST) if last is None else (last.number + 1, last.digest)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        bare = cls(number, now, who, kind, method, question, asked, pack(shown), rank, figures, about, previous, "")
        return cls(**{**bare.__dict__, "digest": bare.told()})

    def told(self) -> str:
        """Return the digest of everything in the entry but the digest itself."""
        about = {name: value for name, value in self.__dict__.items() if name != "digest"}
        return hashlib.sha256(json.dumps(about, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def cells(self) -> BoolArray:
        """Return which cells were shown."""
        return unpack(self.shown)


def pack(shown: BoolArray) -> str:
    """Return a bitmap as text.

    >>> unpack(pack(np.array([True, False, True]))).tolist()
    [True, False, True]
    """
    bits = len(shown).to_bytes(4, "big") + np.packbits(shown).tobytes()
    return base64.b85encode(zlib.compress(bits, 9)).decode()


def unpack(text: str) -> BoolArray:
    """Return the bitmap that a text says."""
    bits = zlib.decompress(base64.b85decode(text))
    return np.unpackbits(np.frombuffer(bits[4:], np.uint8), count=int.from_bytes(bits[:4], "big")).astype(bool)
