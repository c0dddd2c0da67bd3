"""Results speak Arrow: any data frame takes them, and a release lets nothing out."""

import io

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cellguard as cg

VALUES = [100_003, 20_011, 50_021, 29_971]


def judged(names=("t",), by="r", **more):
    tables = [
        cg.cells(
            {by: ["Total", "N", "S", "W"], "x": VALUES, "n": [19, 1, 9, 9]},
            by=[by],
            value="x",
            count="n",
            about=cg.About(name=name, response=name, **more),
        )
        for name in names
    ]
    findings = cg.assess(cg.link(tables), cg.MinFrequency(3))
    needs = cg.require(findings)
    return findings, cg.audit(needs, cg.suppress(needs).pattern)


def test_a_release_is_a_frame():
    _, audit = judged()
    frame = pl.DataFrame(audit.release()["t"])
    assert frame.to_dict(as_series=False) == {
        "r": ["Total", "N", "S", "W"],
        "value": [100_003.0, None, 50_021.0, None],
        "flag": ["", "c", "", "c"],
    }
    whole = pa.table(audit.release())
    assert whole.column_names == ["table", "r", "value", "flag"] and whole["table"].to_pylist() == ["t"] * 4


def test_nothing_confidential_is_in_the_stream_of_a_release():
    _, audit = judged()
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, pa.table(audit.release()).schema) as writer:
        writer.write_table(pa.table(audit.release()))
    sent = stream.getvalue()
    hidden, shown = (VALUES[1], VALUES[3]), (VALUES[0], VALUES[2])
    for value in (*hidden, *shown):
        forms = [np.float64(value).tobytes(), np.int64(value).tobytes(), str(value).encode()]
        assert any(form in sent for form in forms) == (value in shown)


def test_unpublished_cells_are_not_in_a_release():
    _, audit = judged(publish={"r": [1]})
    assert pa.table(audit.release())["r"].to_pylist() == ["N", "S", "W"]


def test_findings_and_audits_are_frames():
    findings, audit = judged()
    frame = pl.DataFrame(findings)
    assert frame["unsafe"].to_list() == [False, True, False, False] and frame["value"].to_list() == VALUES
    assert frame["reasons"].to_list() == ["", "min_frequency 3", "", ""]
    frame = pl.DataFrame(audit)
    assert frame.columns == ["table", "r", "value", "status", "failing", "undecided", "lower", "upper"]
    assert frame["status"].to_list() == ["published", "primary", "published", "secondary"]
    assert frame["lower"][1] < 20_011 < frame["upper"][1]


def test_tables_of_the_same_dimensions_make_one_frame():
    findings, audit = judged(("a", "b"))
    for frame in map(pa.table, (findings, audit, audit.release())):
        assert frame["table"].to_pylist() == ["a"] * 4 + ["b"] * 4


def test_tables_of_different_dimensions_are_taken_one_at_a_time():
    a = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n", name="a")
    b = cg.cells({"s": ["Total", "1", "2"], "x": [12, 6, 6], "n": [9, 4, 5]}, by=["s"], value="x", count="n", name="b")
    findings = cg.assess(cg.link([a, b]), cg.MinFrequency(3))
    needs = cg.require(findings)
    audit = cg.audit(needs, cg.suppress(needs).pattern)
    for result in (findings, audit, audit.release()):
        with pytest.raises(cg.InputError, match=r"a, b have different dimensions.*\['a'\]"):
            pa.table(result)
    assert pa.table(findings["b"]).column_names[0] == pa.table(audit.release()["b"]).column_names[0] == "s"
    assert audit.rows("a").num_rows == 3
    with pytest.raises(cg.InputError, match="no table 'c'"):
        audit.release()["c"]


def test_a_dimension_may_be_called_like_a_column():
    _, audit = judged(by="value")
    assert pa.table(audit.release()).column_names == ["table", "by:value", "value", "flag"]


def test_what_is_not_safe_is_not_released():
    table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    needs = cg.require(cg.assess(table, cg.MinFrequency(3)))
    alone = cg.audit(needs, cg.Pattern(needs.tables, needs.primary, np.zeros(3, bool)))
    with pytest.raises(cg.InputError, match="nothing is released: the audit's verdict is unsafe"):
        alone.release()
