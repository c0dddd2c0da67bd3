"""Whole jobs of perturbed tables against brute force: no sum that the published cells determine may be unsafe.

The oracle knows who is in which published cell. It judges every set of contributors whose sum is determined, and every
difference that holds no smaller one, by S_N as it is defined. It shares no code with the checks.
"""

import csv
import itertools
from collections import Counter

import numpy as np
import pytest

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.attributes import define
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.fit.marg import Marg
from cellguard.methods.perturb.fit.opt import Opt
from cellguard.methods.perturb.workflow import check_tables
from cellguard.pipeline import run
from cellguard.rules.limits import NoiseRule

from perturb_oracle import Attacker, Record, echelon, lies_in

TABLES = {("muni",): 0.65, ("size",): 0.15, ("muni", "size"): 0.2}
COLUMN = {"muni": 1, "size": 2}
LEVELS = {"muni": [*[[0, 1], [1]] * 6, [0], [0, 1, 2], [1, 2], [2]]}
DIMENSIONS = {
    "muni": {"levels": "province.csv", "also": [{"name": "zone", "levels": "zone.csv"}]},
}


class Drawn:
    """A random job: firms in towns and size classes, one to three tables with levels and groupings."""

    def __init__(self, seed, folder):
        self.random, self.folder = np.random.default_rng(seed), folder
        self.n, self.p = int(self.random.integers(1, 4)), float(self.random.choice([20.0, 40.0, 60.0]))
        self.towns = [f"m{i}" for i in range(int(self.random.integers(3, 7)))]
        self.groupings = {
            name: [f"{name[0]}{i}" for i in self.random.integers(0, 2, 9)] for name in ("province", "zone")
        }
        self.odd = self.towns[0] if self.random.random() < 0.7 else ""
        if self.odd:  # both groupings are alike, but for one town
            self.groupings["zone"] = [code.replace("p", "z") for code in self.groupings["province"]]
            self.groupings["zone"][0] = "z1" if self.groupings["zone"][0] == "z0" else "z0"
        self.rows = self._rows()
        self.tables = [self._table(i) for i in range(int(self.random.integers(1, 4)))]

    def _rows(self):
        rows = []
        for town, size in itertools.product(self.towns, "sl"):
            if self.random.random() < 0.75 if town != self.odd else size == "s":
                weight = 1.0 if self.random.random() < 0.85 else float(self.random.choice([1.2, 3.0]))
                chain = self.random.random() < 0.1
                for value in self._values(0.9 if town == self.odd else 0.1 if self.odd else 0.4):
                    unit = "chain" if chain and self.random.random() < 0.4 else f"f{len(rows):03}"
                    rows.append((unit, town, size, weight, value))
        return rows

    def _values(self, share):
        """Contributions of alike firms; or, in this share of cases, of one that is close to what the rule forbids."""
        if self.random.random() > share:
            return self.random.integers(60, 140, int(self.random.integers(self.n + 3, 12))).tolist()
        largest = self.random.uniform(300, 900)
        rest = largest * self.p / 100 * self.random.uniform(0.0, 1.1)
        others = rest * self.random.dirichlet(np.ones(int(self.random.integers(1, 5))))
        known = largest * self.random.uniform(0.1, 0.8, self.n - 1)
        return [max(round(value), 1) for value in (largest, *known, *others)]

    def _table(self, number):
        by = list(TABLES)[int(self.random.choice(len(TABLES), p=list(TABLES.values())))]
        choices = [LEVELS.get(name, [[0, 1], [1], [0]]) for name in by]
        rule = {"p_percent": {"p": self.p, "coalition": self.n - 1}}
        if self.n == 1:
            rule = {"dominance": {"n": 1, "k": 100 / (1 + self.p / 100)}}
        return {
            "name": f"t{number}",
            "by": list(by),
            "value": "x",
            "rules": [rule],
            "publish": {n: c[int(self.random.integers(0, len(c)))] for n, c in zip(by, choices, strict=True)},
            "protect": {"method": "perturb"},
        }

    def job(self):
        self.folder.mkdir()
        lines = ["id,muni,size,w,x", *(",".join(map(str, row)) for row in self.rows)]
        (self.folder / "firms.csv").write_text("\n".join(lines) + "\n")
        for name, above in self.groupings.items():
            rows = [f"{name},muni", *(f"{code},{town}" for code, town in zip(above, self.towns, strict=False))]
            (self.folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
        used = {name for table in self.tables for name in table["by"]}
        about = {
            "version": 1,
            "microdata": {"source": "firms.csv", "holding": "id", "weight": "w"},
            "dimensions": {name: spec for name, spec in DIMENSIONS.items() if name in used},
            "perturb": {"seed": int(self.random.integers(0, 1000))},
            "tables": self.tables,
        }
        return Job.parse(about, folder=self.folder)

    def codes(self, name, levels):
        """Return the codes of some levels of a dimension, each with the entries of its column."""
        entries = sorted({row[COLUMN[name]] for row in self.rows})
        found = {"Total": set(entries)} if 0 in levels else {}
        if name == "muni" and 1 in levels:
            for above in self.groupings.values():
                for code, town in zip(above, self.towns, strict=False):
                    found.setdefault(code, set()).add(town)
        if (2 if name == "muni" else 1) in levels:
            found |= {entry: {entry} for entry in entries}
        return found

    def cells(self, table):
        """Return the cells of a table by their codes, as numbers of records; those that nobody is in are not there."""
        found = {}
        sides = [self.codes(name, table["publish"][name]).items() for name in table["by"]]
        for cell in itertools.product(*sides):
            pairs = [(COLUMN[name], under) for name, (_, under) in zip(table["by"], cell, strict=True)]
            inside = {i for i, row in enumerate(self.rows) if all(row[at] in under for at, under in pairs)}
            if inside:
                found[tuple(code for code, _ in cell)] = inside
        return found

    def attacker(self, done):
        added = done.protected.check.multipliers.contributions("x").tolist()
        records = [Record(row[0], row[4], row[3], u) for row, u in zip(self.rows, added, strict=True)]
        return Attacker(records, [cell for table in self.tables for cell in self.cells(table).values()])


def released(folder, table):
    with (folder / "out/release" / f"{table['name']}.csv").open() as file:
        return {tuple(row[name] for name in table["by"]) for row in csv.DictReader(file)}


def agree(check, attacker, rule, seen):
    """Hold what the checks found against brute force, and count how it ended."""
    sets = attacker.unsafe(rule)
    differences = attacker.unsafe(rule, signs=(-1, 0, 1)) if len(attacker.groups) <= 7 else []
    kinds = {f.kind for f in check.open}
    if sets or differences:
        assert check.verdict == "unsafe"
    if any(attacker.most(s) > rule.n for s in sets):
        assert kinds & {"sensitive", "implied"}
    if "sensitive" in kinds:
        assert set(sets) & set(attacker.cells)
    implied = [f.text for f in check.findings if f.kind == "implied"]
    if any("a sum of" in text for text in implied):
        assert set(sets) - set(attacker.cells)
    if any("a difference of" in text for text in implied) and len(attacker.groups) <= 7:
        assert differences
    assert not check.limits
    seen[check.verdict] += 1
    seen["implied only"] += bool(implied) and "sensitive" not in kinds
    seen["difference"] += bool(set(differences) - set(sets))


@pytest.mark.long
def test_jobs_that_are_called_safe_determine_no_unsafe_sum(tmp_path):
    """Levels, groupings, one column under two names, tables without totals: brute force agrees on the whole job."""
    seen = Counter()
    for seed in range(70):
        drawn = Drawn(seed, tmp_path / str(seed))
        done = run(drawn.job())
        attacker = drawn.attacker(done)
        if len(attacker.groups) > 8:
            continue
        agree(done.protected.check, attacker, done.protected.check.tables[0].table.rule, seen)
        if done.protected.check.verdict == "safe":
            OutputFolder(drawn.folder / "out").write(done)
            for table in drawn.tables:
                assert released(drawn.folder, table) == set(drawn.cells(table)), seed
    assert seen["safe"] >= 25 and seen["implied only"] >= 6, seen


def contributions(rng, n, k, kind):
    """Return contributions of firms that are alike, of small ones, or of one that is close to what (n, k) forbids."""
    if kind != "near":
        size = {"alike": (50, 150), "small": (2, 9)}[kind]
        return np.round(rng.uniform(*size, int(rng.integers(n + 3, 12))))
    largest = rng.uniform(300, 1500)
    rest = largest * (100 / k - 1) * rng.uniform(0.1, 1.2) * rng.dirichlet(np.ones(int(rng.integers(1, 5))))
    return np.round(np.maximum([largest, *largest * rng.uniform(0.1, 0.9, n - 1), *rest], 1))


def crossed(seed, settings=None):
    """Groups of firms in two to four classifications, one table of each, and now and then one of two together."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 4)), float(rng.choice([60, 70, 80, 92]))
    if rng.random() < 0.5:  # all combinations of two classifications, with few dominated ones
        places = list(itertools.product(range(2), range(int(rng.integers(2, 4)))))
        kinds = ["near", *rng.choice(["alike", "small", "near"], len(places) - 1, p=[0.6, 0.35, 0.05])]
    else:
        width = int(rng.integers(2, 5))
        places = rng.integers(0, rng.integers(2, 4, width), (int(rng.integers(5, 10)), width)).tolist()
        kinds = rng.choice(["alike", "small", "near"], len(places), p=[0.4, 0.2, 0.4])
    values = [contributions(rng, n, k, str(kind)) for kind in kinds]
    group = np.repeat(np.arange(len(values)), [len(v) for v in values])
    names = "abcd"[: len(places[0])]
    codes = {
        name: np.array(column)[group].astype(str) for name, column in zip(names, zip(*places, strict=True), strict=True)
    }
    many = len(group)
    weight = np.round(rng.uniform(1, 2, many), 1) if rng.random() < 0.2 else None
    units = rng.integers(0, int(0.8 * many), many) if rng.random() < 0.2 else np.arange(many)
    unit = [f"u{i}" for i in units]
    records = respondents(codes, {"x": np.concatenate(values)}, weight=weight, unit=unit)
    tables = []
    for name in names:
        by = sorted({name, str(rng.choice(list(names)))}) if rng.random() < 0.15 else [name]
        levels = {b: [1] for b in by} if rng.random() < 0.4 else None
        dimensions = [Dimension(b, flat(list(records.labels[b]))) for b in by]
        tables.append(
            calibration_table(records, dimensions, "x", name=f"by-{name}", rule=NoiseRule(n, k), levels=levels)
        )
    return tables, make_multipliers(records, tables, settings, seed=seed)


def attacker_of(tables, drawn):
    people, added = drawn.records, drawn.contributions("x").tolist()
    weight = np.ones(len(people)) if people.weight is None else people.weight
    columns = people.keys[people.unit].tolist(), people.plain("x").tolist(), weight.tolist(), added
    records = [Record(*row) for row in zip(*columns, strict=True)]
    cells = [set(np.flatnonzero(row).tolist()) for table in tables for row in table.membership.matrix.toarray()]
    return Attacker(records, cells)


FITTED = [
    Settings(method="marg", marg=Marg(spread=0.6)),
    Settings(method="marg", marg=Marg(variant="unbiased", order="top_down", spread=0.6)),
    Settings(method="marg_zes"),
    Settings(method="opt", opt=Opt(cap=0.45)),
    Settings(method="opt", opt=Opt(norm="l2", cap=0.45)),
    Settings(method="least_loss", opt=Opt(cap=0.45)),
    Settings(method="least_loss", opt=Opt(norm="l2", margins=0.01, cap=0.45)),
]


@pytest.mark.parametrize("start", [0, pytest.param(1000, marks=pytest.mark.long)])
def test_whatever_the_method_a_safe_set_determines_no_unsafe_sum(start):
    """Fitted multipliers are judged as drawn ones are: what the published cells determine is safe, all of it."""
    seen, served = Counter(), Counter()
    for seed in range(start, start + (42 if not start else 140)):
        settings = FITTED[seed % len(FITTED)]
        tables, drawn = crossed(seed, settings)
        attacker = attacker_of(tables, drawn)
        if len(attacker.groups) > 7:
            continue
        check = check_tables(tables, drawn)
        agree(check, attacker, tables[0].rule, seen)
        served[settings.method, check.verdict] += any(t.needs.sensitive.any() for t in check.tables)
    assert seen["safe"] >= 15 and seen["unsafe"] >= 6, seen
    assert served["opt", "safe"] + served["least_loss", "safe"] >= 3, served


@pytest.mark.long
def test_sums_and_differences_are_those_that_brute_force_finds():
    seen = Counter()
    for seed in range(120):
        tables, drawn = crossed(seed)
        attacker = attacker_of(tables, drawn)
        if len(attacker.groups) <= 8:
            agree(check_tables(tables, drawn), attacker, tables[0].rule, seen)
    assert seen["safe"] >= 60 and seen["unsafe"] >= 20 and seen["difference"] >= 4 and seen["implied only"] >= 5, seen


PARTS = {"x": {"x": 1}, "y": {"y": 1}}


def defined(seed):
    """Tables of two responses and of their sum or difference, which need not all be shown."""
    rng = np.random.default_rng(seed)
    sign, n = int(rng.choice([-1, -1, 1])), int(rng.integers(1, 3))
    many = rng.integers(n + 3, 8, int(rng.integers(3, 6)))
    group = np.repeat(np.arange(len(many)), many)
    y = np.round(rng.uniform(50, 150, len(group)))
    more = np.round(rng.uniform(10, 30, len(group)))
    more[np.searchsorted(group, np.flatnonzero(rng.random(len(many)) < 0.6))] = np.round(rng.uniform(100, 900))
    x = y + more if sign < 0 else more
    codes = {name: rng.integers(0, rng.integers(2, 4), len(many))[group].astype(str) for name in "ab"}
    records = respondents(codes, {"x": x, "y": y, "z": x + sign * y})
    rule, tables = NoiseRule(n, float(rng.choice([60, 70, 80]))), []
    for number in range(int(rng.integers(2, 6))):
        name, response = str(rng.choice(["a", "b"])), str(rng.choice(list("xyzz")))
        levels = [{name: [1]}, {name: [0]}, None][int(rng.integers(0, 3))]
        by = [Dimension(name, flat(list(records.labels[name])))]
        tables.append(calibration_table(records, by, response, name=f"t{number}", rule=rule, levels=levels))
    sums = define(["z = x - y" if sign < 0 else "z = x + y"])
    return tables, make_multipliers(records, tables, seed=seed, definitions=sums), {**PARTS, "z": {"x": 1, "y": sign}}


def unsafe_sums(tables, drawn, parts):
    """Return the unsafe sums of each response over groups of records that cells of all responses determine."""
    shown = [(parts[t.response], row) for t in tables for row in t.membership.matrix.toarray()]
    key = [tuple(row[i] for _, row in shown) for i in range(len(drawn.records))]
    groups = list(dict.fromkeys(key))
    place = np.array([groups.index(k) for k in key])
    cells = [[part.get(leaf, 0) * int(g[at]) for leaf in "xy" for g in groups] for at, (part, _) in enumerate(shown)]
    form, rule, found = echelon(cells), tables[0].rule, []
    for (response, part), chosen in itertools.product(parts.items(), itertools.product((0, 1), repeat=len(groups))):
        inside = np.array(chosen, bool)[place]
        sizes = np.sort(np.abs(drawn.records.plain(response)[inside]))[::-1]
        shares = [part.get(leaf, 0) * s for leaf in "xy" for s in chosen]
        if not sizes.any() or not lies_in(form, shares):
            continue
        added = sum(sign * drawn.contributions(leaf) for leaf, sign in part.items())
        noise = (added - drawn.records.plain(response))[inside].sum()
        need = rule.accuracy * sizes[0] - rule.prior * sizes[rule.n :].sum()
        if need - abs(noise) > 1e-7 * sizes.sum():
            found.append((response, shares in cells))
    return found


@pytest.mark.long
def test_responses_that_follow_from_others_are_judged_too():
    """Profit is revenue less cost: whoever knows both knows it, and it may be dominated where they are not."""
    seen = Counter()
    for seed in range(120):
        tables, drawn, parts = defined(seed)
        wanted, done = unsafe_sums(tables, drawn, parts), check_tables(tables, drawn)
        assert not done.limits and (done.verdict == "unsafe" or not wanted), seed
        if any(f.kind == "implied" and "a sum of" in f.text for f in done.findings):
            assert wanted, seed
        seen[done.verdict] += 1
        seen["implied only"] += bool(wanted) and not any(cell for _, cell in wanted)
    assert seen["safe"] >= 40 and seen["implied only"] >= 4, seen
