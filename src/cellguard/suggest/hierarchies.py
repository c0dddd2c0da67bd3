"""The hierarchy of a column of ready-made cells: from a file beside it, from codes that begin alike, or from sums."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cellguard.errors import InputError
from cellguard.hierarchy.build import TOTAL, from_parents
from cellguard.hierarchy.codelists import read_levels, read_parents
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.hierarchy.hrc import read_hrc
from cellguard.job.names import plain_name
from cellguard.microdata.rda import Metadata, Variable
from cellguard.microdata.sources import Opened
from cellguard.suggest.yaml_words import text_of

_MOST_FILES = 50
_LARGEST = 2_000_000
Figures = tuple[Mapping[str, float], ...]  # of each code; one mapping per column


@dataclass(frozen=True)
class Levels:
    """The levels of a dimension: how the job says them, from where they are known, and files that must be written."""

    key: str
    why: str
    files: Mapping[str, str] = field(default_factory=dict)


def find_levels(figures: Figures, total: str, data: Path, folder: Path) -> Levels | None:
    """Return how the codes nest: as a file beside the data says, or as their beginnings do; None if nobody can tell.

    ``figures`` are those of each code where all other dimensions are at their total. Whatever is returned adds up.
    """
    for path, way, tree in _beside(data, total):
        if adds_up(tree, figures):
            key = f"{way}: {text_of(os.path.relpath(path.resolve(), folder.resolve()))}"
            return Levels(key, f"{path.name} lies beside the data, has all codes, and they add up")
    digits = _digits(set(figures[0]) - {total})
    tree_of_prefixes = _by_prefix(set(figures[0]) - {total}, total)
    if digits and tree_of_prefixes and adds_up(tree_of_prefixes, figures):
        return Levels(f"digits: {digits}", "longer codes begin with shorter ones, and they add up")
    return None


def levels_of_metadata(metadata: Metadata, variable: Variable, codes: set[str], data: Path, folder: Path) -> Levels:
    """Return the hierarchy that metadata name; codes for missing that the cells have stand below the total as well."""
    path = metadata.file(str(variable.hrc), data.parent)
    total = variable.total or TOTAL
    tree = read_hrc(path, lead=variable.lead, total=total)
    missing = [code for code in variable.missing if code in codes and code not in tree.position]
    if not missing:
        lead = f", lead: {text_of(variable.lead)}" if variable.lead != "@" else ""
        return Levels(
            f"hrc: {text_of(os.path.relpath(path.resolve(), folder.resolve()))}{lead}", "the metadata name it"
        )
    pairs = [*((code, tree.parent_of(code) or "") for code in tree.codes), *((code, total) for code in missing)]
    return written_levels(variable.name, pairs, f"{path.name} and the code for missing")


def written_levels(column: str, pairs: Sequence[tuple[str, str]], why: str) -> Levels:
    """Return levels that a file beside the job will say, from pairs of a code and its parent."""
    name = f"{plain_name(column)}_parents.csv"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("code", "parent"), *pairs])
    return Levels(f"parents: {name}", f"written beside the job: {why}", {name: text.getvalue()})


def adds_up(tree: Hierarchy, figures: Figures) -> bool:
    """Return whether a hierarchy has all codes and each code with codes below it is their sum, in every figure.

    >>> tree = Hierarchy.from_levels([("A", "A1"), ("A", "A2"), ("B", "B")])
    >>> adds_up(tree, ({"Total": 10, "A": 7, "A1": 3, "A2": 4, "B": 3},)), adds_up(tree, ({"Total": 10, "A": 6},))
    (True, False)
    """
    if not set(figures[0]) <= set(tree.codes):
        return False
    for figure in figures:
        value = np.array([figure.get(code, 0.0) for code in tree.codes])
        parts = np.zeros(len(value))
        np.add.at(parts, tree.parent[1:], value[1:])
        above = np.isin(np.arange(len(value)), tree.parent[1:])
        if (np.abs(value - parts)[above] > 1e-6 * np.maximum(np.abs(value[above]), 1)).any():
            return False
    return True


def _beside(data: Path, total: str) -> Iterator[tuple[Path, str, Hierarchy]]:
    """Return the files in the folder of the data that are hierarchies, each with how a job names it."""
    files = sorted(path for path in data.resolve().parent.iterdir() if path.suffix.lower() in {".csv", ".hrc", ".txt"})
    for path in files[:_MOST_FILES]:
        if path == data.resolve() or not path.is_file() or path.stat().st_size > _LARGEST:
            continue
        for way in ("hrc",) if path.suffix.lower() == ".hrc" else ("parents", "levels"):
            try:
                if way == "hrc":
                    yield path, way, read_hrc(path, total=total)
                elif way == "parents":
                    yield path, way, read_parents(path, total=total)
                else:
                    yield path, way, read_levels(path, total=total)
            except (InputError, OSError):
                continue


def _digits(codes: set[str]) -> list[int]:
    """Return how many characters each level adds, if all codes are of a few lengths; else nothing."""
    ends = sorted({len(code) for code in codes})
    return [b - a for a, b in zip([0, *ends], ends, strict=False)] if 1 < len(ends) <= 6 else []


def pointed_levels(opened: Opened, column: str) -> list[int]:
    """Return how many characters each level adds, if all codes have one point in one place, as 01.1; else nothing."""
    text = f"CAST({opened.column(column)} AS VARCHAR)"
    sql = f"SELECT DISTINCT {text} FROM {opened.scan} WHERE {text} IS NOT NULL LIMIT 20000"  # noqa: S608
    codes = [str(code) for (code,) in opened.rows(sql)]
    if len({len(code) for code in codes}) != 1 or not all(re.fullmatch(r"\w+\.\w+", code) for code in codes):
        return []
    above = {code.partition(".")[0] for code in codes}
    first = {len(code) for code in above}
    return [*first, len(codes[0]) - min(first)] if len(first) == 1 and 1 < len(above) < len(codes) else []


def _by_prefix(codes: set[str], total: str) -> Hierarchy | None:
    ends = sorted({len(code) for code in codes})
    pairs = [(total, "")]
    for code in sorted(codes):
        shorter = [code[:end] for end in ends if end < len(code)]
        if any(part not in codes for part in shorter):
            return None
        pairs.append((code, shorter[-1] if shorter else total))
    try:
        return from_parents(pairs)
    except InputError:
        return None
