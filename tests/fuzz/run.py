"""One case through the product and then through the attack: what came of it."""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from cellguard.errors import InputError, NotProtected
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify

from fuzz.attack import Contradiction, Disclosure
from fuzz.beyond import KINDS, claimed, find_all
from fuzz.cases import Case, read_csv
from fuzz.generator import Plans, draw_case, draw_twin
from fuzz.judge import find_disclosures
from fuzz.plans import draw_plan
from fuzz.programs import Undecided
from fuzz.public import BadRelease, Codes, columns, spelled_out
from fuzz.worlds import ALL, Knowledge, TooLarge

UNCLAIMED = {"insiders", "unions"}  # what no run claims yet


class Kind(Enum):
    """How a case ended. All after `undecided` are failures of the product, or of the oracle."""

    safe = "called safe, and is"
    nothing = "called safe, nothing unsafe in it"
    refused = "refused"
    not_protected = "not protected, and said so"
    unclaimed = "released, but said to be not checked"
    open = "told, but named as not checked"
    large = "too large for the oracle"
    undecided = "the oracle could not decide"
    disclosed = "FALSE SAFE"
    order = "ORDER of rows tells"
    wrong = "WRONG: the truth does not fit the release"
    invalid = "NOT VALID: verify refuses the release"
    crash = "CRASH"
    broken = "the ORACLE failed"


FAILURES = (Kind.disclosed, Kind.order, Kind.wrong, Kind.invalid, Kind.crash, Kind.broken)


@dataclass(frozen=True)
class Result:
    """What came of a case: the kind, what it says in words, and for false safety the reasons why.

    ``verified`` says that the product's own `verify` calls the release valid.
    """

    seed: int
    kind: Kind
    words: str = ""
    why: tuple[str, ...] = ()
    features: tuple[str, ...] = field(default=())
    verified: bool = False

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES

    def __str__(self) -> str:
        return f"seed {self.seed} ({', '.join(self.features)}): {self.kind.value}{_brackets(self.why)}\n{self.words}"


def _brackets(words: tuple[str, ...]) -> str:
    return f" [{', '.join(words)}]" if words else ""


@dataclass(frozen=True)
class How:
    """How cases are run: what the attacker knows, and what is done with a release besides.

    One in so many also has its twin run (``twins``), to compare the order of rows; ``verified`` is the share that the
    product's own `verify` looks at. ``strict`` takes no notice of what a summary names as not checked, and ``kinds``
    are what is judged.
    """

    know: Knowledge = ALL
    twins: int = 4
    verified: float = 1.0
    strict: bool = False
    kinds: tuple[str, ...] = KINDS


USUAL = How()


def run_seed(seed: int, scratch: Path, how: How = USUAL, *, plans: Plans = draw_plan) -> Result:
    """Draw a case and run it."""
    case = draw_case(seed, plans)
    result = run_case(case, scratch / "case", how)
    if result.kind in {Kind.safe, Kind.nothing} and how.twins and seed % how.twins == 0:
        result = run_twin(case, scratch, draw_twin(case, plans)) or result
    return replace(result, seed=seed, features=case.features)


def run_case(case: Case, folder: Path, how: How = USUAL) -> Result:
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
    if not claims_all(summary):
        return Result(0, Kind.unclaimed)
    know, named = how.know, summary["not_checked"]
    if "counts_and_values" in named:
        know = replace(know, together=False)  # which the headline says too
    result = attack(
        spelled_out(case),
        folder / "out" / "release",
        know,
        primary=summary["set"]["primary"],
        not_checked=() if how.strict else named,
        kinds=how.kinds,
    )
    looked_at = not result.failed and Random(f"verify {case.seed}").random() < how.verified
    return (refused_by_verify(folder / "out") or replace(result, verified=True)) if looked_at else result


def refused_by_verify(folder: Path) -> Result | None:
    """What the product's verifier has against an output folder; None if it is valid."""
    try:
        failed = [str(check) for check in verify(folder / "internal" / "certificate.json").checks if not check.passed]
    except Exception:
        return Result(0, Kind.crash, f"verify:\n{traceback.format_exc()}")
    return Result(0, Kind.invalid, "\n".join(failed)) if failed else None


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


def attack(
    case: Case,
    release: Path,
    know: Knowledge = ALL,
    *,
    primary: int = 1,
    not_checked: Collection[str] = (),
    kinds: Collection[str] = KINDS,
) -> Result:
    """Attack a release folder whose summary names some attacks as not checked."""
    try:
        found = find_all(case, release, know, kinds)
    except TooLarge:
        return Result(0, Kind.large)
    except Undecided as error:
        return Result(0, Kind.undecided, str(error))
    except (Contradiction, BadRelease) as error:
        return Result(0, Kind.wrong, str(error))
    except Exception:  # one more job must not be lost because of this one
        return Result(0, Kind.broken, traceback.format_exc())
    false = claimed(found, not_checked)
    if not found:
        return Result(0, Kind.safe if primary else Kind.nothing)
    if not false:
        return Result(0, Kind.open, _listing(found), _tags(found))
    cells = [one for one in false if one.goal.kind == "cell"]
    why = tuple(f"by {word}" for word in explain(case, release, know, cells)) if cells else ()
    return Result(0, Kind.disclosed, _listing(false), (*_tags(false), *why))


def _tags(found: Sequence[Disclosure]) -> tuple[str, ...]:
    """What is told, and how well."""
    return tuple(sorted({f"{one.goal.kind} {one.how}" for one in found}))


def _listing(found: Sequence[Disclosure], most: int = 10) -> str:
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
