"""Protect one table in ten lines: which cells are unsafe, which are hidden for their sake, and is the rest safe?"""

import cellguard as cg

data = {
    "region": ["Total", "North", "South", "West", "East"],
    "turnover": [1000, 92, 508, 300, 100],
    "firms": [31, 5, 14, 8, 4],
    "largest": [120, 81, 120, 60, 40],
    "second": [90, 5, 90, 60, 30],
}
table = cg.cells(data, by=["region"], value="turnover", count="firms", top=["largest", "second"])
findings = cg.assess(table, [cg.MinFrequency(3), cg.PPercent(10)])
needs = cg.require(findings)
found = cg.suppress(needs)
for i in range(len(table)):
    status = "primary" if found.pattern.primary[i] else "secondary" if found.pattern.secondary[i] else "published"
    print(f"{table.cell_name(i):6} {status:9} {'; '.join(findings.why(table.cell_name(i)))}")
print("verdict:", cg.audit(needs, found.pattern).verdict)
