"""How many samples a question would settle the collapse rate of the kept set, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from difficulty.collapse.bounds import extremes
from difficulty.collapse.collapse import Floats, collapse_probability
from difficulty.collapse.counts import MAX_K
from difficulty.collapse.likelihood import binomial_matrix
from difficulty.collapse.mixture import Mixture

CHOICES = (8, 10, 16)


@dataclass(frozen=True, kw_only=True)
class SamplingPlan:
    """The kept population as ``num_samples`` samples a question would show it."""

    num_samples: int
    identified_width: float
    """What exact counts would still leave open of its collapse rate (0 to 1)."""
    extra_answers: int
    """Answers to draw beyond those there are, over all questions."""


def planner(
    law: Mixture,
    chance: Floats,
    *,
    group_size: int,
    drawn: Sequence[tuple[int, int]],
    choices: Sequence[int] = CHOICES,
) -> tuple[SamplingPlan, ...]:
    """Identified width of the kept population for the present k and each greater choice.

    The fitted law is taken for the truth and the kept population, ``chance`` (J,) = P(kept | p),
    is held fixed; a new k would in fact keep somewhat other questions.

    Args:
        law: the fitted law of pass rates.
        chance: P(kept | p) on the law's grid.
        group_size: answers a question in training.
        drawn: (samples there are, number of questions) pairs; the first is the present k.
        choices: numbers of samples to consider.
    """
    values = collapse_probability(law.grid, group_size)
    present = drawn[0][0]
    plans = []
    for k in (present, *(choice for choice in choices if choice > present)):
        rows = min(k, MAX_K)  # as many samples leave nothing open
        matrix = binomial_matrix(np.full(rows + 1, rows), np.arange(rows + 1), law.grid)
        low, high = extremes(matrix, matrix @ law.weights, values, chance)
        extra = sum(max(k - samples, 0) * questions for samples, questions in drawn)
        plans.append(SamplingPlan(num_samples=k, identified_width=high - low, extra_answers=extra))
    return tuple(plans)
