"""Correct folders pass, wherever they are, and what the verifier says about them is right."""

import shutil

import pytest

from cellguard.errors import InputError
from cellguard.verifier import stored
from cellguard.verifier.verify import verify
from unit.verifier import folders


@pytest.mark.parametrize("name", folders.ALL)
def test_correct_folder_passes(tmp_path, name):
    found = verify(folders.write(tmp_path / "out", folders.ALL[name]()))
    assert [c.detail for c in found.checks if not c.passed] == []
    assert found.valid and found.warnings == () and found.trusted == ()
    assert [c.number for c in found.checks] == list(range(1, 11))


def test_text_path_and_moved_halves(tmp_path):
    path = folders.write(tmp_path / "out", folders.square())
    shutil.move(tmp_path / "out" / "release", tmp_path / "shown")
    assert not verify(str(path)).valid
    assert verify(str(path), release=str(tmp_path / "shown")).valid
    shutil.move(tmp_path / "out" / "internal", tmp_path / "kept")
    assert verify(tmp_path / "kept/certificate.json", release=tmp_path / "shown").valid
    shutil.copy(tmp_path / "kept/certificate.json", tmp_path / "certificate.json")
    assert verify(tmp_path / "certificate.json", release=tmp_path / "shown", internal=tmp_path / "kept").valid


def test_missing_certificate_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=r"certificate\.json"):
        verify(tmp_path / "certificate.json")


def test_other_codes_than_ascii(tmp_path):
    content = folders.grouped()
    content["tables"][0][0]["response"] = "Umsatz (Köln, €)"
    content["grains"][0]["response"] = "Umsatz (Köln, €)"
    content["hierarchies"]["region"] = [
        tuple(word.replace("coast", 'Küste, "a"') for word in line) for line in content["hierarchies"]["region"]
    ]
    content["tables"][0][1][4]["codes"] = ['Küste, "a"']
    assert verify(folders.write(tmp_path / "out", content)).valid


def test_secondary_that_nothing_moves_is_a_warning(tmp_path):
    content = folders.square()
    content["tables"][0][1][15]["status"] = "secondary"
    found = verify(folders.write(tmp_path / "out", content))
    assert found.valid
    assert len(found.warnings) == 1 and "(C, W)" in found.warnings[0]


def test_unknown_rule_is_named_as_trusted(tmp_path):
    content = folders.square()
    content["tables"][0][0]["rules"].append({"of_our_own": {"a": 1}})
    assert folders.failed(folders.write(tmp_path / "a", content)) == [5]
    content["trusted"] = ["of_our_own"]
    found = verify(folders.write(tmp_path / "b", content))
    assert found.valid and found.trusted == ("of_our_own",)
    content["trusted"] = ["of_our_own", "p_percent"]
    assert folders.failed(folders.write(tmp_path / "c", content)) == [5]


def test_values_beyond_int64(tmp_path):
    content = folders.square()
    for row in content["tables"][0][1]:
        if row["status"] == "published":
            row["value"] += "0" * 25
    assert folders.failed(folders.write(tmp_path / "a", content)) == [2]
    content = folders.square()
    for row in content["tables"][0][1]:
        row["value"] += "0" * 25
    assert verify(folders.write(tmp_path / "b", content)).valid


def test_half_grains_add_up_to_a_width(tmp_path):
    content = folders.tenths()
    content["witnesses"][0] = (2, [(0, 1, 10), (0, 2, -10)])
    assert folders.failed(folders.write(tmp_path / "out", content)) == [7]


def test_no_thread_is_left_behind_by_reading(tmp_path, monkeypatch):
    """Threads that hold bytes of Python's when the interpreter ends abort it, and a valid folder ends as a failure."""
    read, asked = stored.pacsv.read_csv, []

    def alone(data, options, **more):
        asked.append(options.use_threads)
        return read(data, options, **more)

    monkeypatch.setattr(stored.pacsv, "read_csv", alone)
    parquet = stored.pq.ParquetFile.read
    monkeypatch.setattr(
        stored.pq.ParquetFile, "read", lambda *a, **how: asked.append(how["use_threads"]) or parquet(*a)
    )
    assert verify(folders.write(tmp_path / "out", folders.square())).valid
    assert len(asked) > 5 and not any(asked)
