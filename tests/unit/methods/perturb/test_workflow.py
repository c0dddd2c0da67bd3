"""From records to released tables and back: multipliers, checks, the confidential file, later tables."""

import hashlib
import stat
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.checks.conflicts import TableMethod
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.methods.perturb.draw.attributes import Attributes, define
from cellguard.methods.perturb.draw.multipliers import Settings, load_multipliers, make_multipliers
from cellguard.methods.perturb.draw.saved import Saved, fingerprints, read_saved, write_saved
from cellguard.methods.perturb.draw.zes import Zes
from cellguard.methods.perturb.workflow import check_tables
from cellguard.rules.limits import NoiseRule

from perturb_data import sodap

RULE = NoiseRule(3, 70)


def firms(n=400, seed=1, *, weight=False, singleton=False):
    """Firms in 3 regions, 4 industries and 3 sizes; with ``singleton``, one firm is alone in region W."""
    rng = np.random.default_rng(seed)
    codes = {
        "region": rng.choice(["N", "S", "E"], n),
        "industry": rng.choice(list("ABCD"), n),
        "size": rng.choice(list("123"), n),
    }
    if singleton:
        codes["region"] = np.where(np.arange(n) == 7, "W", codes["region"])
    x, y = rng.uniform(50, 150, n).round(), rng.uniform(20, 60, n).round()
    values = {"home": x, "export": y, "turnover": x + y}
    return respondents(
        codes, values, weight=rng.uniform(1, 5, n) if weight else None, unit=[f"firm{i:04}" for i in range(n)]
    )


def dims(records, *names):
    return [Dimension(name, flat(list(records.labels[name]))) for name in names]


def table(records, names, response="turnover", name=None):
    return calibration_table(records, dims(records, *names), response, name=name or "-".join(names), rule=RULE)


def digest(records):
    parts = [
        *records.codes.values(),
        *records.values.values(),
        records.unit,
        *([] if records.weight is None else [records.weight]),
    ]
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def test_a_safe_set_is_additive_consistent_and_leaves_the_records_alone():
    records = firms()
    before = digest(records)
    for column in [*records.codes.values(), *records.values.values(), records.unit]:
        column.flags.writeable = False
    tables = [table(records, ("region", "industry")), table(records, ("region", "size"))]
    made = make_multipliers(records, tables, seed=5)
    done = check_tables(tables, made)
    assert done.verdict == "safe"
    assert digest(records) == before
    for here in done.tables:
        off = here.table.table.relations @ np.rint(here.total * 100)
        assert not off.any()
        assert (here.noise[here.table.interior] != 0).all()
    by_name = [
        {str(here.name(i)).split(": ")[1]: here.total[i] for i in range(len(here.total))} for here in done.tables
    ]
    for code in ("N", "S", "E", "Total"):
        assert by_name[0][f"{code}/Total"] == by_name[1][f"{code}/Total"]


def test_an_unsafe_cell_is_named_with_what_to_do():
    records = firms(singleton=True)
    tables = [table(records, ("region", "industry")), table(records, ("size",))]
    done = check_tables(tables, make_multipliers(records, tables, seed=5))
    assert done.verdict == "unsafe"
    singleton = Cell("region-industry", "W/Total")
    kinds = {f.kind for f in done.open if singleton in f.cells}
    assert "sensitive" in kinds
    assert {f.units for f in done.open if f.kind == "disclosed"} == {("firm0007",)}
    advice = done.advice
    assert any(a.startswith("recode: merge S + W of 'region': tried out, it leaves none of") for a in advice)
    assert any(a.startswith("another method: ") and "sensitive cells" in a for a in advice)
    assert any(a.startswith("another set: without table 'region-industry'") for a in advice)
    assert done.places()[0].startswith("table 'region-industry'")


def test_accepted_cells_do_not_forbid_a_release():
    records = firms(singleton=True)
    tables = [table(records, ("region",))]
    made = make_multipliers(records, tables, seed=5)
    assert check_tables(tables, made).verdict == "unsafe"
    done = check_tables(tables, made, accept=[Cell("region", "W")])
    assert done.verdict == "safe"
    assert any(f.blocks for f in done.findings)
    with pytest.raises(InputError, match="no code 'X'"):
        check_tables(tables, made, accept=[Cell("region", "X")])
    with pytest.raises(InputError, match="names the table 'other'"):
        check_tables(tables, made, accept=[Cell("other", "W")])


