"""Keys of a job that are set for one run: `microdata.source=june.csv`, as `--set` on the command line has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from cellguard.errors import JobError, did_you_mean
from cellguard.job.yamlfile import Lines, Path_, read_value


def with_overrides(data: Mapping[str, Any], lines: Lines, settings: Sequence[str]) -> tuple[dict[str, Any], Lines]:
    """Return a job's data with keys set anew, and the lines of those parts that are still the file's.

    A setting is ``KEY=VALUE``: dots go down into mappings, an entry of a list is named by its number from 0 or by its
    ``name``, and the value is YAML.

    >>> job = {"microdata": {"source": "may.csv"}, "tables": [{"name": "t", "value": "turnover"}]}
    >>> with_overrides(job, {}, ["microdata.source=june.csv", "tables.t.where={month: ['06']}"])[0]["tables"]
    [{'name': 't', 'value': 'turnover', 'where': {'month': ['06']}}]
    """
    changed, left = deepcopy(dict(data)), dict(lines)
    for setting in settings:
        key, equals, text = setting.partition("=")
        words = [word.strip() for word in key.split(".")]
        if not equals or not all(words):
            raise JobError(f"--set {setting}: say KEY=VALUE, as `--set microdata.source=june.csv`")
        place = _set(changed, words, read_value(text, f"--set {key.strip()}"), key.strip())
        left = {path: line for path, line in left.items() if path[: len(place)] != place}
    return changed, left


def _set(data: dict[str, Any], words: Sequence[str], value: object, key: str) -> Path_:
    """Set one key in place, and return its path."""
    here: Any = data
    path: list[str | int] = []
    for word in words[:-1]:
        step = _step(here, word, key)
        if isinstance(here, dict) and here.get(step) is None:
            here[step] = {}
        here = here[step]
        path.append(step)
    last = _step(here, words[-1], key)
    here[last] = value
    return (*path, last)


def _step(here: object, word: str, key: str) -> str | int:
    """Return where a word leads from here: a key of a mapping, or the position of an entry of a list."""
    if isinstance(here, dict):
        return word
    if not isinstance(here, list):
        raise JobError(f"--set {key}: nothing is below here, so {word!r} cannot be set")
    if word.isdecimal() and int(word) < len(here):
        return int(word)
    names = [str(entry["name"]) for entry in here if isinstance(entry, dict) and "name" in entry]
    if word in names:
        return [isinstance(entry, dict) and str(entry.get("name")) == word for entry in here].index(True)
    raise JobError(f"--set {key}: no entry {word!r}{did_you_mean(word, names)}")
