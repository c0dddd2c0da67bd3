"""Run any number of random jobs on all cores: ``make fuzz JOBS=20000 SEED=1``, or again a folder that it wrote.

Failing jobs are written to a folder each, named by their seed; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before numpy is loaded: the jobs are what runs side by side

from fuzz.beyond import KINDS
from fuzz.cases import read_case
from fuzz.generator import draw_any, draw_case
from fuzz.ready import draw_ready, judge_ready
from fuzz.rows import draw_rows, judge_rows
from fuzz.run import How, Kind, Result, run_case, run_seed

CHUNK = 25
ROWS = 10  # of so many seeds one is also the seed of a job with a rule about rows, and of one of ready-made counts
SECONDS = 120  # for one job; more is a failure of its own


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder in memory, if there is such a thing."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def run_chunk(first: int, last: int, out: Path, how: How) -> list[Result]:
    """Run some seeds, and write down what failed."""
    found = []
    with scratch() as folder:
        for seed in range(first, last):
            result = _in_time(seed, folder, how)
            found.append(result)
            if result.failed:
                draw_case(seed, draw_any).write(out / str(seed), f"{result}\n")
                released = folder / "case" / "out" / "release"
                if released.is_dir():
                    shutil.copytree(released, out / str(seed) / "release", dirs_exist_ok=True)
            if seed % ROWS == 0:
                found += [run_rows(seed, out), run_ready(seed, out)]
    return found


def run_rows(seed: int, out: Path) -> Result:
    """Run the job with a rule about rows of a seed, and write it down if it failed."""
    kinds = {"safe": Kind.safe, "nothing": Kind.nothing, "refused": Kind.refused, "not safe": Kind.not_protected}
    try:
        end = judge_rows(seed)
    except Exception:  # whatever gets out is a bug
        result = Result(seed, Kind.crash, traceback.format_exc(), features=("rows",))
    else:
        result = Result(seed, kinds.get(end, Kind.disclosed), end, ("a row",), ("rows",))
    if result.failed:
        draw_rows(seed).write(out / f"{seed}-rows", f"{result}\n")
    return result


def run_ready(seed: int, out: Path) -> Result:
    """Run the job of ready-made counts of a seed, and write it down if it failed."""
    kinds = {"safe": Kind.safe, "nothing": Kind.nothing, "refused": Kind.refused, "named": Kind.open}
    try:
        end = judge_ready(seed)
    except Exception:  # whatever gets out is a bug
        result = Result(seed, Kind.crash, traceback.format_exc(), features=("ready",))
    else:
        result = Result(seed, kinds.get(end.partition(":")[0], Kind.disclosed), end, ("behind counts",), ("ready",))
    if result.failed:
        draw_ready(seed).write(out / f"{seed}-ready", f"{result}\n")
    return result


def _in_time(seed: int, folder: Path, how: How) -> Result:
    def too_late(*_: object) -> None:
        raise TimeoutError(f"no answer in {SECONDS} s")

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    try:
        return run_seed(seed, folder, how, plans=draw_any)
    except TimeoutError as error:
        return Result(seed, Kind.crash, str(error))
    finally:
        signal.alarm(0)


def run_all(first: int, last: int, workers: int, out: Path, how: How) -> list[Result]:
    """Run all seeds, telling how far it is."""
    starts = range(first, last, CHUNK)
    found: list[Result] = []
    begin = told = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        tasks = [pool.submit(run_chunk, start, min(start + CHUNK, last), out, how) for start in starts]
        for task in as_completed(tasks):
            found += task.result()
            if time.monotonic() - told > 10:
                told = time.monotonic()
                failed = sum(result.failed for result in found)
                speed = len(found) / (told - begin)
                print(f"{len(found):,} of {last - first:,} jobs, {speed:.1f} a second, {failed} failed", flush=True)
    return found


def show(found: list[Result], out: Path) -> None:
    """Print the counts of every kind, and what the attacker was told."""
    kinds = Counter(result.kind for result in found)
    for kind in Kind:
        print(f"{kinds[kind]:8,}  {kind.value}")
    for kind in (Kind.disclosed, Kind.open):
        told = Counter(word for result in found if result.kind is kind for word in result.why)
        for word, many in told.most_common():
            print(f"{many:8,}      {kind.value}: {word}")
    where = Counter(", ".join(result.features) for result in found if result.kind is Kind.disclosed)
    for words, many in where.most_common(12):
        print(f"{many:8,}      in jobs of the kind {words}")
    failed = sorted((result for result in found if result.failed), key=lambda result: result.seed)
    for result in failed[:20]:
        print(f"\n{result}")
    if failed:
        print(f"\n{len(failed):,} failed; all of them are in {out}/<seed>, jobs with rules about rows in <seed>-rows")


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
    given = parser.parse_args()
    kinds = (*KINDS, "any sum") if given.any_sums else KINDS
    how = How(verified=given.verify, strict=given.strict, kinds=kinds)
    if given.folders:
        with scratch() as folder:
            found = [run_case(read_case(path), folder / "case", how) for path in given.folders]
        for path, result in zip(given.folders, found, strict=True):
            print(f"{path}: {result}")
    else:
        for old in given.out.glob("[0-9]*"):
            shutil.rmtree(old)
        found = run_all(given.seed, given.seed + given.jobs, given.workers, given.out, how)
        show(found, given.out)
    return int(any(result.failed for result in found))
