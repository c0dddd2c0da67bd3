"""The campaign of random jobs: its limits, and how it goes on where it was ended."""

import time

import pytest

from fuzz import campaign
from fuzz.journal import FILE, Chunk, Journal, Tally, left, read_chunk
from fuzz.run import Kind, Result

DONE = [
    Chunk(1, 11, (Result(1, Kind.safe, verified=True, features=("records",)), Result(2, Kind.refused, "no")), 3.0),
    Chunk(11, 21, (Result(11, Kind.disclosed, "a1 = 3", ("cell exact",), ("ready",)),), 5.0),
]


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(campaign, "SECONDS", 0.1)


def test_a_job_may_wait_for_the_processor(hurried):
    """On a busy machine a job gets little of it, and takes long by the clock."""

    def job():
        time.sleep(0.3)
        return Result(7, Kind.safe)

    assert campaign.in_time(job, 7) == Result(7, Kind.safe)


def test_a_job_that_takes_too_much_of_the_processor_is_ended(hurried):
    """Also where the product would take any error for one of its own."""

    def job():
        while True:
            try:
                sum(range(1000))
            except Exception:  # noqa: S112
                continue

    result = campaign.in_time(job, 7)
    assert (result.seed, result.kind) == (7, Kind.crash)
    assert result.words.startswith("no answer in 0.1 s of the processor")


def test_a_job_that_waits_for_ever_is_ended(monkeypatch):
    monkeypatch.setattr(campaign, "STUCK", 0.1)
    result = campaign.in_time(lambda: time.sleep(60), 7, ("rows",))
    assert (result.kind, result.features) == (Kind.crash, ("rows",))
    assert "of the clock" in result.words


def test_chunks_are_read_as_they_were_written(tmp_path):
    """A line that was being written when the campaign ended is no chunk, and the next one begins a line."""
    journal = Journal(tmp_path, {"seed": 1})
    journal.begin()
    journal.add(DONE[0])
    with (tmp_path / FILE).open("a") as file:
        file.write(DONE[1].line()[:40])
    assert [(chunk.first, chunk.last) for chunk in journal.chunks()] == [(1, 11)]
    journal.add(DONE[1])
    one, two = journal.chunks()
    assert two == DONE[1]
    assert [result.words for result in one.results] == ["", ""]  # only what failed is said in words
    assert read_chunk(one.line()) == one
    assert left(1, 26, 10, [one, two]) == [(21, 26)]


def test_a_campaign_goes_on_with_its_own_settings_only(tmp_path):
    Journal(tmp_path, {"seed": 1, "code": "a"}).begin()
    with pytest.raises(SystemExit, match="other settings"):
        list(Journal(tmp_path, {"seed": 1, "code": "b"}).chunks())


def test_a_tally_counts_kinds_failures_and_verified_releases():
    tally = Tally()
    for chunk in DONE:
        tally.add(chunk)
    assert tally.words(40, 2.0, 20) == (
        "20 of 40 seeds, 10.0 a second, 0.40 CPU s each, 1 failed, 1 verified: 1 safe, 1 refused, 1 disclosed"
    )
