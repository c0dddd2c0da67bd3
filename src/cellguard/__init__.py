"""cellguard: find the cells of a table that would disclose a respondent, protect them, and prove it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellguard.assessment import Assessment
    from cellguard.attack.audit import Audit, audit
    from cellguard.errors import CellguardError, InputError
    from cellguard.files.folder import OutputFolder
    from cellguard.hierarchy.build import by_digits, flat, from_levels, from_parents
    from cellguard.hierarchy.codelists import read_labels, read_levels, read_parents
    from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
    from cellguard.hierarchy.hrc import read_hrc
    from cellguard.hierarchy.recode import cut, merge, to_level
    from cellguard.job import assess_job, audit_job, explain_cell, run
    from cellguard.microdata.grouped import Grouped
    from cellguard.microdata.records import records
    from cellguard.protect.outcome import Outcome
    from cellguard.protect.suppress.suppress import Suppression, suppress
    from cellguard.protection import Requirements, require
    from cellguard.report.figures import heat_map, interval_plot, loss_by_level
    from cellguard.rules.assess import Findings, assess
    from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
    from cellguard.rules.rule import All
    from cellguard.rules.simple import Given, MaxShare, MinFrequency, Request
    from cellguard.spec.jobfile import Job, job_schema
    from cellguard.table.facts import contributions
    from cellguard.table.pattern import Pattern
    from cellguard.table.read import About, cells
    from cellguard.table.statements import read_apriori
    from cellguard.table.table import Table
    from cellguard.table.tableset import TableSet, link
    from cellguard.table.tabulate import Wanted, tabulate
    from cellguard.world.knowledge import Knowledge

# Each public name and the module that it lives in. Modules load when a name of theirs is first used, so that
# `import cellguard` costs next to nothing.
_HOME = {
    "About": "table.read",
    "All": "rules.rule",
    "Assessment": "assessment",
    "Audit": "attack.audit",
    "CellguardError": "errors",
    "Dimension": "hierarchy.hierarchy",
    "Dominance": "rules.linear",
    "Findings": "rules.assess",
    "Given": "rules.simple",
    "Grouped": "microdata.grouped",
    "Hierarchy": "hierarchy.hierarchy",
    "InputError": "errors",
    "Job": "spec.jobfile",
    "Knowledge": "world.knowledge",
    "Linear": "rules.linear",
    "MaxShare": "rules.simple",
    "MinFrequency": "rules.simple",
    "Outcome": "protect.outcome",
    "OutputFolder": "files.folder",
    "PPercent": "rules.linear",
    "Pattern": "table.pattern",
    "PriorPosterior": "rules.linear",
    "Request": "rules.simple",
    "Requirements": "protection",
    "Suppression": "protect.suppress.suppress",
    "Table": "table.table",
    "TableSet": "table.tableset",
    "Wanted": "table.tabulate",
    "assess": "rules.assess",
    "assess_job": "job",
    "audit": "attack.audit",
    "audit_job": "job",
    "by_digits": "hierarchy.build",
    "cells": "table.read",
    "contributions": "table.facts",
    "cut": "hierarchy.recode",
    "explain_cell": "job",
    "flat": "hierarchy.build",
    "from_levels": "hierarchy.build",
    "from_parents": "hierarchy.build",
    "heat_map": "report.figures",
    "interval_plot": "report.figures",
    "job_schema": "spec.jobfile",
    "link": "table.tableset",
    "loss_by_level": "report.figures",
    "merge": "hierarchy.recode",
    "read_apriori": "table.statements",
    "read_hrc": "hierarchy.hrc",
    "read_labels": "hierarchy.codelists",
    "read_levels": "hierarchy.codelists",
    "read_parents": "hierarchy.codelists",
    "records": "microdata.records",
    "require": "protection",
    "run": "job",
    "suppress": "protect.suppress.suppress",
    "tabulate": "table.tabulate",
    "to_level": "hierarchy.recode",
}

__all__ = [
    "About",
    "All",
    "Assessment",
    "Audit",
    "CellguardError",
    "Dimension",
    "Dominance",
    "Findings",
    "Given",
    "Grouped",
    "Hierarchy",
    "InputError",
    "Job",
    "Knowledge",
    "Linear",
    "MaxShare",
    "MinFrequency",
    "Outcome",
    "OutputFolder",
    "PPercent",
    "Pattern",
    "PriorPosterior",
    "Request",
    "Requirements",
    "Suppression",
    "Table",
    "TableSet",
    "Wanted",
    "assess",
    "assess_job",
    "audit",
    "audit_job",
    "by_digits",
    "cells",
    "contributions",
    "cut",
    "explain_cell",
    "flat",
    "from_levels",
    "from_parents",
    "heat_map",
    "interval_plot",
    "job_schema",
    "link",
    "loss_by_level",
    "merge",
    "read_apriori",
    "read_hrc",
    "read_labels",
    "read_levels",
    "read_parents",
    "records",
    "require",
    "run",
    "suppress",
    "tabulate",
    "to_level",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'cellguard' has no attribute {name!r}")
    return getattr(import_module(f"cellguard.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
