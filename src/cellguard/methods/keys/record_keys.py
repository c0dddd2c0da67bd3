"""The secret behind a set of tables: record keys that were drawn from it, and how cell keys are looked up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellguard.arrays import LongArray
from cellguard.errors import InputError, file_name
from cellguard.methods.keys.keyed_hash import keyed_hash
from cellguard.methods.keys.perturbation_table import FINE, PerturbationTable
from cellguard.microdata.checked import Checked
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.microdata.record_keys import read_texts
from cellguard.randomness import checked_seed

_FORMAT = 1


@dataclass(frozen=True)
class Secret:
    """The seed of record keys and of the lookup. Who has it can take the noise off.

    ``table`` is the digest of the perturbation table, ``modulus`` what sums of keys are taken modulo.

    Tables that were made from one secret agree: a cell with the same records has the same noise in all of them.
    """

    seed: int
    lookup: str
    table: str
    drawn: bool
    modulus: int = FINE
    period: int = 1

    def of(self, purpose: str) -> bytes:
        """Return 16 bytes for one purpose."""
        seed = checked_seed(self.seed).to_bytes(8, "little")
        return hashlib.blake2b(seed, digest_size=16, person=purpose.encode()).digest()

    def text(self) -> str:
        """Return what the file of the secret says."""
        return json.dumps({"format": _FORMAT, **self.__dict__}, indent=1) + "\n"


def read_secret(path: Path) -> Secret:
    """Read the file of an earlier run."""
    name = file_name(path)
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        number = said.pop("format")
        secret = Secret(
            checked_seed(said["seed"]),
            str(said["lookup"]),
            str(said["table"]),
            bool(said["drawn"]),
            int(said["modulus"]),
            int(said["period"]),
        )
    except FileNotFoundError:
        raise InputError(f"no file {name!r}; `keys` names the record_keys.json of an earlier run") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{name!r} is no file of record keys, or a damaged one; name that of an earlier run") from None
    if number != _FORMAT:
        raise InputError(f"{name!r} has the format {number}; this version of cellguard reads format {_FORMAT}")
    return secret


def digest_of(table: PerturbationTable) -> str:
    """Return what tells perturbation tables apart."""
    digest = hashlib.sha256(str(table.period).encode())
    for changes, upper in zip(table.changes, table.upper, strict=True):
        digest.update(changes.astype("<i8").tobytes() + b"|" + np.round(upper, 12).astype("<f8").tobytes())
    return digest.hexdigest()


def keys_for(secret: Secret) -> Callable[[Grouped, Checked], Grouped]:
    """Return what gives records their keys: those of their column, or drawn ones."""

    def keyed(grouped: Grouped, checked: Checked) -> Grouped:
        return grouped if grouped.key is not None else with_drawn_keys(grouped, checked, secret.of("records"))

    return keyed


def with_drawn_keys(grouped: Grouped, checked: Checked, secret: bytes) -> Grouped:
    """Return the records with keys drawn from a secret and from who gave each record, and nothing else.

    A respondent keeps its key from year to year; of several records of one respondent each has its own, by their order.
    """
    who = _identities(checked)
    key = (keyed_hash(secret, who, occurrences(who)) >> np.uint64(32)).astype(np.int64)
    sums = np.zeros(len(grouped), np.int64)
    np.add.at(sums, grouped.pairs(COUNT).row, key)
    return replace(grouped, key=sums % FINE, key_modulus=FINE)


def occurrences(who: LongArray) -> LongArray:
    """Return for each record how many of the same respondent come before it.

    >>> occurrences(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(who, kind="stable")
    first = np.flatnonzero(np.diff(who[order], prepend=who[order[:1]] - 1))
    sizes = np.diff(first, append=len(who))
    number = np.empty(len(who), np.int64)
    number[order] = np.arange(len(who)) - np.repeat(first, sizes)
    return number


def _identities(checked: Checked) -> LongArray:
    how, opened = checked.how, checked.opened
    who = how.respondent or how.holding
    if who is None:
        if opened.origin:
            raise InputError(
                f"{opened.name}: records of a database have no order, so keys cannot be drawn for them again; name the "
                "column of the `respondent`, or one of record keys with `record_key`"
            )
        return np.arange(checked.kept, dtype=np.int64)
    names = read_texts(checked, opened.engine.sql.text(who))
    hashed = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(hashed, "<i8").astype(np.int64)
