"""Groups whose rewards hardly differ, for rewards so fine that they are never equal.

A judge's or any continuous reward never collapses in the strict sense. What is asked then is how
often the spread of a group stays below a threshold; it is answered by drawing groups anew from the
samples.
"""

from __future__ import annotations

import numpy as np

from difficulty.collapse.collapse import Floats, Ints
from difficulty.collapse.likelihood import maximise
from difficulty.collapse.mixture import PRIOR_QUESTIONS
from difficulty.collapse.rewards import Outcomes

DRAWS, MOST_DRAWS = 400_000, 1_000
"""Groups that are drawn in all, shared among the questions, and at most for one of them."""
SPREADS, BINS = 80, 60
"""Grid points of the law of spreads, and kinds of question it is fitted to."""


def narrow_chances(
    outcomes: Outcomes,
    equal: Floats,
    *,
    threshold: float,
    group_size: int,
    rng: np.random.Generator,
) -> Floats:
    """(Q,) chance that a group's standard deviation (of a sample, ddof 1) is below ``threshold``.

    Drawing from a question's own five answers would make groups look too narrow and take five
    answers' spread for the question's own. So a spread is drawn from what its own answers and the
    law of all questions' spreads say of it, and deviations from those of all questions, each in
    units of its question's spread. To this comes the chance of equal rewards, which is all there is
    for a question whose answers all have the same.

    Args:
        outcomes: rewards, a row a kind of question.
        equal: (Q,) chance of equal rewards.
        threshold: standard deviation, in units of the reward.
        group_size: answers a group.
        rng: source of the draws.
    """
    freedom = outcomes.there.sum(axis=1) - 1
    away = outcomes.reward - np.nanmean(outcomes.reward, axis=1, keepdims=True)
    squares = np.nansum(away**2, axis=1)
    wanted = np.flatnonzero(squares > 1e-18)
    chances = np.array(equal, dtype=np.float64)
    if not len(wanted):
        return chances
    squares, freedom, away = squares[wanted], freedom[wanted], away[wanted]
    grid, posterior = _spreads(squares, freedom, outcomes.num_questions[wanted])
    shape = (away / np.sqrt(posterior @ grid**2)[:, None])[outcomes.there[wanted]]
    shape /= np.sqrt(np.mean(shape**2))
    repeats = int(np.clip(DRAWS // len(wanted), 4, MOST_DRAWS))
    steps = posterior.cumsum(axis=1)
    narrow = np.zeros(len(wanted))
    for _ in range(repeats):
        place = (steps < rng.random((len(wanted), 1))).sum(axis=1)
        spread = grid[np.minimum(place, len(grid) - 1)]
        group = rng.choice(shape, size=(len(wanted), group_size))
        narrow += group.std(axis=1, ddof=1) * spread < threshold
    chances[wanted] += (1.0 - chances[wanted]) * narrow / repeats
    return chances


def _spreads(squares: Floats, freedom: Ints, num_questions: Ints) -> tuple[Floats, Floats]:
    """A grid of standard deviations, and the posterior on it of each question (Q, J).

    ``squares`` / sigma^2 is taken for chi-square; the law of sigma is the regularised mixture that
    makes the squares likeliest, fitted to questions of like spread together.
    """
    variance = squares / freedom
    low, high = (float(np.log(end) / 2) for end in (variance.min(), variance.max()))
    grid = np.exp(np.linspace(low - 1.0, high + 0.7, SPREADS))
    logs = -freedom[:, None] * np.log(grid) - squares[:, None] / (2.0 * grid**2)
    logs -= logs.max(axis=1, keepdims=True)
    kinds = _kinds(variance, freedom)
    weights = np.bincount(kinds, num_questions)
    means = np.array([np.bincount(kinds, num_questions * column) for column in logs.T]).T
    likely = np.exp(means / weights[:, None])
    total = float(weights.sum())
    prior = np.full((1, SPREADS), PRIOR_QUESTIONS / SPREADS / total)
    law = maximise(likely, weights[None, :] / total, prior=prior).weights[0]
    posterior = np.exp(logs) * law
    return grid, posterior / posterior.sum(axis=1, keepdims=True)


def _kinds(variance: Floats, freedom: Ints) -> Ints:
    """(Q,) number of a kind: questions with as many answers and about the same spread."""
    order = np.lexsort((variance, freedom))
    fine = np.empty(len(order), np.int64)
    fine[order] = np.arange(len(order)) * BINS // len(order)
    _, kinds = np.unique(fine * (freedom.max() + 1) + freedom, return_inverse=True)
    return np.asarray(kinds)
