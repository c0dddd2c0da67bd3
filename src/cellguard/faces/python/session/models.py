"""Models and figures of a session: what can be checked of them is, and the rest is for the output checker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.errors import InputError

_COLUMNS = {"coef": "params", "std err": "bse", "t": "tvalues", "p": "pvalues"}


@dataclass(frozen=True, eq=False)
class Checked:
    """A model or a figure, and what was found.

    ``table`` are the coefficients by name, ``facts`` numbers such as the degrees of freedom, ``figure`` what is drawn.
    """

    status: str
    words: tuple[str, ...]
    table: dict[str, dict[str, float]] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    figure: Any = None

    def frame(self) -> Any:  # noqa: ANN401
        """Return the coefficients as a frame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.table).rename_axis(index="variable")


def check_model(model: Any, fewest: int, earlier: Sequence[Checked]) -> Checked:  # noqa: ANN401
    """Check a fitted model: residual degrees of freedom, the counts behind binary variables, and earlier models."""
    needed = [name for name in ("params", "df_resid", "nobs") if not hasattr(model, name)]
    if needed:
        raise InputError(
            f"a regression is a fitted result with params, df_resid and nobs, as statsmodels gives it, not "
            f"{type(model).__name__}; call .fit() first"
        )
    freedom, records = float(model.df_resid), float(model.nobs)
    failing, asking = list[str](), list[str]()
    if freedom < fewest:
        failing.append(f"{freedom:g} residual degrees of freedom, fewer than {fewest}")
    names = _names(model)
    design = np.asarray(getattr(getattr(model, "model", None), "exog", np.zeros((0, 0))), float)
    if design.ndim == 2 and len(design):
        binary = [bool(np.isin(design[:, i], (0.0, 1.0)).all()) for i in range(design.shape[1])]
        for i, name in enumerate(names[: design.shape[1]]):
            few = int(min(design[:, i].sum(), len(design) - design[:, i].sum())) if binary[i] else len(design)
            if 0 < few < fewest:
                failing.append(f"{name} is 1, or 0, of {few} records only")
        if all(binary):
            asking.append("all variables are categories, so that coefficients tell the means of groups")
    else:
        asking.append("the variables' values are not known, so that the counts of categories are not checked")
    for other in earlier:
        apart = abs(other.facts.get("nobs", np.inf) - records)
        if 0 < apart < fewest:
            failing.append(f"it is about {apart:g} records more or fewer than an earlier model")
            break
    status = "fail" if failing else "review" if asking else "pass"
    words = (*failing, *asking) or (f"{freedom:g} residual degrees of freedom, {records:g} records",)
    facts = {"dof": freedom, "nobs": records}
    facts |= {name: float(getattr(model, name)) for name in ("rsquared", "prsquared") if hasattr(model, name)}
    return Checked(status, words, _coefficients(model, names), facts)


def check_figure(figure: Any, counts: Sequence[int] | None, fewest: int) -> Checked:  # noqa: ANN401
    """Check a figure: the records behind each of its marks, as far as these are told."""
    if not hasattr(figure, "savefig") and hasattr(figure, "get_figure"):
        figure = figure.get_figure()  # axes, as plots of pandas give them
    if isinstance(figure, (str, Path)):
        if not Path(figure).is_file():
            raise InputError(f"there is no figure {str(figure)!r}; save it first, or give the figure itself")
    elif not hasattr(figure, "savefig"):
        raise InputError(
            f"a figure is one of matplotlib (with savefig) or the path of a file, not {type(figure).__name__}"
        )
    if counts is None:
        words = ("nobody said how many records are behind each mark: say counts=[...]",)
        return Checked("review", words, figure=figure)
    listed = np.asarray(list(counts), float)
    if not len(listed) or (listed < 0).any() or (listed != np.round(listed)).any():
        raise InputError("`counts` must be whole numbers of records, one per bar or point of the figure")
    few = int(((listed > 0) & (listed < fewest)).sum())
    if few:
        return Checked("fail", (f"{few} of {len(listed)} marks stand for fewer than {fewest} records",), figure=figure)
    return Checked("pass", (f"each of {len(listed)} marks stands for {fewest} records or more",), figure=figure)


def _names(model: Any) -> list[str]:  # noqa: ANN401
    index = getattr(model.params, "index", None)
    if index is not None:
        return [str(name) for name in index]
    own = getattr(getattr(model, "model", None), "exog_names", None)
    return [str(name) for name in own] if own else [f"x{i}" for i in range(len(np.atleast_1d(model.params)))]


def _coefficients(model: Any, names: Sequence[str]) -> dict[str, dict[str, float]]:  # noqa: ANN401
    found = {}
    for word, attribute in _COLUMNS.items():
        values = getattr(model, attribute, None)
        if values is not None:
            found[word] = dict(zip(names, np.asarray(values, float).ravel().tolist(), strict=False))
    return found
