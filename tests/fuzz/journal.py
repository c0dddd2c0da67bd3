"""What a campaign has done so far, on disk: a line per chunk of seeds, so that it can go on where it was ended."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.run import Kind, Result

FILE = "journal.jsonl"


@dataclass(frozen=True)
class Chunk:
    """What came of the seeds from ``first`` to ``last``, less the last, and the processor time that it took."""

    first: int
    last: int
    results: tuple[Result, ...]
    cpu: float

    def line(self) -> str:
        """Return it as a line of text; what a job says in words is kept if it failed."""
        results = [_said(result) for result in self.results]
        return json.dumps({"first": self.first, "last": self.last, "cpu": round(self.cpu, 2), "results": results})


def read_chunk(line: str) -> Chunk:
    """Read a line that `Chunk.line` gave."""
    said = json.loads(line)
    return Chunk(said["first"], said["last"], tuple(map(_result, said["results"])), said["cpu"])


def _said(result: Result) -> dict[str, Any]:
    said = {"seed": result.seed, "kind": result.kind.name, "why": result.why, "features": result.features}
    return said | {"verified": result.verified} | ({"words": result.words} if result.failed else {})


def _result(said: dict[str, Any]) -> Result:
    words = {key: tuple(said[key]) for key in ("why", "features")}
    return Result(said["seed"], Kind[said["kind"]], said.get("words", ""), verified=said["verified"], **words)


@dataclass
class Tally:
    """What came of all chunks so far."""

    seeds: int = 0
    cpu: float = 0.0
    results: list[Result] = field(default_factory=list)

    def add(self, chunk: Chunk) -> None:
        """Add what came of a chunk."""
        self.seeds += chunk.last - chunk.first
        self.cpu += chunk.cpu
        self.results += chunk.results

    @property
    def kinds(self) -> Counter[Kind]:
        """How many jobs ended how."""
        return Counter(result.kind for result in self.results)

    @property
    def failed(self) -> list[Result]:
        """The jobs that failed, by their seeds."""
        return sorted((result for result in self.results if result.failed), key=lambda result: result.seed)

    @property
    def verified(self) -> int:
        """How many releases the product's own `verify` called valid."""
        return sum(result.verified for result in self.results)

    def words(self, of: int, seconds: float, now: int) -> str:
        """Return how far it is, in a line: ``now`` seeds were run in so many seconds of the clock."""
        ends = ", ".join(f"{count:,} {kind.name}" for kind in Kind if (count := self.kinds[kind]))
        speed = f"{now / max(seconds, 1e-9):.1f} a second, {self.cpu / max(self.seeds, 1):.2f} CPU s each"
        failed = f"{len(self.failed):,} failed"
        return f"{self.seeds:,} of {of:,} seeds, {speed}, {failed}, {self.verified:,} verified: {ends}"


class Journal:
    """The file of a campaign: its settings, and a line for each chunk that is done."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._path, self._settings = folder / FILE, settings

    def begin(self) -> None:
        """Begin a file, and forget what was there."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._settings) + "\n", encoding="utf-8")

    def add(self, chunk: Chunk) -> None:
        """Write down a chunk at once."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(chunk.line() + "\n")

    def chunks(self) -> Iterator[Chunk]:
        """Go through the chunks that are done; refuse a campaign with other settings.

        A last line that was being written when the campaign ended is left out, and cut off.
        """
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._path.write_text(whole, encoding="utf-8")
        first, *lines = whole.splitlines() or ["{}"]
        if json.loads(first) != self._settings:
            raise SystemExit(f"{self._path} is of a campaign with other settings: {first}")
        yield from map(read_chunk, lines)


def left(first: int, last: int, size: int, done: Iterable[Chunk]) -> list[tuple[int, int]]:
    """Return the chunks of seeds that are not done."""
    ends = {(chunk.first, chunk.last) for chunk in done}
    every = [(start, min(start + size, last)) for start in range(first, last, size)]
    return [chunk for chunk in every if chunk not in ends]
