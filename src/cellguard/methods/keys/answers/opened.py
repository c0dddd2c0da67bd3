"""A source of counts opened: records with their keys, the perturbation table, and the cells of a question."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cellguard.answers.answering import digest_of_figures
from cellguard.answers.question import Question
from cellguard.answers.spec import SourceSpec, read_source
from cellguard.arrays import BoolArray, LongArray
from cellguard.errors import InputError, JobError, did_you_mean, file_name
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.records import column_of, read_records
from cellguard.inputs.tables import build_dimensions, input_digests
from cellguard.job.jobfile import Job
from cellguard.methods.keys.answers.boxes import Box
from cellguard.methods.keys.keyed_hash import keyed_hash
from cellguard.methods.keys.method import CellKeys
from cellguard.methods.keys.perturbation_table import FINE, PerturbationTable
from cellguard.methods.keys.record_keys import Secret, keys_for
from cellguard.methods.keys.spec import CellKey
from cellguard.microdata.grouped import Grouped
from cellguard.microdata.query import group_records
from cellguard.rules.rule import fewest_of
from cellguard.table.lattice import leaf_positions


@dataclass(frozen=True, eq=False)
class Counts:
    """The cells of a question: their codes, what they are as `Box`, and true and published counts. Confidential."""

    codes: tuple[tuple[str, ...], ...]
    boxes: tuple[Box, ...]
    true: LongArray
    published: LongArray


@dataclass(frozen=True, eq=False)
class Opened:
    """What a source of counts holds. Confidential. ``threshold`` is the least count that is not small."""

    folder: Path
    spec: SourceSpec
    settings: CellKey
    dimensions: Mapping[str, Dimension]
    columns: Mapping[str, str]
    grouped: Grouped
    table: PerturbationTable
    secret: Secret
    threshold: int
    planned: tuple[Question, ...]
    owner: Mapping[str, str]

    @cached_property
    def leaves(self) -> Mapping[str, tuple[list[int], LongArray]]:
        """For each variable the leaves below every code, a bit per leaf, and the number of each record's leaf."""
        found = {}
        for name, dimension in self.dimensions.items():
            number = {code: i for i, code in enumerate(dimension.main.leaves)}
            masks = [1 << number[code] if code in number else 0 for code in dimension.codes]
            for parent in dimension.parents:
                for at in range(len(masks) - 1, -1, -1):  # parents come before their children
                    if (above := int(parent[at])) >= 0:
                        masks[above] |= masks[at]
            at = self.grouped.column(self.columns[name])
            place = leaf_positions(dimension, list(self.grouped.labels[at]), name)
            own = np.array([number[dimension.codes[p]] for p in place.tolist()], np.int64)
            found[name] = masks, own[self.grouped.codes[at]]
        return found

    @property
    def whole(self) -> Box:
        """The cell of all records."""
        return tuple(
            self.leaves[name][0][dimension.position[dimension.main.total]]
            for name, dimension in self.dimensions.items()
        )

    def counts(self, question: Question, most: int) -> Counts:
        """Return the cells of a question: all combinations of its codes, empty ones included."""
        if question.value != "count":
            raise InputError(f"no value {question.value!r}; cell keys perturb counts, so ask for 'count'")
        for name in (*question.by, *(name for name, _ in question.where)):
            if name not in self.dimensions:
                raise InputError(f"no variable {name!r}{did_you_mean(name, self.dimensions)}")
        chosen = self._chosen(question)
        sides = [self._side(question, name, chosen[name]) for name in question.by]
        many = int(np.prod([len(side) for side in sides], dtype=float))
        if many > most:
            raise InputError(f"the table has {many:,} cells; at most {most:,} are answered. Ask for coarser codes")
        inside = np.ones(len(self.grouped), bool)
        for name, _ in question.where:
            bits = chosen[name]
            inside &= _among(bits, self.leaves[name])
        masks = [[mask for _, mask in side] for side in sides]
        weights = (self.grouped.records, np.asarray(self.grouped.key))
        count, key = (self._summed(question.by, masks, np.where(inside, weight, 0)) for weight in weights)
        hashed = keyed_hash(self.secret.of("lookup"), key % self.grouped.key_modulus, count) >> np.uint64(32)
        noise = self.table.noise(count, hashed.astype(np.int64), FINE)
        boxes = tuple(
            tuple(dict(zip(question.by, cell, strict=True)).get(name, chosen[name]) for name in self.dimensions)
            for cell in product(*masks)
        )
        codes = list(zip(*product(*([code for code, _ in side] for side in sides)), strict=True))
        return Counts(tuple(codes), boxes, count, count + np.where(count > 0, noise, 0))

    def _chosen(self, question: Question) -> dict[str, int]:
        """Return the leaves that a filter leaves of each variable."""
        found = dict(zip(self.dimensions, self.whole, strict=True))
        for name, codes in question.where:
            dimension, bits = self.dimensions[name], 0
            for code in codes:
                if code not in dimension.position:
                    near = did_you_mean(code, dimension.told)
                    raise InputError(f"`where`: {name!r} has no code {code[:40]!r}{near}")
                bits |= self.leaves[name][0][dimension.position[code]]
            found[name] = bits
        return found

    def _side(self, question: Question, name: str, within: int) -> list[tuple[str, int]]:
        """Return the codes of a variable that a question shows, with their leaves as far as the filter leaves them."""
        dimension, masks = self.dimensions[name], self.leaves[name][0]
        levels = next((chosen for said, chosen in question.levels if said == name), None)
        deepest = int(dimension.level.max())
        if levels is not None and max(levels) > deepest:
            raise InputError(f"`levels`: {name!r} has levels 0 to {deepest} only")
        shown = [
            (code, masks[at] & within)
            for at, code in enumerate(dimension.codes)
            if levels is None or int(dimension.level[at]) in levels
        ]
        return [(code, mask) for code, mask in shown if mask]

    def _summed(self, by: tuple[str, ...], masks: list[list[int]], weight: LongArray) -> LongArray:
        """Return the sums of a weight of the records over all combinations of sets of leaves."""
        rows = [_incidence(side, self.leaves[name]) for name, side in zip(by, masks, strict=True)]
        *first, last = rows
        before = sp.csr_array(weight[None, :])
        for side in first:
            at = side.tocsr()
            stacked = [before.multiply(at[[i]]) for i in range(at.shape[0])]
            many = before.shape[0]
            whole = sp.vstack(stacked, format="csr")
            order = np.arange(len(stacked) * many).reshape(len(stacked), many).T.ravel()
            before = sp.csr_array(whole[order])
        return np.asarray((before @ last.T).todense(), np.int64).ravel()


