"""The law of pass rates behind a table of counts, and what it says of each question.

k samples a question fix only k moments of the law, so many laws fit the counts equally well. One
is chosen by a Dirichlet prior on the grid weights, centred on the fitted Beta law and worth as many
questions as that law's fit deserves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from difficulty.collapse.beta_binomial import fit_beta
from difficulty.collapse.collapse import Floats, Ints, check_group_size, collapse_probability
from difficulty.collapse.counts import Classes, Counts
from difficulty.collapse.likelihood import (
    binomial_matrix,
    log_binomial,
    maximise,
    pass_rate_grid,
)

PRIOR_QUESTIONS = 10.0
"""Weight of a prior in questions; smaller lets noise through, larger the centre's bias."""
TRUSTED_SHARE = 0.1
"""Weight of a prior whose Beta law fits, as a share of the questions, if that is more."""
FITTING_DEVIANCE = 4.0
"""A Beta law that is true falls short of the best of all laws by about this much or less."""
LEAST_PRIOR = 3.0
"""Weight of a prior whose Beta law is refuted: it only chooses among laws that fit alike.

The three were chosen by root mean square error over thirteen laws, flat around them
(``python -m bench.collapse error``)."""
FIT_DRAWS = 99
"""Simulated tables behind the p-value of the fit."""
POOR_FIT = 0.01
FIT_MAX_K = 40
"""Beyond it most classes hold a question or none, and the comparison costs seconds."""


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """A law of the pass rate: ``weights`` (sum 1) on the points ``grid``; (a, b) its centre."""

    grid: Floats
    weights: Floats
    beta: tuple[float, float]
    prior: float
    """Weight of the prior, in questions."""

    def mean(self, values: Floats, num_samples: Ints, num_correct: Ints) -> Floats:
        """E[value(p) | c, k] for each (k, c), ``values`` being given on the grid."""
        return self.posterior(num_samples, num_correct) @ values

    def posterior(self, num_samples: Ints, num_correct: Ints) -> Floats:
        """(C, J) law of the pass rate given each (k, c)."""
        logs = log_binomial(num_samples, num_correct, self.grid)
        # Thousands of samples are improbable at every grid point, and all may round to 0.
        likely = np.exp(logs - logs.max(axis=1, keepdims=True)) * self.weights
        posterior: Floats = likely / likely.sum(axis=1, keepdims=True)
        return posterior


def fit_mixture(classes: Classes) -> Mixture:
    """The most probable law given the counts, each question entering with its own (k, c).

    Maximises sum_i n_i log(L w)_i + sum_j m_j log w_j with m = ``prior_questions`` times the
    mass of the fitted Beta law in the cell around each grid point: the fixed point of
    expectation-maximisation w_j = (sum_i n_i P(j | k_i, c_i) + m_j) / (N + sum m).
    """
    classes = classes.simplified()
    grid = pass_rate_grid()
    beta = fit_beta(classes)
    cells = _beta_cells(grid, *beta)
    matrix = binomial_matrix(classes.num_samples, classes.num_correct, grid)
    shares = classes.num_questions / classes.total
    best = maximise(matrix, shares[None, :]).log_likelihood[0]
    of_beta = shares @ np.log(np.maximum(matrix @ cells, 1e-300))
    prior = prior_questions(2.0 * classes.total * (best - of_beta), classes.total)
    weights = maximise(matrix, shares[None, :], prior=prior * cells[None, :] / classes.total)
    return Mixture(grid=grid, weights=weights.weights[0], beta=beta, prior=prior)


def prior_questions(deviance: float, total: int) -> float:
    """Weight of the prior for ``total`` questions, in questions.

    Args:
        deviance: 2 log(likelihood of the best of all laws / likelihood of the Beta law).
        total: number of questions.
    """
    trusted = max(PRIOR_QUESTIONS, TRUSTED_SHARE * total)
    if deviance > FITTING_DEVIANCE:
        trusted *= (FITTING_DEVIANCE / deviance) ** 3
    return max(LEAST_PRIOR, trusted)


def prior_weights(grid: Floats, beta: tuple[float, float], total: int) -> Floats:
    """A Dirichlet prior of ``PRIOR_QUESTIONS`` for ``total`` questions, centred on a Beta law."""
    return PRIOR_QUESTIONS * _beta_cells(grid, *beta) / total


