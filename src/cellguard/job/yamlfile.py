"""YAML with line numbers: plain data, and for every place in it the line where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cellguard.errors import JobError, file_name
from cellguard.reading.yaml_loader import compose

Path_ = tuple[str | int, ...]
Lines = dict[Path_, int]
_DEEPEST = 40
_MOST_REPEATED = 20_000  # entries that aliases may repeat; a few kilobytes of aliases can stand for billions
_LARGEST = 10_000_000
_JOBS = frozenset({".yaml", ".yml", ".json"})
_INIT = "`cellguard init DATA`, which writes job.yaml"


def read_yaml(path: str | Path) -> tuple[Any, Lines]:
    """Read a YAML file safely; a key given twice is an error, since one of the two would be lost."""
    name = file_name(path)
    if Path(path).is_dir():
        raise JobError(f"{str(path)!r} is a folder, and a job is a .yaml file; name the job")
    if Path(path).is_file() and Path(path).suffix.lower() not in _JOBS:
        raise JobError(
            f"{name} is no job but a data file; run `cellguard init {name}` first, which writes job.yaml, and then "
            "give job.yaml to this command"
        )
    try:
        if Path(path).stat().st_size > _LARGEST:
            raise JobError(f"{name}: too large for a job file; is it the data? `cellguard init DATA` writes a job")
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        cure = "`cellguard init DATA` writes one from a data file"
        if Path(path).suffix.lower() not in _JOBS:
            cure = f"a job is a .yaml file, and {name} is named like data: see whether it is there, then run {_INIT}"
        raise JobError(f"no job file {str(path)!r}; {cure}") from None
    except (OSError, UnicodeDecodeError):
        raise JobError(f"cannot read {str(path)!r} as a UTF-8 text file") from None
    return read_job_text(text, name)


def read_job_text(text: str, name: str) -> tuple[Any, Lines]:
    """Read the text of a job as `read_yaml` reads its file."""
    reading, node = _read_text(text, name)
    if node is None:
        raise JobError(f"{name}: the file is empty; `cellguard init DATA` writes a job to start from")
    return node, reading.lines


def read_value(text: str, name: str) -> Any:  # noqa: ANN401
    """Return the plain data of a text that is YAML, such as a value on the command line.

    >>> read_value("{month: [5, 6]}", "--set")
    {'month': [5, 6]}
    """
    return _read_text(text, name)[1]


def _read_text(text: str, name: str) -> tuple[_Reading, Any]:
    """Read YAML safely; what is not YAML is an error that names the line."""
    try:
        loader, node = compose(text)
        reading = _Reading(loader, name)
        return reading, None if node is None else reading.plain(node, ())
    except RecursionError:
        raise JobError(f"{name}: nested too deeply for a job") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise JobError(f"{name} line {line}: not valid YAML; {_cure(error)}") from None
    except yaml.YAMLError:
        raise JobError(f"{name}: not valid YAML; look for characters that are not text") from None


def _cure(error: yaml.MarkedYAMLError) -> str:
    """Return what to do about a text that is not YAML; the parser's own words are for programmers."""
    problem = error.problem or ""
    if "'\\t'" in problem:
        return "indent with blanks, not with tabs"
    if (
        "block end" in problem
        or "mapping values are not allowed" in problem
        or "could not find expected ':'" in problem
    ):
        return "keys that belong together begin in the same column, with `: ` after each; compare with the lines around"
    if "expected ','" in problem or "expected the node content" in problem:
        return "a list is [a, b] and a mapping {key: value}; look for a missing comma, bracket or brace"
    if "quoted scalar" in problem:
        return "a quotation mark is opened and not closed"
    if "escape character" in problem:
        return "a backslash in double quotes is a sign of its own; write paths with /, or in single quotes"
    return f"{problem}; check indentation, brackets and quotes"


@dataclass
class _Reading:
    """One file on the way to plain data: the lines so far, and how much of it is repeated by aliases."""

    loader: yaml.SafeLoader
    name: str
    lines: Lines = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    repeated: int = 0

    def plain(self, node: yaml.Node, path: Path_) -> Any:  # noqa: ANN401
        """Return a node as plain data, and note where each part of it stands."""
        line = self.lines[path] = node.start_mark.line + 1
        if len(path) > _DEEPEST:
            raise JobError(f"{self.name} line {line}: nested too deeply; does an alias contain itself?")
        self._count(node, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*path, i)) for i, item in enumerate(node.value)]
        return self._scalar(node)

    def _count(self, node: yaml.Node, line: int) -> None:
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if self.repeated > _MOST_REPEATED:
            raise JobError(
                f"{self.name} line {line}: aliases (*) repeat more than {_MOST_REPEATED:,} entries; write out what is "
                "meant, with fewer aliases inside aliases"
            )

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise JobError(f"{self.name} line {line}: merge keys (<<) are not supported; write the keys out")
            key = self._scalar(key_node)
            if not isinstance(key, str):
                point = "; a decimal number is written with a point, as 12.5" if isinstance(key, int) else ""
                raise JobError(f"{self.name} line {line}: the key {key!r} is not text; put it into quotes{point}")
            if key in mapping:
                raise JobError(f"{self.name} line {line}: the key {key!r} comes twice; keep one")
            mapping[key] = self.plain(value_node, (*path, key))
            self.lines[(*path, key)] = line
        return mapping

    def _scalar(self, node: yaml.Node) -> Any:  # noqa: ANN401
        try:
            return self.loader.construct_object(node)
        except (ValueError, OverflowError):
            line = node.start_mark.line + 1
            raise JobError(
                f"{self.name} line {line}: looks like a date or number, but is none; put it into quotes"
            ) from None
