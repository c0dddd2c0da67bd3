"""A rich job for the forger: linked tables, an equation, two groupings, statements, known totals, counts, decimals."""

import csv
import itertools

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run

import quick_yaml

SECTION = {"A1": "A", "A2": "A", "B1": "B", "B2": "B", "B3": "B"}
COAST = {"N": "sea", "W": "sea", "S": "inland", "E": "inland"}
SIZES = ("small", "large")


def contributions(at):
    """The contributions behind a cell of industry, region and size, in tenths: some are few, one is a giant."""
    industry, region, size = at
    number = 37 * list(SECTION).index(industry) + 11 * list(COAST).index(region) + 5 * SIZES.index(size)
    if (region, size) == ("W", "small"):
        many = 2 if industry == "A1" else 0
    else:
        many = 1 if (industry, region) in {("A1", "N"), ("B2", "E")} else 6
    giant = [120_000] if at == ("A2", "N", "large") else []
    return giant + [200 + (number * (k + 3)) % 91 for k in range(many)]


LEAVES = {at: contributions(at) for at in itertools.product(SECTION, COAST, SIZES)}


def upward(code):
    return [code, *(above[code] for above in (SECTION, COAST) if code in above), "Total"]


def table(axes):
    """All cells over the chosen positions of a leaf's codes: {codes: contributions}."""
    found = {}
    for leaf, parts in LEAVES.items():
        for cell in itertools.product(*(upward(leaf[a]) for a in axes)):
            found.setdefault(cell, []).extend(parts)
    return {cell: sorted(parts, reverse=True) for cell, parts in sorted(found.items())}


def write_csv(path, lines):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


def write_cells(path, by, axes, share=1.0):
    lines = [[*by, "x", "n", "x1", "x2"]]
    for cell, parts in table(axes).items():
        whole = sum(round(p * share) for p in parts)
        lines.append([*cell, whole / 10, len(parts), round(parts[0] * share) / 10, round(parts[1] * share) / 10])
    write_csv(path, lines)


def spec(name, by, **more):
    cells = {"source": f"{name}.csv", "count": "n", "top": ["x1", "x2"]}
    rules = [{"min_frequency": 3}, {"p_percent": 10}]
    return {"name": name, "by": by, "value": "x", "response": "turnover", "cells": cells, "rules": rules, **more}


def write_job(folder):
    """Write the job and its files; return the job's path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "industry.csv", [("section", "division"), *((s, d) for d, s in SECTION.items())])
    write_csv(folder / "labels.csv", [("code", "label"), ("A", "Farms"), ("B1", "Mines")])
    regions = [("code", "parent"), ("Total", ""), *((r, "Total") for r in COAST)]
    write_csv(folder / "region.csv", regions)
    coast = [("code", "parent"), ("Total", ""), ("sea", "Total"), ("inland", "Total"), *COAST.items()]
    write_csv(folder / "coast.csv", coast)
    write_cells(folder / "turnover.csv", ["industry", "region"], (0, 1))
    write_cells(folder / "sizes.csv", ["industry", "size"], (0, 2))
    write_cells(folder / "home.csv", ["industry"], (0,), share=0.5)
    home = {row[0]: float(row[1]) for row in csv.reader((folder / "home.csv").read_text().splitlines()[1:])}
    lines = [["industry", "x", "n"]]
    for (code,), parts in table((0,)).items():
        lines.append([code, round(sum(parts) / 10 - home[code], 1), len(parts)])
    write_csv(folder / "abroad.csv", lines)
    people = [["region", "size", "n"], *((*cell, len(parts)) for cell, parts in table((1, 2)).items())]
    write_csv(folder / "people.csv", [line for line in people if line[0] not in ("sea", "inland")])
    write_csv(folder / "said.csv", [["industry", "region", "status", "cost", "upper"], ["B3", "N", "", "5", "900"]])
    write_csv(folder / "known.csv", [["table", "industry", "region"], ["turnover", "B", "sea"]])
    abroad = spec("abroad", ["industry"], response="abroad", rules=[{"min_frequency": 3}])
    abroad["cells"] = {"source": "abroad.csv", "count": "n"}
    counts = {"name": "people", "by": ["region", "size"], "value": "count", "rules": [{"min_frequency": 3}]}
    job = {
        "version": 1,
        "dimensions": {
            "industry": {"levels": "industry.csv", "labels": "labels.csv"},
            "region": {"parents": "region.csv", "also": [{"name": "coast", "parents": "coast.csv"}]},
        },
        "equations": ["turnover = home + abroad"],
        "known": "known.csv",
        "tables": [
            spec("turnover", ["industry", "region"], apriori="said.csv", decimals=1),
            spec("sizes", ["industry", "size"], decimals=1),
            spec("home", ["industry"], response="home", decimals=1),
            abroad | {"decimals": 1},
            counts | {"cells": {"source": "people.csv", "count": "n"}},
        ],
        "output": {"formats": ["csv", "parquet", "html", "xlsx"]},
    }
    path = folder / "job.yaml"
    path.write_text(quick_yaml.dump(job, sort_keys=False), encoding="utf-8")
    return path


def make(folder):
    """Protect the job; return the paths of the output folder and of the job."""
    job = write_job(folder / "job")
    OutputFolder(folder / "out").write(run(Job.load(job)))
    return folder / "out", job
