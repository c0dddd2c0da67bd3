"""Small jobs of every kind, each with a safe pattern, and the output folders that cellguard makes of them."""

import itertools

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job

import quick_yaml

LEVELS = "section,division\nA,A1\nA,A2\nB,B1\nB,B2\n"
COAST = "code,parent\nTotal,\nsea,Total\ninland,Total\nN,sea\nS,inland\nW,sea\n"
FEWER = {"min_frequency": 3}
ABOVE = {"A1": "A", "A2": "A", "B1": "B", "B2": "B"}


def cube(axes, figure, *, above=ABOVE, also=None):
    """All cells of all levels, totals included: {codes: figure}, from ``figure(number of the leaf)``."""
    found = {}
    for number, leaf in enumerate(itertools.product(*axes)):
        for cell in itertools.product(*(_upward(code, above, also or {}) for code in leaf)):
            found[cell] = found.get(cell, 0) + figure(number)
    return found


def _upward(code, above, also):
    return dict.fromkeys([code, *(tree[code] for tree in (above, also) if code in tree), "Total"])


def table(by, values, counts, hidden, **more):
    """A CSV text with the columns of the dimensions, x, n, status and further ones: {name: {codes: figure}}."""
    lines = [",".join([*by, "x", "n", "status", *more])]
    for cell, x in values.items():
        status = "secondary" if hidden(cell) else ""
        lines.append(",".join([*cell, f"{x:.10g}", str(counts[cell]), status, *(str(m[cell]) for m in more.values())]))
    return "\n".join(lines) + "\n"


def spec(name, by, *, source=None, value="x", rules=(FEWER,), cells=None, **more):
    columns = {"source": source or f"{name}.csv", "count": "n", "status": "status", **(cells or {})}
    return {"name": name, "by": by, "value": value, "cells": columns, "rules": list(rules), **more}


def inner(cell):
    """All but the totals."""
    return "Total" not in cell


def square(figure=lambda i: 20 + 7 * i, few=(0,), **more):
    """Three regions by three sizes; the cells with few contributors and all their neighbours are hidden."""
    axes = ("NSW", "abc")
    counts = cube(axes, lambda i: 2 if i in few else 9)
    return table(["region", "size"], cube(axes, figure), counts, inner, **more)


def plain():
    return {"tables": [spec("t", ["region", "size"])]}, {"t.csv": square()}


def three_dimensions():
    axes = ("NS", "ab", "yz")
    counts = cube(axes, lambda i: 1 if i == 3 else 9)
    text = table(["r", "s", "k"], cube(axes, lambda i: 11 + i), counts, inner)
    return {"tables": [spec("cube", ["r", "s", "k"])]}, {"cube.csv": text}


def linked():
    """By region and size, and by region and kind: a primary in the margin that they share."""
    # The dimensions in another order, so that no row number means the same hidden cell in both.
    job = {"tables": [spec("sizes", ["region", "size"]), spec("kinds", ["kind", "region"])]}

    def text(by, axes, figures, single):
        at = by.index("region")
        counts = cube(axes, lambda i: 1 if i in single else 5)
        return table(by, cube(axes, lambda i: figures[i]), counts, lambda cell: cell[at] in "NS")

    sizes = text(["region", "size"], ("NSW", "ab"), (10, 11, 12, 13, 14, 15), (0, 1))
    kinds = text(["kind", "region"], ("yz", "NSW"), (15, 9, 20, 6, 16, 9), (0, 3))
    return job, {"sizes.csv": sizes, "kinds.csv": kinds}


def counts():
    axes = ("NSW", "abc")
    people = cube(axes, lambda i: [2, 9, 8, 7, 0, 5, 9, 9, 6][i])
    text = table(["region", "size"], people, people, inner)
    return {"tables": [spec("people", ["region", "size"], value="count")]}, {"people.csv": text}


def equations():
    job = {"equations": ["turnover = home + abroad"], "tables": []}
    files = {}
    figures = {"turnover": lambda i: 10 + i, "home": lambda i: 7 + i, "abroad": lambda i: 3}
    for name, figure in figures.items():
        job["tables"].append(spec(name, ["region"], response=name))
        counts = cube(["NSW"], lambda i: 1 if i == 1 else 4)
        files[f"{name}.csv"] = table(["region"], cube(["NSW"], figure), counts, inner)
    return job, files


def groupings():
    """Regions also grouped by coast; the sea regions and all of S, which is the whole inland, have enough room."""
    also = {"N": "sea", "S": "inland", "W": "sea"}
    axes = ("NSW", "abc")
    values = cube(axes, lambda i: 20 + 7 * i, also=also)
    counts = cube(axes, lambda i: 2 if i == 0 else 9, also=also)
    job = {
        "dimensions": {"region": {"also": [{"name": "coast", "parents": "coast.csv"}]}},
        "tables": [spec("t", ["region", "size"])],
    }
    job["dimensions"]["region"]["parents"] = "region.csv"
    parents = "code,parent\nTotal,\nN,Total\nS,Total\nW,Total\n"
    text = table(["region", "size"], values, counts, lambda cell: cell[0] in "NW" and cell[1] != "Total")
    return job, {"t.csv": text, "coast.csv": COAST, "region.csv": parents}


