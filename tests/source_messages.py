"""What errors say, read from the source: each message as a text with parts, as the catalogue writes it.

A part that may only be one of a few texts is put in, so such a message becomes several. What is left is named by what
stands there: `{n}` is a count, `{more}` a tail as "; did you mean ...?", `{what}` further words, all others are names.
"""

import ast
import json
import re
import sys
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

import cellguard

SOURCE = Path(cellguard.__file__).parent
ERRORS = frozenset(
    (
        *("InputError", "UnknownCode", "HierarchyError", "NotAdditive", "Disagreement", "JobError", "MissingExtra"),
        *("NotProtected", "Stopped", "OutsideFile", "BatchError", "MissingFile", "Unprotectable"),
        *("HTTPException", "UsageError", "PydanticCustomError", "ValueError", "_Wrong", "fault"),
    )
)
_CELLS = ("hexagon", "square", "area")  # what the cells of a map are
_EXPLAIN = ("limited", "limit", "lacking", "missing", "address_fault")
_TAILS = frozenset(("did_you_mean",))
_MOST = 12  # forms of one message; beyond, its parts stay parts


@dataclass(frozen=True)
class Message:
    """A message of the source, and where it is raised."""

    text: str
    place: str
    kind: str


@dataclass
class _Module:
    path: Path
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)


@cache
def modules() -> dict[str, _Module]:
    """Return all modules of the source by their dotted names."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = ".".join(("cellguard", *path.relative_to(SOURCE).with_suffix("").parts))
        module = found[name] = _Module(path, tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                module.functions.setdefault(node.name, node)
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and getattr(node, "value", None) is not None:
                module.constants[target.id] = node.value
    return found


def messages(kinds: frozenset[str] = ERRORS) -> list[Message]:
    """Return the messages that are given to errors of some kinds."""
    return [message for module in modules().values() for message in _of_module(module, kinds)]


def _of_module(module: _Module, kinds: frozenset[str]):
    for function in module.functions.values():
        if function.name.strip("_") in _EXPLAIN or "fault" in function.name.split("_"):
            for one in ast.walk(function):
                if isinstance(one, ast.Return) and one.value is not None:
                    yield from _told(one.value, module, function, "fault")
    for scope, node in _calls(module.tree, None):
        name = _last(node.func)
        if name in kinds:
            given = node.args[1:] if name in ("HTTPException", "PydanticCustomError") else node.args[:1]
            given += [one.value for one in node.keywords if one.arg in ("detail", "message")]
            for one in given[:1]:
                yield from _told(one, module, scope, name)


def _told(node, module, scope, kind):
    place = f"{module.path.relative_to(SOURCE)}:{node.lineno}"
    for form in forms(node, module, scope):
        for word in _CELLS if _is_map(module) else [""]:
            text = tuple(word if word and piece == ("word",) else piece for piece in form)
            bare, written = _named(text)
            if kind == "PydanticCustomError" or bare == _single(written):  # with its parts as they are, or without any
                written = _single(written)
            if written[:1] not in ".," and re.search("[a-z]{2}.* ", re.sub("`.*?`", "", bare)):
                yield Message(written, place, kind)


def _single(text):
    return text.replace("{{", "{").replace("}}", "}")


def _calls(node, scope):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield scope, child
        yield from _calls(child, child if isinstance(child, ast.FunctionDef) else scope)


def _last(func):
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


# A text while it is read: literals, and parts as (name,) tuples.
def forms(node, module, scope, depth=3) -> list[tuple]:
    """Return the texts that an expression may give, each a tuple of literals and parts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
        return [(str(node.value),)]
    if isinstance(node, ast.IfExp):
        return forms(node.body, module, scope, depth) + forms(node.orelse, module, scope, depth)
    if isinstance(node, ast.BoolOp):
        return [form for value in node.values for form in forms(value, module, scope, depth)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and not _counts(node):
        return _joined([forms(node.left, module, scope, depth), forms(node.right, module, scope, depth)])
    if isinstance(node, ast.JoinedStr):
        return _joined([_piece(value, module, scope, depth) for value in node.values])
    looked = _looked_up(node, module, scope, depth) if depth else None
    return looked or [((_part_name(node),),)]


def _counts(node):
    return any(isinstance(side, ast.Constant) and isinstance(side.value, int) for side in (node.left, node.right))


def _piece(value, module, scope, depth):
    if isinstance(value, ast.Constant):
        return [(value.value,)]
    spec = ast.unparse(value.format_spec) if value.format_spec else ""
    if value.conversion == ord("r"):
        return [((_part_name(value.value),),)]
    if "," in spec or _last(getattr(value.value, "func", ast.Pass())) == "len":
        return [(("n",),)]
    got = forms(value.value, module, scope, depth)
    return got if len(got) <= 4 else [(("what",),)]


def _joined(choices):
    many = 1
    for one in choices:
        many *= len(one)
    if many > _MOST:
        choices = [one if len(one) == 1 else [(("what",),)] for one in choices]
    return [tuple(piece for one in chosen for piece in one) for chosen in product(*choices)]


def _looked_up(node, module, scope, depth):
    """Return what a name or a call gives, where the source says it in words."""
    given = []
    if isinstance(node, ast.Name):
        if scope is not None:
            given = [
                one.value
                for one in ast.walk(scope)
                if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in one.targets)
            ]
        if not given and (constant := _constant(node.id, module)) is not None:
            given = [constant]
        target = scope
    elif isinstance(node, ast.Call) and _last(node.func) not in _TAILS:
        function = module.functions.get(_last(node.func)) or _imported(node.func, module)
        if function is not None and isinstance(function.returns, ast.Name) and function.returns.id == "str":
            given = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value]
        target = function
    if not given or not all(isinstance(one, (ast.Constant, ast.JoinedStr, ast.IfExp, ast.BinOp)) for one in given):
        return None
    found = [form for one in given for form in forms(one, module, target, depth - 1)]
    return (
        found if all(any(isinstance(p, str) and p.strip() for p in form) or form == ("",) for form in found) else None
    )


