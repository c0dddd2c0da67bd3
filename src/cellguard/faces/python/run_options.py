"""What a call from Python asks of a single run of a method, beside its settings: such as saved multipliers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cellguard.errors import InputError
from cellguard.faces.python.kinds import is_path, to_arrow
from cellguard.job.registry import find_method
from cellguard.seam.outcome import Outcome


def apart(name: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of a method as jobs have them, and what the run is asked for.

    >>> apart("perturb", {"mu": 0.1, "checked": True})
    ({'mu': 0.1}, {'checked': True})
    """
    known = {field.name for field in fields(find_method(name))} - {"job"}  # type: ignore[arg-type]
    asked = {key: settings[key] for key in settings if key in known}
    if asked.get("multipliers") is not None:
        asked["multipliers"] = _multipliers(asked["multipliers"])
    return {key: value for key, value in settings.items() if key not in asked}, asked


def _multipliers(given: object) -> object:
    """Return saved multipliers: a path as it is, those of an outcome, or of a frame that was read from their file."""
    from cellguard.methods.perturb.draw.saved import saved_of

    if is_path(given):
        return given
    if isinstance(given, Outcome):
        saved = getattr(given.protected, "saved", None)
        if saved is None or given.release is None:
            raise InputError("`multipliers` of an outcome are those of released perturbed tables; this one has none")
        return saved
    return saved_of(to_arrow(given), attrs=getattr(given, "attrs", None))
