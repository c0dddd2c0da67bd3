"""Coarser versions of spanning variables: files ``.grc``, and the level of a tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cellguard.argus.spanning import Spanning, padded
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import Hierarchy, grow
from cellguard.hierarchy.recode import cut
from cellguard.reading.csvfile import text_lines
from cellguard.reading.encodings import read_text

_MARK = "<TREERECODE>"


@dataclass(frozen=True)
class Recoded:
    """A recoded variable, and the new code of each old leaf."""

    spanning: Spanning
    code: dict[str, str]
    closed: int


def to_level(spanning: Spanning, level: int) -> Recoded:
    """Close all codes of a level: what is below them is left out."""
    if not spanning.is_hierarchical:
        raise InputError(f"{spanning.name!r} has no levels, so it cannot be cut off at one; name a .grc file")
    tree = spanning.tree
    inner = {code for code in tree.codes if tree.level[tree.position[code]] == level and tree.children(code)}
    return _closed(spanning, sorted(inner))


def by_file(spanning: Spanning, path: Path) -> Recoded:
    """Recode a variable as a ``.grc`` file says: a tree by the codes to close, other variables by groups of codes."""
    lines = lines_of_recode(path)
    is_tree = lines[0][1].upper() == _MARK
    if spanning.is_hierarchical != is_tree:
        kind = f"hierarchical; the file must begin with {_MARK}" if spanning.is_hierarchical else "not hierarchical"
        raise InputError(f"{path.name} line {lines[0][0]}, column 1: the variable {spanning.name!r} is {kind}")
    if is_tree:
        return _closed(spanning, [_code(spanning, text, f"{path.name} line {n}") for n, text in lines[1:]])
    return _grouped(spanning, lines, path.name)


def lines_of_recode(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a file with their numbers; what is no group of codes is an error."""
    lines = [(number, line.strip()) for number, line in enumerate(text_lines(read_text(path)), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path.name}: the file is empty; write one group of codes a line")
    if lines[0][1].upper() != _MARK:
        for number, line in lines:
            if ":" not in line[1:] and not line.upper().startswith(("<MISSING>", "<CODELIST>")):
                raise InputError(f"{path.name} line {number}, column 1: write NEW: a, b, c-d, -e, f-")
    return lines


def _code(spanning: Spanning, text: str, where: str) -> str:
    code = spanning.code(text)
    if code is None:
        raise InputError(f"{where}, column 1: no code {text!r}{did_you_mean(text, spanning.tree.codes)}")
    return code


def _closed(spanning: Spanning, codes: Sequence[str]) -> Recoded:
    closed = [code for code in codes if spanning.tree.children(code)]
    tree = cut(spanning.tree, closed)
    new = {}
    for leaf in spanning.tree.leaves:
        code = leaf
        while code not in tree.position:
            code = spanning.tree.parent_of(code) or spanning.tree.total
        new[leaf] = code
    plain = Hierarchy(tree.codes, tree.parent)
    return Recoded(replace(spanning, tree=plain), new, len(closed))


def _grouped(spanning: Spanning, lines: Sequence[tuple[int, str]], name: str) -> Recoded:
    """Merge codes of a variable without levels; ranges go by the order of characters."""
    leaves = [leaf for leaf in spanning.tree.leaves if leaf not in spanning.missing]
    width = max([spanning.variable.width, *map(len, leaves)], default=1)
    new: dict[str, str] = {}
    missing = list(spanning.missing)
    for number, line in lines:
        if line.upper().startswith("<MISSING>"):
            missing = [padded(code, width) for code in line.split()[1:]]
            continue
        if line.upper().startswith("<CODELIST>"):
            continue
        target, _, sources = line.partition(":")
        for part in sources.split(","):
            for code in _range(part.strip(), leaves, width, f"{name} line {number}"):
                if code in new:
                    raise InputError(f"{name} line {number}, column 1: a code is in two groups; keep one")
                new[code] = padded(target.strip(), width)
    meant = {leaf: new.get(leaf, leaf) for leaf in leaves} | {m: m for m in spanning.missing}
    kept = sorted({code for leaf, code in meant.items() if leaf not in spanning.missing} - set(missing))
    total = spanning.tree.total
    tree = grow([Edge(total, ""), *(Edge(code, total) for code in [*kept, *missing])])
    known = {*kept, *missing}
    meant = {leaf: code if code in known or not missing else missing[0] for leaf, code in meant.items()}
    return Recoded(replace(spanning, tree=tree, missing=tuple(missing)), meant, len(new))


def _range(part: str, leaves: Sequence[str], width: int, where: str) -> list[str]:
    if not part:
        return []
    ends = re.fullmatch(r"(?P<low>[^-]*)-(?P<high>[^-]*)", part)
    if padded(part, width) in leaves or part in leaves:
        return [part if part in leaves else padded(part, width)]
    if ends is None:
        return []  # a code that no record has
    low = padded(ends["low"].strip(), width) if ends["low"].strip() else ""
    high = padded(ends["high"].strip(), width) if ends["high"].strip() else "\U0010ffff"
    if low > high:
        raise InputError(f"{where}, column 1: the range {part!r} goes downward; write the smaller code first")
    return [leaf for leaf in leaves if low <= leaf <= high]
