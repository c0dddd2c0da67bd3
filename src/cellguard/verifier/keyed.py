"""Check an output folder of the cell key method: all but the posteriors is worked out again, with code of its own.

The seed, the perturbation table and the keys are in the internal half. So the noise of every cell can be looked up once
more, and the sums of counts and of keys can be checked. What an attacker concludes is not computed a second time.
"""

from __future__ import annotations

import csv
import hashlib
import json
import struct
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cellguard.errors import InputError
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.verify import Check, Verification

_MASK = 2**64 - 1
_FINE = 2**32
_COLUMNS = ("value", "perturbed", "noise", "cell_key", "posterior", "exact", "status")
_DUST = 1e-9
_UNPUBLISHED = "unpublished"
_Cell = dict[str, str]
_Codes = tuple[str, ...]


def verify_keyed(outer: Path, inner: Path) -> Verification:
    """Check a folder by its two halves; one that released nothing has nothing to check."""
    if not (inner / "record_keys.json").is_file() or not outer.is_dir():
        raise InputError("nothing was released into this folder, so there is nothing to verify; see its report")
    work = _Work(outer, inner)
    named: tuple[tuple[str, Callable[[], str]], ...] = (
        ("perturbation table", work.check_table),
        ("published counts", work.check_published),
        ("noise", work.check_noise),
        ("sums of counts and keys", work.check_sums),
        ("common cells", work.check_common),
        ("verdict", work.check_verdict),
    )
    checks = tuple(_run(number, name, method) for number, (name, method) in enumerate(named, 1))
    claims = work.claims() if all(check.passed for check in checks) else ()
    return Verification(checks, (), (), {}, work.not_checked(), claims)


def _run(number: int, name: str, method: Callable[[], str]) -> Check:
    try:
        return Check(number, name, True, attempt(name, method))
    except Refused as error:
        return Check(number, name, False, str(error))