def publish_levels():
    """Sections are not shown here, but a linked table shows them; a division said to be hidden is not shown there."""
    axes = (tuple(ABOVE), "NSW")
    values, counts = cube(axes, lambda i: 20 + 3 * i), cube(axes, lambda i: 1 if i == 0 else 9)

    def hidden(cell):
        return cell[0] in ABOVE and cell[1] != "Total"

    fine = table(["industry", "region"], values, counts, hidden)
    margin = {cell[:1]: x for cell, x in values.items() if cell[1] == "Total"}
    many = {cell[:1]: n for cell, n in counts.items() if cell[1] == "Total"}
    coarse = table(["industry"], margin, many, lambda cell: False)
    job = {
        "dimensions": {"industry": {"levels": "nace.csv"}},
        "tables": [
            spec("fine", ["industry", "region"], publish={"industry": [0, 2]}),
            spec("coarse", ["industry"], publish={"industry": [0, 1]}),
        ],
    }
    return job, {"fine.csv": fine, "coarse.csv": coarse, "nace.csv": LEVELS}


def given():
    """Cells marked by hand, one of them 0."""
    axes = ("NSW", "abc")
    values = cube(axes, lambda i: 0 if i == 4 else 5 * i)
    marks = cube(axes, lambda i: 0)
    marks |= {("N", "b"): 1, ("S", "b"): 1}
    rule = {"given": {"column": "secret", "protection_percent": 20}}
    text = table(["region", "size"], values, cube(axes, lambda i: 3), inner, secret=marks)
    return {"tables": [spec("t", ["region", "size"], rules=[rule], zeros="possible")]}, {"t.csv": text}


def all_of():
    axes = ("NSW", "abc")
    values = cube(axes, lambda i: 20 + 7 * i)
    first, second = ({cell: round(x * share, 2) for cell, x in values.items()} for share in (0.7, 0.25))
    few = cube(axes, lambda i: 3 if i == 4 else 9)
    rule = {"all": [{"min_frequency": 4}, {"p_percent": 20}]}
    job = {"tables": [spec("t", ["region", "size"], rules=[rule], cells={"top": ["x1", "x2"]})]}
    return job, {"t.csv": table(["region", "size"], values, few, inner, x1=first, x2=second)}


def percent():
    return plain()[0] | {"attack": {"lower": 0, "percent": 33.7}}, {"t.csv": square(lambda i: 20.25 + 7.5 * i)}


def own_bounds():
    """Signed values, and bounds given for each cell."""
    axes = ("NSW", "abc")
    values = cube(axes, lambda i: 12 - 7 * i)
    low, high = ({cell: x + reach for cell, x in values.items()} for reach in (-9, 6.5))
    text = table(["region", "size"], values, cube(axes, lambda i: 1 if i == 4 else 9), inner, low=low, high=high)
    job = {"tables": [spec("t", ["region", "size"], cells={"lower": "low", "upper": "high"})]}
    return job | {"attack": {"lower": "unbounded"}}, {"t.csv": text}


def decimals():
    """Weighted values with five decimals, published with two."""
    job = {"tables": [spec("t", ["region", "size"], decimals=2)]}
    return job, {"t.csv": square(lambda i: round(3.14159 * (i + 1), 5))}


def recoded():
    """a and b become one size, and section A has no divisions any more."""
    axes = (tuple(ABOVE), "abc")
    values, counts = cube(axes, lambda i: 20 + 7 * i), cube(axes, lambda i: 2 if i == 8 else 9)
    industry = {"levels": "nace.csv", "recode": {"cut": ["A"]}}
    size = {"recode": {"merge": {"ab": ["a", "b"]}}}
    text = table(["industry", "size"], values, counts, lambda cell: cell[1] != "Total" and cell[0] in ("A", "B1", "B2"))
    job = {"dimensions": {"industry": industry, "size": size}, "tables": [spec("t", ["industry", "size"])]}
    return job, {"t.csv": text, "nace.csv": LEVELS}


ALL = {
    make.__name__: make
    for make in (
        plain, three_dimensions, linked, counts, equations, groupings, publish_levels, given, all_of, percent,
        own_bounds, decimals, recoded,
    )
}  # fmt: skip


def write_job(folder, name):
    """Write a job and its tables; return the path of the job."""
    job, files = ALL[name]()
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    path = folder / "job.yaml"
    path.write_text(quick_yaml.dump({"version": 1, **job}), encoding="utf-8")
    return path


def make(folder, name):
    """Audit a job, release it, and return the output folder."""
    done = audit_job(Job.load(write_job(folder / "job", name)), intervals=True)
    OutputFolder(folder / "out").write(done)
    return folder / "out"
