"""A file of statements about single cells, as people change it one by one: manual states and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cellguard.errors import InputError
from cellguard.io.write import csv_text, write_text
from cellguard.table.apriori import NUMBERS, STATES
from cellguard.table.columns import all_headed
from cellguard.table.source import open_source

SAID = ("status", *NUMBERS)
Codes = tuple[str, ...]
Said = Mapping[str, str]


@dataclass(frozen=True)
class StatesFile:
    """What a file says of cells, by their codes; ``columns`` are those of the dimensions.

    >>> file = StatesFile(("region",), {("N",): {"status": "waived"}})
    >>> file.of(("N",)), file.changed(("N",), {"status": ""}).said
    ({'status': 'waived'}, {('N',): {}})
    """

    columns: tuple[str, ...]
    said: Mapping[Codes, Said]

    @classmethod
    def read(cls, path: Path, columns: Sequence[str], dimensions: Sequence[str]) -> StatesFile:
        """Read a file, if it is there; its columns are called as in the data or as the dimensions."""
        named = tuple(all_headed(columns, SAID))
        if not path.exists():
            return cls(named, {})
        if path.suffix.lower() == ".hst":
            raise InputError(
                f"{path.name}: statements in the format of τ-ARGUS are not changed here; name a CSV file with `apriori`"
            )
        source = open_source(path)
        other = all_headed(dimensions, SAID)
        places = [name if name in source.names else also for name, also in zip(named, other, strict=True)]
        codes = zip(*(source.text(name).to_pylist() for name in places), strict=True)
        there = [name for name in SAID if name in source.names]
        words = zip(*(source.text(name).to_pylist() for name in there), strict=True) if there else iter(())
        said = {}
        for cell in codes:
            told = next(words, ())
            said[tuple(map(str, cell))] = {name: word for name, word in zip(there, told, strict=False) if word}
        return cls(named, said)

    def of(self, codes: Codes) -> Said:
        """Return what is said of a cell."""
        return self.said.get(codes, {})

    def changed(self, codes: Codes, change: Said) -> StatesFile:
        """Return the file with something else said of a cell; an empty word takes back what was said."""
        for name, word in change.items():
            _check(name, word)
        new = {name: word for name, word in {**self.of(codes), **change}.items() if word}
        return replace(self, said={**self.said, codes: new})  # a row that says nothing stays: a file needs a row

    def write(self, path: Path) -> None:
        """Write it, whole or not at all, for its owner's eyes only."""
        there = [name for name in SAID if name == "status" or any(name in told for told in self.said.values())]
        rows = [[*codes, *(told.get(name, "") for name in there)] for codes, told in self.said.items()]
        write_text(path, csv_text([*self.columns, *there], rows), force=True, confidential=True)


def _check(name: str, word: str) -> None:
    if name == "status" and word and word not in STATES:
        raise InputError(f"unknown state {word!r}; known are {', '.join(STATES)}")
    if name not in SAID:
        raise InputError(f"nothing called {name!r} is said of a cell")
    if name != "status" and word:
        try:
            good = 0 <= float(word) < float("inf")
        except ValueError:
            good = False
        if not good:
            raise InputError(f"{name} must be a number that is not below 0")
