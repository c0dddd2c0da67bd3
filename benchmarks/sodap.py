"""Business data of the shape of the files behind Cuppen 2000, tables 7.1 to 7.13, which are not available.

File A is a census: 65,000 firms, 23 industries by 4 regions, heavy-tailed returns with very large firms in some
industries. File B is a survey: 10,664 firms with weights that add up to about 46,932, many classifications and several
responses, from which 20 tables are made. The order of the random draws is part of the data, so it must not change.

Where the very large firms are is a choice, made so that the files look like the report's: one in five cells has them,
and not the fullest. What the report's tables show was counted over files of other seeds:

- sensitive cells have more noise on average than nonsensitive ones, and unimodal noise is less: in every file;
- interior cells have more noise than margins: 20 of 20 files A (10 of 10 with very large firms in any cell, but 4 of 10
  where, besides, returns spread less: a standard deviation of 1.25 in logarithms), 13 of 15 first tables of file B;
- every sensitive cell has more noise than every nonsensitive one: 19 of 20 files A, 12 of 13 first tables of file B,
  and never the 20 tables together. The report's own 20 tables do not show it either.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import CalibrationTable, calibration_table
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.microdata.record_keys import RecordKeys

INDUSTRIES, REGIONS = 23, 4
# The classifications of file B, and the pairs of them that tables are made by.
CLASSES = {"industry": 12, "size": 6, "region": 5, "market": 7, "form": 9}
PAIRS = (("industry", "size"), ("industry", "region"), ("form", "market"), ("industry", "market"), ("form", "size"))
RESPONSES = ("turnover", "exports", "wages", "investment")
SURVEYED, REPRESENTED = 10_664, 46_932


def census(firms: int = 65_000, seed: int = 1) -> Respondents:
    """Return file A, or a larger one like it."""
    rng = np.random.default_rng([seed, firms])
    share = 1.0 / np.arange(1, INDUSTRIES + 1) ** 1.1
    industry = rng.choice(INDUSTRIES, firms, p=share / share.sum())
    region = rng.choice(REGIONS, firms, p=[0.1, 0.2, 0.23, 0.47])
    returns = np.round(np.exp(6 + rng.normal(0, 0.5, INDUSTRIES)[industry] + rng.normal(0, 1.8, firms)))
    _enlarge(rng, returns, industry * REGIONS + region, share=0.27, even=0.2, most=900)
    size = np.searchsorted(np.quantile(returns, [0.5, 0.8, 0.95]), returns)
    codes = {"industry": industry, "region": region, "size": size}
    return _records(codes, {"returns": returns}, None)


def survey(seed: int = 2) -> Respondents:
    """Return file B."""
    rng = np.random.default_rng(seed)
    size = rng.choice(6, SURVEYED, p=[0.3, 0.24, 0.18, 0.14, 0.09, 0.05])
    industry = rng.choice(12, SURVEYED, p=_zipf(12, 0.9))
    weight = 1 + np.array([9.6, 2.7, 0.35, 0.05, 0.0, 0.0])[size] * rng.uniform(0.6, 1.4, SURVEYED)
    weight = 1 + (weight - 1) * (REPRESENTED - SURVEYED) / (weight - 1).sum()
    codes = {
        "industry": industry,
        "size": size,
        "region": rng.choice(5, SURVEYED, p=_zipf(5, 0.6)),
        "market": rng.choice(7, SURVEYED, p=_zipf(7, 1.0)),
        "form": rng.choice(9, SURVEYED, p=_zipf(9, 1.1)),
    }
    scale = 5 + 0.9 * size + rng.normal(0, 0.4, 12)[industry] + rng.normal(0, 0.9, SURVEYED)
    turnover = np.round(np.exp(scale))
    _enlarge(rng, turnover, np.where(size > 2, industry * 3 + size - 3, 36), share=0.12, even=0.3, most=400)
    values = {
        "turnover": turnover,
        "exports": np.where(rng.random(SURVEYED) < 0.1, np.round(turnover * rng.beta(1, 3, SURVEYED)), 0.0),
        "wages": np.round(turnover * rng.uniform(0.15, 0.35, SURVEYED)),
        "investment": np.round(turnover * rng.lognormal(-3, 1.6, SURVEYED)),
    }
    return _records(codes, values, weight)


def census_table(records: Respondents) -> CalibrationTable:
    """Return returns by industry and region: 23 by 4 cells and 28 margins."""
    return calibration_table(records, [dimension("industry", INDUSTRIES), dimension("region", REGIONS)], "returns")


def survey_tables(records: Respondents) -> list[CalibrationTable]:
    """Return the 20 tables of file B."""
    by = {name: dimension(name, many) for name, many in CLASSES.items()}
    return [
        calibration_table(records, [by[a], by[b]], response, name=f"{response} by {a} and {b}")
        for (a, b), response in product(PAIRS, RESPONSES)
    ]


def wide(firms: int, seed: int = 3) -> Respondents:
    """Return many firms, some in holdings, with the classifications and responses of file B."""
    rng = np.random.default_rng([seed, firms])
    codes = {name: rng.choice(many, firms, p=_zipf(many, 0.9)) for name, many in CLASSES.items()}
    turnover = np.round(rng.lognormal(6, 1.4, firms))
    _enlarge(rng, turnover, codes["industry"] * 5 + codes["region"], share=0.3, even=0.2, most=firms // 50)
    values = {name: np.round(turnover * rng.uniform(0.1, 1, firms)) for name in RESPONSES}
    holding = np.where(rng.random(firms) < 0.1, rng.integers(0, max(firms // 30, 1), firms), np.arange(firms))
    return _records(codes, values, None, holding)


def dimension(name: str, many: int) -> Dimension:
    return Dimension(name, flat(_labels(name, many)))


def _labels(name: str, many: int) -> tuple[str, ...]:
    return tuple(f"{name[0].upper()}{i + 1:02d}" for i in range(many))


def _zipf(many: int, power: float) -> np.ndarray:
    weight = 1.0 / np.arange(1, many + 1) ** power
    return weight / weight.sum()


def _enlarge(
    rng: np.random.Generator, value: np.ndarray, cell: np.ndarray, *, share: float, even: float, most: int
) -> None:
    """Make three firms of some cells large, not of the fullest: one dominates or, in the share ``even``, all are alike.

    The first kind is sensitive, also if two competitors pool what they know; the other only by its three-firm share.
    """
    for c in np.flatnonzero(rng.random(int(cell.max()) + 1) < share).tolist():
        inside = np.flatnonzero(cell == c)
        if not 8 <= len(inside) <= most:
            continue
        top = inside[np.argsort(-value[inside], kind="stable")[:3]]
        rest = value[inside].sum() - value[top].sum()
        if rng.random() < even:
            value[top] = np.round(rest * rng.uniform(2.6, 3.2) * np.array([0.36, 0.33, 0.31]))
        else:
            value[top] = np.round(rest / rng.uniform(0.29, 0.40) * np.array([1.0, 0.16, 0.10]))


def _records(
    codes: dict[str, np.ndarray],
    values: dict[str, np.ndarray],
    weight: np.ndarray | None,
    holding: np.ndarray | None = None,
) -> Respondents:
    n = len(next(iter(codes.values())))
    unit, at = np.unique(np.arange(n) if holding is None else holding, return_inverse=True)
    return Respondents(
        codes={name: column.astype(np.int32) for name, column in codes.items()},
        labels={name: _labels(name, int(column.max()) + 1) for name, column in codes.items()},
        values={name: column.astype(float) for name, column in values.items()},
        weight=weight,
        owners=RecordKeys(at.astype(np.int64), np.char.zfill(unit.astype(str), 8)),
    )