def test_a_conflict_cannot_be_accepted():
    records = firms()
    tables = [table(records, ("region",))]
    made = make_multipliers(records, tables, seed=5)
    other = TableMethod("suppressed", "turnover", "suppress")
    mixed = check_tables(tables, made, others=[other])
    assert [f.kind for f in mixed.open] == ["conflict"]
    (advice,) = mixed.advice
    assert "never publish both 'region' perturbed and 'suppressed'" in advice and "take 'region' out" in advice
    assert check_tables(tables, made, others=[other], checked=False).verdict == "unsafe"
    assert check_tables(tables, made, checked=False).verdict == "not checked"


def test_advice_on_a_conflict_and_on_cells_is_kept_apart():
    records = firms(singleton=True)
    tables = [table(records, ("region",))]
    made = make_multipliers(records, tables, seed=5)
    alone = check_tables(tables, made)
    both = check_tables(tables, made, others=[TableMethod("suppressed", "turnover", "suppress")])
    assert both.advice[0].startswith("conflict: ")
    assert both.advice[1:] == alone.advice, "the conflict is not counted among what recoding would mend"


def test_a_set_that_was_not_checked_with_earlier_tables_is_not_plainly_safe():
    records = firms()
    tables = [table(records, ("region",))]
    made = make_multipliers(records, tables, seed=5)
    assert check_tables(tables, made).verdict == "safe"
    assert check_tables(tables, made, unseen=["earlier"]).verdict == "safe by itself"
    assert check_tables(tables, made, unseen=["earlier"], checked=False).verdict == "not checked"


def test_only_what_is_proven_is_released_unless_somebody_answers_for_it():
    records = firms()
    tables = [table(records, ("region",))]
    made = make_multipliers(records, tables, seed=5)
    part = Watch(programs=0)
    for options, verdict in (
        ({}, "safe"),
        ({"watch": part}, "not proven"),
        ({"unseen": ["earlier"]}, "safe by itself"),
        ({"watch": part, "unseen": ["earlier"]}, "not proven"),
    ):
        strict = check_tables(tables, made, **options)
        lenient = check_tables(tables, made, unproven=True, **options)
        assert (strict.verdict, lenient.verdict) == (verdict, verdict)
        assert (strict.released, lenient.released) == (verdict == "safe", True)
        assert bool(strict.advice) == (verdict != "safe") and not lenient.advice
    singleton = firms(singleton=True)
    tables = [table(singleton, ("region",))]
    assert not check_tables(tables, make_multipliers(singleton, tables, seed=5), unproven=True).released


def test_zes_mu_chooses_mu():
    records = firms(60, seed=3)
    tables = [table(records, ("region", "industry"))]
    made = make_multipliers(records, tables, Settings("zes_mu"), seed=5)
    assert made.choice is not None
    assert 0 < np.abs(made.base - 1).mean() < 0.35


def test_multipliers_without_spread_are_warned_of():
    records = firms(60)
    tables = [table(records, ("region",))]
    assert not make_multipliers(records, tables, seed=5).notes
    equal = make_multipliers(records, tables, Settings(zes=Zes(sigma=0)), seed=5)
    assert np.unique(np.abs(equal.base - 1).round(12)).tolist() == [0.1]
    assert any("sigma is 0" in note for note in equal.notes)


def test_definitions_and_attribute_multipliers():
    records = firms()
    sums = define(["turnover = home + export"])
    tables = [table(records, ("region", "industry"), r, name=r) for r in ("turnover", "home", "export")]
    settings = Settings(attributes=Attributes("factor"))
    done = check_tables(tables, make_multipliers(records, tables, settings, seed=5, definitions=sums))
    z, x, y = (here.total for here in done.tables)
    assert (np.rint(z * 100) == np.rint(x * 100) + np.rint(y * 100)).all()
    assert set(done.multipliers.attributes) == {"home", "export"}


def saved_file(tmp_path, records, settings=None):
    tables = [table(records, ("region", "industry"))]
    made = make_multipliers(records, tables, settings, seed=5)
    path = tmp_path / "multipliers.parquet"
    write_saved(path, made.save(tables, {"file firms.csv": "abc"}))
    return made, path


