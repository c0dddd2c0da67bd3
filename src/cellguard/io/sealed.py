"""What ties a folder of changed tables together: what is claimed of it, and the digests of all files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cellguard.io.write import write_json
from cellguard.seam.outcome import Outcome


def write_seal(folder: Path, name: str, outcome: Outcome[Any], tables: Sequence[Mapping[str, Any]]) -> None:
    """Write how each table was changed, what is claimed, and the digest of every file, into the internal half."""
    verdict = outcome.protected.verdict
    document = {
        "format": 1,
        "headline": verdict.text,
        "verdict": verdict.kind.value,
        "released": outcome.release is not None,
        "not_checked": [attack.key for attack in verdict.not_checked],
        "tables": list(tables),
    }
    seal(folder, name, document)


def seal(folder: Path, name: str, document: Mapping[str, Any]) -> None:
    """Write a document into the internal half of a folder, with the digests of all files there and one of its own."""
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    whole = {**document, "files": files}
    canonical = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    write_json(folder / "internal" / name, {**whole, "digest": digest})
