"""What a forger may do beside the proof: to what is claimed, to the copies of a release, or by taking other data."""

import base64
import hashlib
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from unit.verifier import folders
from unit.verifier.forger import page, text

import quick_yaml

# What is beside the proof


def insiders(f):
    f.document["insiders"] = [0]


def job_of_insiders(f):
    f.job["attack"]["insiders"] = True


def job_of_coalitions(f):
    f.job["attack"]["coalition"] = 2


def without_key(*path):
    def how(f):
        def later(out):
            found = json.loads((out / "internal/certificate.json").read_text())
            found.pop(path[0])
            folders.write_json(out / "internal/certificate.json", found)

        f.later.append(later)

    return how


def job_without(*path):
    def how(f):
        part = f.job
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]

    return how


def summary(change):
    def how(f):
        def later(out):
            found = json.loads((out / "internal/summary.json").read_text())
            change(found)
            folders.write_json(out / "internal/summary.json", found)

        f.later.append(later)

    return how


def metadata(f):
    def later(out):
        found = json.loads((out / "release/metadata.json").read_text())
        found["tables"]["people"]["suppressed"] = 0
        folders.write_json(out / "release/metadata.json", found)

    f.later.append(later)


def shown_in_csv(f):
    f.later.append(text("release/people.csv", "W,small,,c", "W,small,2,"))


def shown_in_parquet(f):
    def later(out):
        path = out / "release/people.parquet"
        table = pq.read_table(path)
        values = [2 if v is None else v for v in table["value"].to_pylist()]
        column = pa.array(values, table.schema.field("value").type)
        pq.write_table(table.set_column(2, "value", column), path)

    f.later.append(later)


def shown_in_workbook(f):
    def later(out):
        path = out / "release/tables.xlsx"
        with zipfile.ZipFile(path) as prover:
            parts = {name: prover.read(name) for name in prover.namelist()}
        last = max(name for name in parts if "worksheets/sheet" in name)
        assert b">c<" in parts[last]
        with zipfile.ZipFile(path, "w") as prover:
            for name, content in parts.items():
                prover.writestr(name, content.replace(b">c<", b">2<") if name == last else content)

    f.later.append(later)


def in_workbook(name, old, new):
    """Replace a text in one part of the workbook, and leave all else as it is."""

    def later(out):
        path = out / "release/tables.xlsx"
        with zipfile.ZipFile(path) as prover:
            parts = [(part, prover.read(part)) for part in prover.infolist()]
        with zipfile.ZipFile(path, "w") as prover:
            for part, content in parts:
                assert part.filename != name or old in content
                prover.writestr(part, content.replace(old, new, 1) if part.filename == name else content)

    return lambda f: f.later.append(later)


def workbook_comment(f):
    def later(out):
        with zipfile.ZipFile(out / "release/tables.xlsx", "a") as prover:
            prover.comment = b"W/small has 2"

    f.later.append(later)


def behind(name):
    """Put something behind the end of a file, or between its parts, where no reader looks."""

    def later(out):
        with (out / name).open("ab") as file:
            file.write(b"W/small has 2")

    return lambda f: f.later.append(later)


def as_bytes(name, change):
    """Say the same in other bytes."""

    def later(out):
        before = (out / name).read_bytes()
        assert change(before) != before
        (out / name).write_bytes(change(before))

    return lambda f: f.later.append(later)


def empty_folder(name):
    return lambda f: f.later.append(lambda out: (out / name).mkdir(parents=True))


def words(**said):
    """Say something else in both files that have words for people."""

    def later(out):
        for name in ("summary", "certificate"):
            path = out / f"internal/{name}.json"
            found = json.loads(path.read_text(encoding="utf-8"))
            changed = {key: change(found[key]) for key, change in said.items() if key in found}
            assert all(changed[key] != found[key] for key in changed)
            folders.write_json(path, found | changed)

    return lambda f: f.later.append(later)


def narrow_interval(f):
    """An interval that holds the value alone, where a witness proves that the cell may be less and more."""
    row = f.rows["people"][f.at("people", "primary")]
    row |= {"interval_lower": row["value"], "interval_upper": row["value"]}


def on_page(change):
    return lambda f: f.later.append(page(change))


def in_page(old, new):
    return lambda f: f.later.append(text("release/report.html", old, new))


def in_script(f):
    """Another script, which the page's own policy allows."""

    def later(out):
        path = out / "release/report.html"
        before = path.read_text(encoding="utf-8")
        old = before[before.rindex("<script>") + len("<script>") : before.rindex("</script>")]
        new = old + "/* W/small has two */"
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (old, new)]
        assert digests[0] in before
        path.write_text(before.replace(*digests).replace(old, new), encoding="utf-8")

    f.later.append(later)


def quoted(before):
    """Put a code in quotes."""
    return before.replace(b"\nW,small,", b'\n"W",small,', 1)


def show_first(tables):
    grid = tables[-1]
    values = grid["value"].split(" ")
    values[grid["status"].index("c")] = "2"
    grid["value"] = " ".join(values)


def relabel(tables):
    tables[0]["axes"][0]["labels"]["1"] = "12,332.9"


def extra_notes(tables):
    tables[0]["notes"] = {"at": [0]}


# Whole folders of other data, with the digests of the true inputs


def other_data(change):
    """He protects other data properly, and says that they are the true ones."""

    def how(f, job):
        kept = {name: (job.parent / name).read_bytes() for name in change}
        try:
            for name, alter in change.items():
                before = kept[name].decode()
                assert alter(before) != before
                (job.parent / name).write_text(alter(before), encoding="utf-8")
            OutputFolder(f.out).write(run(Job.load(job)), force=True)
        finally:
            for name, data in kept.items():
                (job.parent / name).write_bytes(data)
        inputs = f.summary["inputs"]
        summary(lambda found: found.update(inputs=inputs))(f)
        f.later[-1](f.out)
        return folders.seal(f.out)

    how.whole = True
    return how


def smaller_giant(before):
    return before.replace("12000.0", "900.0")


def more_people(before):
    """Three more in W/small, and in all its totals."""
    lines = [line.split(",") for line in before.splitlines()]
    for line in lines[1:]:
        if line[0] in ("W", "Total") and line[1] in ("small", "Total"):
            line[2] = str(int(line[2]) + 3)
    return "\n".join(map(",".join, lines)) + "\n"


def near_bound(before):
    """The attacker is said to know an unsafe cell's value to within one."""
    return before + "A1,N,,,42.5\n"


def small_need(before):
    """A need is said to be given."""
    lines = before.splitlines()
    return "\n".join([lines[0] + ",need_upper", *(line + "," for line in lines[1:]), "A1,N,,,,0.1"]) + "\n"


def _one_grouping(before):
    job = quick_yaml.load(before)
    del job["dimensions"]["region"]["also"]
    return quick_yaml.dump(job)


def _without_coasts(before):
    return "".join(line for line in before.splitlines(keepends=True) if not {"sea", "inland"} & set(line.split(",")))


# The job does not know the coasts, and their rows are gone.
ONE_GROUPING = {
    "job.yaml": _one_grouping,
    "turnover.csv": _without_coasts,
    "known.csv": lambda before: before.replace("sea", "N"),
}