@pytest.mark.parametrize("variant", ["none", "delta", "factor"])
def test_later_tables_come_from_the_saved_multipliers(tmp_path, variant):
    records = firms(weight=True)
    made, path = saved_file(tmp_path, records, Settings(attributes=Attributes(variant)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    later = load_multipliers(read_saved(path), records, {"file firms.csv": "abc"})
    for names, response in (
        (("region", "industry"), "turnover"),
        (("size", "region"), "turnover"),
        (("size",), "home"),
    ):
        wanted = table(records, names, response)
        assert (later.totals(wanted) == made.totals(wanted)).all()
    assert later.settings == made.settings


def test_saved_multipliers_fit_only_the_records_that_they_were_made_for(tmp_path):
    records = firms()
    _, path = saved_file(tmp_path, records)
    saved = read_saved(path)
    with pytest.raises(InputError, match=r"'file firms\.csv' changed since"):
        load_multipliers(saved, records, {"file firms.csv": "other"})
    with pytest.raises(InputError, match=r"made for other data: .*'records'"):
        load_multipliers(saved, firms(399), {})
    with pytest.raises(InputError, match="'value home'"):
        load_multipliers(saved, firms(seed=2), {})
    with pytest.raises(InputError, match="'weight' changed"):
        load_multipliers(saved, firms(weight=True), {})


def test_a_changed_file_is_refused(tmp_path):
    _, path = saved_file(tmp_path, firms())
    old = pq.read_table(path)
    base = old.column("base").to_numpy().copy()
    base[3] += 1e-9
    changed = old.set_column(1, "base", [base]).replace_schema_metadata(old.schema.metadata)
    pq.write_table(changed, path)
    with pytest.raises(InputError, match="digest does not fit"):
        read_saved(path)
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="no multipliers' file"):
        read_saved(path)
    with pytest.raises(InputError, match="no file"):
        read_saved(tmp_path / "absent.parquet")


def test_a_file_is_not_overwritten_unless_asked(tmp_path):
    records = firms()
    made, path = saved_file(tmp_path, records)
    with pytest.raises(InputError, match="exists already"):
        write_saved(path, made.save([]))
    write_saved(path, made.save([]), force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["multipliers.parquet"]


def test_fingerprints_follow_what_the_records_say_and_not_how_they_are_numbered():
    one = respondents({"r": ["a", "b"]}, {"x": [1.0, 2.0]})
    two = respondents({"r": ["a", "c"]}, {"x": [1.0, 2.0]})
    assert fingerprints(one)["column r"] != fingerprints(two)["column r"]
    assert fingerprints(one)["value x"] == fingerprints(two)["value x"]
    other = type(one)({"r": np.array([1, 0], np.int32)}, {"r": ("b", "a")}, one.values, None, one.owners)
    assert fingerprints(other)["column r"] == fingerprints(one)["column r"]


def test_the_digest_covers_everything():
    base = Saved(np.array(["a", "b"]), np.array([1.1, 0.9]), {"x": np.array([1.0, 1.0])}, 5, {"k": 1}, {"records": "r"})
    changes = [
        {"keys": np.array(["a", "c"])},
        {"base": np.array([1.1, 0.91])},
        {"attributes": {"y": np.array([1.0, 1.0])}},
        {"seed": 6},
        {"parameters": {"k": 2}},
        {"inputs": {"records": "s"}},
    ]
    digests = {base.digest} | {Saved(**({**vars(base)} | change)).digest for change in changes}
    assert len(digests) == 1 + len(changes)


def test_settings_check_themselves():
    with pytest.raises(InputError, match="no method 'zess'; did you mean 'zes'"):
        Settings("zess")
    with pytest.raises(InputError, match="decimals"):
        Settings(decimals=12)
    with pytest.raises(InputError, match="no table to perturb"):
        check_tables([], make_multipliers(firms(20), [], Settings(zes=Zes()), seed=1))
    records = respondents({"region": ["N"] * 3}, {"x": [1e16, 2e16, 3e16]})
    with pytest.raises(InputError, match="too large for so many decimals"):
        make_multipliers(records, [], seed=1).contributions("x")


@pytest.mark.long
def test_files_of_the_size_of_a_statistical_office_are_checked_in_seconds():
    data = sodap()
    firms_, survey = data.census(), data.survey()
    for records, tables in ((firms_, [data.census_table(firms_)]), (survey, data.survey_tables(survey))):
        made = make_multipliers(records, tables, seed=5)
        start = time.process_time()
        done = check_tables(tables, made)
        assert time.process_time() - start < 30
        assert done.verdict == "unsafe"
        for finding in done.findings:
            assert finding.cells
