"""OPT: factors by optimisation, near desired totals or with the least loss that is safe (Cuppen 2000, section 5.2).

``fit_desired`` brings all cells as close as it can to their desired totals. Taken by itself the sum of all differences
is often smallest with no noise at all in a sensitive cell, which spares its margins; so sensitive cells come first, and
the norm decides what the others do. ``least_loss`` makes the noise of all cells together as small as it can be while
every sensitive cell has its protection level, up or down: an integer program for l1; for l2 least squares with given
signs, and a search over the signs. With ``margins`` those that are not sensitive stay to within a tolerance, and
interior cells that are not sensitive make up for it (counter-noise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, Positions
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.fit.desired import OVER, desired_noise, random_bounds
from cellguard.methods.perturb.fit.directions import Pattern
from cellguard.methods.perturb.fit.least_squares import least_squares
from cellguard.methods.perturb.fit.programs import best_signs, least_absolute, least_largest
from cellguard.methods.perturb.fit.supertable import Supertable
from cellguard.methods.perturb.fit.wish import Wish
from cellguard.randomness import Stream, stream
from cellguard.run_context import UNWATCHED, Run

Norm = Literal["l1", "l2", "linf"]
_MOST_SQUARES = 4_000  # cells of which least squares are solved, with a matrix of cells by cells
_ALL_SIGNS = 6  # sensitive cells of which all signs are tried
_EXACT_SIGNS = 20  # ... of which an integer program finds the best
_NODES = 2_000
_TRIES = 12_000  # programs that a search over signs may solve, times cells
# What a unit outside its bounds costs, beside a unit of noise: needs come first; margins give way before interior
# cells, and among margins the coarsest first. Cells that no multipliers within the cap serve get what is left for them.
_NEEDS, _INSIDE, _MARGINS, _BEYOND = 1e5, 1e3, 1e2, 1e1


@dataclass(frozen=True, slots=True)
class Opt:
    """``norm`` of what is made small, ``cap`` on |m - 1|, ``excess`` of protection levels and caps (see `desired`).

    ``pattern`` says which sensitive cells go up and which down. ``margins`` is the share by which margins may move,
    ``inside`` that of interior cells that are not sensitive. ``keep_sum`` keeps the sum of all multipliers at their
    number.
    """

    norm: Norm = "l1"
    cap: float = 0.20
    excess: float = 0.25
    pattern: Pattern = "balanced"
    margins: float | None = None
    inside: float = 0.05
    keep_sum: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("norm", self.norm, get_args(Norm)),
            ("pattern", self.pattern, get_args(Pattern)),
        ):
            if value not in known:
                raise InputError(f"OPT: no {name} {value!r}{did_you_mean(value, known)}")
        if not (0 < self.cap < 1 and 0 <= self.excess <= 2 and 0 <= self.inside < 1):
            raise InputError("OPT: `cap` must be above 0 and below 1, `excess` from 0 to 2, `inside` from 0 to below 1")


@dataclass(frozen=True, eq=False)
class Optimum:
    """The movers' factors and what became of the wish.

    Of the sensitive rows that do not have their protection level, ``beyond`` cannot have it within the cap, and
    ``short`` not together with the others; ``relaxed`` are margins that moved more than they should. ``proven`` says
    whether no better signs exist.
    """

    factor: FloatArray
    beyond: int
    short: int
    relaxed: tuple[int, ...] = ()
    proven: bool = True


def fit_desired(whole: Supertable, how: Opt, seed: int, *purpose: str | int, run: Run = UNWATCHED) -> Optimum:
    """Return the factors that bring all cells closest to their desired totals, in the norm of ``how``."""
    wish, need = _wish(whole, how, stream(seed, *purpose, "excess"))
    wanted = desired_noise(whole, need, how.pattern, seed, *purpose)
    target = np.clip(wanted, -wish.reach[: len(need)], wish.reach[: len(need)])
    beyond = _rows(np.where(need > wish.reach[: len(need)], 1.0, 0.0), how) > 0
    wish = replace(wish, target=_rows(target, how), hard=np.where(beyond, _BEYOND, wish.hard))
    wish = _with_needs(wish, (1 + OVER) * np.abs(target), np.sign(target))
    solve = {"l1": least_absolute, "linf": least_largest}
    d = _least_squares(wish, run) if how.norm == "l2" else solve[how.norm](wish, run=run)
    return _judged(whole, wish, need, d)


def least_loss(whole: Supertable, how: Opt, seed: int, *purpose: str | int, run: Run = UNWATCHED) -> Optimum:
    """Return the factors with the least noise over all cells that give every sensitive cell its protection level."""
    if how.norm == "linf":
        raise InputError("the least loss that is safe goes with `norm: l1` or `norm: l2`")
    wish, need = _wish(whole, how, stream(seed, *purpose, "excess"))
    reach = wish.reach[: len(need)]
    served = (1 + OVER) * np.minimum(need, reach)
    wish = replace(wish, hard=np.where(_rows(np.where(need > reach, 1.0, 0.0), how) > 0, _BEYOND, wish.hard))
    guess = np.sign(desired_noise(whole, served, how.pattern, seed, *purpose))
    signs, proven = _signs(wish, served, guess, how, run)
    turn = stream(seed, *purpose, "turn").signs(1)[0]
    chosen = _with_needs(wish, served, turn * signs)
    d = _least_squares(chosen, run) if how.norm == "l2" else least_absolute(chosen, run=run)
    return replace(_judged(whole, chosen, need, d), proven=proven)


def _wish(whole: Supertable, how: Opt, source: Stream) -> tuple[Wish, FloatArray]:
    """Return the wish without targets: bounds of margins and the sum of multipliers; and what each row needs."""
    if how.norm == "l2" and len(whole.total) > _MOST_SQUARES:
        raise InputError(
            f"`norm: l2` takes up to {_MOST_SQUARES:,} cells of one response in all tables together, and there are "
            f"{len(whole.total):,}; use `norm: l1`, which takes any number"
        )
    need, cap = random_bounds(whole, source, cap=how.cap, excess=how.excess)
    n = len(need)
    limit, hard = np.full(n, np.inf), np.full(n, _NEEDS)
    if how.margins is not None:
        quiet, size = ~whole.sensitive, np.abs(whole.total)
        limit = np.where(quiet & whole.interior, how.inside * size, limit)
        limit = np.where(quiet & whole.margin, how.margins * size, limit)
        members = np.diff(whole.matrix.indptr)
        hard = np.where(quiet, _INSIDE, hard)
        hard = np.where(quiet & whole.margin, _MARGINS * (2 - members / members.max()), hard)
    matrix = whole.matrix
    weight = np.ones(n)
    if how.keep_sum:
        average = float(np.abs(whole.movable).max(initial=0.0)) / max(int(whole.units.sum()), 1)
        matrix = sp.csr_array(sp.vstack([matrix, sp.csr_array(average * whole.units[None, :])], format="csr"))
        limit, weight, hard = np.append(limit, 0.0), np.append(weight, 0.0), np.append(hard, _INSIDE)
    return Wish(matrix, np.zeros(len(limit)), weight, -limit, limit, hard, cap), need


def _rows(values: FloatArray, how: Opt) -> FloatArray:
    """Return values of the cells for all rows of the wish."""
    return np.append(values, 0.0) if how.keep_sum else values


def _with_needs(wish: Wish, need: FloatArray, signs: FloatArray) -> Wish:
    """Ask for noise of at least the protection level, in the given direction."""
    lower, upper = wish.lower.copy(), wish.upper.copy()
    up, down = np.flatnonzero((need > 0) & (signs > 0)), np.flatnonzero((need > 0) & (signs < 0))
    lower[up], upper[down] = need[up], -need[down]
    return replace(wish, lower=lower, upper=upper)


def _judged(whole: Supertable, wish: Wish, need: FloatArray, d: FloatArray) -> Optimum:
    noise = np.asarray(whole.matrix @ d, float)
    n = len(need)
    unmet = whole.sensitive & (np.abs(noise) < whole.need)
    beyond = unmet & (need > wish.reach[:n])
    short = unmet & ~beyond
    outside = wish.violation(np.asarray(wish.matrix @ d, float))[:n] > 1e-6 * np.abs(whole.total)
    relaxed = np.flatnonzero(outside & whole.margin & ~whole.sensitive)
    return Optimum(1 + d, int(beyond.sum()), int(short.sum()), tuple(relaxed.tolist()))


def _least_squares(wish: Wish, run: Run) -> FloatArray:
    """Solve least squares; bounds that cannot all hold are first widened by as little as can be."""
    if not wish.bounded:
        return least_squares(wish, scale=wish.scale, run=run)
    some = np.full(len(wish.weight), 1e-3)
    known = least_absolute(replace(wish, weight=some), run=run)
    e = np.asarray(wish.matrix @ known, float)
    over, firm = 1e-9 * wish.scale, wish.violation(e) <= 1e-6 * np.minimum(np.abs(wish.lower), np.abs(wish.upper))
    lower = np.where(firm, wish.lower, np.minimum(wish.lower, e - over))
    upper = np.where(firm, wish.upper, np.maximum(wish.upper, e + over))
    return least_squares(replace(wish, lower=lower, upper=upper), scale=wish.scale, known=known, run=run)


def _signs(wish: Wish, need: FloatArray, guess: FloatArray, how: Opt, run: Run) -> tuple[FloatArray, bool]:
    """Return the directions of sensitive rows with the least loss that was found, and whether it is the least.

    For l1 an integer program finds it where the cells are few; for l2 all signs are tried where they are very few.
    Otherwise signs are turned one or two at a time, from the guess or from what is best for l1.
    """
    cells = np.flatnonzero(need > 0)
    every = len(cells) <= _ALL_SIGNS and how.norm == "l2"
    if not len(cells):
        return np.zeros(len(need)), True
    if len(cells) <= _EXACT_SIGNS and not every:
        padded = np.append(need, np.zeros(len(wish.target) - len(need)))
        signs, proven = best_signs(wish, padded, nodes=_NODES, run=run)
        if how.norm == "l1" and proven:
            return signs[: len(need)], True
        guess = signs[: len(need)] if signs.any() else guess

    def loss(signs: FloatArray) -> float:
        """Return the loss with these signs; leaving the bounds costs far more."""
        asked = _with_needs(wish, need, _placed(need, cells, signs))
        d = _least_squares(asked, run) if how.norm == "l2" else least_absolute(asked, run=run)
        e, power = np.asarray(wish.matrix @ d, float), 2 if how.norm == "l2" else 1
        return float((wish.weight * np.abs(e) ** power).sum() + (wish.hard * asked.violation(e) ** power).sum())

    if every:
        choices = [np.array([1.0, *rest]) for rest in product((1.0, -1.0), repeat=len(cells) - 1)]
        return _placed(need, cells, choices[int(np.argmin([loss(signs) for signs in choices]))]), True
    return _placed(need, cells, _turned(guess[cells], loss, max(_TRIES // len(need), 1))), False


def _turned(signs: FloatArray, loss: Callable[[FloatArray], float], tries: int) -> FloatArray:
    """Turn one or two signs at a time as long as that is a gain, with so many tries."""
    best, least, turned = signs, loss(signs), True
    while turned and tries > 0:
        turned = False
        for turn in islice(_turns(len(signs)), tries):
            tries -= 1
            other = best.copy()
            other[list(turn)] *= -1
            value = loss(other)
            if value < least * (1 - 1e-9):
                best, least, turned = other, value, True
    return best


def _turns(n: int) -> Iterator[tuple[int, ...]]:
    yield from ((i,) for i in range(n))
    yield from combinations(range(n), 2)


def _placed(need: FloatArray, cells: Positions, signs: FloatArray) -> FloatArray:
    placed = np.zeros(len(need))
    placed[cells] = signs
    return placed
