"""The 95 % interval of a collapse rate: sampling error and the identified set in one.

The rate of a set is the mean of f_G over its very questions. Given their counts and a law F of the
pass rate it has mean h(F) = sum_c share_c E_F[f_G | c] and a spread of its own. Profile likelihood
bounds h: a law belongs if its log likelihood is within ``CUTOFF``^2 / 2 = 2.12 of the greatest.
Laws that fit equally well are all at distance 0, so the identified set lies inside, and a handful
of questions, which rule out little, gives a wide interval without any large-sample argument. The
spread is then added in squares. Of a few questions the interval also holds what the population they
came from may have, its law being bounded in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.bounds import BestFit, gap_for
from difficulty.collapse.collapse import Floats
from difficulty.collapse.likelihood import maximise

Z_95 = 1.959964
CUTOFF = 2.06
"""How far a law may be from the best fit, as a root of the likelihood ratio. Chi-square on one
degree would say 1.96, and does where the law is smooth. A law of narrow modes lies at the border of
those that counts allow: there the ratio runs higher, and 1.96 covers 93 % (``bench.collapse``)."""
TOLERANCE = 0.02
"""An end is found when its signed root of the likelihood ratio is this close to ``CUTOFF``."""
ROUNDS = 14
PASSES = 2
"""h is a sum of ratios. Each pass makes it linear at the law where the last one ended; a third
moves no end by a hundredth of the width."""
FEW = 30
"""Below it the spread of a set's mean is nothing like normal."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The mean of ``values`` over the questions of a set."""

    values: Floats
    """(J,) f_G on the grid."""
    shares: Floats
    """(C,) share of the set's questions in each class of the fit; sums to 1."""
    chance: Floats
    """(J,) P(a question is in the set | p), up to a factor."""
    num_questions: int
    """Questions in the set (at least 1)."""
    rate: float
    """The estimate."""
    spread: float
    """Standard deviation of the set's own mean when law and counts are known."""
    identified: tuple[float, float]
    """Least and greatest value over the best-fitting laws."""


def profile_intervals(fit: BestFit, targets: Sequence[Target]) -> list[tuple[float, float]]:
    """The 95 % interval (low, high) of each target, all ends searched together."""
    if not targets:
        return []
    few = [index for index, target in enumerate(targets) if target.num_questions < FEW]
    searched = [*targets, *(targets[index] for index in few)]
    ends = _Ends(fit, searched, population=np.arange(len(searched)) >= len(targets))
    for _ in range(PASSES):
        ends.search()
    lows, highs = ends.rates().reshape(2, len(searched))
    own = len(targets) + np.arange(len(few))
    lows[few], highs[few] = np.minimum(lows[few], lows[own]), np.maximum(highs[few], highs[own])
    return [
        _widened(target, float(low), float(high))
        for target, low, high in zip(targets, lows, highs, strict=False)
    ]


def _widened(target: Target, low: float, high: float) -> tuple[float, float]:
    """The range of h with the identified set, the estimate and the spread of the set's mean."""
    below = target.rate - min(low, target.identified[0], target.rate)
    above = max(high, target.identified[1], target.rate) - target.rate
    own = Z_95 * target.spread
    bottom, top = float(target.values.min()), float(target.values.max())
    return (
        max(target.rate - float(np.hypot(below, own)), bottom),
        min(target.rate + float(np.hypot(above, own)), top),
    )


class _Ends:
    """Lower ends of all targets, then upper ends; each between an inner and an outer value."""

    def __init__(
        self, fit: BestFit, targets: Sequence[Target], *, population: NDArray[np.bool_]
    ) -> None:
        self.fit = fit
        self.population = np.tile(population, 2)
        self.chance = np.array([target.chance for target in targets] * 2)
        self.values = np.array([target.values for target in targets] * 2)
        self.shares = np.array([target.shares for target in targets] * 2)
        self.lower = np.arange(2 * len(targets)) < len(targets)
        self.laws = np.tile(fit.weights, (len(self.values), 1))
        self.first = np.array([1.0 / np.sqrt(target.num_questions) for target in targets] * 2)

    def rates(self) -> Floats:
        """(E,) rate under the law that each search has reached."""
        return self._linear()[1]

    def _linear(self) -> tuple[Floats, Floats]:
        """(E, J) g with rate(F) - rate(present law) = g . F to first order, (E,) present rates."""
        matrix = self.fit.matrix
        fitted = np.maximum(self.laws @ matrix.T, 1e-300)
        means = (self.laws * self.values) @ matrix.T / fitted
        pull = self.shares / fitted
        slopes = (pull @ matrix) * self.values - (pull * means) @ matrix
        rates = (self.shares * means).sum(axis=1)
        for end in np.flatnonzero(self.population):
            chance, values = self.chance[end], self.values[end]
            kept = self.laws[end] @ chance
            rates[end] = self.laws[end] @ (chance * values) / kept
            slopes[end] = (values - rates[end]) * chance / kept
        return slopes, rates

    def _distance(self, which: NDArray[np.intp], slopes: Floats, at: Floats) -> Floats:
        """Root of the likelihood ratio where g . F = ``at``, less ``CUTOFF``: 0 at an end."""
        shares = np.broadcast_to(self.fit.shares, (len(which), len(self.fit.shares)))
        zero = slopes[which] - at[:, None]
        best = maximise(self.fit.matrix, shares, zero=zero, gap=gap_for(self.fit.total))
        self.laws[which] = best.weights
        lost = np.maximum(self.fit.log_likelihood - best.log_likelihood, 0.0)
        root: Floats = np.sqrt(2.0 * self.fit.total * lost) - CUTOFF
        return root

    def search(self) -> None:
        """False position with halving (the Illinois rule), on all ends at once."""
        every = np.arange(len(self.laws))
        slopes, _ = self._linear()
        near = slopes @ self.fit.weights
        start = (slopes * self.laws).sum(axis=1)
        limit = np.where(self.lower, slopes.min(axis=1), slopes.max(axis=1))
        # The very limit admits only laws on single grid points, where the search cannot go.
        far = limit + 1e-3 * (near - limit)
        reach = np.abs(far - near)
        sign = np.where(self.lower, -1.0, 1.0)
        ahead = sign * (start - near)
        step = np.where(ahead > 1e-9, ahead, self.first)
        at_near = np.full(len(every), -CUTOFF)
        at_far = np.zeros(len(every))
        wide = every[reach > 1e-6]
        at_far[wide] = self._distance(wide, slopes, far[wide])
        open_ = every[at_far > 0]
        for turn in range(ROUNDS):
            if not len(open_):
                break
            a, b, fa, fb = near[open_], far[open_], at_near[open_], at_far[open_]
            first = a + sign[open_] * np.minimum(step[open_], 0.9 * reach[open_])
            middle = first if turn == 0 else (a * fb - b * fa) / (fb - fa)
            value = self._distance(open_, slopes, middle)
            inside = value <= 0
            # The end that stays twice in a row counts for half, or it would never move.
            at_far[open_] = np.where(inside, fb / (2.0 if turn else 1.0), value)
            at_near[open_] = np.where(inside, value, fa / (2.0 if turn else 1.0))
            near[open_] = np.where(inside, middle, a)
            far[open_] = np.where(inside, b, middle)
            done = (np.abs(value) < TOLERANCE) | (np.abs(far - near)[open_] < 1e-5)
            open_ = open_[~done]
