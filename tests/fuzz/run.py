"""One case through the product and then through the attack: what came of it."""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import combinations
from pathlib import Path
from typing import Any

from cellguard import verify
from cellguard.errors import InputError, NotProtected
from cellguard.files.folder import OutputFolder
from cellguard.job import run
from cellguard.spec.jobfile import Job

from fuzz.attack import Contradiction, Disclosure
from fuzz.cases import Case, read_csv
from fuzz.generator import draw_case, draw_twin
from fuzz.judge import find_disclosures
from fuzz.programs import Undecided
from fuzz.public import BadRelease, Codes, columns, spelled_out
from fuzz.worlds import ALL, Knowledge, TooLarge

UNCLAIMED = {"insiders", "unions"}  # what no run claims yet


class Kind(Enum):
    """How a case ended. All after `unclaimed` are failures of the product, or of the oracle."""

    safe = "called safe, and is"
    nothing = "called safe, nothing unsafe in it"
    refused = "refused"
    not_protected = "not protected, and said so"
    unclaimed = "released, but said to be not checked"
    large = "too large for the oracle"
    undecided = "the oracle could not decide"
    disclosed = "FALSE SAFE"
    order = "ORDER of rows tells"
    wrong = "WRONG: the truth does not fit the release"
    crash = "CRASH"
    invalid = "NOT VALID: verify refuses what protect calls safe"
    broken = "the ORACLE failed"


FAILURES = (Kind.disclosed, Kind.order, Kind.wrong, Kind.crash, Kind.invalid, Kind.broken)


@dataclass(frozen=True)
class Result:
    """What came of a case: the kind, what it says in words, and for false safety the reasons why."""

    seed: int
    kind: Kind
    words: str = ""
    why: tuple[str, ...] = ()
    features: tuple[str, ...] = field(default=())

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES

    def __str__(self) -> str:
        return f"seed {self.seed} ({', '.join(self.features)}): {self.kind.value}{_brackets(self.why)}\n{self.words}"


def _brackets(words: tuple[str, ...]) -> str:
    return f" [{', '.join(words)}]" if words else ""


def run_seed(seed: int, scratch: Path, know: Knowledge = ALL, *, twins: int = 4) -> Result:
    """Draw a case and run it; one in so many also has its twin run, to compare the order of rows."""
    case = draw_case(seed)
    result = run_case(case, scratch / "case", know)
    if result.kind in {Kind.safe, Kind.nothing} and twins and seed % twins == 0:
        result = run_twin(case, scratch, draw_twin(case)) or result
    return replace(result, seed=seed, features=case.features)


def run_case(case: Case, folder: Path, know: Knowledge = ALL) -> Result:
    """Protect a case in a fresh folder, and attack what is released."""
    try:
        summary = protect(case, folder)
    except NotProtected as error:
        return Result(0, Kind.not_protected, str(error))
    except InputError as error:
        return Result(0, Kind.refused, f"{type(error).__name__}: {error}")
    except Exception:  # whatever else gets out is a bug, which is what is looked for
        return Result(0, Kind.crash, traceback.format_exc())
    if summary is None:
        return Result(0, Kind.not_protected, "the audit's verdict is not safe")
    refusals = [check for check in verify(folder / "out").checks if not check.passed]
    if refusals:
        return Result(0, Kind.invalid, "\n".join(f"{check.name}: {check.detail}" for check in refusals))
    if not claims_all(summary):
        return Result(0, Kind.unclaimed)
    if "counts_and_values" in summary["not_checked"]:
        know = replace(know, together=False)  # which the headline says too
    return attack(spelled_out(case), folder / "out" / "release", know, primary=summary["set"]["primary"])


def protect(case: Case, folder: Path) -> dict[str, Any] | None:
    """Run the product; return its summary if it released anything."""
    shutil.rmtree(folder, ignore_errors=True)
    case.write_files(folder)
    done = run(Job.parse(dict(case.job), folder=folder))
    if done.protected.audit.verdict != "safe":
        return None
    OutputFolder(folder / "out").write(done)
    return json.loads((folder / "out" / "internal" / "summary.json").read_text(encoding="utf-8"))


def claims_all(summary: Mapping[str, Any]) -> bool:
    """Whether a summary claims safety without leaving anything out but what no run claims."""
    said = {**summary, **summary.get("set", {}), **summary.get("settings", {}).get("attack", {})}
    open_ = [key for key, value in said.items() if str(value).replace("_", " ") in {"not checked", "not proven"}]
    return summary["verdict"] == "safe" and set(open_) <= UNCLAIMED


def attack(case: Case, release: Path, know: Knowledge = ALL, *, primary: int = 1) -> Result:
    """Attack a release folder."""
    try:
        found = find_disclosures(case, release, know)
    except TooLarge:
        return Result(0, Kind.large)
    except Undecided as error:
        return Result(0, Kind.undecided, str(error))
    except (Contradiction, BadRelease) as error:
        return Result(0, Kind.wrong, str(error))
    except Exception:  # one more job must not be lost because of this one
        return Result(0, Kind.broken, traceback.format_exc())
    if not found:
        return Result(0, Kind.safe if primary else Kind.nothing)
    return Result(0, Kind.disclosed, _listing(found), explain(case, release, know, found))


def _listing(found: list[Disclosure], most: int = 10) -> str:
    more = [f"and {len(found) - most} more"] if len(found) > most else []
    return "\n".join([*map(str, found[:most]), *more])


def explain(case: Case, release: Path, know: Knowledge, found: list[Disclosure]) -> tuple[str, ...]:
    """What the attacker must make use of to get at the first cell: without it the cell would be safe.

    "a or b" tells that either of two alone is enough for him; "relations", that sums of what is published are.
    """
    first = found[0].goal.name
    names = [name for name in ("listed", "across", "identity", "crossing", "codes") if getattr(know, name)]

    def is_needed(some: tuple[str, ...]) -> bool:
        left = find_disclosures(case, release, replace(know, **dict.fromkeys(some, False)))
        return first not in {one.goal.name for one in left}

    for size in range(1, len(names) + 1):
        words = [" or ".join(some) for some in combinations(names, size) if is_needed(some)]
        if words:
            return tuple(words)
    return ("relations",)


def run_twin(case: Case, scratch: Path, twin: Case) -> Result | None:
    """Protect the twin of a case, and say which table lists rows in another order; nothing if none does."""
    try:
        if protect(twin, scratch / "twin") is None:
            return None
    except (InputError, NotProtected):
        return None
    except Exception:
        return Result(0, Kind.crash, f"the twin:\n{traceback.format_exc()}")
    for spec in case.job["tables"]:
        files = [scratch / name / "out" / "release" / f"{spec['name']}.csv" for name in ("case", "twin")]
        one, two = ([tuple(row[: len(columns(spec))]) for row in read_csv(file.read_text())[1]] for file in files)
        if not same_order(one, two):
            return Result(0, Kind.order, f"{spec['name']}: the order of rows depends on more than their codes")
    return None


def same_order(one: Sequence[Codes], two: Sequence[Codes]) -> bool:
    """Whether two lists of rows have what they share in the same order."""
    shared = set(one) & set(two)
    return [row for row in one if row in shared] == [row for row in two if row in shared]