def _incidence(masks: list[int], leaves: tuple[list[int], LongArray]) -> sp.csr_array:
    """Return which records are in which sets of leaves, a row per set."""
    own = leaves[1]
    most = int(own.max(initial=0)) + 1
    inside = np.array([[mask >> leaf & 1 for leaf in range(most)] for mask in masks], np.int64)
    home = sp.csr_array((np.ones(len(own), np.int64), (own, np.arange(len(own)))), shape=(most, len(own)))
    return sp.csr_array(sp.csr_array(inside) @ home)


def _among(mask: int, leaves: tuple[list[int], LongArray]) -> BoolArray:
    own = leaves[1]
    inside = np.array([mask >> leaf & 1 for leaf in range(int(own.max(initial=0)) + 1)], bool)
    return np.asarray(inside[own], bool)


def open_counts(folder: Path) -> Opened:
    """Read the records and keys of a source, and check that its job can answer questions."""
    spec = read_source(folder)
    job = Job.load(folder / spec.job)
    settings = CellKey.of(job)
    where = file_name(spec.job)
    if fault := CellKeys.fault(job):
        raise JobError(fault)
    if job.microdata is None or any(table.cells is not None for table in job.tables):
        raise JobError(f"{where}: a source is made from `microdata`")
    if settings.keys is None and settings.seed is None:
        raise JobError(
            f"{where}: name in `cell_key` the `keys` (internal/record_keys.json) of the run that published its tables, "
            "so that every answer has their noise"
        )
    if settings.lookup == "plain":
        raise JobError(f"{where}: plain keys tie the noise of sums to that of their parts; say `lookup: hashed`")
    if settings.fixed or settings.prior != "flat":
        raise JobError(f"{where}: a source takes neither `fixed` cells nor another `prior`; leave them out")
    if spec.values not in (None, ["count"]):
        raise JobError(f"values: cell keys perturb counts; say [count], not {spec.values}")
    known = list(dict.fromkeys([*(name for table in job.tables for name in table.by), *job.dimensions]))
    said = known if spec.variables is None else spec.variables
    variables = sorted({*said, *(name for table in job.tables for name in table.by)})
    first = job.tables[0]
    every = [first.model_copy(update={"name": f"ask{i}", "by": [name]}) for i, name in enumerate(variables)]
    whole = job.model_copy(update={"tables": every})
    table, secret = CellKeys.of(job, {}).made()
    records = read_records(whole)
    if records is None:
        raise JobError(f"{where}: a source is made from `microdata`")
    grouped = keys_for(secret)(group_records(records.checked), records.checked)
    digests = [f"{name}={found}" for name, found in sorted(input_digests(whole).items())]
    return Opened(
        folder,
        spec,
        settings,
        {name: dimension for name, dimension in build_dimensions(whole, {}, records).items() if name in variables},
        {name: column_of(job, name) for name in variables},
        grouped,
        table,
        secret,
        max([spec.fewest, *(fewest_of(one.rules) or 0 for one in job.tables)]),
        tuple(Question.of(one.by, value="count") for one in job.tables),
        {
            "keys": hashlib.sha256(secret.text().encode()).hexdigest(),
            "records": digest_of_figures(digests),
            "planned tables": digest_of_figures([" ".join(one.by) for one in job.tables]),
        },
    )
