"""The method as jobs know it: records with keys, sums with noise by a table, an attack, a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, JobError, file_name
from cellguard.inputs.assessing import assess_tables
from cellguard.inputs.assessment import Assessment
from cellguard.inputs.changing_method import ChangingMethod
from cellguard.io.changed_tables import Columns
from cellguard.io.sealed import write_seal
from cellguard.io.write import plain_number, write_text
from cellguard.job.jobfile import Job
from cellguard.job.specs import ProtectSpec, Spec
from cellguard.methods.keys.declared import fixed_cells, shown_cells
from cellguard.methods.keys.digests import digest_of_file
from cellguard.methods.keys.magnitudes.attack import Seen, guess
from cellguard.methods.keys.magnitudes.files import noise_table_text, read_noise_table
from cellguard.methods.keys.magnitudes.multiplier import Multiplier
from cellguard.methods.keys.magnitudes.noise import Noise, Sums, keys_of, parts, sizes_of
from cellguard.methods.keys.magnitudes.noise_table import NoiseDesign, NoiseTable
from cellguard.methods.keys.magnitudes.result import Drawn, MagnitudeResult
from cellguard.methods.keys.magnitudes.spec import LOOK, METHOD, MagnitudeDeclaration, MagnitudeKey
from cellguard.methods.keys.perturbation_table import FINE
from cellguard.methods.keys.record_keys import Secret, keys_for, read_secret
from cellguard.microdata.roles import KEY_DECIMALS
from cellguard.randomness import fresh_seed
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.outcome import Outcome
from cellguard.table.sums import RecordSums
from cellguard.table.tableset import TableSet
from cellguard.verifier.magnitudes import SEAL, verify_magnitudes
from cellguard.verifier.verify import Verification

SECRET, TABLE = "record_keys.json", "perturbation_table.csv"
_NEAR = 2.0  # a unit of the noise, as multiples of the percent that the rules ask for
_PERCENT = 10.0  # where no rule asks for any


@dataclass(frozen=True, eq=False)
class MagnitudeKeys(ChangingMethod[MagnitudeResult]):
    """Every sum gets noise in proportion to its largest contributions, by a key that its records give it.

    ``accept_no_rules`` releases tables to which no rule is applied.
    """

    accept_no_rules: bool = False
    name: ClassVar[str] = METHOD
    participle: ClassVar[str] = MagnitudeDeclaration.participle
    options: ClassVar[type[ProtectSpec]] = ProtectSpec
    settings: ClassVar[type[Spec] | None] = MagnitudeKey
    keeps_internal: ClassVar[bool] = True
    surveyed: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False
    look: ClassVar[Look] = LOOK
    robustness: ClassVar[str] = (
        "A cell of the same records has the same noise in all tables from the same keys, whatever comes later."
    )
    flexibility: ClassVar[str] = "Any table can be made from the saved keys; totals are not sums of their parts."

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what the job says that does not go with cell keys of sums."""
        return MagnitudeDeclaration.fault(job)

    def assess(self, run: Run, seconds: dict[str, float]) -> Assessment:
        """Build the job's tables from records with keys, link them and apply the rules."""
        secret = self._secret(NoiseTable.digest(self._table()[0]))[0]
        alone = self.job.attack.model_copy(update={"crossing": "not_checked"})  # cells that no table lists are not made
        job = self.job.model_copy(update={"attack": alone})
        return assess_tables(job, run, seconds, keyed=keys_for(secret))

    def protect(self, assessed: Assessment, run: Run, seconds: dict[str, float]) -> MagnitudeResult:
        """Look up the noise of every cell, and attack what would be published."""
        spec, behind, linked = MagnitudeKey.of(self.job), assessed.sums, assessed.tables
        if behind is None:
            raise InputError("cell keys of sums need records; name them with `microdata`")
        table, digests = self._table()
        noise = noise_of(spec, table, assessed.needs.accuracy)
        secret, more = self._secret(table.digest(), noise)
        with timed("looking up the noise", run, seconds):
            shares = behind.contributions(linked)
            if len(shares.data) and shares.data.min() < 0:
                raise InputError("there are negative contributions, which cell keys of sums do not take; use perturb")
            sums = _sums(assessed, behind, shares, noise, spec)
            fixed = fixed_cells(linked, spec.fixed)
            if (fixed & sums.sensitive).any():
                raise JobError("`fixed` names a cell that is unsafe; only safe cells can be published as they are")
            found = self._parts(sums, noise, secret, linked, spec)
            found[fixed] = 0.0
        scale = _scale(linked)
        units = np.rint((sums.value + found.sum(axis=1)) * scale)
        units = np.where((sums.value == 0) | (units < 0), 0.0, units)
        shown = shown_cells(linked)
        seen = Seen(sums, shares, units / scale, 1 / scale, found[:, 1:].sum(axis=1), fixed, shown)
        with timed("attacking", run, seconds) as here:
            guessed = guess(seen, noise, sums.sensitive & shown, assessed.needs.accuracy, run=here)
        made = Drawn(sums, noise, secret, found, units.astype(np.int64), fixed)
        inputs = {**assessed.inputs, **digests, **more}
        return MagnitudeResult(assessed, made, guessed, _notes(made, spec), inputs, self.accept_no_rules)

    def _parts(self, sums: Sums, noise: Noise, secret: Secret, linked: TableSet, spec: MagnitudeKey) -> FloatArray:
        """Return the noise of all cells; each response has keys of its own."""
        found = np.zeros_like(sums.sizes)
        responses = np.empty(len(linked), object)
        for table, cells in zip(linked.tables, linked.cells_of, strict=True):
            responses[cells] = table.response
        for response in sorted(set(responses.tolist())):
            at = np.flatnonzero(responses == response)
            here = Sums(sums.value[at], sums.number[at], sums.sizes[at], sums.key[at], sums.sensitive[at])
            keys = keys_of(here, secret, response, len(noise.epsilon), same_key=spec.same_key)
            found[at] = parts(here, noise, keys)
        return found

    @property
    def _given(self) -> bool:
        return self.job.microdata is not None and self.job.microdata.record_key is not None

    def _table(self) -> tuple[NoiseTable, dict[str, str]]:
        spec = MagnitudeKey.of(self.job)
        if spec.table is not None:
            path = self.job.path(spec.table)
            return read_noise_table(path), {spec.table: digest_of_file(path)}
        figures = tuple(sorted(set(spec.figures)))
        design = NoiseDesign(spec.deviation, spec.variance, spec.steps, figures, spec.parity, spec.separation)
        return design.table(), {}

    def _secret(self, digest: str, noise: Noise | None = None) -> tuple[Secret, dict[str, str]]:
        """Return the secret; with the noise, one from an earlier run must have been used with the same."""
        spec, records = MagnitudeKey.of(self.job), self.job.microdata
        modulus = FINE
        if records is not None and records.record_key is not None:
            modulus = records.key_range or 10**KEY_DECIMALS
        used = digest if noise is None else _used(digest, noise, spec)
        fresh = Secret(self._seed, spec.lookup, used, not self._given, modulus)
        if spec.keys is None:
            return fresh, {}
        path = self.job.path(spec.keys)
        kept = read_secret(path)
        if noise is not None and replace(kept, seed=fresh.seed) != fresh:
            raise JobError(
                f"the keys in {file_name(path)!r} were used with another perturbation table, other units, `lookup` or "
                "column of record keys; use the same ones, since two kinds of noise for one cell can be averaged"
            )
        return replace(fresh, seed=kept.seed), {spec.keys: digest_of_file(path)}

    @cached_property
    def _seed(self) -> int:
        """The seed of a run: what the job says, or a secret one."""
        said = MagnitudeKey.of(self.job).seed
        return fresh_seed() if said is None else said

    def columns(self, outcome: Outcome[MagnitudeResult]) -> Mapping[str, Columns]:
        """Return true sums, keys, numbers of contributors, sizes and noise, and what an attacker concludes."""
        done = outcome.protected
        made, linked, percent = done.made, done.assessed.tables, done.assessed.needs.accuracy
        columns: dict[str, Columns] = {}
        for number, (table, cells) in enumerate(zip(linked.tables, linked.cells_of, strict=True)):
            at = cells.tolist()
            columns[table.name] = {
                "value": [plain_number(made.sums.value[c]) for c in at],
                "status": done.status(number),
                "reasons": done.assessed.findings.by_table[number].reasons(),
                "cell_key": [int(made.sums.key[c]) for c in at],
                "contributors": [int(made.sums.number[c]) for c in at],
                "sizes": [" ".join(repr(float(x)) for x in made.sums.sizes[c]) for c in at],
                "sensitive": ["yes" if made.sums.sensitive[c] else "no" for c in at],
                "percent": [plain_number(percent[c]) if made.sums.sensitive[c] else "" for c in at],
                "alone": [f"{done.guessed.alone[c]:.6f}" for c in at],
                "together": [f"{done.guessed.together[c]:.6f}" for c in at],
            }
        return columns

    def write_internal(self, outcome: Outcome[MagnitudeResult], inside: Path) -> None:
        """Write true and published sums, and the perturbation table; the secret only if there is a release."""
        super().write_internal(outcome, inside)
        made = outcome.protected.made
        (inside / TABLE).write_text(noise_table_text(made.noise.table), encoding="utf-8")
        if outcome.release is not None:
            write_text(inside / SECRET, made.secret.text(), confidential=True)

    def about(self, outcome: Outcome[MagnitudeResult], table: str) -> Mapping[str, Any]:
        """Return that the sums have noise, and do not add up."""
        return {"method": self.name, "noise": {"additive": False}}

    def seal(self, outcome: Outcome[MagnitudeResult], folder: Path) -> None:
        """Write the digests of all files, and what `verify` needs to work the noise out again."""
        done = outcome.protected
        noise, secret = done.made.noise, done.made.secret
        how = {
            "scaling": noise.scaling,
            "epsilon": list(noise.epsilon),
            "mu": noise.mu,
            "small": noise.multiplier.small,
            "large": noise.multiplier.large,
            "point": noise.multiplier.point if np.isfinite(noise.multiplier.point) else None,
            "power": noise.multiplier.power,
            "lookup": secret.lookup,
            "same_key": done.spec.same_key,
            "limit": done.spec.limit,
        }
        by_name = {table.name: table for table in done.tables}
        tables = [
            {
                "name": name,
                "by": [d.name for d in by_name[name].dimensions],
                "response": by_name[name].response,
                "population": by_name[name].population,
                "decimals": by_name[name].decimals,
                "grains": max(int(t.decimals) for t in done.tables) + 6,
                "kind": self.name,
                "additive": False,
                "keep": [],
                **how,
            }
            for name in done.names()
        ]
        write_seal(folder, SEAL, outcome, tables)

    @classmethod
    def verify(cls, folder: Path) -> Verification | None:
        """Work the noise out again, with code of its own."""
        seal = folder / "internal" / SEAL
        return verify_magnitudes(seal) if seal.is_file() else None

    @classmethod
    def explain(cls, folder: Path, table: str, row: Mapping[str, str]) -> Sequence[str]:
        """Say what an attacker concludes of a cell."""
        if row["sensitive"] != "yes":
            return []
        return [
            f"All other contributors together guess its largest contribution to within {row['percent']} % with a "
            f"probability of {float(row['alone']):.1%} from this figure, and of {float(row['together']):.1%} from all."
        ]

    def pages(self, outcome: Outcome[MagnitudeResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.keys.magnitudes import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_page(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_page(outcome.release)
        return pages


def noise_of(spec: MagnitudeKey, table: NoiseTable, percent: FloatArray) -> Noise:
    """Return how sums get noise; the default share follows from the largest percent that the rules ask for."""
    if spec.flex is not None:
        multiplier = Multiplier(spec.flex.small, spec.flex.large, spec.flex.point, spec.flex.power)
    else:
        asked = float(percent.max(initial=0.0)) or _PERCENT
        multiplier = Multiplier(min(_NEAR * asked / 100, 1 / table.deviation) if spec.share is None else spec.share)
    if table.parity and len(spec.epsilon) > 1:
        raise JobError("a perturbation table of even and odd numbers goes with one factor `epsilon`; give one")
    smooth = spec.lookup == "hashed"
    return Noise(table, multiplier, spec.scaling, tuple(spec.epsilon), spec.mu, smooth)


def _used(digest: str, noise: Noise, spec: MagnitudeKey) -> str:
    """Return what a secret was used with: two kinds of noise of one cell could be averaged."""
    m = noise.multiplier
    said = (noise.scaling, *noise.epsilon, noise.mu, m.small, m.large, m.point, m.power, spec.same_key, spec.zero_keys)
    return f"{digest} {' '.join(map(str, said))}"


def _sums(assessed: Assessment, behind: RecordSums, shares: Any, noise: Noise, spec: MagnitudeKey) -> Sums:  # noqa: ANN401
    linked = assessed.tables
    value = np.asarray(shares.sum(axis=1), float).ravel()
    far = np.abs(value - linked.value) > 1e-6 * np.maximum(np.abs(linked.value), 1.0)
    if far.any():
        name = linked.message_name(int(np.argmax(far)))
        raise InputError(f"the contributions of {name} do not add up to its value, so these records do not go with it")
    sizes = sizes_of(shares, noise.scaling, len(noise.epsilon))
    key = behind.key_sums(linked, zeros=spec.zero_keys)
    number = np.diff(shares.indptr).astype(np.int64)
    return Sums(linked.value.astype(float), number, sizes, key, assessed.needs.primary.copy())


def _scale(linked: TableSet) -> FloatArray:
    decimals = np.full(len(linked), -1, np.int64)
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        if ((decimals[cells] >= 0) & (decimals[cells] != table.decimals)).any():
            raise JobError(f"table {table.name!r} shares cells with others; give all of them the same `decimals`")
        decimals[cells] = table.decimals
    return np.asarray(10.0 ** np.maximum(decimals, 0), float)


def _notes(made: Drawn, spec: MagnitudeKey) -> tuple[str, ...]:
    notes = []
    if made.fixed.any():
        notes.append(f"{int(made.fixed.sum()):,} cells are published as they are, which tells more of all others")
    if made.secret.drawn and spec.keys is None:
        notes.append(
            "record keys were drawn; name internal/record_keys.json as `keys` of later jobs, so that tables and years "
            "agree"
        )
    if made.noise.multiplier.small * made.noise.table.deviation > 1 + 1e-9:
        notes.append("the largest change is more than the contribution itself, so that some sums are cut off at 0")
    return tuple(notes)
