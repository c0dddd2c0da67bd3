"""Conventions of other tools: what their rules mean where nobody says it, and what they see of survey weights.

Tools differ in whether a tie is unsafe, in which respondents count, and in what weights do to contributions
(docs/reference/rules.md has one cell for every difference). A preset only fills in what a rule leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cellguard.rules.catalogue import rules
from cellguard.rules.rule import parameters, required
from cellguard.table.survey import Survey


@dataclass(frozen=True)
class Preset:
    """The parameters that a tool's rules have by default where ours differ, and its way with weights, if it has one."""

    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    survey: Survey | None = None


_TIES = {"inclusive": True}
PRESETS: Mapping[str, Preset] = {
    "tau_argus": Preset(survey="virtual"),
    "sdctable": Preset({"min_frequency": _TIES}, survey="alternating"),
    "gauss_suppression": Preset(dict.fromkeys(("min_frequency", "dominance", "max_share"), _TIES), survey="handbook"),
    "g_confid": Preset({"min_frequency": {"nonzero": True}}),
    "acro": Preset(dict.fromkeys(("dominance", "max_share"), _TIES)),
}


def as_in(preset: Preset, rule: object, *, sums_of_records: bool = True) -> object:
    """Return a rule as a job writes it, with a preset's parameters where it leaves them open.

    Who has only zeros is known of ``sums_of_records`` alone: elsewhere respondents are counted as they are given.

    >>> as_in(PRESETS["sdctable"], {"min_frequency": 3})
    {'min_frequency': {'n': 3, 'inclusive': True}}
    >>> as_in(PRESETS["sdctable"], {"min_frequency": {"n": 3, "inclusive": False}})
    {'min_frequency': {'n': 3, 'inclusive': False}}
    """
    if not isinstance(rule, Mapping) or len(rule) != 1:
        return rule
    ((name, said),) = rule.items()
    if name == "all" and isinstance(said, list):
        return {name: [as_in(preset, part, sums_of_records=sums_of_records) for part in said]}
    if name not in rules():
        return rule
    kind = rules()[name]
    needed = required(kind)
    if not isinstance(said, Mapping):
        if len(needed) != 1:
            return rule
        said = {needed[0]: said}
    nested = {
        key: as_in(preset, value, sums_of_records=sums_of_records)
        for key, value in said.items()
        if key in {f.name for f in parameters(kind)} and isinstance(value, Mapping)
    }
    filled = {key: value for key, value in preset.rules.get(name, {}).items() if sums_of_records or key != "nonzero"}
    return {name: {**said, **nested, **{key: value for key, value in filled.items() if key not in said}}}
