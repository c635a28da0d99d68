"""Known laws of the pass rate to simulate from, and what exact counts would show of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from difficulty.collapse.bounds import extremes
from difficulty.collapse.collapse import Floats, collapse_probability
from difficulty.collapse.likelihood import binomial_matrix, pass_rate_grid
from difficulty.levels import level_of

QUADRATURE = 20_001
KEEP = frozenset(("L2", "L3", "L4", "L5"))


@dataclass(frozen=True, kw_only=True)
class Law:
    """A finite mixture of Beta laws and points."""

    weights: tuple[float, ...]
    parts: tuple[tuple[float, float] | float, ...]
    """(a, b) of a Beta law, or a pass rate that all questions of the part have."""

    def draw(self, rng: np.random.Generator, questions: int) -> Floats:
        """(questions,) independent pass rates."""
        which = rng.choice(len(self.weights), questions, p=self.weights)
        rates = np.empty(questions)
        for index, part in enumerate(self.parts):
            mine = which == index
            rates[mine] = rng.beta(*part, mine.sum()) if isinstance(part, tuple) else part
        return rates

    def quadrature(self) -> tuple[Floats, Floats]:
        """(points, masses summing to 1): Beta parts by points of equal mass."""
        from scipy.stats import beta

        levels = (np.arange(QUADRATURE) + 0.5) / QUADRATURE
        points, masses = [], []
        for weight, part in zip(self.weights, self.parts, strict=True):
            found = beta.ppf(levels, *part) if isinstance(part, tuple) else np.array([part])
            points.append(found)
            masses.append(np.full(len(found), weight / len(found)))
        return np.concatenate(points), np.concatenate(masses)


def one(a: float, b: float) -> Law:
    """A Beta law."""
    return Law(weights=(1.0,), parts=((a, b),))


GRID_LAWS = {
    "U-shaped": one(0.3, 0.3),
    "atoms": Law(weights=(0.25, 0.35, 0.4), parts=(0.0, 1.0, (1.0, 1.0))),
    "uniform": one(1.0, 1.0),
    "two modes": Law(weights=(0.5, 0.5), parts=((60.0, 140.0), (160.0, 40.0))),
    "middle": one(8.0, 8.0),
    "solved": one(10.0, 0.5),
}
"""The six laws of the coverage grid; "atoms" is points at 0 and 1 plus a uniform part."""

HARD_LAWS = {
    "near the ends": Law(weights=(0.35, 0.3, 0.35), parts=((1.0, 30.0), (2.0, 2.0), (30.0, 1.0))),
    "easy mode": Law(weights=(0.3, 0.7), parts=((1.0, 1.0), (45.0, 5.0))),
    "hard mode": Law(weights=(0.5, 0.5), parts=((4.0, 36.0), 1.0)),
    "three points": Law(weights=(0.3, 0.4, 0.3), parts=(0.02, 0.5, 0.97)),
    "half solved": Law(weights=(0.4, 0.2, 0.4), parts=(0.0, 0.5, 1.0)),
}
"""Laws chosen against the method when it was done: no Beta law is near them, and the last two lie
at the very border of what counts allow."""

U_SHAPED = {
    "Beta(.3, .3)": one(0.3, 0.3),
    "Beta(.5, .5)": one(0.5, 0.5),
    "Beta(.15, .15)": one(0.15, 0.15),
    "Beta(.4, .2)": one(0.4, 0.2),
    "Beta(.3, .9)": one(0.3, 0.9),
    "atoms and uniform": GRID_LAWS["atoms"],
    "atom at 0, Beta(.6, .4)": Law(weights=(0.3, 0.7), parts=(0.0, (0.6, 0.4))),
    "Beta(.6, 5), Beta(5, .6)": Law(weights=(0.5, 0.5), parts=((0.6, 5.0), (5.0, 0.6))),
    "Beta(.5, 6), Beta(4, .5)": Law(weights=(0.7, 0.3), parts=((0.5, 6.0), (4.0, 0.5))),
}
"""The laws of the error table: five that a Beta law fits exactly, four that none does."""


def kept(num_samples: int, num_correct: int) -> bool:
    """Would the filter L2-L5 keep a question with these counts?"""
    return level_of(num_correct, num_samples) in KEEP


def identified(
    law: Law, ks: tuple[int, ...], group_size: int, *, filtered: bool
) -> tuple[float, float]:
    """What exact counts of ``law`` leave open, of the pool's rate or of the kept set's.

    Questions draw one of ``ks``, each as often as the others, whatever their pass rate.
    """
    points, masses = law.quadrature()
    grid = pass_rate_grid()
    matrix, fitted = [], []
    chance = np.zeros_like(grid)
    for k in ks:
        correct = np.arange(k + 1)
        rows = binomial_matrix(np.full(k + 1, k), correct, grid)
        matrix.append(rows)
        fitted.append(binomial_matrix(np.full(k + 1, k), correct, points) @ masses)
        inside = [kept(k, int(c)) for c in correct]
        chance += rows[inside].sum(axis=0)
    if not filtered:
        chance = np.ones_like(grid)
    values = collapse_probability(grid, group_size)
    return extremes(np.concatenate(matrix), np.concatenate(fitted), values, chance)
