"""The forecast of a table of counts: pool, kept set, levels and sources, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.errors import InputError
from difficulty.forecast.bounds import BestFit, best_fit, extremes, identified_set, kept_chance
from difficulty.forecast.collapse import (
    Floats,
    check_group_size,
    collapse_probability,
    degree,
    exact_mean,
    plug_in,
)
from difficulty.forecast.counts import Classes, Counts
from difficulty.forecast.interval import Target, profile_intervals
from difficulty.forecast.likelihood import binomial_matrix
from difficulty.forecast.mixture import POOR_FIT, Fit, Mixture, fit_mixture, goodness_of_fit
from difficulty.forecast.planner import Plan, planner
from difficulty.levels import LEVELS, level_of

DEFAULT_KEEP = ("L2", "L3", "L4", "L5")
WIDE = 0.05
"""An identified set wider than this is warned of: no number of questions narrows it."""
SETTLED = 0.01
"""A number of samples settles a rate when it leaves less than this open."""
FEW_QUESTIONS = 30


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


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What ``forecast`` returns."""

    group_size: int
    keep: tuple[str, ...]
    pool: Estimate
    """All questions."""
    kept: Estimate | None
    """The questions in the levels ``keep``; None if there is none."""
    levels: dict[str, Estimate]
    """Levels that have questions."""
    by_source: dict[str, Estimate]
    """Pool of each source, from its own law; empty when there is only one source."""
    exact: dict[int, float]
    """Unbiased pool rate by group size, for each that k allows; empty when k is mixed."""
    beta: tuple[float, float]
    """(a, b) of the Beta law that the mixture is drawn towards."""
    fit: Fit
    plans: tuple[Plan, ...]
    """Identified width of the kept set at the present and at greater k; empty without one."""
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Plain JSON types; what was not estimated is null."""
        fit = asdict(self.fit)
        return {
            "group_size": self.group_size,
            "pool": asdict(self.pool),
            "kept": {**_figures(self.kept), "levels": list(self.keep)},
            "levels": {level: _figures(self.levels.get(level)) for level in LEVELS},
            "by_source": {name: asdict(part) for name, part in self.by_source.items()},
            "exact": {str(size): rate for size, rate in self.exact.items()},
            "beta": {"a": self.beta[0], "b": self.beta[1]},
            "goodness_of_fit": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in fit.items()
            },
            "plans": [asdict(plan) for plan in self.plans],
            "warnings": list(self.warnings),
        }


def _figures(estimate: Estimate | None) -> dict[str, object]:
    if estimate is not None:
        return asdict(estimate)
    return dict.fromkeys(Estimate.__annotations__) | {"num_questions": 0}


def forecast(
    counts: Counts,
    *,
    group_size: int = 8,
    keep: Sequence[str] = DEFAULT_KEEP,
    rng: np.random.Generator | None = None,
) -> Forecast:
    """Forecast the advantage collapse rate (ACR, arXiv 2605.21125) of right/wrong rewards.

    Args:
        counts: how many questions got c of k answers right.
        group_size: G, answers a question in training.
        keep: the levels that the filter keeps.
        rng: for the tables behind the p-value of the fit; a fixed seed by default. Nothing else
            is random.

    Raises:
        InputError: ``group_size`` below 2 or a name in ``keep`` that is not a level.
    """
    check_group_size(group_size)
    if unknown := [level for level in keep if level not in LEVELS]:
        raise InputError(f"no such level: {unknown[0]!r}. Choose from {', '.join(LEVELS)}")
    classes = counts.classes()
    work = _Work(classes, group_size)
    chosen = frozenset(keep)
    wanted = {"pool": frozenset(LEVELS), "kept": chosen}
    wanted |= {level: frozenset((level,)) for level in LEVELS}
    estimates = work.estimates(wanted)
    kept = estimates.get("kept")
    plans = work.plans(chosen) if kept else ()
    exact = _exact(classes)
    fit = goodness_of_fit(classes, rng or np.random.default_rng(0))
    sources = counts.by_source()
    result = Forecast(
        group_size=group_size,
        keep=tuple(level for level in LEVELS if level in chosen),
        pool=estimates["pool"],
        kept=kept,
        levels={level: estimates[level] for level in LEVELS if level in estimates},
        by_source={name: _pool(part, group_size) for name, part in sources.items()}
        if len(sources) > 1
        else {},
        exact=exact,
        beta=work.law.beta,
        fit=fit,
        plans=plans,
        warnings=_warnings(classes, kept, plans, fit),
    )
    return result


def _pool(classes: Classes, group_size: int) -> Estimate:
    return _Work(classes, group_size).estimates({"pool": frozenset(LEVELS)})["pool"]


def _exact(classes: Classes) -> dict[int, float]:
    k = classes.fixed_k
    if k is None:
        return {}
    sizes = [size for size in range(2, k + 2) if degree(size) <= k]
    return {
        size: exact_mean(k, classes.num_correct, classes.num_questions, group_size=size)
        for size in sizes
    }


class _Work:
    """Both fits of one table: the regular law for the figures, the best fit for what is open."""

    def __init__(self, classes: Classes, group_size: int) -> None:
        self.classes, self.group_size = classes, group_size
        self.law: Mixture = fit_mixture(classes)
        self.fit: BestFit = best_fit(classes)
        self.values = collapse_probability(self.law.grid, group_size)
        pairs = zip(classes.num_correct.tolist(), classes.num_samples.tolist(), strict=True)
        self.level = np.array([level_of(correct, samples) for correct, samples in pairs])
        self.posterior = self.law.mean(self.values, classes.num_samples, classes.num_correct)
        self.naive = plug_in(classes.num_samples, classes.num_correct, group_size)

    def estimates(self, wanted: dict[str, frozenset[str]]) -> dict[str, Estimate]:
        """The estimate of each named set of levels that has questions."""
        masks = {name: np.isin(self.level, list(levels)) for name, levels in wanted.items()}
        masks = {name: mask for name, mask in masks.items() if mask.any()}
        targets = {name: self._target(wanted[name], masks[name]) for name in masks}
        ends = profile_intervals(self.fit, list(targets.values()))
        return {
            name: self._estimate(masks[name], targets[name], interval)
            for name, interval in zip(masks, ends, strict=True)
        }

    def _chance(self, levels: frozenset[str]) -> Floats:
        if len(levels) == len(LEVELS):
            return np.ones_like(self.values)
        return kept_chance(self.fit, self.classes, levels)

    def _target(self, levels: frozenset[str], mask: NDArray[np.bool_]) -> Target:
        chance = self._chance(levels)
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
        exact = self._exact() if mask.all() else None
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

    def _exact(self) -> float | None:
        k, correct = self.classes.fixed_k, self.classes.num_correct
        if k is None or degree(self.group_size) > k:
            return None
        weights = self.classes.num_questions
        return exact_mean(k, correct, weights, group_size=self.group_size)

    def plans(self, keep: frozenset[str]) -> tuple[Plan, ...]:
        common = self.classes.common_k
        per_k = {
            int(k): int(self.classes.num_questions[self.classes.num_samples == k].sum())
            for k in np.unique(self.classes.num_samples)
        }
        drawn = [(common, per_k.pop(common)), *per_k.items()]
        return planner(self.law, self._chance(keep), group_size=self.group_size, drawn=drawn)


def _warnings(
    classes: Classes, kept: Estimate | None, plans: tuple[Plan, ...], fit: Fit
) -> tuple[str, ...]:
    texts = []
    if kept is not None and kept.identified_high - kept.identified_low > WIDE:
        texts.append(_wide_text(kept, plans))
    if fit.p_value is not None and fit.p_value <= POOR_FIT:
        texts.append(
            f"poor fit of the counts with k = {fit.num_samples}: p = {fit.p_value:.2f}. Answers "
            "to one question may not be independent draws; check the seeds and the server's cache"
        )
    if classes.fixed_k is None:
        texts.append(
            f"questions have between {classes.num_samples.min()} and {classes.num_samples.max()} "
            "graded answers: levels mean another thing at another k, and no exact rate is given"
        )
    if classes.total < FEW_QUESTIONS:
        texts.append(f"only {classes.total} questions: read the interval, not the point")
    return tuple(texts)


def _wide_text(kept: Estimate, plans: tuple[Plan, ...]) -> str:
    width = kept.identified_high - kept.identified_low
    text = (
        f"kept set: k = {plans[0].num_samples} leaves its collapse rate open between "
        f"{kept.identified_low:.2f} and {kept.identified_high:.2f} (width {width:.2f}), however "
        "many questions there are"
    )
    for plan in plans[1:]:
        if plan.identified_width < SETTLED:
            open_ = math.ceil(plan.identified_width * 1000) / 1000
            return (
                f"{text}. k = {plan.num_samples} would leave {open_:.3f} open, for "
                f"{plan.extra_answers:,} more answers"
            )
    return f"{text}. None of the greater k that were looked at leaves less than {SETTLED} open"
