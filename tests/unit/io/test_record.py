"""The record of decisions: lines are added, and whatever else happens to it is noticed."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from cellguard.errors import InputError
from cellguard.io.record import Record
from cellguard.io.states_file import StatesFile


@pytest.fixture
def record(tmp_path):
    made = Record(tmp_path / "job.decisions.jsonl")
    for number in range(3):
        made.add("comment", who="Ada", role="maker", said={"text": f"n{number}"})
    return made


def test_lines_follow_each_other_and_are_for_their_owner_only(record):
    entries = record.entries()
    assert [entry.number for entry in entries] == [1, 2, 3] and entries[1].previous != entries[2].previous
    assert record.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("harm", ["changed", "left out", "put in", "first left out", "no json"])
def test_a_record_that_was_changed_is_refused(record, harm):
    lines = record.path.read_text().splitlines(keepends=True)
    if harm == "changed":
        lines[1] = lines[1].replace("n1", "n9")
    elif harm == "left out":
        del lines[1]
    elif harm == "put in":
        extra = json.loads(lines[1]) | {"number": 2}
        lines.insert(1, json.dumps(extra) + "\n")
    elif harm == "first left out":
        del lines[0]
    else:
        lines[2] = "[]\n"
    record.path.write_text("".join(lines))
    with pytest.raises(InputError, match="was changed"):
        record.entries()
    with pytest.raises(InputError, match="was changed"):
        record.add("comment", who="Ada", role="maker", said={})


def test_a_line_that_was_not_finished_is_no_line_and_stops_further_ones(record):
    with record.path.open("a") as file:
        file.write('{"number": 4')
    assert len(record.entries()) == 3
    with pytest.raises(InputError, match="middle of a line"):
        record.add("comment", who="Ada", role="maker", said={})


def test_many_writers_lose_no_line(tmp_path):
    record = Record(tmp_path / "r.jsonl")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: record.add("comment", who=str(i), role="maker", said={}), range(40)))
    assert sorted(int(entry.who) for entry in record.entries()) == list(range(40))


def test_states_are_read_changed_and_written(tmp_path):
    path = tmp_path / "job.t.states.csv"
    empty = StatesFile.read(path, ["nace", "status"], ["industry", "status"])
    assert empty.columns == ("nace", "by:status")
    file = empty.changed(("a", "b"), {"status": "waived"}).changed(("c", "=d"), {"cost": "5"})
    file.write(path)
    again = StatesFile.read(path, ["nace", "status"], ["industry", "status"])
    assert again.said == {("a", "b"): {"status": "waived"}, ("c", "=d"): {"cost": "5"}}
    assert path.stat().st_mode & 0o777 == 0o600 and os.access(path, os.R_OK)


@pytest.mark.parametrize(
    "said", [{"status": "hidden"}, {"cost": "-1"}, {"cost": "much"}, {"cost": "inf"}, {"colour": "red"}]
)
def test_what_cannot_be_said_of_a_cell_is_refused(said):
    with pytest.raises(InputError):
        StatesFile(("r",), {}).changed(("N",), said)
