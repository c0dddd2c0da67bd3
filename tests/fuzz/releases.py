"""One case in two releases: some of its tables first, the others in a job that names the first as `previous`.

The attacker has the files of both. What is unsafe in either must be as uncertain as its rules ask for.
"""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from cellguard.errors import InputError, NotProtected
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run
from cellguard.verifier.verify import verify

from fuzz.attack import Contradiction
from fuzz.cases import Case
from fuzz.generator import draw_case
from fuzz.inside import inside_disclosures, is_told
from fuzz.judge import make_attack, unsafe_cells
from fuzz.programs import Undecided
from fuzz.public import BadRelease, read_shown
from fuzz.run import Kind, Result, claims_all
from fuzz.worlds import ALL, TooLarge

FIRST, SECOND = "first", "second"


def run_pair(seed: int, scratch: Path, *, insiders: bool = False) -> Result:
    """Release a case in two steps, and attack what both give; with ``insiders`` as each respondent, too."""
    case = draw_case(seed)
    if insiders:
        case = replace(case, job={**case.job, "attack": {**case.job.get("attack", {}), "insiders": True}})
    rng = Random(f"pair {seed}")
    one, two = _split(rng, [dict(table) for table in case.job["tables"]])
    folder = scratch / "pair"
    shutil.rmtree(folder, ignore_errors=True)
    case.write_files(folder)
    try:
        if _release(case, folder, FIRST, one, {}) is None:
            return Result(seed, Kind.not_protected, "the first release", features=case.features)
        summary = _release(case, folder, SECOND, two, {"previous": [FIRST]})
    except (NotProtected, InputError) as error:
        kind = Kind.not_protected if isinstance(error, NotProtected) else Kind.refused
        return Result(seed, kind, f"{type(error).__name__}: {error}", features=case.features)
    except Exception:  # whatever else gets out is a bug, which is what is looked for
        return Result(seed, Kind.crash, traceback.format_exc(), features=case.features)
    if summary is None:
        return Result(seed, Kind.not_protected, "the second release", features=case.features)
    checks = verify(folder / SECOND / "internal/certificate.json").checks
    if failed := [check for check in checks if not check.passed]:
        return Result(seed, Kind.wrong, f"not verified: {failed}", features=case.features)
    both = Case({**case.job, "tables": [*one, *two]}, case.files, case.records)
    return replace(_attack(both, folder, summary, insiders=insiders), seed=seed, features=case.features)


def _split(rng: Random, tables: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Some tables first and the others later; now and then one of the first again, at another cost."""
    rng.shuffle(tables)
    cut = rng.randint(1, max(1, len(tables) - 1))
    one, two = tables[:cut], tables[cut:]
    if not two or rng.random() < 0.3:
        again = dict(rng.choice(one))
        again["name"] = f"{again['name']}again"
        again["protect"] = {"cost": rng.choice(["value", "constant", "count"])}
        two = [*two, again]
    return one, two


def _release(
    case: Case, folder: Path, name: str, tables: Sequence[dict[str, Any]], more: dict[str, Any]
) -> dict[str, Any] | None:
    """Protect some tables of a case, and write them; return the summary if they are called safe."""
    job = {**case.job, "tables": list(tables), **more}
    if all("cells" in table for table in tables):
        job.pop("microdata", None)
    done = run(Job.parse(job, folder=folder))
    if done.protected.audit.verdict != "safe":
        return None
    OutputFolder(folder / name).write(done)
    return json.loads((folder / name / "internal" / "summary.json").read_text(encoding="utf-8"))


def _attack(both: Case, folder: Path, summary: dict[str, Any], *, insiders: bool = False) -> Result:
    everything = folder / "both"
    everything.mkdir()
    for name in (FIRST, SECOND):
        for path in (folder / name / "release").glob("*.csv"):
            shutil.copy(path, everything)
    open_ = {key for name in (FIRST, SECOND) for key in _summary(folder, name)["not_checked"]}
    know = replace(ALL, together="counts_and_values" not in open_)
    unsafe = [c for c in unsafe_cells(both) if "differences" not in open_ or " without " not in c.table]
    try:
        attack, goals = make_attack(both, read_shown(both, everything), unsafe, know)
        found = attack.disclosures(goals) if unsafe else []
        if insiders and is_told(both) and not found:
            found = inside_disclosures(both, everything, know, unsafe=unsafe)
    except TooLarge:
        return Result(0, Kind.large)
    except Undecided as error:
        return Result(0, Kind.undecided, str(error))
    except (Contradiction, BadRelease) as error:
        return Result(0, Kind.wrong, str(error))
    if found:
        return Result(0, Kind.disclosed, "\n".join(map(str, found[:10])))
    if not claims_all(summary):
        return Result(0, Kind.unclaimed)
    return _audited(folder, Result(0, Kind.safe if unsafe else Kind.nothing))


def _audited(folder: Path, result: Result) -> Result:
    """A set that nobody gets through must be called safe by the audit of both folders too."""
    verdict = audit_folder(folder / SECOND, others=[folder / FIRST]).protected.audit.verdict
    return result if verdict == "safe" else Result(0, Kind.wrong, f"the audit of both folders says {verdict}")


def _summary(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name / "internal" / "summary.json").read_text(encoding="utf-8"))
