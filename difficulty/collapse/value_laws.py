"""How often right answers, and wrong ones, have each value: a law for each value.

A value's share among the right answers of a question is to that value what the pass rate is to
right answers: its counts are binomial given the share, so the same mixture describes it. (The
Dirichlet law of all values at once has Beta laws for each; they are too stiff to be the forecast
and, as for pass rates, the centre that each mixture is drawn towards.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from difficulty.collapse.beta_binomial import fit_beta
from difficulty.collapse.bounds import COMMON_SHARE, extremes
from difficulty.collapse.collapse import Floats, Ints
from difficulty.collapse.counts import Classes, aggregate
from difficulty.collapse.likelihood import binomial_matrix, maximise, pass_rate_grid
from difficulty.collapse.mixture import prior_weights

WRONG, RIGHT = 0, 1
MOST_MATCHED = 64
"""Moments of a law that its identified set reproduces; as many leave nothing open in practice."""


@dataclass(frozen=True, kw_only=True)
class ValueTable:
    """How many answers of each kind of question are right or wrong with each value."""

    values: Floats
    """(V,) rewards that answers share."""
    counts: Ints
    """(Q, 2, V + 1) wrong and right answers by value; the last column ties with none."""
    num_questions: Ints
    """(Q,) questions of the kind."""

    @property
    def num_correct(self) -> Ints:
        """(Q,) right answers."""
        return np.asarray(self.counts[:, RIGHT].sum(axis=1))

    @property
    def num_samples(self) -> Ints:
        """(Q,) graded answers."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    def answers(self, verdict: int) -> Ints:
        """(Q,) answers of that verdict."""
        return np.asarray(self.counts[:, verdict].sum(axis=1))

    def unanimous(self, verdict: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(Q,) are all answers of that verdict? There collapse happens."""
        return np.asarray(self.answers(verdict) == self.num_samples)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Posterior of a value's share for each kind of question, under each of B fits."""

    index: Ints
    """(Q,) row of ``matrix``."""
    matrix: Floats
    """(C, J) likelihood of the counts at each share on the grid."""
    weights: Floats
    """(B, J) the fitted laws."""
    moments: int
    """Answers of that verdict that questions enough have: so many moments counts would show."""

    def power(self, fit: int, exponent: int) -> Floats:
        """(Q,) E[share ^ exponent | counts] under one fit."""
        likely = self.matrix * self.weights[fit]
        mean = likely @ pass_rate_grid() ** exponent / likely.sum(axis=1)
        return np.asarray(mean[self.index])

    def extent(self, exponent: int, chances: Floats) -> tuple[float, float]:
        """Least and greatest sum_q chances_q E[share_q ^ exponent | counts_q], chances (Q,) >= 0.

        Over the laws that give as many answers the same probabilities as the fitted law does.
        """
        total = float(chances.sum())
        if total <= 0.0:
            return 0.0, 0.0
        law, grid = self.weights[0], pass_rate_grid()
        each = np.bincount(self.index, chances, minlength=len(self.matrix)) / total
        kernel = (each / np.maximum(self.matrix @ law, 1e-300)) @ self.matrix
        hits = np.arange(self.moments + 1)
        rows = binomial_matrix(np.full(len(hits), self.moments), hits, grid)
        low, high = extremes(rows, rows @ law, grid**exponent, kernel)
        return low * total, high * total


class ValueLaws:
    """The shares of every value among right and among wrong answers.

    Questions whose answers all have one verdict have laws of their own: easy ones answer shortly,
    say.
    """

    def __init__(self, table: ValueTable, drawn: Floats) -> None:
        """``drawn`` (B, Q): questions of each kind in B resampled sets, each fitted apart."""
        self.table, self.drawn = table, drawn
        self.seen = {
            verdict: np.flatnonzero(table.counts[:, verdict, :-1].sum(axis=0))
            for verdict in (WRONG, RIGHT)
        }
        self._shares = {
            (verdict, int(value), kind): self._fit(verdict, int(value), kind)
            for verdict, values in self.seen.items()
            for value in values
            for kind in (True, False)
        }

    def power(self, verdict: int, value: int, fit: int, exponent: int) -> Floats:
        """(Q,) E[share of the value among answers of that verdict ^ exponent | counts]."""
        number = len(self.table.num_questions)
        if value not in self.seen[verdict]:
            return np.full(number, float(exponent == 0))
        if np.count_nonzero(self.table.counts[:, verdict].sum(axis=0)) == 1:
            return np.ones(number)  # all answers of that verdict have this value: it is the rule
        alike, mixed = (self._shares[verdict, value, kind] for kind in (True, False))
        return np.where(
            self.table.unanimous(verdict),
            alike.power(fit, exponent),
            mixed.power(fit, exponent),
        )

    def extent(self, verdict: int, chances: Floats, exponent: int) -> tuple[float, float]:
        """Least and greatest sum over questions of chances_q E[sum of shares ^ exponent | counts].

        ``chances`` (Q,) is the chance that a group has that verdict alone; the sum is over values.
        """
        total = float(chances.sum())
        if np.count_nonzero(self.table.counts[:, verdict].sum(axis=0)) == 1:
            whole = total if len(self.seen[verdict]) else 0.0
            return whole, whole
        alike = self.table.unanimous(verdict)
        low = high = 0.0
        for value in self.seen[verdict].tolist():
            for kind in (True, False):
                shares = self._shares[verdict, value, kind]
                least, most = shares.extent(exponent, np.where(alike == kind, chances, 0.0))
                low, high = low + least, high + most
        return low, min(high, total)

    def _fit(self, verdict: int, value: int, kind: bool) -> Shares:
        answers, hits = self.table.answers(verdict), self.table.counts[:, verdict, value]
        rows = (answers > 0) & (self.table.unanimous(verdict) == kind)
        if not rows.any():
            rows = answers > 0
        grid = pass_rate_grid()
        base = int(answers.max()) + 1
        keys, index = np.unique(answers * base + hits, return_inverse=True)
        matrix = binomial_matrix(keys // base, keys % base, grid)
        counts = np.array(
            [np.bincount(index[rows], each[rows], minlength=len(keys)) for each in self.drawn]
        )
        there = counts[0] > 0
        classes = aggregate(answers[rows], hits[rows], self.table.num_questions[rows])
        weights = _laws(classes, matrix[there], counts[:, there], grid)
        return Shares(index=index, matrix=matrix, weights=weights, moments=_moments(classes))


def _moments(classes: Classes) -> int:
    """The most answers that a share of the questions has which is not negligible."""
    order = np.argsort(-classes.num_samples)
    have = np.cumsum(classes.num_questions[order]) >= COMMON_SHARE * classes.total
    return min(int(classes.num_samples[order][np.argmax(have)]), MOST_MATCHED)


def _laws(classes: Classes, matrix: Floats, counts: Floats, grid: Floats) -> Floats:
    """(B, J) a regularised mixture for each row of ``counts`` (B, C)."""
    totals = counts.sum(axis=1, keepdims=True)
    # A resampled set may hold none of these questions: it then keeps the data's own law.
    counts = np.where(totals > 0, counts, counts[0])
    prior = prior_weights(grid, fit_beta(classes), classes.total)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return maximise(matrix, shares, prior=np.tile(prior, (len(shares), 1))).weights
