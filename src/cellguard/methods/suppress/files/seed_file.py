"""The secret seed of random costs: in the internal half of an output folder, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.io.write import write_json
from cellguard.randomness import checked_seed

NAME = "seed.json"
_ABOUT = (
    "the seed of random costs. Secret: with it, an attacker can find which tables give the pattern that was released"
)


def write_seed(inside: Path, seed: int) -> None:
    """Write the seed, so that the run can be repeated."""
    write_json(inside / NAME, {"about": _ABOUT, "seed": seed})


def read_seed(folder: OutputFolder) -> int:
    """Return the seed that a run stored."""
    path = folder.inside / NAME
    try:
        return checked_seed(json.loads(path.read_text(encoding="utf-8"))["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"--seed-from: {str(folder.path)!r} has no internal/{NAME}; only runs with `random: true` have one"
        ) from None
