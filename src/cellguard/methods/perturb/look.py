"""How perturbed tables are looked at: true and perturbed values, and what was found of each cell."""

from __future__ import annotations

from collections.abc import Mapping

from cellguard.seam.look import Look

_DUST = 1e-9  # of a cell's value, below which a protection level is none


def status_of(row: Mapping[str, str]) -> str:
    """Return the status of a cell: of one that nothing was found about by its protection level and its S_N."""
    said = row["status"]
    if said not in {"safe", "not proven", "not checked"}:
        return said
    least = _DUST * abs(float(row["value"]))
    if said == "not checked" and float(row["S_N"]) > least:
        return "unsafe"
    return "sensitive" if float(row["need"]) > least else "safe"


LOOK = Look(
    "perturbed",
    public="Perturbed: figures carry random noise, more or less of it, and none is suppressed.",
    internal=(
        "True value → perturbed value; ○ sensitive, safe with its noise, ✕ unsafe, ! unsafe but accepted, – not in the "
        "release. Confidential."
    ),
    status=status_of,
)
