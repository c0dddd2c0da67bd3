"""What ties a folder of rounded tables together: the secret seed, and the digests of all files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.io.write import write_json
from cellguard.methods.rounding.result import RoundingResult
from cellguard.methods.rounding.spec import options_of
from cellguard.randomness import checked_seed
from cellguard.seam.outcome import Outcome

SEAL, SEED = "rounding.json", "seed.json"
_ABOUT = "the seed of random rounding. Secret: with it, an attacker knows which values were rounded up"


def write_seed(inside: Path, seed: int) -> None:
    """Write the seed, so that later tables round the same cells alike."""
    write_json(inside / SEED, {"about": _ABOUT, "seed": seed})


def read_seed(folder: OutputFolder) -> int:
    """Return the seed that a run stored."""
    try:
        return checked_seed(json.loads((folder.inside / SEED).read_text(encoding="utf-8"))["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"--seed-from: {str(folder.path)!r} has no internal/{SEED}; only rounding by chance has one"
        ) from None


def write_seal(folder: Path, outcome: Outcome[RoundingResult]) -> None:
    """Write how each table is rounded, what is claimed, and the digest of every file."""
    done = outcome.protected
    specs = {spec.name: options_of(spec.protect) for spec in done.job.tables}
    by_name = {table.name: table for table in done.tables}
    document: dict[str, Any] = {
        "format": 1,
        "headline": done.verdict.text,
        "verdict": done.verdict.kind.value,
        "released": outcome.release is not None,
        "not_checked": [attack.key for attack in done.verdict.not_checked],
        "tables": [
            {
                "name": name,
                "by": [d.name for d in by_name[name].dimensions],
                "response": by_name[name].response,
                "population": by_name[name].population,
                "decimals": by_name[name].decimals,
                "grains": int(done.rounded.plan.grains.decimals.max(initial=0)),
                **done.words(name),
                "keep": sorted(specs[name].keep),
            }
            for name in done.bases()
        ],
        "files": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["digest"] = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    write_json(folder / "internal" / SEAL, document)
