"""The methods that a job may name: the built-in ones, those of installed packages, and those of the running program.

A package of a user's own names its method as an entry point of the group ``cellguard.methods``; a method that a program
defines registers itself when its class is made. Only the method that a job names is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Protocol, cast

from cellguard.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

GROUP = "cellguard.methods"
DEFAULT = "suppress"  # where a table names no method


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """Where a built-in method is declared, where it is, and whether a job has a section of its name."""

    declaration: str
    method: str
    section: bool = False


_SMOOTHED = "cellguard.methods.maps.smoothing.method:Smooth"
_MERGED = "cellguard.methods.maps.merging.method:Merge"
_MAPS, _NOISE = "cellguard.methods.maps.method:Redistribute", "cellguard.methods.perturb.method:Perturb"
_BUILT_IN = {
    "suppress": _BuiltIn(
        "cellguard.methods.suppress.spec:SuppressDeclaration", "cellguard.methods.suppress.method:Suppress"
    ),
    "perturb": _BuiltIn(_NOISE, _NOISE, section=True),
    "redistribute": _BuiltIn(_MAPS, _MAPS, section=True),
    "merge": _BuiltIn(_MERGED, _MERGED, section=True),
    "smooth": _BuiltIn(_SMOOTHED, _SMOOTHED, section=True),
    "cell_key": _BuiltIn(
        "cellguard.methods.keys.spec:KeysDeclaration", "cellguard.methods.keys.method:CellKeys", section=True
    ),
    "magnitude_key": _BuiltIn(
        "cellguard.methods.keys.magnitudes.spec:MagnitudeDeclaration",
        "cellguard.methods.keys.magnitudes.method:MagnitudeKeys",
        section=True,
    ),
}
_METHODS: dict[str, type[Registered]] = {}


class Registered(Protocol):
    """What a job must know of a method: its name, what is done to a table, and the parts of a job that are its own.

    ``options`` is what a table may say in `protect`; ``settings`` what the job may say under the method's name;
    ``attacked`` says that what is suppressed is attacked, as the job's `attack` says; ``surveyed`` that rules see
    respondents as `survey` says. What is not ``tabular`` has no cells that add up. ``look`` is a `Look`.
    """

    name: str
    participle: str
    options: type[BaseModel]
    settings: type[BaseModel] | None
    attacked: bool
    surveyed: bool
    tabular: bool
    look: Any

    @classmethod
    def fault(cls, job: Any) -> str | None:  # noqa: ANN401
        """Explain why a job does not go with the method; None if it does."""
        ...


def register(method: type[Registered]) -> None:
    """Make a method known under its name, which must be new."""
    if method.name in _BUILT_IN and not method.__module__.startswith("cellguard."):
        raise InputError(f"there is a method {method.name!r} already; choose another name")
    if _METHODS.setdefault(method.name, method) is not method:
        raise InputError(f"there is a method {method.name!r} already; choose another name")


def forget(name: str) -> None:
    """Take a method that is not built in off the list."""
    _METHODS.pop(name)


def method_names() -> list[str]:
    """Return the names of all methods, the default first."""
    return list(dict.fromkeys([*_BUILT_IN, *_METHODS, *_installed()]))


def declared(name: str) -> type[Registered]:
    """Return what a job must know of a method; of a built-in one nothing else is loaded, as far as that can be.

    >>> declared("suppress").participle
    'suppressed'
    """
    if name in _BUILT_IN and name not in _METHODS:
        return _load(_BUILT_IN[name].declaration)
    return find_method(name)


def find_method(name: str) -> type[Registered]:
    """Return the method of that name."""
    if name in _METHODS:
        return _METHODS[name]
    if name in _BUILT_IN:
        return _load(_BUILT_IN[name].method)
    if name not in _installed():
        raise InputError(f"unknown method {name!r}{did_you_mean(name, method_names())}")
    return _checked(name, _installed()[name].load())


def sections_in(data: Mapping[str, Any]) -> list[str]:
    """Return the parts of a job that are named after a method, of those that are there; no other method is loaded."""
    plain = [name for name, method in _BUILT_IN.items() if method.section]
    others = [name for name in method_names() if name in data and name not in _BUILT_IN]
    return [*plain, *(name for name in others if declared(name).settings is not None)]


def section_names() -> list[str]:
    """Return the parts of a job that are named after a method."""
    others = [name for name in method_names() if name not in _BUILT_IN and declared(name).settings is not None]
    return [*(name for name, method in _BUILT_IN.items() if method.section), *others]


def refuse_other(method: str, wanted: str) -> None:
    """Refuse tables that are protected by another method than the one that is wanted."""
    if method != wanted:
        done, instead = find_method(method).participle, find_method(wanted).participle
        raise InputError(f"the job's tables are {done}, not {instead}; use `cellguard protect` or `cellguard.run`")


def sections() -> Mapping[str, type[BaseModel]]:
    """Return the parts of a job that are named after a method, with what they may say."""
    all_settings = {name: declared(name).settings for name in section_names()}
    return {name: settings for name, settings in all_settings.items() if settings is not None}


def section(name: str) -> type[BaseModel]:
    """Return what a job may say in the part that is named after a method."""
    return cast("type[BaseModel]", declared(name).settings)


def _load(place: str) -> type[Registered]:
    module, name = place.split(":")
    return cast("type[Registered]", getattr(import_module(module), name))


def _checked(name: str, method: type[Registered]) -> type[Registered]:
    """Return a method of an installed package, which must be called as its entry point says."""
    if getattr(method, "name", None) != name:
        raise InputError(
            f"the installed method {name!r} calls itself {getattr(method, 'name', None)!r}; its package must give the "
            f"entry point of {GROUP!r} and the method one name"
        )
    return method


@cache
def _installed() -> Mapping[str, EntryPoint]:
    """Return the methods of installed packages, by name."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _BUILT_IN}
