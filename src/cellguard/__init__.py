"""cellguard: find the cells of a table that would disclose a respondent, protect them, and prove it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellguard.attack.audit import Audit, audit
    from cellguard.errors import CellguardError, InputError, NotProtected
    from cellguard.faces.python.audit_table import audit_table
    from cellguard.faces.python.crosstab import crosstab, pivot_table
    from cellguard.faces.python.protect import protect
    from cellguard.faces.python.session.session import Session
    from cellguard.faces.python.source import source
    from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
    from cellguard.inputs.assessment import Assessment
    from cellguard.io.folder import OutputFolder
    from cellguard.job.jobfile import Job
    from cellguard.methods.adjust.choices import TabularAdjustment
    from cellguard.methods.keys.magnitudes.spec import MagnitudeKey
    from cellguard.methods.keys.spec import CellKey
    from cellguard.methods.perturb.spec import RespondentNoise
    from cellguard.methods.rounding.choices import (
        ControlledRounding,
        ConventionalRounding,
        RandomRounding,
        SmallCountRounding,
    )
    from cellguard.methods.suppress.report.figures import heat_map, interval_plot, loss_by_level
    from cellguard.methods.suppress.suppress import Suppression, suppress
    from cellguard.microdata.records import records
    from cellguard.pipeline import assess_job, run, verify
    from cellguard.protection import Requirements, require
    from cellguard.rules.all_of import All
    from cellguard.rules.assess import Findings, assess
    from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
    from cellguard.rules.rows import (
        AttributeDisclosure,
        GroupDisclosure,
        KDisclosure,
        LoneOther,
        MaxFraction,
        MinOthers,
        Spread,
    )
    from cellguard.rules.signed import EffectiveContributors, Signed
    from cellguard.rules.simple import Given, MaxShare, MinFrequency, Request
    from cellguard.rules.statisticon import Statisticon
    from cellguard.run_context import Run
    from cellguard.seam.outcome import Outcome
    from cellguard.table.pattern import Pattern, Release
    from cellguard.table.read import About, cells
    from cellguard.table.statements import read_apriori
    from cellguard.table.table import Table
    from cellguard.table.tableset import TableSet, link
    from cellguard.table.tabulate import tabulate
    from cellguard.world.knowledge import Knowledge

# Each public name and the module that it lives in. Modules load when a name of theirs is first used, so that
# `import cellguard` costs next to nothing.
_HOME = {
    "About": "table.read",
    "All": "rules.all_of",
    "Assessment": "inputs.assessment",
    "AttributeDisclosure": "rules.rows",
    "Audit": "attack.audit",
    "CellKey": "methods.keys.spec",
    "CellguardError": "errors",
    "ControlledRounding": "methods.rounding.choices",
    "ConventionalRounding": "methods.rounding.choices",
    "Dimension": "hierarchy.hierarchy",
    "Dominance": "rules.linear",
    "EffectiveContributors": "rules.signed",
    "Findings": "rules.assess",
    "Given": "rules.simple",
    "GroupDisclosure": "rules.rows",
    "Hierarchy": "hierarchy.hierarchy",
    "InputError": "errors",
    "Job": "job.jobfile",
    "KDisclosure": "rules.rows",
    "Knowledge": "world.knowledge",
    "Linear": "rules.linear",
    "LoneOther": "rules.rows",
    "MagnitudeKey": "methods.keys.magnitudes.spec",
    "MaxFraction": "rules.rows",
    "MaxShare": "rules.simple",
    "MinFrequency": "rules.simple",
    "MinOthers": "rules.rows",
    "NotProtected": "errors",
    "Outcome": "seam.outcome",
    "OutputFolder": "io.folder",
    "PPercent": "rules.linear",
    "Pattern": "table.pattern",
    "PriorPosterior": "rules.linear",
    "RandomRounding": "methods.rounding.choices",
    "Release": "table.pattern",
    "Request": "rules.simple",
    "Requirements": "protection",
    "RespondentNoise": "methods.perturb.spec",
    "Run": "run_context",
    "Session": "faces.python.session.session",
    "Signed": "rules.signed",
    "SmallCountRounding": "methods.rounding.choices",
    "Spread": "rules.rows",
    "Statisticon": "rules.statisticon",
    "Suppression": "methods.suppress.suppress",
    "Table": "table.table",
    "TableSet": "table.tableset",
    "TabularAdjustment": "methods.adjust.choices",
    "assess": "rules.assess",
    "assess_job": "pipeline",
    "audit": "attack.audit",
    "audit_table": "faces.python.audit_table",
    "cells": "table.read",
    "crosstab": "faces.python.crosstab",
    "heat_map": "methods.suppress.report.figures",
    "interval_plot": "methods.suppress.report.figures",
    "link": "table.tableset",
    "loss_by_level": "methods.suppress.report.figures",
    "pivot_table": "faces.python.crosstab",
    "protect": "faces.python.protect",
    "read_apriori": "table.statements",
    "records": "microdata.records",
    "require": "protection",
    "run": "pipeline",
    "source": "faces.python.source",
    "suppress": "methods.suppress.suppress",
    "tabulate": "table.tabulate",
    "verify": "pipeline",
}

__all__ = [
    "About",
    "All",
    "Assessment",
    "AttributeDisclosure",
    "Audit",
    "CellKey",
    "CellguardError",
    "ControlledRounding",
    "ConventionalRounding",
    "Dimension",
    "Dominance",
    "EffectiveContributors",
    "Findings",
    "Given",
    "GroupDisclosure",
    "Hierarchy",
    "InputError",
    "Job",
    "KDisclosure",
    "Knowledge",
    "Linear",
    "LoneOther",
    "MagnitudeKey",
    "MaxFraction",
    "MaxShare",
    "MinFrequency",
    "MinOthers",
    "NotProtected",
    "Outcome",
    "OutputFolder",
    "PPercent",
    "Pattern",
    "PriorPosterior",
    "RandomRounding",
    "Release",
    "Request",
    "Requirements",
    "RespondentNoise",
    "Run",
    "Session",
    "Signed",
    "SmallCountRounding",
    "Spread",
    "Statisticon",
    "Suppression",
    "Table",
    "TableSet",
    "TabularAdjustment",
    "assess",
    "assess_job",
    "audit",
    "audit_table",
    "cells",
    "crosstab",
    "heat_map",
    "interval_plot",
    "link",
    "loss_by_level",
    "pivot_table",
    "protect",
    "read_apriori",
    "records",
    "require",
    "run",
    "source",
    "suppress",
    "tabulate",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'cellguard' has no attribute {name!r}{_cure(name)}")
    home = import_module(f"cellguard.{_HOME[name]}")
    return getattr(home, name)


def _cure(name: str) -> str:
    """Return what an unknown name may stand for; nothing for what Python itself asks for."""
    if name.startswith("_"):
        return ""
    habits, errors = import_module("cellguard.faces.python.habits"), import_module("cellguard.errors")
    known = habits.MODULE.get(name)
    return f"; it is {known} here" if known else errors.did_you_mean(name, __all__)


def __dir__() -> list[str]:
    return __all__