@dataclass(frozen=True, eq=False)
class _Work:
    outer: Path
    inner: Path

    @cached_property
    def secret(self) -> dict[str, Any]:
        """The file of the secret."""
        return dict(json.loads((self.inner / "record_keys.json").read_text(encoding="utf-8")))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the run said."""
        return dict(json.loads((self.inner / "summary.json").read_text(encoding="utf-8")))

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the release says of its tables."""
        return dict(json.loads((self.outer / "metadata.json").read_text(encoding="utf-8"))["tables"])

    @cached_property
    def rows(self) -> list[tuple[list[float], list[int]]]:
        """For each count of the perturbation table the upper ends and the changes."""
        with (self.inner / "perturbation_table.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file, delimiter=";"))
        rows: list[tuple[list[float], list[int]]] = []
        for line in lines:
            count, change = int(line["i"]), int(line["v"])
            if count == len(rows):
                rows.append(([], []))
            if count != len(rows) - 1 or int(line["j"]) != count + change:
                raise Refused("internal/perturbation_table.csv: its lines are not in order, or j is not i + v")
            rows[count][0].append(float(line["p_int_ub"]))
            rows[count][1].append(change)
        return rows

    @cached_property
    def tables(self) -> dict[str, dict[_Codes, _Cell]]:
        """The internal cells of each table by their codes."""
        sizes = {name: len(about["by"]) for name, about in self.metadata.items()}
        return {name: self._cells(self.inner / f"{name}.csv", by) for name, by in sizes.items()}

    def _cells(self, path: Path, by: int) -> dict[_Codes, _Cell]:
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))
        cells = {tuple(row[:by]): dict(zip(header[by:], row[by:], strict=True)) for row in rows}
        if len(cells) != len(rows):
            raise Refused(f"{path.parent.name}/{path.name}: a cell is there twice")
        return cells

    def check_table(self) -> str:
        """Check that the table is one, keeps zeros and is the one that the secret was used with."""
        digest = hashlib.sha256(str(int(self.secret["period"])).encode())
        for count, (upper, changes) in enumerate(self.rows):
            if sorted(upper) != upper or abs(upper[-1] - 1.0) > 1e-6 or min(changes) + count < 0:
                raise Refused(f"perturbation_table.csv: the probabilities of count {count} are none")
            digest.update(struct.pack(f"<{len(changes)}q", *changes) + b"|")
            digest.update(struct.pack(f"<{len(upper)}d", *(round(end, 12) for end in upper)))
        if any(self.rows[0][1]):
            raise Refused("perturbation_table.csv: a count of 0 does not stay 0")
        if digest.hexdigest() != self.secret["table"]:
            raise Refused("perturbation_table.csv is not the table that the keys were used with")
        return f"{len(self.rows):,} counts; zeros stay zeros"

    def check_published(self) -> str:
        """Check that the release shows every cell with its perturbed count, and no other."""
        many = 0
        for name, about in self.metadata.items():
            path, by = self.outer / f"{name}.csv", len(about["by"])
            shown = self._cells(path, by)
            guarded = {about["by"].index(word) for word in about.get("guarded", ())}
            codes = {tuple(c[1:] if i in guarded and c[:1] == "'" else c for i, c in enumerate(k)): k for k in shown}
            listed = {cell: said for cell, said in self.tables[name].items() if said["status"] != _UNPUBLISHED}
            if set(codes) != set(listed):
                raise Refused(f"release/{name}.csv has other cells than internal/{name}.csv")
            for cell, said in listed.items():
                if shown[codes[cell]]["value"] != said["perturbed"]:
                    raise Refused(f"release/{name}.csv: a cell does not show its perturbed count")
            if about.get("method") != "cell_key" or about.get("additive") is not False:
                raise Refused("release/metadata.json does not say that the tables have noise and do not add up")
            many += len(shown)
        return f"{many:,} cells show what the internal files say"

    def check_noise(self) -> str:
        """Look every change up once more."""
        lookup, modulus = self.secret["lookup"], int(self.secret["modulus"])
        words = _words(int(self.secret["seed"]), b"lookup")
        fixed, many = set(self._fixed()), 0
        for name, cells in self.tables.items():
            for codes, cell in cells.items():
                if cell["status"] == _UNPUBLISHED:
                    continue
                count, noise = int(cell["value"]), int(cell["noise"])
                key, keys = int(cell["cell_key"]), modulus
                if lookup == "hashed":
                    key, keys = hashed(words, key, count) >> 32, _FINE
                upper, changes = self.rows[self._row(count)]
                place = bisect_right([_first_beyond(end, keys) for end in upper[:-1]], key)
                if int(cell["perturbed"]) != count + noise:
                    raise Refused(f"internal/{name}.csv: value and noise do not give the perturbed count")
                if noise != (0 if (name, codes) in fixed else changes[place]):
                    raise Refused(f"internal/{name}.csv: a cell has other noise than its key gives")
                many += 1
        return f"{many:,} cells have the noise that their keys give"

    def _fixed(self) -> list[tuple[str, _Codes]]:
        said = self.summary.get("fixed", [])
        return [(str(one["table"]), tuple(map(str, one["codes"]))) for one in said]

    def _row(self, count: int) -> int:
        last, period = len(self.rows) - 1, int(self.secret["period"])
        return count if count <= last else last - period + 1 + (count - last - 1) % period

    def check_sums(self) -> str:
        """Check that counts are the sums of their parts, and keys too, modulo their range."""
        many, modulus = 0, int(self.secret["modulus"])
        for name, about in self.metadata.items():
            cells = self.tables[name]
            for place, dimension in enumerate(about["by"]):
                for parts in self._parents(dimension):
                    sums: dict[_Codes, list[int]] = {}
                    for codes, cell in cells.items():
                        if (parent := parts.get(codes[place])) is not None:
                            whole = (*codes[:place], parent, *codes[place + 1 :])
                            both = sums.setdefault(whole, [0, 0])
                            both[0] += int(cell["value"])
                            both[1] += int(cell["cell_key"])
                    for whole, (value, key) in sums.items():
                        if whole not in cells:
                            continue
                        said = cells[whole]
                        if (value, key % modulus) != (int(said["value"]), int(said["cell_key"])):
                            raise Refused(f"internal/{name}.csv: a total, or its key, is not the sum of its parts")
                        many += 1
        return f"{many:,} sums of counts and keys hold"

    def _parents(self, dimension: str) -> list[dict[str, str]]:
        with (self.inner / "hierarchies" / f"{dimension}.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        trees: dict[str, dict[str, str]] = {}
        for line in lines:
            tree = trees.setdefault(line["hierarchy"], {})
            if line["parent"]:
                tree[line["code"]] = line["parent"]
        return list(trees.values())

    def check_common(self) -> str:
        """Check that a cell has one count and one key in all tables that show it."""
        known: dict[tuple[str, str, frozenset[tuple[str, str]]], tuple[str, ...]] = {}
        shared = 0
        for name, about in self.metadata.items():
            totals = [next(iter(self._totals(dimension))) for dimension in about["by"]]
            for codes, cell in self.tables[name].items():
                own = zip(about["by"], codes, totals, strict=True)
                key = (about["response"], about["population"], frozenset((d, c) for d, c, t in own if c != t))
                if cell["status"] == _UNPUBLISHED:
                    continue
                said = tuple(cell[column] for column in ("value", "perturbed", "cell_key"))
                if known.setdefault(key, said) != said:
                    raise Refused(f"internal/{name}.csv: a cell differs from the same cell of another table")
                shared += known[key] is not said
        return f"{shared:,} cells are the same in several tables"

    def _totals(self, dimension: str) -> list[str]:
        with (self.inner / "hierarchies" / f"{dimension}.csv").open(newline="", encoding="utf-8") as file:
            return [line["code"] for line in csv.DictReader(file) if not line["parent"]]

    def check_verdict(self) -> str:
        """Check that the verdict follows from the stored posteriors, and allows what was released."""
        limit = float(self.summary["limit"])
        cells = [cell for table in self.tables.values() for cell in table.values()]
        worst = max((float(cell["posterior"]) for cell in cells), default=0.0)
        if any((float(cell["posterior"]) > limit + 1e-6) != (cell["status"] == "unsafe") for cell in cells):
            raise Refused("the statuses of the internal tables do not follow from their posteriors")
        proven = self.secret["lookup"] == "hashed" and all(cell["exact"] == "yes" for cell in cells)
        verdict = "unsafe" if worst > limit + 1e-6 else "safe" if proven else "not proven"
        if self.summary["verdict"] != verdict or abs(worst - float(self.summary["largest_posterior"])) > 1e-6:
            raise Refused(f"summary.json says {self.summary['verdict']!r}, but its posteriors say {verdict!r}")
        if verdict == "unsafe":
            raise Refused("something was released, although a posterior is above the limit")
        return f"the largest posterior is {worst:.1%}, and the limit {limit:.0%}"

    def not_checked(self) -> tuple[str, ...]:
        """Name what is not worked out again."""
        known = {f"{name}.csv" for name in self.metadata} | {"metadata.json"}
        others = sorted(path.name for path in self.outer.iterdir() if path.name not in known)
        stored = [f"internal/{name}.csv: posterior and exact" for name in self.metadata]
        keys = "internal/record_keys.json: that the records have these keys"
        return (*stored, keys, *(f"release/{other}" for other in others))

    def claims(self) -> tuple[str, ...]:
        """Return what was checked, in the folder's own words."""
        return tuple(str(self.summary[word]) for word in ("headline", "caveat") if self.summary.get(word))


def _first_beyond(upper: float, keys: int) -> int:
    """Return how many keys lie below an upper end."""
    exact = upper * keys - _DUST
    return int(exact) + (exact > int(exact))


def _words(seed: int, purpose: bytes) -> tuple[int, int]:
    hashed = hashlib.blake2b(struct.pack("<Q", seed), digest_size=16, person=purpose).digest()
    first, second = struct.unpack("<2Q", hashed)
    return first, second


def hashed(words: tuple[int, int], first: int, second: int) -> int:
    """Return SipHash-2-4 of two words, in plain integers."""
    k0, k1 = words
    v0, v1, v2, v3 = (
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    )
    for word in (first, second, 16 << 56, None):
        v2 ^= 0xFF if word is None else 0
        v3 ^= word or 0
        for _ in range(4 if word is None else 2):
            v0, v2 = (v0 + v1) & _MASK, (v2 + v3) & _MASK
            v1, v3 = _left(v1, 13) ^ v0, _left(v3, 16) ^ v2
            v0 = _left(v0, 32)
            v2, v0 = (v2 + v1) & _MASK, (v0 + v3) & _MASK
            v1, v3 = _left(v1, 17) ^ v2, _left(v3, 21) ^ v0
            v2 = _left(v2, 32)
        v0 ^= word or 0
    return v0 ^ v1 ^ v2 ^ v3


def _left(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (64 - bits))) & _MASK
