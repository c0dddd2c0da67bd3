"""Edits of a job's text: one key gets another value, and comments and all else stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import yaml

from cellguard.errors import InternalError, JobError
from cellguard.job.yamlfile import Path_, read_value

_WIDE = 10**6


def set_key(text: str, path: Sequence[str | int], value: object) -> str:
    """Return the text of a job in which what stands at a place has another value; None takes the key away.

    Only the last step of the place may be new. The result is read again, and is refused unless it says just that.

    >>> print(set_key("tables:  # one\\n  - name: t\\n    rules: [{min_frequency: 3}]\\n", ["tables", 0, "rules"], []))
    tables:  # one
      - name: t
        rules: []
    <BLANKLINE>
    """
    text = text.removeprefix("\ufeff")
    data = read_value(text, "the job")
    wanted = _changed(data, tuple(path), value)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    edited = _edited(text, root, tuple(path), value)
    try:
        agrees = read_value(edited, "the job") == wanted
    except JobError:
        agrees = False
    if not agrees:
        raise InternalError("the text of the job cannot be edited here; change it by hand")
    return edited


def table_place(text: str, name: str) -> Path_:
    """Return where a job's text speaks of a table."""
    data = read_value(text.removeprefix("\ufeff"), "the job")
    listed = data.get("tables") if isinstance(data, dict) else None
    for number, table in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(table, dict) and table.get("name") == name:
            return "tables", number
    raise JobError(f"the job's text has no table {name!r} of its own")


def _changed(data: Any, path: Path_, value: object) -> Any:  # noqa: ANN401
    changed = deepcopy(data)
    here = changed
    try:
        for step in path[:-1]:
            here = here[step]
        if value is None:
            here.pop(path[-1], None)
        else:
            here[path[-1]] = value
    except (KeyError, IndexError, TypeError, AttributeError):
        raise JobError(f"the job has no place {'.'.join(map(str, path))}") from None
    return changed


def _edited(text: str, root: Any, path: Path_, value: object) -> str:  # noqa: ANN401
    parent = root
    for step in path[:-1]:
        parent = _below(parent, step)[1]
    found = _below(parent, path[-1])
    if found[1] is None:
        return text if value is None else _added(text, parent, str(path[-1]), value)
    if value is None:
        return _without(text, parent, found)
    start, end, said = found[1].start_mark.index, _end(text, found[1]), _written(found[1], value)
    below = found[0] is not None and found[1].start_mark.line > found[0].end_mark.line
    if below and not said.startswith("- "):  # what was a block goes onto the line of its key
        return f"{text[: found[0].end_mark.index]}: {said}{text[end:]}"
    return text[:start] + said + text[end:]


def _below(node: Any, step: str | int) -> tuple[Any, Any]:  # noqa: ANN401
    """Return the key and the value below a node; None where there is none."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return None, node.value[step]
    return next(((key, held) for key, held in node.value if key.value == step), (None, None))


def _end(text: str, node: Any) -> int:  # noqa: ANN401
    """Return where a node's own text ends; a block ends before blank lines and comments that follow it."""
    end: int = node.end_mark.index
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    return end


def _added(text: str, parent: Any, key: str, value: object) -> str:  # noqa: ANN401
    said = f"{_flow(key)}: {_flow(value)}"
    if parent.flow_style:
        place = parent.end_mark.index - 1
        return f"{text[:place].rstrip()}{', ' if parent.value else ''}{said}{text[place:]}"
    end = _end(text, parent)
    line = text.find("\n", end)
    place = len(text) if line < 0 else line
    return f"{text[:place]}\n{' ' * parent.start_mark.column}{said}{text[place:]}"


def _without(text: str, parent: Any, found: tuple[Any, Any]) -> str:  # noqa: ANN401
    start, end = found[0].start_mark.index, _end(text, found[1])
    if parent.flow_style:
        after = text[end:].lstrip()
        if after.startswith(","):
            return text[:start] + after[1:].lstrip()
        return text[:start].rstrip().removesuffix(",") + text[end:]
    line = text.find("\n", end)
    begin = text.rfind("\n", 0, start) + 1
    return text[:begin] + (text[line + 1 :] if line >= 0 else "")


def _written(node: Any, value: object) -> str:  # noqa: ANN401
    """Return a value as it stands in place of a node: an entry a line where the old one had it so."""
    block = isinstance(node, yaml.SequenceNode) and not node.flow_style
    if block and isinstance(value, list) and value:
        return f"\n{' ' * node.start_mark.column}".join(f"- {_flow(entry)}" for entry in value)
    return _flow(value)


def _flow(value: object) -> str:
    plain = dict(value) if isinstance(value, Mapping) else value
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=_WIDE, allow_unicode=True, sort_keys=False)
    text = text.strip().removesuffix("...").strip()
    # A word that begins with one of these is written plain, but read so only where no braces are around it.
    return yaml.safe_dump(plain, default_style="'", width=_WIDE).strip() if text.startswith((":", "?")) else text
