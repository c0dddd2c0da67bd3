"""How rounded tables are looked at."""

from __future__ import annotations

from cellguard.seam.look import Look

LOOK = Look(
    "published",
    marks={"rounded": "", "protected": "○", "kept": "="},
    public="Rounded figures; c suppressed.",
    internal="True value → rounded value; ○ unsafe by a rule, safe as it is rounded, ✕ unsafe, c suppressed, = kept, "
    "– not in the release. Confidential.",
)
