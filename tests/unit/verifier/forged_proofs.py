"""What a forger may do to the proof: needs, states, bounds, rules, facts, values, links, rows and witnesses.

Each takes a `Forger`, who then makes all files agree again.
"""

from decimal import Decimal

from unit.verifier import folders
from unit.verifier.forger import text

NEEDS = ("need_lower", "need_upper", "need_sliding")


# Needs and states


def drop_need(f):
    f.rows["people"][f.at("people", "primary")].update(dict.fromkeys(NEEDS, ""))


def lower_need(f):
    for name, i in f.copies("turnover", f.at("turnover", "primary")):
        f.rows[name][i]["need_upper"] = str(Decimal(f.rows[name][i]["need_upper"]) - Decimal("0.1"))


def lower_given_need(f):
    """He says that a need was given beforehand, in a table whose cells nobody said anything of."""
    at = f.at("people", "primary")
    f.facts["people"][at]["need_upper"] = f.facts["people"][at]["need_lower"] = 0.0


def waive(table):
    """He says that the contributors of an unsafe cell allowed it, and publishes it."""

    def how(f):
        at = f.at(table, "primary")
        for name, i in f.copies(table, at):
            f.facts[name][i]["state"] = "waived"
        f.show(table, at)
        gone = {m["witness"] for m in f.moves if m["table"] == f.names.index(table) and m["row"] == at}
        f.moves = [m for m in f.moves if m["witness"] not in gone]

    return how


def waive_quietly(f):
    """He says that an unsafe cell was waived, and leaves it hidden without any need of its own."""
    at = f.at("turnover", "primary")
    for name, i in f.copies("turnover", at):
        f.facts[name][i]["state"] = "waived"
        f.rows[name][i] |= {"status": "secondary", **dict.fromkeys(NEEDS, "")}


def waive_all(f):
    """He waives everything, where the job has a file that might have said so; elsewhere he says that it has one."""
    for name in f.names:
        f.spec(name)[1]["apriori"] = "said.csv"
        for i, row in enumerate(f.rows[name]):
            if row["status"] == "primary":
                f.facts[name][i]["state"] = "waived"
    for name in f.names:
        for i, row in enumerate(f.rows[name]):
            if row["status"] == "primary":
                f.show(name, i)
    f.without_idle_cells()


def status(table, old, new):
    def how(f):
        for name, i in f.copies(table, f.at(table, old)):
            f.rows[name][i]["status"] = new

    return how


def publish(table, old):
    return lambda f: f.show(table, f.at(table, old))


def unpublish(f):
    f.rows["sizes"][f.at("sizes", "published", 5)]["status"] = "unpublished"


def publish_what_the_job_does_not_show(f):
    f.spec("sizes")[1]["publish"] = {"industry": [0, 1]}


# Bounds, rules and the attacker


def bound(table, key, value):
    def how(f):
        f.facts[table][f.at(table, "primary")][key] = value(f, f.at(table, "primary"))

    return how


def near(f, at):
    return float(f.rows["turnover"][at]["value"]) + 0.1


def attack(key, value, *, also_job):
    def how(f):
        f.document["attack"][key] = str(value)
        if also_job:
            f.job["attack"][key] = value

    return how


def rules(change, *, also_job):
    def how(f):
        for part in f.spec("people") if also_job else f.spec("people")[:1]:
            change(part["rules"])

    return how


def no_rules(f):
    """He takes all rules away and publishes everything."""
    for name in f.names:
        for part in f.spec(name):
            part["rules"] = []
        for i in range(len(f.rows[name])):
            f.show(name, i)
    f.moves = []


def milder_rules(f):
    """He takes the rules that find something away everywhere, and publishes everything."""
    for name in f.names:
        for part in f.spec(name):
            part["rules"] = [{"min_frequency": {"n": 1, "inclusive": False, "protection_percent": 10.0}}]
        for i in range(len(f.rows[name])):
            f.show(name, i)
    f.moves = []


def trust(f):
    f.document["trusted"] = f.summary["trusted"] = ["p_percent"]


# Facts and values


def fact(name, column, value):
    """He changes a fact so that a rule no longer fires; what is hidden stays hidden."""

    def how(f):
        f.facts[name][f.at(name, "primary")][column] = value

    return how


def equal_contributions(f):
    at = f.cell("turnover", industry="A2", region="N")
    f.facts["turnover"][at]["top1"] = f.facts["turnover"][at]["top2"]


def count(f):
    """A cell gets more respondents, so it is safe, and with it all that protects it."""
    at = f.at("people", "primary")
    f.facts["people"][at]["count"] = 5
    f.rows["people"][at]["count"] = "5"


def raise_value(f):
    f.value("turnover", f.at("turnover", "secondary"), Decimal(10))


