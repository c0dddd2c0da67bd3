"""Output folders written by hand: literals in, files and digests out, without any of cellguard's own code."""

import copy
import csv
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.verifier.verify import verify

import quick_yaml

SAID = ["state", "cost", "lower", "upper", "need_lower", "need_upper"]
ROW = ["value", "count", "status", "reasons", "cost", "need_lower", "need_upper", "need_sliding"]
ROW += ["interval_lower", "interval_upper"]
REGION = [("0", "Total", "", ""), ("0", "N", "Total", "North"), ("0", "S", "Total", ""), ("0", "W", "Total", "")]
INDUSTRY = [("0", "Total", "", ""), ("0", "A", "Total", ""), ("0", "B", "Total", ""), ("0", "C", "Total", "")]
SIZE = [("0", "Total", "", ""), ("0", "s", "Total", "small"), ("0", "l", "Total", "large")]
P_PERCENT = {"p_percent": {"p": 10, "coalition": 1, "inclusive": False, "zero_unsafe": False}}
FEWER = {"min_frequency": {"n": 3, "inclusive": False, "protection_percent": 10}}


def spec(name, by, **more):
    usual = {"response": "turnover", "population": "all", "decimals": 0, "count": False, "zeros": "known"}
    return {"name": name, "by": by, **usual, "tolerance": None, "rules": [P_PERCENT], "release": "here", **more}


def row(codes, value, status="published", needs=("", "", ""), count="9", **facts):
    """One cell: codes as 'A N', needs as (lower, upper, sliding); facts default to many equal contributions."""
    facts = {"top1": float(value) / 9, "top2": float(value) / 9} | facts
    return {"codes": codes.split(), "value": value, "status": status, "needs": needs, "count": count, "facts": facts}


def plan(tables, hierarchies, witnesses, **more):
    """A whole folder: tables are (spec, rows), witnesses are (denominator, [(table, row, move), ...]).

    The world is one cluster a table, each hanging on the last of its response, of single leaves; unless ``clusters``
    says otherwise, {response: [cluster, ...]}. ``parts`` are further partitions, {dimension: [{leaf: part}, ...]}, and
    ``between`` the cells between, [(group, cluster, {dimension: part}, value), ...].
    """
    usual = {
        "equations": [],
        "attack": {"lower": "0", "upper": "unbounded", "percent": None},
        "trusted": [],
        "known": [],
        "crossing": "checked",
        "clusters": {},
        "parts": {},
        "between": [],
    }
    groups = dict.fromkeys((t["response"], t["population"]) for t, _ in tables)
    usual["grains"] = [{"response": r, "population": p, "decimals": 0} for r, p in groups]
    return {"tables": tables, "hierarchies": hierarchies, "witnesses": witnesses, "insiders": [], **usual, **more}


