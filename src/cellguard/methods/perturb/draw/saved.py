"""The multipliers' file: what later tables need to be consistent with the first ones. As confidential as the records.

A Parquet file with the key and the multipliers of each unit; its metadata hold the seed, the parameters, the
fingerprints of the records that the multipliers belong to, and a digest of it all.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, file_name, listing
from cellguard.methods.perturb.cells.respondents import Respondents

_FORMAT = 2
_NAME = b"cellguard-multipliers"
_ATTRS = b"PANDAS_ATTRS"  # what pandas makes the attributes of a frame
_ATTRIBUTE = "attribute:"
_NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Saved:
    """Multipliers as they are kept: one row per unit, in the order of the keys. Confidential.

    ``base`` is the unit's multiplier, ``attributes`` those of each leaf response. ``inputs`` are fingerprints by name.
    """

    keys: np.ndarray[Any, np.dtype[np.str_]]
    base: FloatArray
    attributes: Mapping[str, FloatArray]
    seed: int
    parameters: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The sha-256 of everything in it."""
        hash_ = hashlib.sha256()
        about = [_FORMAT, self.seed, self.parameters, self.inputs, list(self.attributes)]
        hash_.update(json.dumps(about, sort_keys=True, ensure_ascii=False).encode())
        hash_.update("\x1f".join(self.keys.tolist()).encode())
        for column in (self.base, *self.attributes.values()):
            hash_.update(_bytes(column))
        return hash_.hexdigest()


def fingerprints(records: Respondents) -> dict[str, str]:
    """Return the sha-256 of each column of the records, by name; of codes as text, whatever their numbers are.

    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> sorted(fingerprints(respondents({"region": ["N"]}, {"x": [1]})))
    ['column region', 'records', 'value x']
    """
    prints = {"records": _hash(records.keys[records.unit].tolist())}
    if records.weight is not None:
        prints["weight"] = _hash([], records.weight)
    for name, codes in records.codes.items():
        used, at = np.unique(codes, return_inverse=True)
        texts = [records.labels[name][code] for code in used.tolist()]
        rank = np.argsort(np.argsort(np.array(texts, np.str_), kind="stable"), kind="stable")
        prints[f"column {name}"] = _hash(sorted(texts), rank[at].astype(np.float64))
    for name, value in records.values.items():
        prints[f"value {name}"] = _hash([], value)
    return prints


def check_inputs(saved: Saved, inputs: Mapping[str, str], *, name: str = "the multipliers") -> None:
    """Refuse multipliers that were made for other records; columns that were not read then are not compared."""
    wrong = [key for key, digest in inputs.items() if saved.inputs.get(key, digest) != digest]
    if ("weight" in inputs) != ("weight" in saved.inputs) and ("records" in saved.inputs and "records" in inputs):
        wrong.append("weight")
    if wrong:
        raise InputError(
            f"{name} were made for other data: {listing(sorted(wrong))} changed since. Use the data of that time. For "
            "the data of another year say `perturb: {earlier: FILE}`, and respondents keep their multipliers; or make "
            "new ones and publish all tables anew"
        )
    if not saved.inputs.keys() & inputs.keys():
        raise InputError(f"{name} say nothing of the data that they were made for; make new ones")


def aligned(saved: Saved, records: Respondents) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return base and attribute multipliers in the order of the records' units."""
    if not np.array_equal(saved.keys, records.owners.in_order(records.keys)):
        raise InputError("the multipliers are for other respondents than the records have; use the data of that time")
    deal = records.owners.deal
    return deal(saved.base), {name: deal(m) for name, m in saved.attributes.items()}


def write_saved(path: str | Path, saved: Saved, *, force: bool = False) -> None:
    """Write the file whole or not at all, readable by its owner only."""
    path = Path(path)
    if path.exists() and not force:
        raise InputError(f"{str(path)!r} exists already; choose another name, or add --force to replace it")
    about = {
        "format": _FORMAT,
        "seed": saved.seed,
        "parameters": saved.parameters,
        "inputs": saved.inputs,
        "digest": saved.digest,
    }
    columns = {"key": pa.array(saved.keys.tolist(), pa.string()), "base": pa.array(saved.base)}
    columns |= {_ATTRIBUTE + name: pa.array(m) for name, m in saved.attributes.items()}
    told = json.dumps(about, ensure_ascii=False)
    attrs = json.dumps({_NAME.decode(): about}, ensure_ascii=False)
    table = pa.table(columns).replace_schema_metadata({_NAME: told.encode(), _ATTRS: attrs.encode()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            pq.write_table(table, file)
        Path(temporary).chmod(0o600)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_saved(path: str | Path) -> Saved:
    """Read a multipliers' file; one that was changed since is refused."""
    name = file_name(path)
    try:
        table = pq.read_table(path)
        if _NAME not in (table.schema.metadata or {}):
            raise InputError(f"{name} is no multipliers' file, or a damaged one")
        return saved_of(table, name)
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}; give the multipliers' file of an earlier run") from None
    except (OSError, pa.ArrowException):
        raise InputError(f"{name} is no multipliers' file, or a damaged one") from None


def saved_of(table: pa.Table, name: str = "the frame of multipliers", attrs: Mapping[str, Any] | None = None) -> Saved:
    """Return the multipliers that a table of the file's columns holds; ``attrs`` are those that pandas kept of it."""
    told = (table.schema.metadata or {}).get(_NAME)
    if told is None and _NAME.decode() not in (attrs or {}):
        raise InputError(
            f"{name} does not say what the multipliers were made with (seed, settings, records); give the file itself, "
            "or a frame that pyarrow or pandas read from it"
        )
    try:
        about = (attrs or {})[_NAME.decode()] if told is None else json.loads(told)
        names = [n.removeprefix(_ATTRIBUTE) for n in table.column_names if n.startswith(_ATTRIBUTE)]
        saved = Saved(
            np.array(table.column("key").to_pylist(), np.str_),
            table.column("base").to_numpy(),
            {n: table.column(_ATTRIBUTE + n).to_numpy() for n in names},
            about["seed"],
            about["parameters"],
            about["inputs"],
        )
        digest, number = about["digest"], about["format"]
    except (ValueError, KeyError, TypeError, pa.ArrowException):
        raise InputError(f"{name} is no multipliers' file, or a damaged one") from None
    if number != _FORMAT:
        raise InputError(f"{name} has the format {number}; this version of cellguard reads format {_FORMAT}")
    if digest != saved.digest:
        raise InputError(f"{name} was changed since it was written: its digest does not fit. Use the original file")
    return saved


def _hash(texts: Sequence[str], numbers: FloatArray = _NOTHING) -> str:
    return hashlib.sha256("\x1f".join(texts).encode() + b"\x00" + _bytes(numbers)).hexdigest()


def _bytes(column: FloatArray) -> bytes:
    return np.ascontiguousarray(column, "<f8").tobytes()
