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
    document: dict[str, Any] = {
        "format": 1,
        "headline": verdict.text,
        "verdict": verdict.kind.value,
        "released": outcome.release is not None,
        "not_checked": [attack.key for attack in verdict.not_checked],
        "tables": list(tables),
        "files": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["digest"] = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    write_json(folder / "internal" / name, document)
