"""Any change of any file is refused by its digest, and no damage raises anything."""

import json
import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellguard.verifier.verify import verify
from sampling import SPARSE_OR_DENSE
from unit.verifier import folders

CSV_FILES = [
    "release/short.csv",
    "release/long.csv",
    "internal/short.csv",
    "internal/long.csv",
    "internal/hierarchies/industry.csv",
    "internal/hierarchies/size.csv",
]
JSON_FILES = ["internal/certificate.json", "internal/summary.json", "release/metadata.json"]
PARQUET_FILES = ["internal/facts/short.parquet", "internal/facts/long.parquet", "internal/certificate.parquet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged") / "out"
    folders.write(folder, folders.linked())
    return folder


def refused(folder):
    found = verify(folder / "internal/certificate.json")
    assert len(found.checks) == 10 and not found.valid
    return not found.checks[8].passed


@SPARSE_OR_DENSE
@pytest.mark.parametrize("name", CSV_FILES)
def test_each_csv_field(folder, name, dense):
    path = folder / name
    before = path.read_bytes()
    lines = folders.read_csv(path)
    for i, line in enumerate(lines):
        for j, field in enumerate(line):
            for other in by_turns(("1" if field == "" else "", field + "0"), i + j, dense):
                changed = [list(row) for row in lines]
                changed[i][j] = other
                folders.write_csv(path, changed)
                if other != field:
                    assert refused(folder), (i, j, other)
    path.write_bytes(before)
    assert verify(folder / "internal/certificate.json").valid


def by_turns(others, number, dense):
    """What a field is changed to: everything, or by turns one of it, and in every second field nothing."""
    return others if dense else others[number // 2 % 2 :][:1] if number % 2 == 0 else ()


def scalars(found, place=()):
    if isinstance(found, dict | list):
        for key, value in found.items() if isinstance(found, dict) else enumerate(found):
            yield from scalars(value, (*place, key))
    else:
        yield place, found


def with_changed(found, place, value):
    found = json.loads(json.dumps(found))
    at = found
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return found


@SPARSE_OR_DENSE
@pytest.mark.parametrize("name", JSON_FILES)
def test_each_json_scalar(folder, name, dense):
    path = folder / name
    before = path.read_bytes()
    content = json.loads(before)
    others = (None, True, -1, 10**400, 0.5, "", "x", [], {}, [[1]], {"a": 1})
    for number, (place, value) in enumerate(scalars(content)):
        for other in (others[(number + turn) % len(others)] for turn in ((0, 6) if dense else (0,))):  # all in turn
            if other != value:
                folders.write_json(path, with_changed(content, place, other))
                assert refused(folder), (place, other)
    path.write_bytes(before)


@SPARSE_OR_DENSE
@pytest.mark.parametrize("name", PARQUET_FILES)
def test_each_parquet_cell(folder, name, dense):
    path = folder / name
    before = path.read_bytes()
    table = pq.read_table(pa.BufferReader(before))
    for j, column in enumerate(table.schema.names):
        kind = table.schema.field(column).type
        others = ["x", None] if kind == pa.string() else [float("nan"), None] if kind == pa.float64() else [7, -1]
        for i in range(table.num_rows):
            for other in by_turns(others, i + j, dense):
                values = table.column(column).to_pylist()
                if values[i] == other:
                    continue
                values[i] = other
                pq.write_table(table.set_column(j, column, pa.array(values, kind)), path)
                assert refused(folder), (column, i, other)
    path.write_bytes(before)


@pytest.mark.parametrize("name", CSV_FILES + JSON_FILES + PARQUET_FILES + ["internal/job.yaml"])
def test_file_missing_empty_or_a_folder(folder, name):
    path = folder / name
    before = path.read_bytes()
    for junk in (b"", b"\x00" * 50, b"\xff\xfe", b"[]", b"{}", b'"', b"a,b\n1\n", b"[" * 100_000, b"1" * 10_000):
        path.write_bytes(junk)
        assert refused(folder)
    path.unlink()
    if name != "internal/certificate.json":
        assert refused(folder)
        path.mkdir()
        assert refused(folder)
        path.rmdir()
    path.write_bytes(before)


def test_extra_files(folder):
    for name in ("release/more.csv", "internal/more.csv", "internal/facts/x", "more"):
        (folder / name).write_text("x")
        assert refused(folder), name
        (folder / name).unlink()
    (folder / "release/link").symlink_to(folder / "internal")
    assert refused(folder)
    (folder / "release/link").unlink()
    assert verify(folder / "internal/certificate.json").valid


@pytest.mark.parametrize("name", ["release", "internal", "internal/certificate.json"])
def test_what_is_elsewhere_does_not_vouch_for_what_is_here(folder, tmp_path, name):
    """A link to the half of a proper folder, beside a release that shows something else."""
    out = shutil.copytree(folder, tmp_path / "out")
    path = out / "release/short.csv"
    path.write_text(path.read_text().replace(",c\n", "20,\n", 1))
    here = out / name
    shutil.rmtree(here) if here.is_dir() else here.unlink()
    here.symlink_to(folder / name)
    found = verify(out / "internal/certificate.json")
    assert not found.valid and "is a link" in found.checks[8].detail
    assert verify(out / "internal/certificate.json", release=folder / "release", internal=folder / "internal").valid


FILES = CSV_FILES + JSON_FILES + PARQUET_FILES + ["internal/job.yaml"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(FILES), seed=st.integers(0, 2**32), count=st.integers(1, 6), sealed=st.booleans())
def test_random_bytes_never_raise(folder, name, seed, count, sealed):
    path, certificate = folder / name, folder / "internal/certificate.json"
    before, signed = path.read_bytes(), certificate.read_bytes()
    rng = random.Random(seed)  # noqa: S311
    data = bytearray(before)
    for _ in range(count):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
    try:
        path.write_bytes(data)
        if sealed and path != certificate:
            folders.seal(folder)
            assert len(verify(certificate).checks) == 10
        elif bytes(data) != before:
            found = verify(certificate)
            # Blanks between the words of a JSON object are not part of what it says.
            assert not found.valid or (path == certificate and json.loads(bytes(data)) == json.loads(before))
    finally:
        path.write_bytes(before)
        certificate.write_bytes(signed)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_certificates_never_raise(folder, data):
    path = folder / "internal/certificate.json"
    before = path.read_bytes()
    content = json.loads(before)
    junk = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
    try:
        for _ in range(data.draw(st.integers(1, 3))):
            place, _ = data.draw(st.sampled_from(list(scalars(content))))
            content = with_changed(content, place[: data.draw(st.integers(1, len(place)))], data.draw(junk))
        try:
            folders.sign(path, content)
        except UnicodeEncodeError:
            return
        assert len(verify(path).checks) == 10
    finally:
        path.write_bytes(before)
