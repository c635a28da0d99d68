"""How many usable groups the generation batches of a step hold.

A group is usable when its answers are not all alike. A step draws questions of the set, each at
most once a pass, and each question is usable with a chance of its own: the number of usable groups
is Poisson-binomial over the questions that happen to be drawn. Where the same question is drawn
twice its groups succeed together more often than chance, because they share that question's chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.collapse import Floats

Complexes = NDArray[np.complex128]
MAX_SLICES = 64
"""Fixed strata of a draw: more would change no figure that is printed."""
FAR = 12.0
"""Standard deviations beyond which a tail is taken for nothing (below 1e-20)."""


@dataclass(frozen=True, kw_only=True)
class QuestionSet:
    """What the questions of a set are like: the law of their chances of a usable group."""

    usable: Floats
    """(J,) chance that a group of such a question is usable, 0 to 1."""
    weights: Floats
    """(J,) share of the set's questions, sum 1: the posteriors of its questions, averaged."""
    num_questions: int

    @property
    def mean(self) -> float:
        """1 - ACR of the set."""
        return float(self.usable @ self.weights)

    @property
    def variance(self) -> float:
        """Variance of the chance from question to question."""
        return max(float(self.usable**2 @ self.weights) - self.mean**2, 0.0)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Different questions of the set, picked at random, with the same number of groups each."""

    num_questions: int
    """At most those that the set has."""
    times: int


def draws_of(rounds: int, *, groups: int, num_questions: int, redraw: str) -> tuple[Draw, ...]:
    """What ``rounds`` batches of ``groups`` groups draw from a set of ``num_questions``.

    ``redraw`` is one of ``trainers.resampling.REDRAWS``. Fresh batches use the whole set before a
    question comes again. Draws are independent of each other given the questions' chances.
    """
    if redraw == "all":
        return (Draw(num_questions=groups, times=rounds),)
    if redraw == "resamples" and rounds > 1:
        return (
            Draw(num_questions=groups, times=1),
            Draw(num_questions=groups, times=rounds - 1),
        )
    passes, rest = divmod(rounds * groups, num_questions)
    parts = (
        Draw(num_questions=num_questions, times=passes),
        Draw(num_questions=rest, times=1),
    )
    return tuple(part for part in parts if part.num_questions and part.times)


def moments(questions: QuestionSet, draws: Sequence[Draw]) -> tuple[float, float]:
    """Mean and variance of the number of usable groups; exact.

    A draw of n of N questions, m groups each, has variance
    n [m E q(1 - q) + m^2 Var(q) (N - n) / (N - 1)].
    """
    spread = questions.variance
    within = questions.mean * (1.0 - questions.mean) - spread
    mean = variance = 0.0
    for draw in draws:
        n, m, size = draw.num_questions, draw.times, questions.num_questions
        left_out = (size - n) / (size - 1) if size > 1 else 0.0
        mean += n * m * questions.mean
        variance += n * (m * within + m * m * spread * left_out)
    return mean, max(variance, 0.0)


@dataclass(frozen=True, kw_only=True)
class Count:
    """The law of a number of usable groups: ``chance[i]`` for ``start + i``."""

    start: int
    chance: Floats

    def below(self, needed: int) -> float:
        """P(fewer than ``needed``)."""
        return min(float(self.chance[: max(needed - self.start, 0)].sum()), 1.0)

    def mean_below(self, needed: int) -> float:
        """E[number; fewer than ``needed``]."""
        values = np.arange(self.start, self.start + len(self.chance))
        some = values < needed
        return float(values[some] @ self.chance[some])


def usable_groups(questions: QuestionSet, draws: Sequence[Draw]) -> Count:
    """The law of the number of usable groups among independent draws.

    Without replacement the questions are neither fixed nor independent. Each of the n drawn is
    taken to be its own quantile of the set with chance 1 - x and any question with chance x, where
    (1 - x)^2 = (n - 1) / (N - 1): mean and variance are then exact, and so is the whole law where
    all questions are drawn (Poisson-binomial) or the set is large (independent draws).
    """
    mean, variance = moments(questions, draws)
    most = sum(draw.num_questions * draw.times for draw in draws)
    window = 2 * int(FAR * np.sqrt(variance) + FAR) + 1
    length = min(most + 1, window)
    start = 0 if length == most + 1 else int(np.clip(mean - length // 2, 0, most + 1 - length))
    turn = np.exp(2j * np.pi * np.arange(length // 2 + 1) / length)
    transform = np.ones(len(turn), np.complex128)
    for draw in draws:
        transform *= _transform(questions, draw, turn)
    around = np.fft.irfft(np.conj(transform), length)
    return Count(start=start, chance=np.maximum(np.roll(around, -(start % length)), 0.0))


def _transform(questions: QuestionSet, draw: Draw, turn: Complexes) -> Complexes:
    """E[turn^count] of one draw."""
    chances, counts = _strata(questions, draw.num_questions)
    free = _freedom(questions, draw.num_questions, chances, counts)
    some = questions.weights > 0
    single = _power(1.0 + questions.usable[some, None] * (turn - 1.0), draw.times)
    # A sum, not a product of matrices: those are so small that threads only get in the way.
    any_question = (questions.weights[some, None] * single).sum(axis=0)
    own = _power(1.0 + chances[:, None] * (turn - 1.0), draw.times)
    mixed = (1.0 - free) * own + free * any_question
    transform = np.ones_like(turn)
    for count in np.unique(counts):
        transform *= _power(np.prod(mixed[counts == count], axis=0), int(count))
    return transform


def _power(values: Complexes, exponent: int) -> Complexes:
    """Repeated squaring: many times faster than a complex power."""
    result, square = np.ones_like(values), values
    while exponent:
        if exponent & 1:
            result = result * square
        exponent >>= 1
        square = square * square if exponent else square
    return result


def _freedom(questions: QuestionSet, drawn: int, chances: Floats, counts: Floats) -> float:
    """Chance that a drawn question is any one instead of its own quantile."""
    if questions.num_questions == 1:
        return 0.0
    between = float(np.average((chances - questions.mean) ** 2, weights=counts))
    if between <= 0.0:
        return 1.0
    fixed = (drawn - 1) / (questions.num_questions - 1) * questions.variance / between
    return 1.0 - float(np.sqrt(min(fixed, 1.0)))


def _strata(questions: QuestionSet, drawn: int) -> tuple[Floats, Floats]:
    """``drawn`` quantiles of the law in at most ``MAX_SLICES`` slices: mean chance, number."""
    slices = min(drawn, MAX_SLICES)
    edges = np.round(np.linspace(0, drawn, slices + 1))
    order = np.argsort(questions.usable, kind="stable")
    mass = np.concatenate([[0.0], np.cumsum(questions.weights[order])])
    total = np.concatenate([[0.0], np.cumsum((questions.weights * questions.usable)[order])])
    at = np.interp(edges / drawn * mass[-1], mass, total)
    counts = np.diff(edges)
    return np.diff(at) / counts * drawn / mass[-1], counts
