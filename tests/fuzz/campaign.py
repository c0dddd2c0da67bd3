"""Run any number of random jobs on all cores: ``make fuzz JOBS=20000 SEED=1``, or again a folder that it wrote.

Failing jobs are written at once to a folder each, named by their seed; the exit status is 1 if there are any. What is
done is in ``journal.jsonl``, from which ``--resume`` goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before numpy is loaded: the jobs are what runs side by side

import cellguard

from fuzz.beyond import KINDS
from fuzz.cases import read_case
from fuzz.generator import draw_any, draw_case
from fuzz.journal import Chunk, Journal, Tally, left
from fuzz.ready import draw_ready, judge_ready
from fuzz.rows import draw_rows, judge_rows
from fuzz.run import How, Kind, Result, run_case, run_seed

CHUNK = 10
ROWS = 10  # of so many seeds one is also the seed of a job with a rule about rows, and of one of ready-made counts
SECONDS = 120  # of the processor for one job; more is a failure of its own
STUCK = 3600  # by the clock: a job that waits for so long waits for something that never comes
TOLD = 60  # seconds between two lines about how far it is


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder in memory, if there is such a thing."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def run_chunk(first: int, last: int, out: Path, how: How) -> Chunk:
    """Run some seeds, and write down what failed."""
    found, begin = [], time.process_time()
    with scratch() as folder:
        for seed in range(first, last):
            result = in_time(partial(run_seed, seed, folder, how, plans=draw_any), seed)
            found.append(result)
            if result.failed:
                draw_case(seed, draw_any).write(out / str(seed), f"{result}\n")
                released = folder / "case" / "out" / "release"
                if released.is_dir():
                    shutil.copytree(released, out / str(seed) / "release", dirs_exist_ok=True)
            if seed % ROWS == 0:
                found += [run_rows(seed, out), run_ready(seed, out)]
    return Chunk(first, last, tuple(found), time.process_time() - begin)


def run_rows(seed: int, out: Path) -> Result:
    """Run the job with a rule about rows of a seed, and write it down if it failed."""
    kinds = {"safe": Kind.safe, "nothing": Kind.nothing, "refused": Kind.refused, "not safe": Kind.not_protected}

    def judge() -> Result:
        end = judge_rows(seed)
        return Result(seed, kinds.get(end, Kind.disclosed), end, ("a row",), ("rows",))

    result = in_time(judge, seed, ("rows",))
    if result.failed:
        draw_rows(seed).write(out / f"{seed}-rows", f"{result}\n")
    return result


def run_ready(seed: int, out: Path) -> Result:
    """Run the job of ready-made counts of a seed, and write it down if it failed."""
    kinds = {"safe": Kind.safe, "nothing": Kind.nothing, "refused": Kind.refused, "named": Kind.open}
    kinds |= {"not safe": Kind.not_protected}

    def judge() -> Result:
        end = judge_ready(seed)
        return Result(seed, kinds.get(end.partition(":")[0], Kind.disclosed), end, ("behind counts",), ("ready",))

    result = in_time(judge, seed, ("ready",))
    if result.failed:
        draw_ready(seed).write(out / f"{seed}-ready", f"{result}\n")
    return result


class OutOfTime(BaseException):
    """A job takes too long. No `except Exception` of the product takes it for an error of its own."""


def in_time(run: Callable[[], Result], seed: int, features: tuple[str, ...] = ()) -> Result:
    """Run a job, and call it a crash if it takes too much of the processor, waits for ever, or lets anything out."""

    def too_much(*_: object) -> None:
        raise OutOfTime(f"no answer in {SECONDS} s of the processor")

    def too_late(*_: object) -> None:
        raise OutOfTime(f"no answer in {STUCK} s of the clock")

    signal.signal(signal.SIGPROF, too_much)
    signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of all threads of this process, whatever runs beside it
    signal.setitimer(signal.ITIMER_REAL, STUCK)
    try:
        return run()
    except OutOfTime as error:
        return Result(seed, Kind.crash, f"{error}\n{traceback.format_exc()}", features=features)
    except Exception:  # whatever gets out is a bug, and one more job must not be lost because of this one
        return Result(seed, Kind.crash, traceback.format_exc(), features=features)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


class Progress:
    """Counts chunks as they come, writes them down, and says how far it is."""

    def __init__(self, journal: Journal, tally: Tally, of: int) -> None:
        self._journal, self._tally, self._of = journal, tally, of
        self._before, self._begin = tally.seeds, time.monotonic()
        self._told = self._begin

    def add(self, chunk: Chunk) -> None:
        """Add a chunk; failing jobs are named at once."""
        self._journal.add(chunk)
        self._tally.add(chunk)
        for result in chunk.results:
            if result.failed:
                print(f"FAILED {str(result).splitlines()[0]}", flush=True)

    def tick(self) -> None:
        """Say how far it is, if nothing was said for a while."""
        if time.monotonic() - self._told > TOLD:
            self._told = time.monotonic()
            self.tell()

    def tell(self) -> None:
        """Say how far it is."""
        now = self._tally.seeds - self._before
        print(self._tally.words(self._of, time.monotonic() - self._begin, now), flush=True)


def run_all(chunks: list[tuple[int, int]], workers: int, out: Path, how: How, progress: Progress) -> None:
    """Run all chunks of seeds, and hand each over as soon as it is done."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        tasks = {pool.submit(run_chunk, first, last, out, how): (first, last) for first, last in chunks}
        while tasks:
            ended, _ = wait(tasks, timeout=TOLD, return_when=FIRST_COMPLETED)
            for task in ended:
                try:
                    progress.add(task.result())
                except BrokenProcessPool:
                    first = [start for start, _ in list(tasks.values())[:workers]]
                    raise SystemExit(f"a worker died at seeds near {first}; --resume goes on from there") from None
                del tasks[task]
            progress.tick()


