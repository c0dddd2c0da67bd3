"""Check a folder of sums with noise from cell keys against its seal: the noise is worked out again, without the method.

The secret, the perturbation table, keys and sizes are in the internal half. What an attacker concludes is not computed
a second time; that the verdict follows from it is.
"""

from __future__ import annotations

import csv
import hashlib
import json
import struct
from bisect import bisect_right
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from cellguard.verifier.keyed import hashed
from cellguard.verifier.numbers import bools
from cellguard.verifier.rounded import Work, verify_sealed
from cellguard.verifier.rounded_tables import RoundedTable, read_table
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder
from cellguard.verifier.verify import Verification

SEAL = "magnitude_keys.json"
COLUMNS = (
    *("value", "published", "status", "reasons", "cell_key", "contributors", "sizes"),
    *("sensitive", "percent", "alone", "together"),
)
STATUSES = frozenset({"noisy", "sensitive", "fixed", "unsafe", "unpublished"})
NOT_CHECKED = (
    "which cells are unsafe: the rules are not applied again",
    "how likely a guess is right: the stored probabilities are taken as they are",
    "that the records have these keys, and are of these sizes",
    "pages, and public files that are no CSV files, but for their digests",
)
_Row = tuple[float, list[float], list[float]]


def verify_magnitudes(
    seal: str | Path, *, release: str | Path | None = None, internal: str | Path | None = None
) -> Verification:
    """Check an output folder of sums with noise; whatever is wrong with its files is a failed check."""
    return verify_sealed(_Magnitudes, seal, release=release, internal=internal)


