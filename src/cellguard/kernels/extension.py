"""Kernels that were compiled ahead of time, into one extension module beside this file.

`built.json` beside it says which function is which kernel for which types, and the digest of the sources that they
were compiled from: code of other sources is not used.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from cellguard.kernels.signature import Description, read

HERE = Path(__file__).parent
MODULE, TABLE = "_built", HERE / "built.json"
SIGNATURES = HERE / "signatures.txt"


def sources() -> list[Path]:
    """Return the files that compiled code depends on."""
    package = HERE.parent
    return sorted([*package.rglob("*_kernel.py"), *package.rglob("kernel_layout.py"), HERE / "signature.py"])


@functools.cache
def stamp() -> str:
    """Return the digest of all sources of kernels."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:16]


@functools.cache
def _functions() -> dict[str, dict[str, Any]]:
    """Return the functions of the extension by kernel and signature, none if it is missing or of other sources."""
    try:
        table = json.loads(TABLE.read_text())
        if table["stamp"] != stamp():
            return {}
        module = import_module(f"cellguard.kernels.{MODULE}")
        return {
            name: {text: getattr(module, symbol) for text, symbol in found.items()}
            for name, found in table["kernels"].items()
        }
    except (OSError, ValueError, KeyError, ImportError, AttributeError):
        return {}


def is_there() -> bool:
    """Tell whether kernels compiled ahead of time are used."""
    return bool(_functions())


def functions(name: str) -> dict[Description, Callable[..., Any]]:
    """Return the functions of a kernel by the types that they take."""
    return {read(text): function for text, function in _functions().get(name, {}).items()}


def recorded() -> dict[str, list[str]]:
    """Return the signatures to compile, as texts by kernel."""
    found: dict[str, list[str]] = {}
    for line in SIGNATURES.read_text().splitlines():
        name, _, text = line.partition(" ")
        if name and not name.startswith("#"):
            found.setdefault(name, []).append(text)
    return found
