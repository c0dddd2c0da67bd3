"""Two tables that share their totals are one set: what one shows must not give away what the other hides."""

import cellguard as cg

region = cg.Hierarchy.from_levels([("North", "N1"), ("North", "N2"), ("South", "S1"), ("South", "S2")])
by_region = cg.cells(
    {
        "region": ["Total", "North", "N1", "N2", "South", "S1", "S2"],
        "jobs": [300, 110, 80, 30, 190, 100, 90],
        "firms": [40, 12, 10, 2, 28, 15, 13],
    },
    by={"region": region},
    value="jobs",
    count="firms",
    name="by_region",
)
by_size = cg.cells(
    {"size": ["Total", "small", "large"], "jobs": [300, 120, 180], "firms": [40, 35, 5]},
    by=["size"],
    value="jobs",
    count="firms",
    name="by_size",
)
linked = cg.link([by_region, by_size])
needs = cg.require(cg.assess(linked, [cg.MinFrequency(3)]))
found = cg.suppress(needs)
print(f"{len(by_region) + len(by_size)} cells, {len(linked)} distinct ones")
print("hidden:", ", ".join(linked.cell_name(int(cell)) for cell in found.pattern.hidden.nonzero()[0]))
print("verdict:", cg.audit(needs, found.pattern).verdict)
