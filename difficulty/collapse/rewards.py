"""Collapse of rewards that are not 0/1: several values, or correctness plus a length penalty.

A group collapses when all its rewards are equal. Each answer is right or wrong, and within that
has a value that others can have too, or one that practically no other has (a penalty that rises
token by token, a judge's decimals). Equal verdicts are then not enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.bounds import Chosen
from difficulty.collapse.collapse import Floats, Ints
from difficulty.collapse.dirichlet import fit_dirichlet, power_mean
from difficulty.collapse.estimate import Estimate, Fits
from difficulty.collapse.interval import Z_95
from difficulty.collapse.value_laws import RIGHT, WRONG, ValueLaws, ValueTable
from difficulty.collapse.whole import SetName

MAX_VALUES = 12
"""Values that answers are taken to share, the most frequent first."""
RARE = 0.002
"""A value that a smaller share of all answers has is taken to be shared by none."""
DECIMALS = 6
"""Trainers call rewards equal when their spread is below 1e-6 or so."""
REPLICATES = 20
"""Resampled sets behind the error of the tie ratio."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Graded answers, a row a kind of question with equal answers; padded to K answers."""

    correct: NDArray[np.bool_]
    """(Q, K) was the answer right?"""
    reward: Floats
    """(Q, K) its whole reward; not a number where there is no answer."""
    ties: NDArray[np.bool_]
    """(Q, K) can another answer have exactly this reward?"""
    num_questions: Ints
    """(Q,) questions of the kind."""

    @property
    def there(self) -> NDArray[np.bool_]:
        """(Q, K) is there an answer?"""
        return ~np.isnan(self.reward)


@dataclass(frozen=True, kw_only=True)
class RewardTable:
    """The answers of a run with their rewards, or why these are not known."""

    outcomes: Outcomes | None
    """None where ``reason`` says why."""
    length_classes: dict[str, int] | None
    """Answers by class of length; null without a length penalty."""
    num_answers: int
    reason: str | None


def value_table(outcomes: Outcomes) -> ValueTable:
    """Count the answers by verdict and value."""
    rounded = np.round(outcomes.reward, DECIMALS) + 0.0
    usable = outcomes.there & outcomes.ties
    weight = np.broadcast_to(outcomes.num_questions[:, None], rounded.shape)
    found, index = np.unique(rounded[usable], return_inverse=True)
    totals = np.bincount(index, weights=weight[usable], minlength=len(found))
    enough = max(2.0, RARE * float(weight[outcomes.there].sum()))
    common = np.argsort(-totals, kind="stable")[:MAX_VALUES]
    values = np.sort(found[common[totals[common] >= enough]])
    column = np.full(rounded.shape, len(values))
    if len(values):
        place = np.minimum(np.searchsorted(values, rounded), len(values) - 1)
        column = np.where(usable & (values[place] == rounded), place, column)
    counts = np.zeros((len(rounded), 2, len(values) + 1), np.int64)
    rows = np.broadcast_to(np.arange(len(rounded))[:, None], rounded.shape)
    there = outcomes.there
    np.add.at(counts, (rows[there], outcomes.correct[there].astype(int), column[there]), 1)
    return ValueTable(values=values, counts=counts, num_questions=outcomes.num_questions)


class _Ties:
    """Chances that a group's verdicts, and its rewards, are all equal.

    The latter is sum_v sum_j C(G, j) E[p^j (1-p)^(G-j)] E[share of v among right answers ^ j]
    E[share among wrong ones ^ (G-j)]: a value that right and wrong answers have ties across
    verdicts.
    """

    def __init__(self, work: Fits, table: ValueTable, laws: ValueLaws) -> None:
        self.size, self.table, self.laws = work.group_size, table, laws
        posterior = work.law.posterior(table.num_samples, table.num_correct)
        self.verdicts = np.asarray(posterior @ work.values)
        self.shared = bool(np.intersect1d(laws.seen[WRONG], laws.seen[RIGHT]).size)
        grid, size = work.law.grid, work.group_size
        exponents = range(size + 1) if self.shared else (0, size)
        self.mixed = {
            j: posterior @ (grid**j * (1.0 - grid) ** (size - j)) * math.comb(size, j)
            for j in exponents
        }

    def rewards(self, fit: int) -> Floats:
        """(Q,) chance of equal rewards under one fit of the values' laws."""
        total = np.zeros(len(self.verdicts))
        for value in range(len(self.table.values)):
            for j, chance in self.mixed.items():
                right = self.laws.power(RIGHT, value, fit, j)
                total += chance * right * self.laws.power(WRONG, value, fit, self.size - j)
        return total

    def extent(self, weights: Floats) -> tuple[float, float]:
        """Least and greatest of ``weights`` @ ``rewards`` that exact counts would leave open.

        Groups of one verdict are bounded, value by value; in those of both verdicts, which tie
        where right and wrong answers share a value, the values keep their fitted laws.
        """
        low = high = one_verdict = 0.0
        for verdict, j in ((RIGHT, self.size), (WRONG, 0)):
            chances = self.mixed[j] * weights
            least, most = self.laws.extent(verdict, chances, self.size)
            low, high = low + least, high + most
            one_verdict += sum(
                float(chances @ self.laws.power(verdict, value, 0, self.size))
                for value in self.laws.seen[verdict].tolist()
            )
        both_verdicts = float(weights @ self.rewards(0)) - one_verdict
        return min(low, one_verdict) + both_verdicts, max(high, one_verdict) + both_verdicts