class _Magnitudes(Work):
    """The checks of sums with noise: those of rounded ones, but for where the noise is from."""

    seal: ClassVar[str] = SEAL
    tables_are: ClassVar[str] = "perturbed"
    not_checked: ClassVar[tuple[str, ...]] = NOT_CHECKED
    releasable: ClassVar[frozenset[str]] = frozenset({"safe", "no rule", "not proven"})
    metadata: ClassVar[tuple[str, tuple[str, ...]]] = ("noise", ("additive",))

    def __init__(self, path: Path, folder: Folder) -> None:
        super().__init__(path, folder)
        self._inner_half = path.absolute().parent
        self.checks = (
            ("Digests", self._check_digests),
            ("Claims", self._check_claims),
            ("Released rows", self._check_released),
            ("Noise", self._check_noise),
            ("Common cells", self._check_common),
            ("Sums", self._check_sums),
            ("Verdict", self._check_verdict),
        )

    def _read(self, said: Mapping[str, Any]) -> RoundedTable:
        return read_table(self._folder, said, COLUMNS, STATUSES, {"magnitude_key"})

    @cached_property
    def _kinds(self) -> dict[str, list[_Row]]:
        """For each kind of cells the rows: the figure, upper ends of shares, and changes."""
        kinds: dict[str, list[_Row]] = {}
        with (self._inner_half / "perturbation_table.csv").open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file, delimiter=";"):
                rows = kinds.setdefault(line["type"], [])
                figure = float(line["i"])
                if not rows or rows[-1][0] != figure:
                    rows.append((figure, [], []))
                rows[-1][1].append(float(line["p_int_ub"]))
                rows[-1][2].append(float(line["v"]))
        return kinds

    @cached_property
    def _secret(self) -> dict[str, Any]:
        return dict(json.loads((self._inner_half / "record_keys.json").read_text(encoding="utf-8")))

    def _check_noise(self) -> str:
        if not self._released:
            return "nothing was released"
        many = 0
        for table in self._tables:
            unit = 10 ** (table.grains - table.spec.decimals)
            table.refuse(table.published % unit != 0, "is no whole number of published units")
            columns = [table.columns[name].to_pylist() for name in ("cell_key", "contributors", "sizes", "sensitive")]
            rows = zip(*columns, table.columns["value"].to_pylist(), table.has("fixed").tolist(), strict=True)
            wrong = np.zeros(len(table.value), bool)
            for row, (key, number, sizes, sensitive, value, fixed) in enumerate(rows):
                told = float(Decimal(int(table.published[row])).scaleb(-table.grains))
                size = [float(text) for text in sizes.split()]
                noise = (
                    0.0 if fixed else self._noise(table, int(key), int(number), size, sensitive == "yes", float(value))
                )
                true = 0.0 if float(value) == 0 else max(float(value) + noise, 0.0)
                half = 0.5 / 10**table.spec.decimals
                wrong[row] = abs(told - true) > half * (1 + 1e-6) + 1e-9 * abs(true)
            table.refuse(wrong & table.shown, "has other noise than its key gives")
            many += int(table.shown.sum())
        return f"{many} rows have the noise that their keys give"

    def _noise(
        self, table: RoundedTable, key: int, number: int, sizes: list[float], sensitive: bool, value: float
    ) -> float:
        said, left, moved = table.said, value, 0.0
        kind = ("odd" if number % 2 else "even") if "even" in self._kinds else "all"
        for part, (size, epsilon) in enumerate(zip(sizes, said["epsilon"], strict=True)):
            unit, small, none = self._unit(said, size, float(epsilon), left, part)
            if none or unit <= 0 or value == 0:
                continue
            share = self._share(table, key, number, part)
            change = self._change("small_cells" if small else kind, left / unit, share, said["lookup"] == "hashed")
            extra = said["mu"] if sensitive and part == 0 else 0.0
            step = max(unit * (change + (extra if change >= 0 else -extra)), -left)
            moved, left = moved + step, left + step
        return moved

    def _unit(
        self, said: Mapping[str, Any], size: float, epsilon: float, left: float, part: int
    ) -> tuple[float, bool, bool]:
        """Return the unit of a part, whether the value is small, and whether there is no noise at all."""
        point = 0.0
        if "small_cells" in self._kinds:
            _, ends, changes = self._kinds["small_cells"][-1]
            shares = [b - a for a, b in zip([0.0, *ends], ends, strict=False)]
            mean = sum(p * v for p, v in zip(shares, changes, strict=True))
            variance = sum(p * (v - mean) ** 2 for p, v in zip(shares, changes, strict=True))
            point = variance**0.5 / (sum(e * e for e in said["epsilon"]) ** 0.5 * said["small"])
        small = size < point
        unit = 1.0 if small else epsilon * self._multiplier(said, size) * size
        tiny = False
        if left < unit:
            tiny = left < point * said["small"] * max(epsilon, 1e-9)
            unit = 1.0 if tiny else left
        return unit, small or tiny, (small or tiny) and part > 0

    @staticmethod
    def _multiplier(said: Mapping[str, Any], size: float) -> float:
        low, high, point = said["large"], said["small"], said["point"]
        if point is None or size < point:
            return float(high)
        falling = (high * size / point - low) * (2 * point / (point + size)) ** said["power"]
        return float(min(max(low + falling, 0.0), 1.0))

    def _share(self, table: RoundedTable, key: int, number: int, part: int) -> float:
        secret = self._secret
        modulus = int(secret["modulus"])
        if secret["lookup"] == "plain":
            for _ in range(part + (0 if table.said["same_key"] else 1)):
                key = key * 10 % modulus + key * 10 // modulus
            return min(key / modulus, 1 - 2.0**-53)
        seed = struct.pack("<Q", int(secret["seed"]))
        first = hashlib.blake2b(seed, digest_size=16, person=b"sums").digest()
        own = hashlib.blake2b(first + table.spec.response.encode(), digest_size=16).digest()
        low, high = struct.unpack("<2Q", own)
        return (hashed((low, high), key, number * 8 + part) >> 11) / 2.0**53

    def _change(self, kind: str, figure: float, share: float, smooth: bool) -> float:
        rows = self._kinds[kind]
        step = min(
            (b - a for _, _, v in rows for a, b in pairwise(v)),
            default=1.0,
        )
        lower = max(bisect_right([row[0] for row in rows], figure) - 1, 0)
        upper = min(lower + 1, len(rows) - 1)
        near = 0.0
        if upper > lower:
            near = min(max((figure - rows[lower][0]) / (rows[upper][0] - rows[lower][0]), 0.0), 1.0)
        found = []
        for place in (lower, upper):
            at, ends, changes = rows[place]
            entry = min(bisect_right(ends, share), len(ends) - 1)
            if not smooth:
                found.append(changes[entry])
                continue
            half = step / 2 if at > 0 else 0.0
            left = changes[entry] - half
            left = left if place == len(rows) - 1 else max(left, -at)
            low, high = (0.0 if entry == 0 else ends[entry - 1]), (1.0 if entry == len(ends) - 1 else ends[entry])
            found.append(left + (share - low) / (high - low) * (changes[entry] + half - left))
        return (1 - near) * found[0] + near * found[1]

    def _check_verdict(self) -> str:
        worst = [0.0, 0.0]
        limit = float(self.document["tables"][0]["limit"]) if self.document["tables"] else 0.0
        sensitive = False
        for table in self._tables:
            alone, together = (
                np.array([float(x) for x in table.columns[name].to_pylist()]) for name in ("alone", "together")
            )
            told = np.array([x == "yes" for x in table.columns["sensitive"].to_pylist()], bool)
            table.refuse(
                (alone > limit + 1e-6) & table.shown & ~table.has("unsafe"), "tells too much, but is not unsafe"
            )
            table.refuse(together < alone - 1e-6, "tells less with others than by itself")
            table.refuse(
                ~told & ~bools(pc.equal(table.columns["reasons"], "")) & table.shown,
                "is unsafe by a rule, but not sensitive",
            )
            sensitive |= bool(told.any())
            worst = [max(worst[0], float(alone.max(initial=0.0))), max(worst[1], float(together.max(initial=0.0)))]
        if not self._released:
            return "nothing was released"
        verdict = self.document["verdict"]
        if worst[0] > limit + 1e-6:
            raise Refused("something was released, although one figure alone tells too much")
        plain = sensitive and self._secret["lookup"] == "plain"
        if verdict == "safe" and (worst[1] > limit + 1e-6 or plain):
            raise Refused("the verdict is 'safe', but several figures together may tell too much")
        return f"the best guess is near in at most {worst[1]:.1%} of cases, and the limit is {limit:.0%}"
