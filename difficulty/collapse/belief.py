"""The forecast's uncertainty as a density, so that what follows from a rate can be averaged.

A chance such as "all steps fill" bends so sharply in the collapse rate that its value at the point
forecast says little about its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from difficulty.collapse.collapse import Floats
from difficulty.collapse.fills import QuestionSet
from difficulty.collapse.interval import Z_95

POINTS = 41
REACH = 3.5
"""Standard deviations beyond the identified set at which the density ends."""


class Interval(Protocol):
    """A rate with its 95 % interval and identified set."""

    @property
    def low(self) -> float:
        """Lower end of the interval."""

    @property
    def high(self) -> float:
        """Upper end of the interval."""

    @property
    def identified_low(self) -> float:
        """Least rate that exact counts would allow."""

    @property
    def identified_high(self) -> float:
        """Greatest such rate."""


@dataclass(frozen=True, kw_only=True)
class Belief:
    """Collapse rates that a set may have, and how likely each is."""

    rates: Floats
    """(M,) rising."""
    weights: Floats
    """(M,) sum 1."""

    def mean(self, values: Floats) -> float:
        """Average of what follows from each rate."""
        return float(np.clip(self.weights @ values, values.min(), values.max()))


def belief_of(found: Interval, *, limits: tuple[float, float] = (0.0, 1.0)) -> Belief:
    """The normalised profile likelihood: flat over the identified set, normal beyond it.

    All rates of the identified set fit the counts equally well. The interval's ends are where the
    signed root of the likelihood ratio is 1.96; in between it is taken to be linear.

    Args:
        found: the forecast of a set.
        limits: rates that the set's questions can have at all.
    """
    flat_low, flat_high = np.clip(
        [found.identified_low, found.identified_high], found.low, found.high
    )
    below, above = (flat_low - found.low) / Z_95, (found.high - flat_high) / Z_95
    first = max(flat_low - REACH * below, limits[0])
    last = min(flat_high + REACH * above, limits[1])
    if last - first < 1e-9:
        return Belief(rates=np.array([np.clip(first, *limits)]), weights=np.ones(1))
    rates = np.linspace(first, last, POINTS)
    outside_low = (flat_low - rates) / max(below, 1e-9)
    outside_high = (rates - flat_high) / max(above, 1e-9)
    distance = np.maximum(np.maximum(outside_low, outside_high), 0.0)
    # Trapezoid rule: the two ends stand for half a step each.
    weights = np.exp(-0.5 * distance**2)
    weights[[0, -1]] /= 2.0
    return Belief(rates=rates, weights=weights / weights.sum())


def reachable(questions: QuestionSet) -> tuple[float, float]:
    """Least and greatest collapse rate that reweighting the set's questions can give."""
    collapse = 1.0 - questions.usable[questions.weights > 0]
    return float(collapse.min()), float(collapse.max())


def with_rate(questions: QuestionSet, rate: float) -> QuestionSet:
    """The set with another collapse rate; see ``with_rates``."""
    return with_rates(questions, np.array([rate]))[0]


def with_rates(questions: QuestionSet, rates: Floats) -> list[QuestionSet]:
    """The set with each of other collapse rates, changed as little as can be.

    Weights are multiplied by exp(t * collapse): of all laws with that mean the one of least
    relative entropy to the forecast. Rates out of reach become the nearest in reach.
    """
    collapse = 1.0 - questions.usable
    low, high = reachable(questions)
    if high - low < 1e-12:
        return [questions] * len(rates)
    margin = 1e-9 * (high - low)
    goals = np.clip(rates, low + margin, high - margin)
    below, above = np.full(len(goals), -1e4), np.full(len(goals), 1e4)
    for _ in range(60):
        middle = (below + above) / 2
        short = _tilted(questions.weights, collapse, middle) @ collapse < goals
        below, above = np.where(short, middle, below), np.where(short, above, middle)
    return [
        QuestionSet(usable=questions.usable, weights=weights, num_questions=questions.num_questions)
        for weights in _tilted(questions.weights, collapse, (below + above) / 2)
    ]


def _tilted(weights: Floats, collapse: Floats, slopes: Floats) -> Floats:
    """(M, J) the weights for each of (M,) slopes."""
    logs = np.log(np.maximum(weights, 1e-300)) + np.multiply.outer(slopes, collapse)
    logs[:, weights <= 0] = -np.inf
    tilted: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    tilted /= tilted.sum(axis=1, keepdims=True)
    return tilted