@dataclass(frozen=True, kw_only=True)
class RewardForecast:
    """Collapse by the whole reward beside collapse by correctness alone."""

    sets: Mapping[SetName, Estimate]
    """``pool`` and, where there is one, ``kept``: the whole reward."""
    ratios: Mapping[SetName, float]
    """Of equal verdicts, the share whose rewards are equal too (above 1 where right and wrong
    answers can have the same reward)."""
    chances: Floats
    """(Q,) chance of equal rewards of each kind of question."""
    num_values: int
    """Values that answers share."""
    dirichlet: float
    """Pool rate under one Dirichlet law, for comparison: too stiff to be the forecast."""


def forecast_rewards(
    work: Fits,
    outcomes: Outcomes,
    correctness: Mapping[SetName, Estimate],
    rules: Mapping[SetName, Chosen],
    *,
    rng: np.random.Generator | None = None,
) -> RewardForecast:
    """Forecast the collapse rate of the whole reward.

    The interval joins that of correctness with the sampling error of the tie ratio and with what
    exact counts of the values would leave open of it.

    Args:
        work: the fitted counts, of the same answers.
        outcomes: their rewards.
        correctness: forecasts by correctness alone, ``pool`` and perhaps ``kept``.
        rules: which questions each holds.
        rng: for the error of the tie ratio; a fixed seed by default.
    """
    table = value_table(outcomes)
    drawn = _resampled(table, rng or np.random.default_rng(0))
    ties = _Ties(work, table, ValueLaws(table, drawn))
    found = [ties.rewards(fit) for fit in range(len(drawn))]
    pairs = list(zip(table.num_samples.tolist(), table.num_correct.tolist(), strict=True))
    sets, ratios = {}, {}
    for name, estimate in correctness.items():
        mask = np.array([rules[name](k, c) for k, c in pairs], np.bool_)
        chosen = mask * drawn[0]
        each = [
            _ratio(ties.verdicts, rewards, mask * weights)
            for rewards, weights in zip(found, drawn, strict=True)
        ]
        ratios[name] = each[0]
        error = float(np.std(np.log(np.maximum(each[1:], 1e-9)), ddof=1))
        equal = float(chosen @ ties.verdicts)
        low, high = (end / equal if equal > 0 else 1.0 for end in ties.extent(chosen))
        sets[name] = _joined(
            estimate,
            each[0],
            (min(low, each[0]), max(high, each[0])),
            error,
            plug_in=float(np.average(_plug_in(table, work.group_size), weights=chosen)),
        )
    return RewardForecast(
        sets=sets,
        ratios=ratios,
        chances=found[0],
        num_values=len(table.values),
        dirichlet=_dirichlet_rate(table, work.group_size),
    )


def _resampled(table: ValueTable, rng: np.random.Generator) -> Floats:
    """(1 + REPLICATES, Q) questions of each kind: the data's own, then resampled ones."""
    total = int(table.num_questions.sum())
    drawn = rng.multinomial(total, table.num_questions / total, size=REPLICATES)
    return np.vstack([table.num_questions[None, :], drawn]).astype(np.float64)


def _plug_in(table: ValueTable, group_size: int) -> Floats:
    """(Q,) powers of observed shares, biased."""
    shares = table.counts.sum(axis=1)[:, :-1] / table.num_samples[:, None]
    return np.asarray((shares**group_size).sum(axis=1))


def _dirichlet_rate(table: ValueTable, group_size: int) -> float:
    """The pool's rate under one Dirichlet law of all values, verdicts apart only by value."""
    counts = table.counts.sum(axis=1)
    law = fit_dirichlet(counts, table.num_questions.astype(np.float64))
    chances = power_mean(law, counts, group_size)[:, :-1].sum(axis=1)
    return float(np.average(chances, weights=table.num_questions))


def _ratio(verdicts: Floats, rewards: Floats, weights: Floats | Ints) -> float:
    equal = float(weights @ verdicts)
    return float(weights @ rewards) / equal if equal > 0 else 1.0


def _joined(
    estimate: Estimate,
    ratio: float,
    extent: tuple[float, float],
    spread: float,
    *,
    plug_in: float,
) -> Estimate:
    """The whole reward's forecast: both sampling errors as independent ones, then what is open.

    Args:
        estimate: the forecast by correctness.
        ratio: of equal verdicts, the share whose rewards are equal.
        extent: what exact counts would leave open of it.
        spread: standard error of log ``ratio``.
        plug_in: powers of observed shares.
    """
    lowest, highest = extent

    def end(value: float, edge: float, sign: int) -> float:
        if value <= 0.0 or estimate.acr <= 0.0:
            return 0.0 if sign < 0 else min(value * max(edge, 1.0), 1.0)
        away = math.hypot(math.log(value / estimate.acr), Z_95 * spread)
        return min(estimate.acr * edge * math.exp(sign * away), 1.0)

    return replace(
        estimate,
        acr=min(estimate.acr * ratio, 1.0),
        low=end(estimate.low, lowest, -1),
        high=end(estimate.high, highest, 1),
        identified_low=min(estimate.identified_low * lowest, 1.0),
        identified_high=min(estimate.identified_high * highest, 1.0),
        plug_in=plug_in,
        method="values",
    )
