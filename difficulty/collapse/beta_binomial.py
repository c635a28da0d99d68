"""The Beta law of pass rates: two parameters, fitted to counts, with its collapse posterior.

Too stiff to be the forecast (its error does not vanish with more questions when the true law is
no Beta law), but a good centre to draw the mixture towards.
"""

from __future__ import annotations

import numpy as np

from difficulty.collapse.collapse import Floats, Ints
from difficulty.collapse.counts import Classes

LOG_LIMIT = 7.0
"""a and b stay within exp(-7) and exp(7): a set whose counts are all alike has no finite fit."""
PRIOR_CENTRE, PRIOR_SD = np.log(0.5), 3.0
"""Weak normal law of log a and log b: it decides only where a handful of questions cannot."""


def fit_beta(classes: Classes) -> tuple[float, float]:
    """The (a, b) under which counts of mixed k are most likely, always finite.

    Maximises sum_i n_i log[B(a + c_i, b + k_i - c_i) / B(a, b)] (Beta-binomial likelihood) with a
    weak normal penalty on log a and log b.
    """
    from scipy.optimize import minimize

    best = min(
        (
            minimize(
                _loss,
                np.log(start),
                args=(classes.num_samples, classes.num_correct, classes.num_questions),
                jac=True,
                method="L-BFGS-B",
                bounds=[(-LOG_LIMIT, LOG_LIMIT)] * 2,
            )
            for start in ((0.3, 0.3), (4.0, 4.0))
        ),
        key=lambda result: float(result.fun),
    )
    a, b = np.exp(best.x)
    return float(a), float(b)


def _loss(log_ab: Floats, k: Ints, c: Ints, n: Ints | Floats) -> tuple[float, Floats]:
    from scipy.special import betaln, digamma

    a, b = np.exp(log_ab)
    both = digamma(a + b) - digamma(a + b + k)
    distance = log_ab - PRIOR_CENTRE
    value = -n @ (betaln(a + c, b + k - c) - betaln(a, b)) + distance @ distance / 2 / PRIOR_SD**2
    slope = -np.array(
        [
            a * (n @ (digamma(a + c) - digamma(a) + both)),
            b * (n @ (digamma(b + k - c) - digamma(b) + both)),
        ]
    )
    return float(value) / n.sum(), (slope + distance / PRIOR_SD**2) / n.sum()