def write(folder, content):
    """Write a folder and return the path of its certificate."""
    content = copy.deepcopy(content)
    for part in ("release", "internal/hierarchies", "internal/facts", "internal/parts"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    metadata = {}
    for about, rows in content["tables"]:
        for r in rows:
            if r["status"] == "unpublished":
                r["facts"].setdefault("state", "unpublished")
        _write_table(folder, about, rows)
        shown = [r for r in rows if r["status"] != "unpublished"]
        hidden = [r for r in shown if r["status"] != "published"]
        metadata[about["name"]] = {k: about[k] for k in ("by", "response", "population", "decimals")}
        metadata[about["name"]] |= {"cells": len(shown), "suppressed": len(hidden)}
    write_metadata(folder, metadata)
    for name, lines in content["hierarchies"].items():
        write_csv(folder / f"internal/hierarchies/{name}.csv", [["hierarchy", "code", "parent", "label"], *lines])
    write_witnesses(folder, content["witnesses"])
    write_json(folder / "internal/summary.json", summary(content))
    write_job(folder, job(content))
    keys = ("equations", "attack", "known", "grains", "insiders", "trusted", "crossing")
    document = {"format": 2, "claim": "outsider", "tables": [t for t, _ in content["tables"]]}
    document |= {key: summary(content)[key] for key in ("headline", "not_checked")}
    document["world"] = write_world(folder, content)
    document |= {key: content[key] for key in keys} | {"witnesses": len(content["witnesses"]), "sums": None}
    write_json(folder / "internal/certificate.json", document)
    return seal(folder)


CELLS = dict.fromkeys(["count", "holdings", "status", "cost", "need_lower", "need_upper", "lower", "upper"])
TABLE = dict.fromkeys(["impossible", "publish", "survey", "cells", "where"])


def job(content):
    """The job behind a plan; statements about cells come from an a-priori file, if there are any."""
    attack = {k: None if v is None else v if v == "unbounded" else float(v) for k, v in content["attack"].items()}
    tables = []
    for about, rows in content["tables"]:
        said = any(r["facts"].get(key) is not None for r in rows for key in SAID)
        table = {k: v for k, v in about.items() if k not in ("count", "release")} | TABLE
        table |= {"value": "count" if about["count"] else "x", "apriori": "said.csv" if said else None}
        tables.append(table | {"cells": {"source": "t.csv", "top": ["x1"], **CELLS}})
    found = {"version": 1, "microdata": None, "dimensions": {}, "equations": content["equations"], "tables": tables}
    return found | {
        "attack": attack | {"insiders": False, "coalition": 1},
        "known": "known.csv" if content["known"] else None,
        "previous": [],
    }


def write_job(folder, found):
    """Write a job, and the summary with it as its settings."""
    (folder / "internal/job.yaml").write_text(quick_yaml.dump(found), encoding="utf-8")
    about = json.loads((folder / "internal/summary.json").read_text(encoding="utf-8"))
    write_json(folder / "internal/summary.json", about | {"settings": quick_yaml.load(quick_yaml.dump(found))})


def summary(content):
    """What a run would say of a plan."""
    tables, cells, primary, secondary = {}, set(), set(), set()
    for about, rows in content["tables"]:
        status = [r["status"] for r in rows]
        words = {word: status.count(word) for word in ("published", "primary", "secondary", "unpublished")}
        hidden = [float(r["value"]) for r in rows if r["status"] in ("primary", "secondary")]
        found = {"release": about["release"], "cells": len(rows), **words, "failing": 0}
        tables[about["name"]] = found | {"suppressed_value": sum(hidden)}
        for r in rows:
            codes = frozenset((d, c) for d, c in zip(about["by"], r["codes"], strict=True) if c != "Total")
            cell = about["response"], about["population"], codes
            cells.add(cell)
            if r["status"] == "primary" or any(n not in ("", "0") for n in r["needs"]):
                primary.add(cell)
            if r["status"] == "secondary":
                secondary.add(cell)
    both = {"cells": len(cells), "primary": len(primary), "secondary": len(secondary), "failing": 0, "undecided": 0}
    found = {"step": "protect", "verdict": "safe", "tables": tables, "failing": [], "insiders": "not checked"}
    found["coalition"] = 0
    found |= {"set": both | {"witnesses": len(content["witnesses"])}, "trusted": content["trusted"]}
    return found | {"inputs": {"t.csv": "0" * 64}, "too_near": [], **told()}


OPEN = {
    "crossing": "crossing tables",
    "counts_and_values": "counts and values of several tables together",
    "latent": "cells that no table lists (latent cells)",
    "insiders": "insiders",
    "unions": "sums of suppressed cells (unions)",
    "earlier_releases": "earlier releases",
    "other_tables": "tables outside this set",
    "choice_of_cells": "what the choice of cells reveals",
}


def told():
    """What a run would say of a plan; where nothing crosses and nobody chose, it says less than it might."""
    line = "; ".join(f"{name} not checked" for name in OPEN.values())
    constraints = " and ".join(list(OPEN.values())[:3])
    singles = "0 single-respondent cells are suppressed in the same sums as others"
    return {
        "headline": f"Safe against outsiders only, {constraints} not checked; insiders not checked: {singles}",
        "caveat": f"{line[0].upper()}{line[1:]}.",
        "not_checked": list(OPEN),
        "single_respondent_cells": 0,
        "sums": {"judged": 0, "unsafe": 0, "beyond": ["all"]},
        "choice": "engine",
    }


def _write_table(folder, about, rows):
    name, by = about["name"], about["by"]
    internal = [[*by, *ROW]]
    for r in rows:
        internal.append([*r["codes"], r["value"], r["count"], r["status"], "", "1", *r["needs"], "", ""])
    write_csv(folder / f"internal/{name}.csv", internal)
    release = [[*by, "value", "flag"]]
    for r in rows:
        if r["status"] != "unpublished":
            shown = r["status"] == "published"
            release.append([*r["codes"], r.get("shown", r["value"]) if shown else "", "" if shown else "c"])
    write_csv(folder / f"release/{name}.csv", release)
    columns = {f"by:{d}": [r["codes"][i] for r in rows] for i, d in enumerate(by)}
    columns["total"] = [float(r["facts"].get("total", r["value"])) for r in rows]
    columns["count"] = [int(r["count"]) if r["count"] else None for r in rows]
    tops = sorted({k for r in rows for k in r["facts"] if k.startswith("top")})
    marks = sorted({k for r in rows for k in r["facts"] if k.startswith("mark:")})
    columns |= {k: [float(r["facts"].get(k, 0)) for r in rows] for k in tops if k != "total"}
    columns |= {k: [bool(r["facts"].get(k, False)) for r in rows] for k in marks}
    columns |= {k: [r["facts"].get(k) for r in rows] for k in SAID}
    kinds = {"state": pa.string()} | {k: pa.float64() for k in SAID[1:]} | {"count": pa.int64()}
    arrays = {k: pa.array(v, kinds.get(k)) for k, v in columns.items()}
    pq.write_table(pa.table(arrays), folder / f"internal/facts/{name}.parquet")


def write_world(folder, content):
    """Write partitions and cells between; return the clusters of each response."""
    tables = [about for about, _ in content["tables"]]
    used = list(dict.fromkeys(d for t in tables for d in t["by"]))
    for name in used:
        main = [line for line in content["hierarchies"][name] if line[0] == "0"]
        leaves = [code for _, code, _, _ in main if code not in {parent for _, _, parent, _ in main}]
        partitions = [{leaf: i for i, leaf in enumerate(leaves)}, *content["parts"].get(name, [])]
        lines = [[leaf, *(part[leaf] for part in partitions)] for leaf in leaves]
        write_csv(folder / f"internal/parts/{name}.csv", [["leaf", *range(len(partitions))], *lines])
    write_between(folder, used, content["between"])
    return clusters_of(tables, content["clusters"])


def clusters_of(tables, own):
    """One cluster a table, each hanging on the last of its response, but for responses with clusters of their own."""
    found = []
    for response, population in dict.fromkeys((t["response"], t["population"]) for t in tables):
        mine = [t for t in tables if (t["response"], t["population"]) == (response, population)]
        usual = [{"tables": [t["name"]], "parts": dict.fromkeys(t["by"], 0), "parent": len(mine) - 1} for t in mine]
        usual[-1]["parent"] = None
        found.append({"response": response, "population": population, "clusters": own.get(response, usual)})
    return found


def write_between(folder, dimensions, between):
    columns = {"group": [line[0] for line in between], "cluster": [line[1] for line in between]}
    columns |= {f"part:{d}": [line[2].get(d, -1) for line in between] for d in dimensions}
    arrays = {name: pa.array(column, pa.int32()) for name, column in columns.items()}
    arrays["value"] = pa.array([line[3] for line in between], pa.int64())
    pq.write_table(pa.table(arrays), folder / "internal/world.parquet")


def write_witnesses(folder, witnesses):
    lines = [(w, t, r, m, d) for w, (d, moves) in enumerate(witnesses) for t, r, m in moves]
    kinds = {"witness": pa.int32(), "table": pa.int32(), "row": pa.int64(), "move": pa.int64()}
    kinds["denominator"] = pa.int64()
    arrays = {k: pa.array([line[i] for line in lines], kind) for i, (k, kind) in enumerate(kinds.items())}
    pq.write_table(pa.table(arrays), folder / "internal/certificate.parquet")


def write_metadata(folder, tables):
    """Write what a release says of its tables."""
    text = json.dumps({"tables": tables}, indent=1, ensure_ascii=False) + "\n"
    (folder / "release/metadata.json").write_text(text, encoding="utf-8")


def write_csv(path, lines):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def write_json(path, content):
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def seal(folder):
    """Compute all digests anew, as somebody would who changes a folder on purpose."""
    path = folder / "internal/certificate.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p != path)
    document["files"] = {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    document.pop("digest", None)
    return sign(path, document)


def sign(path, document):
    """Write a certificate with its own digest computed anew."""
    rest = {k: v for k, v in document.items() if k != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    write_json(path, {**rest, "digest": hashlib.sha256(text.encode()).hexdigest()})
    return path


def failed(certificate):
    """The numbers of the checks that fail."""
    return [check.number for check in verify(certificate).checks if not check.passed]


def details(certificate):
    return " | ".join(f"{c.number} {c.detail}" for c in verify(Path(certificate)).checks)


UNSAFE = {"count": "2", "top1": 15, "top2": 5}


def square():
    """Three by three: (A, N) is primary by p %, three secondaries, and a witness for each direction."""
    inner = {"A": (20, 30, 40), "B": (50, 60, 70), "C": (80, 90, 100)}
    rows = [row("Total Total", "540"), row("Total N", "150"), row("Total S", "180"), row("Total W", "210")]
    for code, values in inner.items():
        rows.append(row(f"{code} Total", str(sum(values))))
        rows += [row(f"{code} {region}", str(v)) for region, v in zip("NSW", values, strict=True)]
    rows[5] = row("A N", "20", "primary", ("2", "2", "0"), **UNSAFE)
    for i in (6, 9, 10):
        rows[i]["status"] = "secondary"
    moves = [(0, 5, 2), (0, 6, -2), (0, 9, -2), (0, 10, 2)]
    return plan(
        [(spec("turnover", ["industry", "region"]), rows)],
        {"industry": INDUSTRY, "region": REGION},
        [(1, moves), (1, [(t, r, -m) for t, r, m in moves])],
    )


def linked():
    """A table by industry and one by industry and size: their industry margin is shared."""
    first = [row("Total", "180"), row("A", "20", "primary", ("2", "2", "0"), **UNSAFE), row("B", "60", "secondary")]
    first.append(row("C", "100"))
    second = [row("Total Total", "180"), row("Total s", "90"), row("Total l", "90")]
    second += [row("A Total", "20", "primary", ("2", "2", "0"), **UNSAFE), row("A s", "12", "secondary")]
    second += [row("A l", "8"), row("B Total", "60", "secondary"), row("B s", "30", "secondary"), row("B l", "30")]
    second += [row("C Total", "100"), row("C s", "48"), row("C l", "52")]
    # The witnesses name the shared cells in one table or the other.
    up = [(0, 1, 2), (0, 2, -2), (1, 4, 2), (1, 7, -2)]
    down = [(1, 3, -2), (0, 2, 2), (1, 4, -2), (1, 7, 2)]
    tables = [(spec("short", ["industry"]), first), (spec("long", ["industry", "size"]), second)]
    return plan(tables, {"industry": INDUSTRY, "size": SIZE}, [(1, up), (1, down)])


def frequencies():
    """Counts by region with possible zeros: a small one needs an interval one wide."""
    about = spec("people", ["region"], response="count", count=True, zeros="possible", rules=[FEWER])
    rows = [row("Total", "42", count="42"), row("N", "2", "primary", ("0", "0", "1"), count="2")]
    rows += [row("S", "40", "secondary", count="40"), row("W", "0", count="0")]
    return plan([(about, rows)], {"region": REGION}, [(1, [(0, 1, 1), (0, 2, -1)])])


def equation():
    """Turnover = domestic + export, where only the equation ties the three tables."""
    rows = {
        "turnover": [
            row("Total", "60"),
            row("N", "20", "primary", ("2", "2", "0"), **UNSAFE),
            row("S", "40", "secondary"),
        ],
        "domestic": [row("Total", "45"), row("N", "15", "secondary"), row("S", "30", "secondary")],
        "export": [row("Total", "15"), row("N", "5"), row("S", "10")],
    }
    tables = [(spec(name, ["region"], response=name), found) for name, found in rows.items()]
    up = [(0, 1, 2), (0, 2, -2), (1, 1, 2), (1, 2, -2)]
    down = [(t, r, -m) for t, r, m in up]
    trees = {"region": REGION[:3]}
    return plan(tables, trees, [(1, up), (1, down)], equations=["turnover = domestic + export"])


def grouped():
    """A second grouping of the same regions: coast and inland."""
    other = [("1", "Total", "", ""), ("1", "coast", "Total", ""), ("1", "inland", "Total", "")]
    other += [("1", "N", "coast", ""), ("1", "S", "coast", ""), ("1", "W", "inland", "")]
    rows = [row("Total", "180"), row("N", "20", "primary", ("2", "2", "0"), **UNSAFE), row("S", "60", "secondary")]
    rows += [row("W", "100"), row("coast", "80"), row("inland", "100")]
    up, down = [(0, 1, 2), (0, 2, -2)], [(0, 1, -2), (0, 2, 2)]
    return plan([(spec("turnover", ["region"]), rows)], {"region": REGION + other}, [(1, up), (1, down)])


def zero():
    """A primary of value 0: nothing below, so it needs an interval of one unit; one cell is unpublished."""
    about = spec(
        "turnover", ["region"], zeros="possible", rules=[{"given": {"column": "secret", "protection_percent": 10}}]
    )
    rows = [row("Total", "160"), row("N", "0", "primary", ("0", "0", "1"), **{"mark:secret": True})]
    rows += [row("S", "60", "secondary"), row("W", "100", "unpublished", state="unpublished")]
    return plan([(about, rows)], {"region": REGION}, [(1, [(0, 1, 1), (0, 3, -1)]), (1, [(0, 2, -1), (0, 3, 1)])])


def tenths():
    """One decimal, published without: needs below one unit become a width of one unit, reached by half grains."""
    about = spec("turnover", ["region"], rules=[{"given": {"column": "secret", "protection_percent": 10}}])
    secret = {"mark:secret": True}
    rows = [
        row("Total", "104.5"),
        row("N", "2.5", "primary", ("0.3", "0.3", "1.0"), **secret),
        row("S", "50.0", "secondary"),
    ]
    rows += [row("W", "52.0")]
    rows[0]["shown"], rows[3]["shown"] = "104", "52"
    up, down = [(0, 1, 11), (0, 2, -11)], [(0, 1, -9), (0, 2, 9)]
    grains = [{"response": "turnover", "population": "all", "decimals": 1}]
    return plan([(about, rows)], {"region": REGION}, [(2, up), (2, down)], grains=grains)


ALL = {f.__name__: f for f in (square, linked, frequencies, equation, grouped, zero, tenths)}
