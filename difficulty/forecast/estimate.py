"""The collapse rate of one set of questions: point, interval, identified set and plug-in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.forecast.bounds import (
    BestFit,
    Chosen,
    best_fit,
    extremes,
    identified_set,
    kept_chance,
)
from difficulty.forecast.collapse import (
    Floats,
    collapse_probability,
    degree,
    exact_mean,
    plug_in,
)
from difficulty.forecast.counts import Classes
from difficulty.forecast.interval import Target, profile_intervals
from difficulty.forecast.likelihood import binomial_matrix
from difficulty.forecast.mixture import Mixture, fit_mixture
from difficulty.forecast.planner import Plan, planner


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


class Work:
    """Both fits of one table: the regular law for the figures, the best fit for what is open."""

    def __init__(self, classes: Classes, group_size: int) -> None:
        self.classes, self.group_size = classes, group_size
        self.law: Mixture = fit_mixture(classes)
        self.fit: BestFit = best_fit(classes)
        self.values = collapse_probability(self.law.grid, group_size)
        self.posterior = self.law.mean(self.values, classes.num_samples, classes.num_correct)
        self.exact = _exact_rates(classes)
        self.naive = plug_in(classes.num_samples, classes.num_correct, group_size)

    def estimates(self, wanted: dict[str, Chosen]) -> dict[str, Estimate]:
        """The estimate of each named set that has questions."""
        masks = {name: self.classes.chosen(rule) for name, rule in wanted.items()}
        masks = {name: mask for name, mask in masks.items() if mask.any()}
        targets = {name: self._target(wanted[name], masks[name]) for name in masks}
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
        chance = self._chance(chosen)
        low, high = identified_set(self.fit, self.values, chance)
        smooth = self._smooth_set(chance)
        # On the border of the possible count laws a single law fits best, by accident of noise;
        # exact counts would leave as much open as those of the regular law do.
        if high - low < (smooth[1] - smooth[0]) / 2:
            low, high = min(low, smooth[0]), max(high, smooth[1])
        return Target(
            values=self.values,
            chance=chance,
            num_questions=int(self.classes.num_questions[mask].sum()),
            identified=(low, high),
        )

    def _smooth_set(self, chance: Floats) -> tuple[float, float]:
        k = self.classes.fixed_k
        if k is None:
            matrix = self.fit.matrix[self.fit.matched]
        else:
            matrix = binomial_matrix(np.full(k + 1, k), np.arange(k + 1), self.law.grid)
        return extremes(matrix, matrix @ self.law.weights, self.values, chance)

    def _estimate(
        self, mask: NDArray[np.bool_], target: Target, interval: tuple[float, float]
    ) -> Estimate:
        weights = self.classes.num_questions[mask]
        exact = self.exact.get(self.group_size) if mask.all() else None
        # Outside the interval the counts are those of no law, and the polynomial misleads.
        usable = exact is not None and interval[0] <= exact <= interval[1]
        mean = float(np.average(self.posterior[mask], weights=weights))
        acr = exact if exact is not None and usable else mean
        low, high = (min(max(end, 0.0), 1.0) for end in target.identified)
        return Estimate(
            acr=acr,
            low=max(min(interval[0], low, acr), 0.0),
            high=min(max(interval[1], high, acr), 1.0),
            identified_low=low,
            identified_high=high,
            plug_in=float(np.average(self.naive[mask], weights=weights)),
            num_questions=int(weights.sum()),
            method="exact" if usable else "mixture",
        )

    def plans(self, chosen: Chosen) -> tuple[Plan, ...]:
        """Identified width of the kept population at the present and at greater k."""
        common = self.classes.common_k
        per_k = {
            int(k): int(self.classes.num_questions[self.classes.num_samples == k].sum())
            for k in np.unique(self.classes.num_samples)
        }
        drawn = [(common, per_k.pop(common)), *per_k.items()]
        return planner(self.law, self._chance(chosen), group_size=self.group_size, drawn=drawn)


def _exact_rates(classes: Classes) -> dict[int, float]:
    k = classes.fixed_k
    if k is None:
        return {}
    sizes = [size for size in range(2, k + 2) if degree(size) <= k]
    return {
        size: exact_mean(k, classes.num_correct, classes.num_questions, group_size=size)
        for size in sizes
    }
