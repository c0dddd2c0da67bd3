"""YAML with line numbers: plain data, and for every place in it the line where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from cellguard.errors import JobError, file_name

Path_ = tuple[str | int, ...]
Lines = dict[Path_, int]
_DEEPEST = 40


def read_yaml(path: str | Path) -> tuple[Any, Lines]:
    """Read a YAML file safely; a key given twice is an error, since one of the two would be lost."""
    name = file_name(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise JobError(f"no job file {str(path)!r}; `cellguard init DATA` writes one") from None
    except (OSError, UnicodeDecodeError):
        raise JobError(f"cannot read {str(path)!r} as a UTF-8 text file") from None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise JobError(f"{name}: the file is empty; `cellguard init DATA` writes a job to start from")
        lines: Lines = {}
        return _plain(loader, node, (), lines, name), lines
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise JobError(f"{name} line {line}: not valid YAML ({error.problem}); check indentation and quotes") from None
    except yaml.YAMLError:
        raise JobError(f"{name}: not valid YAML; look for characters that are not text") from None


def _plain(loader: yaml.SafeLoader, node: yaml.Node, path: Path_, lines: Lines, name: str) -> Any:  # noqa: ANN401
    lines[path] = node.start_mark.line + 1
    if len(path) > _DEEPEST:
        raise JobError(f"{name} line {lines[path]}: nested too deeply; does an alias contain itself?")
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise JobError(f"{name} line {line}: merge keys (<<) are not supported; write the keys out")
            key = _scalar(loader, key_node, name)
            if not isinstance(key, str):
                raise JobError(f"{name} line {line}: the key {key!r} is not text; put it into quotes")
            if key in found:
                raise JobError(f"{name} line {line}: the key {key!r} comes twice; keep one")
            found[key] = _plain(loader, value_node, (*path, key), lines, name)
            lines[(*path, key)] = line
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_plain(loader, item, (*path, i), lines, name) for i, item in enumerate(node.value)]
    return _scalar(loader, node, name)


def _scalar(loader: yaml.SafeLoader, node: yaml.Node, name: str) -> Any:  # noqa: ANN401
    try:
        return loader.construct_object(node)
    except (ValueError, OverflowError):
        line = node.start_mark.line + 1
        raise JobError(f"{name} line {line}: looks like a date or number, but is none; put it into quotes") from None
