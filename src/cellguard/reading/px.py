"""PX files of PxWeb and PX-Win as a table of cells: one row per cell of the cube, with codes where there are some.

A cell that does not apply (`"."`) has no row, one that is nil (`"-"`) is 0. Other marks, as `".."`, stay as they are,
so that they read as suppressed or missing. The format is described in "PC-Axis file format" (Statistics Sweden, 2013).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
import pyarrow as pa

from cellguard.errors import InputError, file_name

PX = frozenset({".px"})
VALUE = "value"
_MOST = 20_000_000
_CODEPAGE = re.compile(rb'CODEPAGE\s*=\s*"([^"]+)"', re.IGNORECASE)
_KEYWORD = re.compile(
    r'(?P<word>[A-Z][A-Z0-9-]*)(?:\[(?P<language>[^\]]*)\])?(?:\((?P<keys>"(?:[^"]*)"(?:\s*,\s*"[^"]*")*)\))?\s*='
)
_TEXTS = re.compile(r'"([^"]*)"')
_NOT_APPLICABLE, _NIL = '"."', ('"-"', "-")


def read_px(path: Path) -> pa.Table:
    """Return the cells of a PX file: a column per variable, and `value`."""
    name = file_name(path)
    text = _text(path, name)
    head, found, data = text.partition("DATA=")
    if not found:
        raise InputError(f"{name}: not a PX file, or a damaged one: it has no DATA")
    words = dict(_keywords(head, name))
    if any(word == "KEYS" for word, _ in words):
        raise InputError(
            f"{name}: a PX file with KEYS (a list of cells instead of a cube) is not read; save it as a cube"
        )
    by = [*words.get(("STUB", ""), []), *words.get(("HEADING", ""), [])]
    if not by or len(set(by)) < len(by):
        raise InputError(f"{name}: STUB and HEADING must name the variables, each once")
    shown = [_codes(words, variable, name) for variable in by]
    size = prod(map(len, shown))
    if size > _MOST:
        raise InputError(f"{name}: the cube has {size:,} cells, more than {_MOST:,}; split the file")
    cells = data.strip().rstrip(";").split()
    if len(cells) != size:
        raise InputError(f"{name}: DATA has {len(cells):,} entries, but the variables span {size:,} cells")
    keep = np.fromiter((cell != _NOT_APPLICABLE for cell in cells), bool, size)
    at = np.unravel_index(np.flatnonzero(keep), [len(codes) for codes in shown])
    columns = [pa.array(codes).take(pa.array(place)) for codes, place in zip(shown, at, strict=True)]
    values = ["0" if cell in _NIL else cell.strip('"') for cell, kept in zip(cells, keep.tolist(), strict=True) if kept]
    clash = VALUE in by
    return pa.table([*columns, pa.array(values, pa.string())], names=[*by, VALUE + "_" * clash])


def _text(path: Path, name: str) -> str:
    raw = path.read_bytes()
    said = _CODEPAGE.search(raw[:4096])
    encoding = said[1].decode("ascii", "replace") if said else "cp1252"
    try:
        return raw.removeprefix(b"\xef\xbb\xbf").decode(encoding)
    except (LookupError, UnicodeDecodeError):
        raise InputError(f"{name}: is not in the encoding that its CODEPAGE names; save it again, as UTF-8") from None


def _keywords(head: str, name: str) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield what the keywords of the main language say, each with the variable that it is about ('' for none)."""
    at = 0
    while at < len(head):
        if head[at].isspace():
            at += 1
            continue
        said = _KEYWORD.match(head, at)
        end = _end(head, said.end()) if said else -1
        if said is None or end < 0:
            line = head.count("\n", 0, at) + 1
            raise InputError(f"{name} line {line}: not a keyword of PX, or one without its semicolon")
        if not said["language"]:
            keys = _TEXTS.findall(said["keys"] or "")
            yield (said["word"], keys[0] if keys else ""), _values(head[said.end() : end])
        at = end + 1


def _end(text: str, at: int) -> int:
    """Return where the semicolon is that ends a keyword: the first that stands in no quotes; -1 if there is none."""
    quoted = False
    for place in range(at, len(text)):
        if text[place] == '"':
            quoted = not quoted
        elif text[place] == ";" and not quoted:
            return place
    return -1


def _values(text: str) -> list[str]:
    """Return the texts of a keyword; those that follow each other without a comma are one."""
    values: list[str] = []
    last = None
    for found in _TEXTS.finditer(text):
        between = "" if last is None else text[last : found.start()]
        if values and "," not in between:
            values[-1] += found[1]
        else:
            values.append(found[1])
        last = found.end()
    return values or [part.strip() for part in text.split(",")]


def _codes(words: Mapping[tuple[str, str], Sequence[str]], variable: str, name: str) -> list[str]:
    labels, codes = words.get(("VALUES", variable)), words.get(("CODES", variable))
    if labels is None and codes is None:
        raise InputError(f"{name}: no VALUES for the variable {variable!r}")
    if labels and codes and len(labels) != len(codes):
        raise InputError(f"{name}: {len(codes)} CODES but {len(labels)} VALUES for the variable {variable!r}")
    found = list(codes or labels or ())
    if len(set(found)) < len(found):
        raise InputError(f"{name}: a code comes twice in the variable {variable!r}")
    return found
