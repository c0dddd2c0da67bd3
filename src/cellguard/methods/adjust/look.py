"""How adjusted tables are looked at."""

from __future__ import annotations

from cellguard.seam.look import Look

LOOK = Look(
    "published",
    marks={"adjusted": "", "unchanged": "", "protected": "○", "kept": "="},
    public="Adjusted figures.",
    internal="True value → adjusted value; ○ unsafe by a rule, moved away, = kept, – not in the release. Confidential.",
)