def along_a_witness(f):
    """He moves hidden counts and cells between as a witness does; the witnesses lead to the same worlds as before."""
    people = f.names.index("people")
    counted = [m for m in f.moves if m["table"] in (people, -1)]
    first = next(m["witness"] for m in counted if m["table"] == people)
    change = {_place(m): m["move"] for m in counted if m["witness"] == first}
    for (table, at), move in change.items():
        if table < 0:
            f.between[at]["value"] += move
            continue
        f.value("people", at, Decimal(move))
        total = f.facts["people"][at]["count"] = int(f.facts["people"][at]["total"])
        f.rows["people"][at]["count"] = str(total)
    f.moves = [m for m in f.moves if m["table"] not in (people, -1)]
    for witness in dict.fromkeys(m["witness"] for m in counted):
        own = {_place(m): m["move"] for m in counted if m["witness"] == witness and witness != first}
        left = {at: own.get(at, 0) - change.get(at, 0) for at in own | change}
        f.moves += [
            {"witness": witness, "table": t, "row": i, "move": move, "denominator": 1}
            for (t, i), move in left.items()
            if move
        ]
    f.moves.sort(key=lambda m: m["witness"])


def _place(move):
    return move["table"], move["row"]


def other_grain(f):
    for grain in f.document["grains"]:
        grain["decimals"] += grain["response"] != "count"


# Tables, links and relations


def unlink(key):
    """He gives a linked table a response or population of its own, so that its links vanish; the proof follows."""

    def how(f):
        listed = [m for m in f.moves if m["table"] >= 0]
        both = [(m, f.copies(f.names[m["table"]], m["row"])) for m in listed]
        apart = [m | {"table": f.names.index(n), "row": i} for m, cells in both for n, i in cells]
        f.moves = sorted([*apart, *(m for m in f.moves if m["table"] < 0)], key=lambda m: m["witness"])
        for part in f.spec("sizes"):
            part[key] = "other"
        about = f.spec("sizes")[0]
        grain = next(g for g in f.document["grains"] if g["response"] == "turnover")
        alone = {k: about[k] for k in ("response", "population")}
        f.document["grains"].append(grain | alone)
        world = f.document["world"]
        first, own = (next(c for c in world[0]["clusters"] if c["tables"] == [n]) for n in ("turnover", "sizes"))
        world[0]["clusters"] = [first | {"parent": None}]
        world.append(alone | {"clusters": [own | {"parent": None}]})
        if key == "population":
            for cluster in (c for part in world[1:-1] for c in part["clusters"]):
                cluster["tables"] = [n for n in cluster["tables"] if n != "sizes"]

    return how


def table_key(key, value, *, also_job):
    def how(f):
        for part in f.spec("turnover") if also_job else f.spec("turnover")[:1]:
            part[key] = value

    return how


def drop_equation(also_job):
    def how(f):
        f.document["equations"] = []
        if also_job:
            f.job["equations"] = []

    return how


def drop_known(also_job):
    def how(f):
        f.document["known"] = []
        if also_job:
            f.job["known"] = None

    return how


def hierarchy(dimension, number, code, parent):
    """He puts a code below another one, and makes a proper tree of it again."""

    def how(f):
        path = f.out / f"internal/hierarchies/{dimension}.csv"
        head, *lines = folders.read_csv(path)
        moved = [[n, c, parent if (n, c) == (number, code) else p, label] for n, c, p, label in lines]
        level = {(n, c): 0 for n, c, p, _ in moved if p == ""}
        while len(level) < len(moved):
            level |= {(n, c): level[n, p] + 1 for n, c, p, _ in moved if (n, p) in level}
        folders.write_csv(path, [head, *sorted(moved, key=lambda line: (line[0], level[line[0], line[1]]))])

    return how


def other_label(f):
    """Labels are in the hierarchies and on the page; he changes both."""
    text("internal/hierarchies/industry.csv", "Farms", "Firms")(f.out)


def reverse_release(f):
    def later(out):
        lines = folders.read_csv(out / "release/sizes.csv")
        folders.write_csv(out / "release/sizes.csv", [lines[0], *lines[:0:-1]])

    f.later.append(later)


def reverse_everything(f):
    f.move_rows("sizes", list(range(len(f.rows["sizes"])))[::-1])


def drop_row(f):
    at = f.at("sizes", "published", 5)
    f.move_rows("sizes", [i for i in range(len(f.rows["sizes"])) if i != at])


def drop_total(f):
    """Without the row of the grand total, the relation that it stands in is gone; a table may well have no totals."""
    at = f.cell("abroad", industry="Total")
    f.move_rows("abroad", [i for i in range(len(f.rows["abroad"])) if i != at])


def add_row(f):
    """A combination that the table does not have: it is not empty after all."""
    row = f.rows["abroad"][f.at("abroad", "published")]
    f.rows["home"].append(dict(row) | {"industry": "B3"})
    f.facts["home"].append(dict(f.facts["home"][-1]))


# Witnesses


def moves(change):
    def how(f):
        f.moves = [change(dict(m)) for m in f.moves]

    return how


def one_move(f):
    f.moves[3]["move"] += 1


def drop_witness(f):
    """The witnesses of one primary are gone."""
    at = f.names.index("people"), f.at("people", "primary")
    gone = {m["witness"] for m in f.moves if (m["table"], m["row"]) == at}
    f.moves = [m for m in f.moves if m["witness"] not in gone]
