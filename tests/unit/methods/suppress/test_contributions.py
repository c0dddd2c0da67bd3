"""Who contributes to the cells is worked out once: the search and its audit look at the same."""

import cellguard as cg
from cellguard.inputs.assessing import insiders_of

JOB = {"name": "t", "by": ["r"], "value": "x", "cells": {"source": "t.csv"}, "rules": [{"min_frequency": 3}]}


def test_contributions_are_worked_out_once():
    table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    findings = cg.assess(table, cg.MinFrequency(3))
    job = cg.Job.parse({"version": 1, "attack": {"insiders": True}, "tables": [JOB]})
    assessed = cg.Assessment(job, findings, cg.require(findings), {})
    assert insiders_of(assessed) is insiders_of(assessed) is not None
