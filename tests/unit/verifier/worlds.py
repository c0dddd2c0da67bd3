"""Output folders whose tables are tied only by the world behind them, written by hand."""

import itertools

from unit.verifier.folders import FEWER, REGION, SIZE, UNSAFE, plan, row, spec

LEVELS = [("0", "Total", "", ""), ("0", "N", "Total", ""), ("0", "S", "Total", "")]
LEVELS += [("0", "N1", "N", ""), ("0", "N2", "N", ""), ("0", "S1", "S", ""), ("0", "S2", "S", "")]
COARSE = {"N1": 0, "N2": 0, "S1": 1, "S2": 1}
PRIMARY = ("primary", ("2", "2", "0"))


def both(moves):
    """The same moves up and down."""
    return [(1, moves), (1, [(t, r, -m) for t, r, m in moves])]


def cluster(tables, parent=None, **parts):
    return {"tables": tables, "parts": parts, "parent": parent}


def levels():
    """One table shows regions, the other municipalities: a region is the sum of its municipalities."""
    coarse = [row("Total", "400"), row("N", "120"), row("S", "280")]
    fine = [row("Total", "400"), row("N1", "20", *PRIMARY, **UNSAFE), row("N2", "100", "secondary")]
    fine += [row("S1", "220", "secondary"), row("S2", "60")]
    clusters = [cluster(["coarse"], 1, region=1), cluster(["fine"], region=0)]
    return plan(
        [(spec("coarse", ["region"]), coarse), (spec("fine", ["region"]), fine)],
        {"region": LEVELS},
        both([(1, 1, 2), (1, 2, -2)]),
        clusters={"turnover": clusters},
        parts={"region": [dict(COARSE)]},
    )


def margin():
    """A cross table without total rows beside the margin of one of its dimensions."""
    short = [row("Total", "400"), row("N", "120"), row("S", "280")]
    long = [row("N s", "20", *PRIMARY, **UNSAFE), row("N l", "100", "secondary")]
    long += [row("S s", "220", "secondary"), row("S l", "60")]
    tables = [(spec("short", ["region"]), short), (spec("long", ["region", "size"]), long)]
    return plan(tables, {"region": REGION[:3], "size": SIZE}, both([(1, 0, 2), (1, 1, -2)]))


def groupings():
    """Two groupings of the same four leaves, none of which is listed: the leaves are the cells between."""
    main = [("0", "Total", "", ""), ("0", "A", "Total", ""), ("0", "B", "Total", "")]
    main += [("0", "1", "A", ""), ("0", "2", "A", ""), ("0", "3", "B", ""), ("0", "4", "B", "")]
    other = [("1", "Total", "", ""), ("1", "X", "Total", ""), ("1", "Y", "Total", "")]
    other += [("1", "1", "X", ""), ("1", "3", "X", ""), ("1", "2", "Y", ""), ("1", "4", "Y", "")]
    rows = [row("Total", "100"), row("A", "40", *PRIMARY, **UNSAFE), row("B", "60", "secondary")]
    rows += [row("X", "50"), row("Y", "50")]
    moves = [(0, 1, 2), (0, 2, -2), (-1, 0, 1), (-1, 1, 1), (-1, 2, -1), (-1, 3, -1)]
    between = [(0, 0, {"region": i}, value) for i, value in enumerate((15, 25, 35, 25))]
    return plan([(spec("t", ["region"]), rows)], {"region": main + other}, both(moves), between=between)


def crossing(count=False):
    """Three two-way tables that form a cycle, and the eight cells of the crossing table behind them."""
    trees = {d: [("0", "Total", "", ""), ("0", f"{d}1", "Total", ""), ("0", f"{d}2", "Total", "")] for d in "abc"}
    about = {"rules": [FEWER], "response": "count", "count": True, "zeros": "possible"} if count else {}
    tables, moves = [], []
    for t, (x, y) in enumerate(("ab", "ac", "bc")):
        rows = []
        for i, j in itertools.product((0, 1, 2), repeat=2):
            value = 40 // ((2 if i else 1) * (2 if j else 1))
            codes = f"{f'{x}{i}' if i else 'Total'} {f'{y}{j}' if j else 'Total'}"
            hidden = (x, y) == ("a", "b") and i and j
            rows.append(row(codes, str(value), "secondary" if hidden else "published", count=str(value)))
            if hidden:
                moves.append((t, len(rows) - 1, 2 if i == j else -2))
        tables.append((spec(f"{x}{y}", [x, y], **about), rows))
    secret = {"mark:secret": True}
    tables[0][1][4] = row("a1 b1", "10", "primary", ("1", "1", "1") if count else ("2", "2", "0"), count="10", **secret)
    tables[0][0]["rules"] = [{"given": {"column": "secret", "protection_percent": 20}}]
    between = []
    for number, (i, j, k) in enumerate(itertools.product((0, 1), repeat=3)):
        between.append((0, 0, {"a": i, "b": j, "c": k}, 5))
        moves.append((-1, number, 1 if i == j else -1))
    clusters = {"count" if count else "turnover": [cluster(["ab", "ac", "bc"], a=0, b=0, c=0)]}
    return plan(tables, trees, both(moves), clusters=clusters, between=between)


def counts():
    return crossing(count=True)


def nobody():
    """Persons say that there is nobody in W, so that nothing can move there in turnover either."""
    rows = [row("Total", "60"), row("N", "20", *PRIMARY, **UNSAFE), row("S", "40", "secondary")]
    rows += [row("W", "0", "secondary", count="0")]
    persons = [row("Total", "42", count="42"), row("N", "2", count="2"), row("S", "40", count="40")]
    many = spec("persons", ["region"], response="count", count=True)
    tables = [(spec("turnover", ["region"], zeros="possible"), rows), (many, persons)]
    return plan(tables, {"region": REGION}, both([(0, 1, 2), (0, 2, -2)]))


def somebody():
    """Turnover lists three combinations, so that in each of them is somebody, though persons shows only margins."""
    persons = [row("Total", "12", count="12"), row("N", "5", "primary", ("0", "0", "1"), count="5")]
    persons += [row("S", "7", "secondary", count="7")]
    turnover = [row("N s", "20"), row("N l", "30"), row("S s", "50")]
    rule = [{"min_frequency": {"n": 6, "inclusive": False, "protection_percent": 10}}]
    about = spec("persons", ["region"], response="count", count=True, zeros="possible", rules=rule)
    tables = [(about, persons), (spec("turnover", ["region", "size"]), turnover)]
    return plan(
        tables,
        {"region": REGION[:3], "size": SIZE},
        [(1, [(0, 1, -1), (0, 2, 1), (-1, 1, -1), (-1, 2, 1)])],
        clusters={"count": [cluster(["persons"], 1, region=0), cluster(["turnover"], region=0, size=0)]},
        between=[(0, 1, {"region": r, "size": s}, value) for r, s, value in ((0, 0, 1), (0, 1, 4), (1, 0, 7))],
    )


ALL = {f.__name__: f for f in (levels, margin, groupings, crossing, counts, nobody, somebody)}
