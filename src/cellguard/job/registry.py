"""The methods that a job may name. A method registers itself when it loads; the built-in ones load when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from cellguard.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

_BUILT_IN = {
    "suppress": "cellguard.methods.suppress.method",
    "perturb": "cellguard.methods.perturb.method",
    "redistribute": "cellguard.methods.maps.method",
}
_METHODS: dict[str, type[Registered]] = {}


class Registered(Protocol):
    """What a job must know of a method: its name, what is done to a table, and the parts of a job that are its own.

    ``options`` is what a table may say in `protect`; ``settings`` what the job may say under the method's name;
    ``attacked`` says that what is hidden is attacked, as the job's `attack` says.
    """

    name: str
    participle: str
    options: type[BaseModel]
    settings: type[BaseModel] | None
    attacked: bool

    @classmethod
    def fault(cls, job: Any) -> str | None:  # noqa: ANN401
        """Say why a job does not go with the method; None if it does."""
        ...


def register(method: type[Registered]) -> None:
    """Make a method known under its name, which must be new."""
    if _METHODS.setdefault(method.name, method) is not method:
        raise InputError(f"there is a method {method.name!r} already; choose another name")


def forget(name: str) -> None:
    """Take a method that is not built in off the list."""
    _METHODS.pop(name)


def method_names() -> list[str]:
    """Return the names of all methods, the default first."""
    return list(dict.fromkeys([*_BUILT_IN, *_METHODS]))


def find_method(name: str) -> type[Registered]:
    """Return the method of that name."""
    if name not in _METHODS and name in _BUILT_IN:
        import_module(_BUILT_IN[name])
    if name not in _METHODS:
        raise InputError(f"unknown method {name!r}{did_you_mean(name, method_names())}")
    return _METHODS[name]


def refuse_other(method: str, wanted: str) -> None:
    """Refuse tables that are protected by another method than the one that is wanted."""
    if method != wanted:
        done, instead = find_method(method).participle, find_method(wanted).participle
        raise InputError(f"the job's tables are {done}, not {instead}; use `cellguard protect` or `cellguard.run`")


def sections() -> Mapping[str, type[BaseModel]]:
    """Return the parts of a job that are named after a method, with what they may say."""
    all_settings = {name: find_method(name).settings for name in method_names()}
    return {name: settings for name, settings in all_settings.items() if settings is not None}
