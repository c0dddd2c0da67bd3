"""A source that is asked on the fly: how long checks take, how much is refused, and how fast answers are repeated.

`python benchmarks/bench_source.py 65000 100` draws so many firms, asks until so many different answers are behind, then
times new two-way tables (CPU seconds of this process, with and without cells withheld), repeats a question through the
service, and says how many new two-way tables with 50 respondents a cell are refused whole. `--load 120` asks repeated
questions for so many seconds from 8 clients.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from cellguard.answers.question import Question
from cellguard.errors import InputError
from cellguard.job.jobfile import Job
from cellguard.methods.perturb.answers.source import Source
from cellguard.pipeline import run

REGIONS, BRANCHES, SIZES, FORMS, AGES, OWNERS = (4, 12, 48), (8, 24, 72), (8,), (5,), (10,), (4,)
SHAPES = {"region": REGIONS, "branch": BRANCHES, "size": SIZES, "form": FORMS, "age": AGES, "owner": OWNERS}
RULE = {"p_percent": 10}


def draw(folder: Path, respondents: int, seed: int) -> None:
    """Write firms, a job with one planned table, its multipliers and a source."""
    random = np.random.default_rng(seed)
    columns: dict[str, object] = {"id": np.arange(respondents)}
    dimensions = {}
    for name, levels in SHAPES.items():
        leaf = random.choice(levels[-1], respondents, p=random.dirichlet(np.full(levels[-1], 2.0)))
        for depth, many in enumerate(levels):
            codes = leaf * many // levels[-1]
            columns[f"{name}{depth}"] = np.array([f"{name[0]}{depth}_{code}" for code in range(many)])[codes]
        dimensions[name] = {"levels": [f"{name}{depth}" for depth in range(len(levels))]}
    columns["turnover"] = np.maximum(1, np.round(np.exp(random.normal(4, 1.7, respondents)))).astype(int)
    pacsv.write_csv(pa.table(columns), folder / "firms.csv")
    table = {"name": "plan", "by": ["size", "form"], "value": "turnover", "rules": [RULE]}
    job = {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "id"},
        "dimensions": dimensions,
        "perturb": {"method": "zes", "mu": 0.17, "seed": seed, "unproven": "accept"},
        "tables": [{**table, "protect": {"method": "perturb"}}],
    }
    (folder / "job.yaml").write_text(json.dumps(job))
    from cellguard.methods.perturb.draw.saved import write_saved

    done = run(Job.load(folder / "job.yaml"))
    write_saved(folder / "multipliers.parquet", done.protected.saved)
    spec = {"version": 1, "values": ["turnover"], "limits": {"per_minute": 10**9}}
    (folder / "source.yaml").write_text(json.dumps(spec))


def questions(
    random: np.random.Generator, respondents: int, per_cell: int, *, ways: int | None = None
) -> Iterator[Question]:
    """Draw questions as people ask them: one to three variables at some level, some with a filter."""
    names = list(SHAPES)
    while True:
        many = ways or int(random.choice([1, 2, 3], p=[0.25, 0.5, 0.25]))
        by = random.choice(names, many, replace=False).tolist()
        levels = {name: [int(random.integers(1, len(SHAPES[name]) + 1))] for name in by}
        cells = float(np.prod([SHAPES[name][levels[name][0] - 1] for name in by]))
        where = {}
        if random.random() < 0.3 and (rest := [name for name in names if name not in by]):
            name = str(random.choice(rest))
            code = int(random.integers(SHAPES[name][0]))
            where, cells = {name: f"{name[0]}0_{code}"}, cells * SHAPES[name][0]
        if respondents / cells < per_cell or cells > 1_000:
            continue
        whole = {name: [0, *chosen] for name, chosen in levels.items()}
        yield Question.of(by, where=where, value="turnover", levels=whole)


def timed(source: Source, question: Question) -> tuple[float, object]:
    start = time.process_time()
    answer = source.ask(question)
    return time.process_time() - start, answer


def fill(source: Source, asked: Iterator[Question], answers: int) -> None:
    done = 0
    while done < answers:
        try:
            answer = source.ask(next(asked))
        except InputError:
            continue
        done += answer.answered and not answer.repeated and answer.new > 0


def measure(source: Source, random: np.random.Generator, respondents: int, tries: int) -> None:
    plain, withheld, refused, shares = [], [], 0, []
    for question in questions(random, respondents, 50, ways=2):
        if len(plain) + len(withheld) + refused >= tries:
            break
        try:
            seconds, answer = timed(source, question)
        except InputError:
            continue
        if answer.repeated or (answer.answered and not answer.new):
            continue
        shares.append(answer.withheld / len(answer.values) if answer.answered else 1.0)
        refused += not answer.answered
        if answer.answered:
            (withheld if "more are" in answer.reason or "before" in answer.reason else plain).append(seconds)
    for name, figures in (("checked", plain), ("with withholding", withheld)):
        if figures:
            print(
                f"  new 2-way, {name}: median {statistics.median(figures):.2f}, most {max(figures):.2f} CPU s"
                f" ({len(figures)} tables)"
            )
    print(f"  refused whole: {refused} of {len(shares)}; cells withheld on average {100 * np.mean(shares):.0f} %")


@contextmanager
def served(folder: Path, workers: int = 1) -> Iterator[str]:
    from cellguard.faces.service.serve import Server

    server = Server(folder, open_to_all=True, workers=workers)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server.address
    server.stop()
    thread.join(20)


def repeat(address: str, asked: list[Question], seconds: float, clients: int) -> None:
    """Ask what was answered again and again, and compare every answer with the first."""

    def body(question: Question) -> bytes:
        request = urllib.request.Request(f"{address}api/table", json.dumps(question.plain()).encode())
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.read()

    first = [body(question) for question in asked]
    until, wrong, times = time.monotonic() + seconds, [0], list[float]()

    def client(number: int) -> int:
        random, done = np.random.default_rng(number), 0
        while time.monotonic() < until:
            at = int(random.integers(len(asked)))
            start = time.perf_counter()
            wrong[0] += body(asked[at]) != first[at]
            times.append(time.perf_counter() - start)
            done += 1
        return done

    cpu = time.process_time()
    with ThreadPoolExecutor(clients) as pool:
        done = sum(pool.map(client, range(clients)))
    cpu = time.process_time() - cpu
    print(
        f"  repeated by {clients} clients, {done / seconds:.0f} a second:"
        f" median {1000 * statistics.median(times):.1f} ms,"
        f" {1000 * cpu / done:.1f} CPU ms with clients, wrong {wrong[0]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("respondents", type=int, nargs="?", default=65_000)
    parser.add_argument("answers", type=int, nargs="?", default=100)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--load", type=float, default=5.0)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw(folder, said.respondents, 1)
        random = np.random.default_rng(2)
        start = time.process_time()
        source = Source(folder)
        print(f"{said.respondents:,} respondents; opened in {time.process_time() - start:.1f} CPU s")
        fill(source, questions(random, said.respondents, 10), said.answers)
        rank = source.systems["turnover"].rank
        print(
            f"  {said.answers} distinct answers, rank {rank:,}, exposure {source.exposure['turnover']:.3f}", flush=True
        )
        measure(source, random, said.respondents, said.tries)
        known = [Question.read(e.question) for e in source.register.since(0) if e.kind == "answer"][-40:]
        start = time.perf_counter()
        for question in known:
            source.ask(question)
        print(f"  repeated in Python: {1000 * (time.perf_counter() - start) / len(known):.2f} ms")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        print(f"  peak memory {peak:.2f} GiB", flush=True)
        source.close()
        start = time.process_time()
        with served(folder) as address:
            print(f"  opened again with all answers in {time.process_time() - start:.1f} CPU s")
            repeat(address, known, said.load / 5, 1)
            repeat(address, known, said.load, 8)


if __name__ == "__main__":
    main()
