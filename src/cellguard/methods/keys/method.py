"""The cell key method as jobs know it: records with keys, cells with keys, noise by a table, an attack, a release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import JobError, file_name
from cellguard.inputs.tables import build_tables
from cellguard.job.jobfile import Job
from cellguard.job.specs import ProtectSpec, Spec
from cellguard.methods.keys.design import Design
from cellguard.methods.keys.digests import digest_of_file
from cellguard.methods.keys.files.keyed_tables import write_keyed
from cellguard.methods.keys.files.perturbation_files import read_table
from cellguard.methods.keys.perturbation_table import FINE, PerturbationTable
from cellguard.methods.keys.perturbing import KeyedCells
from cellguard.methods.keys.posterior import infer
from cellguard.methods.keys.record_keys import Secret, digest_of, keys_for, read_secret
from cellguard.methods.keys.result import KeysResult
from cellguard.methods.keys.screen import assessed_words, keyed_words
from cellguard.methods.keys.simulation import simulate
from cellguard.methods.keys.spec import LOOK, METHOD, CellKey, KeysDeclaration
from cellguard.microdata.roles import KEY_DECIMALS
from cellguard.randomness import fresh_seed
from cellguard.rules.rule import fewest_of
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen
from cellguard.table.tableset import TableSet, link
from cellguard.verifier.keyed import verify_keyed
from cellguard.verifier.verify import Verification

_DEVIATION, _VARIANCE = 8, 8.0


@dataclass(frozen=True, eq=False)
class Keyed:
    """The cells of a job with their keys, the perturbation table, the secret, and what was noticed on the way."""

    cells: KeyedCells
    table: PerturbationTable
    secret: Secret
    notes: tuple[str, ...]
    digests: Mapping[str, str]
    several: bool

    @property
    def tables(self) -> TableSet:
        """The true tables."""
        return self.cells.tables


@dataclass(frozen=True, eq=False)
class CellKeys(Method[Keyed, KeysResult]):
    """Every count gets noise by a key that its records give it, so that a cell has the same count in every table."""

    name: ClassVar[str] = METHOD
    participle: ClassVar[str] = KeysDeclaration.participle
    options: ClassVar[type[ProtectSpec]] = ProtectSpec
    settings: ClassVar[type[Spec] | None] = CellKey
    keeps_internal: ClassVar[bool] = True
    surveyed: ClassVar[bool] = False
    look: ClassVar[Look] = LOOK
    repeatable: ClassVar[bool] = False
    robustness: ClassVar[str] = (
        "A cell has the same count in all tables from the same keys, whatever comes later; differences of n counts "
        "have n times the variance of one."
    )
    flexibility: ClassVar[str] = "Any table can be made from the saved keys; totals are not sums of their parts."

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what the job says that does not go with cell keys."""
        return KeysDeclaration.fault(job)

    def assess(self, run: Run, seconds: dict[str, float]) -> Keyed:
        """Read the records, give them keys, and make the tables with the key of every cell."""
        job, spec = self.job, CellKey.of(self.job)
        with timed("making the perturbation table", run, seconds):
            table, digests = self._table(spec)
            secret, more = self._secret(spec, table)
        alone = job.attack.model_copy(update={"crossing": "not_checked"})  # cells that no table lists are not made
        with timed("reading the tables", run, seconds) as here:
            built = build_tables(job.model_copy(update={"attack": alone}), run=here, keyed=keys_for(secret))
        with timed("linking the tables", run, seconds):
            cells = KeyedCells.of(link(built.tables), built.job, spec.fixed)
        several = built.counts.get("records", 0) > built.counts.get("respondents", 0)
        notes = built.notes + _notes(cells, secret, self._given)
        return Keyed(cells, table, secret, notes, {**built.inputs, **digests, **more}, several)

    def made(self) -> tuple[PerturbationTable, Secret]:
        """Return the perturbation table and the secret that the job says."""
        spec = CellKey.of(self.job)
        table, _ = self._table(spec)
        return table, self._secret(spec, table)[0]

    @property
    def _given(self) -> bool:
        """Whether the records have keys of their own."""
        return self.job.microdata is not None and self.job.microdata.record_key is not None

    def _table(self, spec: CellKey) -> tuple[PerturbationTable, dict[str, str]]:
        if spec.table is not None:
            path = self.job.path(spec.table)
            return read_table(path), {spec.table: digest_of_file(path)}
        fewest = max(fewest_of(table.rules) or 0 for table in self.job.tables)
        return design_for(spec, fewest).table(), {}

    def _secret(self, spec: CellKey, table: PerturbationTable) -> tuple[Secret, dict[str, str]]:
        records, seed = self.job.microdata, fresh_seed() if spec.seed is None else spec.seed
        modulus = FINE
        if records is not None and records.record_key is not None:
            modulus = records.key_range or 10**KEY_DECIMALS
        fresh = Secret(seed, spec.lookup, digest_of(table), not self._given, modulus, table.period)
        if spec.keys is None:
            return fresh, {}
        path = self.job.path(spec.keys)
        secret = read_secret(path)
        if replace(secret, seed=seed) != fresh:
            raise JobError(
                f"the keys in {file_name(path)!r} were used with another perturbation table, `lookup` or column of "
                "record keys; use the same ones, since two kinds of noise for one cell can be averaged"
            )
        return secret, {spec.keys: digest_of_file(path)}

    def protect(self, assessed: Keyed, run: Run, seconds: dict[str, float]) -> KeysResult:
        """Look up the noise of every cell, and attack what would be published."""
        spec, cells, table = CellKey.of(self.job), assessed.cells, assessed.table
        with timed("looking up the noise", run, seconds):
            counts = cells.published(table, assessed.secret)
        prior = _prior(spec, cells)
        with timed("attacking", run, seconds) as here:
            posterior = infer(cells.seen(counts, table, assessed.secret, prior), run=here)
        done = KeysResult(
            self.job,
            cells,
            table,
            assessed.secret,
            counts,
            posterior,
            assessed.notes,
            assessed.digests,
            several=assessed.several,
        )
        if not spec.simulations:
            return done
        with timed("simulating", run, seconds) as here:
            draws, limit = spec.simulations, spec.limit
            found = simulate(cells, table, assessed.secret, prior, draws=draws, limit=limit, run=here)
        return replace(done, simulation=found)

    def assessed_summary(self, assessed: Keyed) -> dict[str, Any]:
        """Return how many cells of each table have small counts."""
        linked, small = assessed.cells.tables, assessed.cells.small
        tables = {
            table.name: {"cells": len(table), "small": int(small[cells].sum())}
            for table, cells in zip(linked.tables, linked.cells_of, strict=True)
        }
        return {"step": "assess", "method": self.name, "tables": tables, "warnings": list(assessed.notes)}

    def assessed_screen(self, assessed: Keyed) -> Screen:
        """Return how many cells have small counts."""
        return assessed_words(self.assessed_summary(assessed))

    def screen(self, outcome: Outcome[KeysResult], folder: Path | None) -> Screen:
        """Return the verdict, the tables, and what differences still hide."""
        return keyed_words(outcome.summary, folder)

    def write_internal(self, outcome: Outcome[KeysResult], inside: Path) -> None:
        """Write true and published counts, keys and posteriors, the perturbation table, and the secret."""
        write_keyed(inside, outcome.protected)

    @classmethod
    def verify(cls, folder: Path) -> Verification:
        """Look up the noise of every cell again, and check sums, common cells and the verdict."""
        return verify_keyed(folder / "release", folder / "internal")

    @classmethod
    def explain(cls, folder: Path, table: str, row: Mapping[str, str]) -> Sequence[str]:
        """Say what an attacker concludes of a cell."""
        how = "" if row["exact"] == "yes" else " (estimated)"
        return [f"To an attacker its likeliest small count has a probability of {float(row['posterior']):.1%}{how}."]

    def about(self, outcome: Outcome[KeysResult], table: str) -> Mapping[str, Any]:
        """Return that the counts have noise, and do not add up."""
        return {"method": self.name, "additive": False}

    def pages(self, outcome: Outcome[KeysResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.keys.report import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.keyed_page(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_keyed_page(outcome.release)
        return pages


def design_for(spec: CellKey, fewest: int) -> Design:
    """Return the design of a job, whose safe counts begin at ``fewest``.

    >>> design_for(CellKey(), 3), design_for(CellKey(deviation=5, variance=3.0), 3).small
    (Design(deviation=8, variance=8.0, small=2, staying=None, exact=False, monotone=True), 2)
    """
    deviation = max(_DEVIATION, math.ceil(1.5 * fewest)) if spec.deviation is None else spec.deviation
    variance = max(_VARIANCE, fewest**2 / 3) if spec.variance is None else spec.variance
    small = min(fewest - 1, deviation - 1) if spec.small is None else spec.small
    return Design(deviation, variance, small, spec.staying, spec.exact, spec.monotone)


def _prior(spec: CellKey, cells: KeyedCells) -> FloatArray:
    return np.ones(1) if spec.prior == "flat" else cells.distribution()


def _notes(cells: KeyedCells, secret: Secret, given: bool) -> tuple[str, ...]:
    notes = []
    if cells.fixed.any():
        notes.append(f"{int(cells.fixed.sum()):,} cells are published as they are, which tells more of all others")
    if (cells.fixed & cells.small).any():
        raise JobError(
            "`fixed` names a cell with a small count; only cells with enough records can be published as they are"
        )
    if not given and secret.drawn:
        notes.append(
            "record keys were drawn; name internal/record_keys.json as `keys` of later jobs, so that tables and years "
            "agree"
        )
    return tuple(notes)
