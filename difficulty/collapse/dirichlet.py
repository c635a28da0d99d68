"""The Dirichlet law of shares of finitely many values, fitted to counts (Dirichlet-multinomial).

What the Beta law is for right and wrong: with two values it is the same.
"""

from __future__ import annotations

import numpy as np

from difficulty.collapse.beta_binomial import LOG_LIMIT, PRIOR_CENTRE, PRIOR_SD
from difficulty.collapse.collapse import Floats, Ints


def fit_dirichlet(counts: Ints, num_questions: Floats, *, start: Floats | None = None) -> Floats:
    """(V,) parameters under which the counts are most likely; 0 for a value never seen.

    Maximises sum_i n_i log[B(a + c_i) / B(a)] with a weak normal penalty on each log a.

    Args:
        counts: (R, V) answers of each value, a row a kind of question.
        num_questions: (R,) questions of that kind; rows without an answer count for nothing.
        start: (V,) parameters to begin the search from.
    """
    from scipy.optimize import minimize

    seen = counts.sum(axis=0) > 0
    found = np.zeros(counts.shape[1])
    if seen.sum() < 2:
        found[seen] = 1.0
        return found
    rows, inverse = np.unique(counts[:, seen], axis=0, return_inverse=True)
    weights = np.bincount(inverse.ravel(), weights=num_questions)
    first = np.full(int(seen.sum()), 0.5) if start is None else start[seen]
    best = minimize(
        _loss,
        np.log(np.maximum(first, np.exp(-LOG_LIMIT))),
        args=(rows, weights / weights.sum(), weights.sum()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-LOG_LIMIT, LOG_LIMIT)] * len(first),
    )
    found[seen] = np.exp(best.x)
    return found


def _loss(log_a: Floats, rows: Ints, shares: Floats, total: float) -> tuple[float, Floats]:
    from scipy.special import digamma, gammaln

    a = np.exp(log_a)
    size, drawn = a.sum(), rows.sum(axis=1)
    likelihood = (gammaln(a + rows) - gammaln(a)).sum(axis=1) + gammaln(size)
    likelihood = likelihood - gammaln(size + drawn)
    both = digamma(size) - digamma(size + drawn)
    slope = a * (shares @ (digamma(a + rows) - digamma(a) + both[:, None]))
    distance = log_a - PRIOR_CENTRE
    penalty = distance / PRIOR_SD**2 / total
    return float(distance @ penalty / 2 - shares @ likelihood), penalty - slope


def power_mean(parameters: Floats, counts: Ints, power: int) -> Floats:
    """(R, V) E[share^power | counts] under the fitted law; 0 for a value never seen (power > 0).

    The rising factorial (a + c)(a + c + 1)... over that of the sums.
    """
    own = parameters + counts
    both = own.sum(axis=1, keepdims=True)
    result = np.ones_like(own)
    for step in range(power):
        result *= (own + step * (own > 0)) / np.maximum(both + step, 1e-300)
    return result
