"""The collapse rate of one set of questions: point, interval, identified set and plug-in."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.bounds import (
    BestFit,
    Chosen,
    best_fit,
    extremes,
    kept_chance,
)
from difficulty.collapse.collapse import (
    Floats,
    collapse_probability,
    exact_means,
    plug_in,
)
from difficulty.collapse.counts import Classes
from difficulty.collapse.fills import QuestionSet
from difficulty.collapse.interval import Target, profile_intervals
from difficulty.collapse.likelihood import binomial_matrix
from difficulty.collapse.mixture import Mixture, fit_mixture
from difficulty.collapse.planner import SamplingPlan, planner


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The share of a set's groups that will collapse before training has changed the model."""

    acr: float
    """Mean over the set's questions of the chance that a group of G is all right or all wrong."""
    low: float
    """Lower end of the 95 % interval (sampling error and identified set together)."""
    high: float
    identified_low: float
    """Least rate that exact counts would still allow."""
    identified_high: float
    plug_in: float
    """Mean of f_G(c / k), biased; shown because readers look for it."""
    num_questions: int
    method: str
    """Where ``acr`` comes from: ``exact`` (unbiased, needs no law of pass rates) or ``mixture``."""


def every_question(_num_samples: int, _num_correct: int) -> bool:
    """The rule of the pool."""
    return True


CLOSED = 1e-4
"""A set narrower than this leaves nothing open; what is left is the accuracy of the programmes."""


class Fits:
    """Both fits of one table: the regular law for the figures, the best fit for what is open."""

    def __init__(self, classes: Classes, group_size: int) -> None:
        self.classes = classes
        self.law: Mixture = fit_mixture(classes)
        self.fit: BestFit = best_fit(classes)
        self._set_group_size(group_size)

    def _set_group_size(self, group_size: int) -> None:
        classes, self.group_size = self.classes, group_size
        self.values = collapse_probability(self.law.grid, group_size)
        posterior = self.law.posterior(classes.num_samples, classes.num_correct)
        self.posterior = posterior @ self.values
        self.variance = np.maximum(posterior @ self.values**2 - self.posterior**2, 0.0)
        self.exact = self._exact_rates()
        self.naive = plug_in(classes.num_samples, classes.num_correct, group_size)

    def at(self, group_size: int) -> Fits:
        """The same fits seen with another group size."""
        other = copy.copy(self)
        other._set_group_size(group_size)
        return other

    def questions(self, chosen: Chosen) -> QuestionSet | None:
        """The chosen questions' chances of a usable group; None if there is no such question."""
        classes = self.classes.where(self.classes.chosen(chosen))
        if not len(classes.num_samples):
            return None
        posterior = self.law.posterior(classes.num_samples, classes.num_correct)
        weights = classes.num_questions @ posterior / classes.num_questions.sum()
        return QuestionSet(usable=1.0 - self.values, weights=weights, num_questions=classes.total)

    def estimates(self, wanted: dict[str, Chosen]) -> dict[str, Estimate]:
        """The estimate of each named set that has questions."""
        masks = {name: self.classes.chosen(rule) for name, rule in wanted.items()}
        masks = {name: mask for name, mask in masks.items() if mask.any()}
        targets = {name: self._target(wanted[name], mask) for name, mask in masks.items()}
        ends = profile_intervals(self.fit, list(targets.values()))
        return {
            name: self._estimate(masks[name], targets[name], interval)
            for name, interval in zip(masks, ends, strict=True)
        }

    def _chance(self, chosen: Chosen) -> Floats:
        if chosen is every_question:
            return np.ones_like(self.values)
        return kept_chance(self.fit, self.classes, chosen)

    def _target(self, chosen: Chosen, mask: NDArray[np.bool_]) -> Target:
        weights = self.classes.num_questions[mask]
        shares = self.classes.shares(mask)
        rate = float(np.average(self.posterior[mask], weights=weights))
        questions = int(weights.sum())
        return Target(
            values=self.values,
            shares=shares,
            chance=self._chance(chosen),
            num_questions=questions,
            rate=rate,
            spread=float(np.sqrt(np.average(self.variance[mask], weights=weights) / questions)),
            identified=self._identified(shares, rate if self._exact(mask) is None else None),
        )

    def _exact(self, mask: NDArray[np.bool_]) -> float | None:
        return self.exact.get(self.group_size) if mask.all() else None

    def _identified(self, shares: Floats, rate: float | None) -> tuple[float, float]:
        fit = self.fit
        kernel = (shares / np.maximum(fit.fitted, 1e-9 * shares)) @ fit.matrix
        rows = fit.matrix[fit.matched]
        low, high = extremes(rows, fit.fitted[fit.matched], self.values, kernel)
        if fit.classes.fixed_k is not None:
            k = fit.classes.fixed_k
            rows = binomial_matrix(np.full(k + 1, k), np.arange(k + 1), fit.grid)
        smooth = extremes(rows, rows @ self.law.weights, self.values, kernel)
        # On the border of the possible count laws a single law fits best, by accident of noise;
        # exact counts would leave as much open as those of the regular law do. And a few
        # questions leave the regular law, which the rate is of, outside the set of the best fit.
        narrow = high - low + CLOSED < (smooth[1] - smooth[0]) / 2
        if narrow or (rate is not None and not low <= rate <= high):
            low, high = min(low, smooth[0]), max(high, smooth[1])
        return low, high

    def _estimate(
        self, mask: NDArray[np.bool_], target: Target, interval: tuple[float, float]
    ) -> Estimate:
        weights = self.classes.num_questions[mask]
        exact = self._exact(mask)
        # Outside the interval the counts are those of no law, and the polynomial misleads.
        usable = exact is not None and interval[0] <= exact <= interval[1]
        acr = exact if exact is not None and usable else target.rate
        return Estimate(
            acr=acr,
            low=interval[0],
            high=interval[1],
            identified_low=min(target.identified[0], acr),
            identified_high=max(target.identified[1], acr),
            plug_in=float(np.average(self.naive[mask], weights=weights)),
            num_questions=int(weights.sum()),
            method="exact" if usable else "mixture",
        )

    def _exact_rates(self) -> dict[int, float]:
        table, k = self.classes, self.classes.fixed_k
        if k is None:
            return {}
        return exact_means(k, table.num_correct, table.num_questions, group_size=self.group_size)

    def plans(self, chosen: Chosen) -> tuple[SamplingPlan, ...]:
        """Identified width of the kept population at the present and at greater k."""
        common = self.classes.common_k
        per_k = {
            int(k): int(self.classes.num_questions[self.classes.num_samples == k].sum())
            for k in np.unique(self.classes.num_samples)
        }
        drawn = [(common, per_k.pop(common)), *per_k.items()]
        return planner(self.law, self._chance(chosen), group_size=self.group_size, drawn=drawn)
