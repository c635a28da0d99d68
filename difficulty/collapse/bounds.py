"""What exact counts would still leave open: the identified set of a collapse rate.

k samples a question reveal the law F of pass rates only through k moments, and f_G needs G of
them. Every law that fits the counts best is as good as any other, so the rate lies between the
least and the greatest value over all of these: two linear programmes on a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.collapse import Floats
from difficulty.collapse.counts import Classes
from difficulty.collapse.likelihood import binomial_matrix, maximise, pass_rate_grid
from difficulty.errors import DifficultyError

COMMON_SHARE = 0.05
"""A k that fewer of the questions have does not narrow the identified set: the fitted
probabilities of a few questions' classes are noise, not what exact counts would show."""


SLACKS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5)
"""How far a fitted probability may be missed. Fits on the border of what is possible (most fits
of a finite set with many samples) leave a single law, which rounding alone makes infeasible."""


MANY_SAMPLES = 4096
"""Above it c / k tells a question's pass rate to a hundredth."""


@dataclass(frozen=True, kw_only=True)
class BestFit:
    """What all best-fitting laws of a table have in common."""

    classes: Classes
    """The table that was fitted: ``Classes.simplified``."""
    grid: Floats
    """(J,) pass rates."""
    matrix: Floats
    """(C, J) P(c | k, p) of the table's classes."""
    shares: Floats
    """(C,) share of the questions in each class."""
    weights: Floats
    """(J,) one of the best-fitting laws."""
    fitted: Floats
    """(C,) fitted probability of each class given k; the same for every best-fitting law."""
    matched: NDArray[np.bool_]
    """(C,) classes whose fitted probability the identified set reproduces."""
    log_likelihood: float
    """Mean log likelihood a question, at its maximum."""
    total: int
    """Number of questions."""


def best_fit(classes: Classes) -> BestFit:
    """The maximum of the likelihood over all laws on the grid."""
    classes = classes.simplified()
    grid = pass_rate_grid()
    matrix = binomial_matrix(classes.num_samples, classes.num_correct, grid)
    shares = classes.num_questions / classes.total
    best = maximise(matrix, shares[None, :], gap=gap_for(classes.total))
    k_values, index = np.unique(classes.num_samples, return_inverse=True)
    common = np.bincount(index, weights=shares) >= COMMON_SHARE
    common |= k_values == classes.common_k
    return BestFit(
        classes=classes,
        grid=grid,
        matrix=matrix,
        shares=shares,
        weights=best.weights[0],
        fitted=best.fitted[0],
        matched=common[index],
        log_likelihood=float(best.log_likelihood[0]),
        total=classes.total,
    )


def gap_for(total: int) -> float:
    """Accuracy of a mean log likelihood: a thousandth in the sum over questions."""
    return float(np.clip(1e-3 / total, 1e-12, 1e-7))


Chosen = Callable[[int, int], bool]
"""(num_samples, num_correct) -> is a question with these counts in the set?"""


def kept_chance(fit: BestFit, classes: Classes, chosen: Chosen) -> Floats:
    """P(a question is in the set | p) on the grid, up to a constant factor.

    With one k for all it is the sum of Binomial(k, p) over the chosen counts. With
    several, a class enters as often as it was seen for what the fit expects; this also holds
    where k was chosen by looking at the first answers.
    """
    k = classes.fixed_k
    if k is None:
        kept = classes.chosen(chosen)
        matrix = binomial_matrix(classes.num_samples, classes.num_correct, fit.grid)
        seen = classes.num_questions / classes.total
        ended_here = seen / np.maximum(matrix @ fit.weights, seen)
        chance: Floats = (kept * ended_here) @ matrix
        return chance
    if k > MANY_SAMPLES:
        # So many samples show the pass rate itself.
        inside = np.array([chosen(k, round(k * p)) for p in fit.grid.tolist()], np.float64)
        return inside if inside.any() else np.ones_like(inside)
    correct = np.array([c for c in range(k + 1) if chosen(k, c)], np.int64)
    chance = binomial_matrix(np.full(len(correct), k), correct, fit.grid).sum(axis=0)
    return chance


def extremes(matrix: Floats, fitted: Floats, values: Floats, chance: Floats) -> tuple[float, float]:
    """Least and greatest integral(values * chance dF) / integral(chance dF) over F that fit.

    F reproduces the class probabilities ``fitted`` (C,) of ``matrix`` (C, J). A ratio of two
    linear functions of F becomes linear in y = F / integral(chance dF) and
    z = 1 / integral(chance dF) (Charnes and Cooper, 1962).

    Raises:
        DifficultyError: the linear programme has no solution (not expected: the fit is one).
    """
    size = matrix.shape[1]
    rows = np.zeros((len(matrix) + 2, size + 1))
    rows[:-2, :size], rows[:-2, size] = matrix, -fitted
    rows[-2, :size], rows[-2, size] = 1.0, -1.0
    rows[-1, :size] = chance
    goal = np.zeros(len(rows))
    goal[-1] = 1.0
    cost = np.append(values * chance, 0.0)
    low, high = _least(cost, rows, goal), -_least(-cost, rows, goal)
    bottom, top = float(values.min()), float(values.max())
    low, high = min(max(low, bottom), top), min(max(high, bottom), top)
    return min(low, high), max(low, high)


def _least(cost: Floats, rows: Floats, goal: Floats) -> float:
    from scipy.optimize import linprog

    # Leave one equation out of the slack at each end: sum(F) = 1 and the scale hold exactly.
    for slack in SLACKS:
        if slack == 0.0:
            # Presolving takes longer than it saves on programmes of this size.
            result = linprog(
                cost, A_eq=rows, b_eq=goal, method="highs", options={"presolve": False}
            )
        else:
            classes = rows[:-2].copy()
            above, below = classes.copy(), -classes
            above[:, -1] -= slack
            below[:, -1] -= slack
            result = linprog(
                cost,
                A_ub=np.vstack([above, below]),
                b_ub=np.zeros(2 * len(classes)),
                A_eq=rows[-2:],
                b_eq=goal[-2:],
                method="highs",
            )
        if result.status == 0 and result.fun is not None:
            return float(result.fun)
    raise DifficultyError(
        f"identified set cannot be computed: {result.message} Report this table of counts"
    )