def show(tally: Tally, out: Path) -> None:
    """Print the counts of every kind, and what the attacker was told."""
    for kind in Kind:
        print(f"{tally.kinds[kind]:8,}  {kind.value}")
    print(f"{tally.verified:8,}  releases that verify calls valid")
    for kind in (Kind.disclosed, Kind.open):
        told = Counter(word for result in tally.results if result.kind is kind for word in result.why)
        for word, many in told.most_common():
            print(f"{many:8,}      {kind.value}: {word}")
    where = Counter(", ".join(result.features) for result in tally.failed if result.kind is Kind.disclosed)
    for words, many in where.most_common(12):
        print(f"{many:8,}      in jobs of the kind {words}")
    for result in tally.failed[:20]:
        print(f"\n{result}")
    if tally.failed:
        print(
            f"\n{len(tally.failed):,} failed; all of them are in {out}/<seed>, others in <seed>-rows and <seed>-ready"
        )


def digest_of_code() -> str:
    """Return what distinguishes one state of the product and of this attacker from others."""
    folders = Path(cellguard.__file__).parent, Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def campaign(given: argparse.Namespace, how: How) -> Tally:
    """Run the seeds that were asked for, or those of them that are left."""
    settings = {"seed": given.seed, "jobs": given.jobs, "verified": how.verified, "strict": how.strict}
    journal = Journal(given.out, settings | {"kinds": list(how.kinds), "code": digest_of_code()})
    tally, last = Tally(), given.seed + given.jobs
    done = list(journal.chunks()) if given.resume else []
    for chunk in done:
        tally.add(chunk)
    if not given.resume:
        for old in given.out.glob("[0-9]*"):
            shutil.rmtree(old)
        journal.begin()
    progress = Progress(journal, tally, given.jobs)
    run_all(left(given.seed, last, CHUNK, done), given.workers, given.out, how, progress)
    progress.tell()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="run these folders again instead")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument(
        "--verify", type=float, default=1.0, metavar="SHARE", help="of the releases to be verified, too"
    )
    parser.add_argument("--strict", action="store_true", help="what a summary names as not checked counts as told, too")
    parser.add_argument("--any-sums", action="store_true", help="judge all sums of a few suppressed cells, too")
    parser.add_argument("--resume", action="store_true", help="go on with the campaign that is in the folder")
    given = parser.parse_args()
    kinds = (*KINDS, "any sum") if given.any_sums else KINDS
    how = How(verified=given.verify, strict=given.strict, kinds=kinds)
    if given.folders:
        with scratch() as folder:
            found = [run_case(read_case(path), folder / "case", how) for path in given.folders]
        for path, result in zip(given.folders, found, strict=True):
            print(f"{path}: {result}")
        return int(any(result.failed for result in found))
    tally = campaign(given, how)
    show(tally, given.out)
    return int(bool(tally.failed))
