"""A comparison of rules as CSV files: everything that its pictures are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.evaluate.rule_study import RuleStudy
from cellguard.io.write import check_file, csv_text, write_text

Rows = tuple[Sequence[str], list[Sequence[object]]]


def rule_files(
    studies: Mapping[str, RuleStudy], counts: Mapping[str, Mapping[str, FloatArray]], sizes: Sequence[int]
) -> dict[str, str]:
    """Return the text of each file by its name.

    ``studies`` are named by what was drawn (or by the table); ``counts`` are those of `contours`, by distribution, for
    these ``sizes``.

    - ``cells.csv``: every cell, its contributions, and what each calibrated rule says of it;
    - ``strictness.csv``: how many cells are unsafe at each parameter;
    - ``groups.csv``: the typical cell of each disagreement;
    - ``matrix-NUMBER-RULE.csv``: 0 and 1 for each cell and parameter;
    - ``contours.csv``: how many cells are unsafe by size and parameter.
    """
    files = {
        "cells.csv": _cells(studies),
        "strictness.csv": _strictness(studies),
        "groups.csv": _groups(studies),
    }
    for number, study in enumerate(studies.values(), 1):
        for place, name in enumerate(study.families, 1):
            files[f"matrix-{number}-{_plain(name, place)}.csv"] = _matrix(study, name)
    if counts:
        files["contours.csv"] = _contours(counts, sizes, next(iter(studies.values())))
    return {name: csv_text(heads, rows) for name, (heads, rows) in files.items()}


def write_rule_files(folder: Path, files: Mapping[str, str], *, force: bool, confidential: bool) -> None:
    """Write the files into a folder, none over another file unless ``force``."""
    for name in files:
        check_file(folder / name, force=force)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(folder / name, text, force=force, confidential=confidential)


def _plain(name: str, place: int) -> str:
    """Return a rule's name as part of a file's name; rules whose names are not plain letters have a number."""
    return name if name.replace("_", "").isalnum() else f"rule{place}"


def _cells(studies: Mapping[str, RuleStudy]) -> Rows:
    most = max(study.largest.shape[1] for study in studies.values())
    names = list(next(iter(studies.values())).families)
    heads = ["cells", "number", "total", *(f"x{i}" for i in range(1, most + 1)), *(f"unsafe by {n}" for n in names)]
    rows = list[Sequence[object]]()
    for drawn, study in studies.items():
        said = np.stack([study.verdicts(name) for name in names], axis=1).astype(int)
        blank = [""] * (most - study.largest.shape[1])
        parts = zip(study.total.tolist(), study.largest.tolist(), said.tolist(), strict=True)
        rows += [(drawn, i, total, *largest, *blank, *one) for i, (total, largest, one) in enumerate(parts, 1)]
    return heads, rows


def _strictness(studies: Mapping[str, RuleStudy]) -> Rows:
    heads = ["cells", "rule", "parameter", "unsafe", "chosen"]
    rows = list[Sequence[object]]()
    for drawn, study in studies.items():
        for name in study.families:
            pairs = zip(study.grid, study.counts(name).tolist(), study.allowed[name].tolist(), strict=True)
            rows += [(drawn, name, mark, count, "") for mark, count, allowed in pairs if allowed]
            rows.append((drawn, name, study.chosen[name].strictness, study.chosen[name].unsafe, "yes"))
    return heads, rows


def _groups(studies: Mapping[str, RuleStudy]) -> Rows:
    most = max(study.largest.shape[1] for study in studies.values())
    heads = ["cells", "unsafe by", "safe by", "which", "number", *(f"median share of x{i}" for i in range(1, most + 1))]
    rows = list[Sequence[object]]()
    for drawn, study in studies.items():
        for pair in study.agreements:
            for by, other in (pair, pair[::-1]):
                one, two = study.modes(by, other)
                named = (("all", study.group(by, other)), ("one large", one), ("two large", two))
                for which, group in named:
                    shares = ["" if np.isnan(share) else share for share in group.typical.tolist()]
                    blank = [""] * (most - len(shares))
                    ends = ["" if np.isnan(figure) else figure for figure in (group.spread, group.gap)]
                    rows.append((drawn, by, other, which, len(group), *shares, *blank, *ends))
    return [*heads, "mean standard deviation", "mean x1 - x2"], rows


def _matrix(study: RuleStudy, name: str) -> Rows:
    columns = np.flatnonzero(study.allowed[name])
    heads = ["number", *(f"{study.grid[at]:g}" for at in columns.tolist())]
    marks: Iterable[list[int]] = study.unsafe[name][:, columns].astype(int).tolist()
    return heads, [(number, *row) for number, row in enumerate(marks, 1)]


def _contours(counts: Mapping[str, Mapping[str, FloatArray]], sizes: Sequence[int], study: RuleStudy) -> Rows:
    rows = list[Sequence[object]]()
    for drawn, by_rule in counts.items():
        for name, matrix in by_rule.items():
            for n, row in zip(sizes, matrix.tolist(), strict=True):
                kept = zip(study.grid, row, strict=False)
                rows += [(drawn, name, n, mark, int(count)) for mark, count in kept if not np.isnan(count)]
    return ["distribution", "rule", "contributions", "parameter", "unsafe"], rows