def _imported(func, module):
    other = _origin(func.id, module) if isinstance(func, ast.Name) else None
    return other.functions.get(func.id) if other else None


def _constant(name, module):
    other = module if name in module.constants else _origin(name, module)
    return other.constants.get(name) if other else None


def _origin(name, module):
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return modules().get(node.module or "")
    return None


_CALLED = {"first": "one", "second": "two", "participle": "what", "done": "what", "near": "more", "cure": "what"}
_CALLED |= {"see": "more", "str": "name", "repr": "name", "args": "name", "strip": "name", "splitlines": "line"}
_WORDS = {"fault", "error", "why", "cure", "hint", "said", "reason", "what", "problem", "advice", "rest"}


def _is_map(module):
    return "geometry" in module.path.parts or "maps" in module.path.parts


def _part_name(node) -> str:
    if isinstance(node, ast.Call):
        name = _last(node.func)
        return (
            "more"
            if name in _TAILS
            else {"many": "what", "len": "n", "str": ""}.get(name, "")
            or (_part_name(node.args[0]) if node.args else name)
        )
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return "what" if node.id in _WORDS else node.id
    if isinstance(node, ast.Subscript):
        return _part_name(node.value)
    return next((n.id for n in ast.walk(node) if isinstance(n, ast.Name)), "name")


def _named(text: tuple) -> tuple[str, str]:
    """Return the literals alone, and the text with its parts named apart."""
    used: dict[str, int] = {}
    written = ""
    for piece in text:
        if isinstance(piece, str):
            written += piece.replace("{", "{{").replace("}", "}}")
            continue
        name = re.sub(r"\W|^_+|\d+$", "", piece[0]).lower().strip("_")
        name = _CALLED.get(name, name if len(name) > 1 or name == "n" else "name")
        used[name] = used.get(name, 0) + 1
        if not written and name in ("start", "values"):  # a place and its colon, or nothing
            continue
        written += "{" + name + (str(used[name]) if used[name] > 1 else "") + "}"
    return "".join(piece for piece in text if isinstance(piece, str)), written


def shape(text: str) -> str:
    """Return a text with its parts unnamed; a place before it does not count."""
    bare = re.sub(r"(?<!\{)\{\w+\}", "{}", text)
    while bare.startswith("{}: "):
        bare = bare[4:]
    return _single(bare)


def missing(language: str) -> list[str]:
    """Return what the catalogue of a language does not have, as entries to be filled in."""
    from cellguard.words.catalogue import entries

    known = {shape(text.rpartition("\x04")[2]) for text in entries(language)}  # type: ignore[arg-type]
    lacking = {shape(one.text): one for one in messages() if shape(one.text) not in known}
    return [f'# {one.place}\nmsgid {json.dumps(one.text, ensure_ascii=False)}\nmsgstr ""\n' for one in lacking.values()]


if __name__ == "__main__":  # `PYTHONPATH=src:tests python tests/source_messages.py` lists what is to be translated
    sys.stdout.write("\n".join(missing("de")))
