"""What ties a folder of rounded tables together: the secret seed, and the digests of all files."""

from __future__ import annotations

import json
from pathlib import Path

from cellguard.errors import InputError
from cellguard.io import sealed
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
    tables = [
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
    ]
    sealed.write_seal(folder, SEAL, outcome, tables)
