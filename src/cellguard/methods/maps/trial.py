"""What other settings would make of a map, at once: its points are read once. Nothing is released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cellguard.errors import InputError, JobError
from cellguard.job.edit import set_key
from cellguard.job.jobfile import Job
from cellguard.job.yamlfile import read_value
from cellguard.methods.maps.files.job_points import Located, read_map
from cellguard.methods.maps.merging.method import Merge
from cellguard.methods.maps.merging.result import MergeResult
from cellguard.methods.maps.method import Redistribute
from cellguard.methods.maps.result import MapResult
from cellguard.methods.maps.smoothing.method import Smooth
from cellguard.methods.maps.smoothing.result import SmoothResult
from cellguard.methods.maps.spec import PlaceSpec, table_of
from cellguard.rules.rule import fewest_of
from cellguard.run_context import Run

FEWEST, LARGEST = "min_frequency", "largest"
SETTINGS: Mapping[str, tuple[str, ...]] = {
    Redistribute.name: ("size", "algorithm", "outliers", FEWEST),
    Merge.name: ("size", LARGEST, FEWEST),
    Smooth.name: ("size", "bandwidth", "risk", "max_risk", FEWEST),
}
_MOST_TRIED = 60_000  # cells; maps of more take too long to follow a slider
_OF_PLACE = set(PlaceSpec.model_fields) - {"size", "bins", "shape", "geopackage"}
Tried = MapResult | MergeResult | SmoothResult


@dataclass(frozen=True, eq=False)
class MapTrial:
    """The points of a job's map, ready for any settings. Confidential."""

    located: Located

    @classmethod
    def of(cls, job: Job) -> MapTrial:
        """Read the points of a job."""
        return cls(read_map(job))

    def made(self, job: Job, *, within: Run = Run()) -> Tried:  # noqa: B008
        """Return the map as a job of the same points would have it."""
        located = self.located.sized(PlaceSpec.of(job))
        _refuse_many(len(located.tiles.count))
        if job.method == Merge.name:
            return Merge(job).protect(located, within, {})
        if job.method == Smooth.name:
            done = Smooth(job).protect(located, within, {})
            _refuse_many(int(done.smoothed.reached.sum()))
            return done
        return Redistribute(job).redistributed(located, within, {}, compared=False)


def _refuse_many(cells: int) -> None:
    if cells > _MOST_TRIED:
        raise InputError(
            f"this map has {cells:,} cells, too many to be drawn while you choose; choose larger ones, or protect it"
        )


def reading_of(job: Job) -> str:
    """Return what decides which points are read and where: jobs that agree in it can share a trial."""
    table = table_of(job)
    place = PlaceSpec.of(job).model_dump(include=_OF_PLACE)
    return str([job.microdata, table.cells, table.value, table.decimals, place])


def settings_of(job: Job) -> dict[str, object]:
    """Return the settings of a map that may be tried."""
    spec = PlaceSpec.of(job)
    said: dict[str, object] = {key: getattr(spec, key) for key in SETTINGS[job.method] if key != FEWEST}
    return said | {FEWEST: fewest_of(table_of(job).rules)}


def with_settings(text: str, said: Mapping[str, object], method: str = Redistribute.name) -> str:
    """Return the text of a job that says other settings of its map; comments and all else stay.

    A largest size of 0 is none.

    >>> job = "redistribute: {bins: 9}  # coarse\\ntables:\\n  - {by: [hexagon], rules: [{min_frequency: 3}]}\\n"
    >>> print(with_settings(job, {"size": 50, "min_frequency": 5}))
    redistribute: {size: 50}  # coarse
    tables:
      - {by: [hexagon], rules: [{min_frequency: 5}]}
    <BLANKLINE>
    """
    known = SETTINGS[method]
    if strange := [key for key in said if key not in known]:
        raise InputError(f"no setting {strange[0]!r} of a map can be tried; there are {', '.join(known)}")
    settings = {key: value for key, value in said.items() if key != FEWEST}
    if settings:
        own = _part(text, method)
        left = {key: value for key, value in own.items() if not (key == "bins" and "size" in settings)}
        kept = {key: value for key, value in (left | settings).items() if not (key == LARGEST and value == 0)}
        text = set_key(text, [method], kept)
    if FEWEST in said:
        text = set_key(text, ["tables", 0, "rules"], _rules(text, said[FEWEST]))
    return text


def _part(text: str, key: str) -> Mapping[str, object]:
    data = read_value(text, "the job")
    part = data.get(key) if isinstance(data, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _rules(text: str, fewest: object) -> list[object]:
    """Return the rules of the map with another number of records; it comes first where there was none."""
    data = read_value(text, "the job")
    try:
        rules = data["tables"][0].get("rules") or []
    except (KeyError, IndexError, TypeError, AttributeError):
        raise JobError("the job has no table of its own") from None
    if not isinstance(rules, list):
        raise JobError("the job's rules are not a list; change them by hand")
    if not any(isinstance(rule, Mapping) and FEWEST in rule for rule in rules):
        return [{FEWEST: fewest}, *rules]
    return [_rule(rule, fewest) if isinstance(rule, Mapping) and FEWEST in rule else rule for rule in rules]


def _rule(rule: Mapping[str, object], fewest: object) -> dict[str, object]:
    said = rule[FEWEST]
    return {FEWEST: {**said, "n": fewest} if isinstance(said, Mapping) else fewest}
