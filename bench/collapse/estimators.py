"""Estimators of the collapse rate that the forecast is compared with."""

from __future__ import annotations

import numpy as np

from difficulty.collapse.collapse import Floats, Ints, exact_by_size


def exact_collapse(num_samples: int, num_correct: Ints | int, group_size: int) -> Floats:
    """Unbiased estimate of f_G(p) for each of (Q,) questions with k = ``num_samples`` samples.

    Raises:
        ValueError: the degree of f_G exceeds k, so that no unbiased estimate exists.
    """
    found = dict(exact_by_size(num_samples, np.asarray(num_correct), group_size))
    if group_size not in found:
        raise ValueError(f"f_{group_size} has no unbiased estimate from {num_samples} samples")
    return found[group_size]


def beta_collapse(
    num_samples: Ints, num_correct: Ints, *, a: float, b: float, group_size: int
) -> Floats:
    """E[f_G | c, k] under a Beta(a, b) law of pass rates, one value a (k, c).

    [B(a + c + G, b + k - c) + B(a + c, b + k - c + G)] / B(a + c, b + k - c).
    """
    from scipy.special import betaln

    right, wrong = a + num_correct, b + num_samples - num_correct
    whole = betaln(right, wrong)
    collapse: Floats = np.exp(betaln(right + group_size, wrong) - whole) + np.exp(
        betaln(right, wrong + group_size) - whole
    )
    return collapse