def _beta_cells(grid: Floats, a: float, b: float) -> Floats:
    """Mass of Beta(a, b) between the midpoints around each grid point, nowhere quite zero."""
    from scipy.special import betainc, betaincc

    middle = (grid[1:] + grid[:-1]) / 2
    below, above = betainc(a, b, middle), betaincc(a, b, middle)
    # Near 1 the mass is the difference of two upper tails: 1 - 1e-20 is 1 in floating point.
    lower = np.diff(below, prepend=0.0, append=1.0)
    upper = -np.diff(above, prepend=1.0, append=0.0)
    cells = np.where(grid < 0.5, lower, upper) + 1e-9
    masses: Floats = cells / cells.sum()
    return masses


def collapse_posterior(counts: Counts, group_size: int) -> Mapping[tuple[int, int], float]:
    """E[f_G | c, k]: the chance that a training group of each (k, c) collapses, keyed (k, c).

    Raises:
        InputError: ``group_size`` below 2.
    """
    check_group_size(group_size)
    classes = counts.classes()
    law = fit_mixture(classes)
    values = law.mean(
        collapse_probability(law.grid, group_size), classes.num_samples, classes.num_correct
    )
    keys = zip(classes.num_samples.tolist(), classes.num_correct.tolist(), strict=True)
    return dict(zip(keys, values.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Observed against fitted counts of the questions with the most common k."""

    num_samples: int
    """That k, or ``MAX_K`` if it is above: then of so many answers drawn from each question's."""
    observed: tuple[int, ...]
    """Questions by number correct, 0 to k."""
    fitted: tuple[float, ...]
    """What the best of all laws expects."""
    beta_fitted: tuple[float, ...]
    """What the best Beta law expects."""
    statistic: float
    """G = 2 sum observed log(observed / fitted), for the best of all laws."""
    p_value: float | None
    """Share of tables simulated from that law with a G as great; small says that the answers
    cannot be independent draws at one pass rate a question. Null for k above ``FIT_MAX_K``."""


def goodness_of_fit(classes: Classes, rng: np.random.Generator) -> Fit:
    """Are these the counts of any law of pass rates at all?

    The law is free, so there are no degrees of freedom to count; G is compared with tables
    that are drawn from the fitted law and fitted again.
    """
    grid = pass_rate_grid()
    table = classes.where(classes.num_samples == classes.common_k).simplified()
    k = int(table.num_samples[0])
    correct = np.arange(k + 1)
    observed = np.zeros(k + 1)
    observed[table.num_correct] = table.num_questions
    matrix = binomial_matrix(np.full(k + 1, k), correct, grid)
    total = table.total
    best = maximise(matrix, observed[None, :] / total)
    statistic = float(_deviance(observed[None, :] / total, best.log_likelihood, total)[0])
    # An exact fit leaves nothing to test. The tolerance is that of the maximisation.
    p_value = 1.0 if k <= FIT_MAX_K else None
    if statistic > 1e-3 and k <= FIT_MAX_K:
        chances = np.maximum(best.weights[0] @ matrix.T, 0.0)
        draws = rng.multinomial(total, chances / chances.sum(), size=FIT_DRAWS) / total
        again = _deviance(draws, maximise(matrix, draws).log_likelihood, total)
        p_value = float((1 + np.sum(again >= statistic - 1e-3)) / (1 + FIT_DRAWS))
    cells = _beta_cells(grid, *fit_beta(table))
    return Fit(
        num_samples=k,
        observed=tuple(np.rint(observed).astype(int).tolist()),
        fitted=tuple((best.fitted[0] * total).tolist()),
        beta_fitted=tuple((matrix @ cells * total).tolist()),
        statistic=max(statistic, 0.0),
        p_value=p_value,
    )


def _deviance(shares: Floats, log_likelihood: Floats, total: int) -> Floats:
    logs = np.where(shares > 0, np.log(np.where(shares > 0, shares, 1.0)), 0.0)
    deviance: Floats = 2.0 * total * ((shares * logs).sum(axis=1) - log_likelihood)
    return deviance
