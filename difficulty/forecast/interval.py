"""The 95 % interval of a collapse rate: sampling error and the identified set in one.

Profile likelihood: a value t belongs to the interval if some law F with that collapse rate has a
log likelihood within chi2(1; .95) / 2 = 1.92 of the greatest. Laws that fit equally well are all
at distance 0, so the identified set lies inside, and a handful of questions, which rule out
little, gives a wide interval without any large-sample argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.forecast.bounds import BestFit, gap_for
from difficulty.forecast.collapse import Floats
from difficulty.forecast.likelihood import maximise

Z_95 = 1.959964
TOLERANCE = 0.02
"""An end is found when its signed root of the likelihood ratio is this close to ``Z_95``."""
ROUNDS = 14


@dataclass(frozen=True, kw_only=True)
class Target:
    """A collapse rate: integral(values * chance dF) / integral(chance dF)."""

    values: Floats
    """(J,) f_G on the grid."""
    chance: Floats
    """(J,) P(a question is in the set | p), up to a factor."""
    num_questions: int
    """Questions in the set (at least 1); only sets the width of the first step."""
    identified: tuple[float, float]
    """Least and greatest value over the best-fitting laws."""


def profile_intervals(fit: BestFit, targets: Sequence[Target]) -> list[tuple[float, float]]:
    """The 95 % interval (low, high) of each target, all ends searched together."""
    if not targets:
        return []
    ends = _Ends(fit, targets)
    ends.search()
    low, high = ends.found[: len(targets)], ends.found[len(targets) :]
    return list(zip(low.tolist(), high.tolist(), strict=True))


class _Ends:
    """Lower ends of all targets, then upper ends; each between an inner and an outer value."""

    def __init__(self, fit: BestFit, targets: Sequence[Target]) -> None:
        self.fit = fit
        self.values = np.array([target.values for target in targets] * 2)
        self.chance = np.array([target.chance for target in targets] * 2)
        reach = [target.values[target.chance > 0] for target in targets]
        self.inner = np.array(
            [target.identified[0] for target in targets]
            + [target.identified[1] for target in targets]
        )
        self.limit = np.array([v.min() for v in reach] + [v.max() for v in reach])
        self.first = np.array([1.0 / np.sqrt(target.num_questions) for target in targets] * 2)
        # The very limit admits only laws on single grid points, where the search cannot go.
        self.outer = self.limit + 1e-3 * (self.inner - self.limit)
        self.found = self.inner.copy()

    def distance(self, which: NDArray[np.intp], at: Floats) -> Floats:
        """Signed root of the likelihood ratio at rate ``at``, less 1.96: 0 at an end."""
        zero = (self.values[which] - at[:, None]) * self.chance[which]
        shares = np.broadcast_to(self.fit.shares, (len(which), len(self.fit.shares)))
        best = maximise(self.fit.matrix, shares, zero=zero, gap=gap_for(self.fit.total))
        lost = np.maximum(self.fit.log_likelihood - best.log_likelihood, 0.0)
        root: Floats = np.sqrt(2.0 * self.fit.total * lost) - Z_95
        return root

    def search(self) -> None:
        """False position with halving (the Illinois rule), on all ends at once."""
        every = np.arange(len(self.inner))
        near, far = self.inner.copy(), self.outer.copy()
        at_near = np.full(len(every), -Z_95)
        at_far = self.distance(every, far)
        self.found = np.where(at_far <= 0, self.limit, self.inner)
        open_ = every[(at_far > 0) & (np.abs(far - near) > 1e-6)]
        step = np.sign(far - near) * np.minimum(self.first, 0.9 * np.abs(far - near))
        for turn in range(ROUNDS):
            if not len(open_):
                break
            a, b, fa, fb = near[open_], far[open_], at_near[open_], at_far[open_]
            middle = a + step[open_] if turn == 0 else (a * fb - b * fa) / (fb - fa)
            value = self.distance(open_, middle)
            inside = value <= 0
            self.found[open_] = middle
            # The end that stays twice in a row counts for half, or it would never move.
            at_far[open_] = np.where(inside, fb / (2.0 if turn else 1.0), value)
            at_near[open_] = np.where(inside, value, fa / (2.0 if turn else 1.0))
            near[open_] = np.where(inside, middle, a)
            far[open_] = np.where(inside, b, middle)
            done = (np.abs(value) < TOLERANCE) | (np.abs(far - near)[open_] < 1e-5)
            open_ = open_[~done]
