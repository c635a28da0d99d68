"""The chance that a group collapses, and the two estimates of it that need no model.

A group of G answers to one question collapses when all G rewards are equal. With right/wrong
rewards and pass rate p that has probability f_G(p) = p^G + (1 - p)^G, a polynomial of degree G
for even G and G - 1 for odd G.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from difficulty.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def check_group_size(group_size: int) -> None:
    """Refuse a group that has nothing to compare.

    Raises:
        InputError: ``group_size`` is no whole number of at least 2.
    """
    if not isinstance(group_size, (int, np.integer)) or group_size < 2:
        raise InputError(
            f"group size cannot be used: {group_size}. Give a whole number of at least 2: "
            "a single answer has nothing to be compared with"
        )


def collapse_probability(pass_rate: Floats | float, group_size: int) -> Floats:
    """f_G(p) = p^G + (1 - p)^G, the same shape as ``pass_rate`` (values in [0, 1])."""
    p = np.asarray(pass_rate, dtype=np.float64)
    return np.asarray(p**group_size + (1.0 - p) ** group_size)


def degree(group_size: int) -> int:
    """Degree of f_G: the number of samples a question from which it can be read without a model."""
    return group_size - group_size % 2


def plug_in(num_samples: Ints, num_correct: Ints, group_size: int) -> Floats:
    """f_G(c / k) for each question: the usual formula, shown only for comparison.

    f_G is convex and c / k piles up at 0 and 1, so its mean over a set is too high; over a set
    that was filtered by the same samples it is too low.
    """
    return collapse_probability(num_correct / num_samples, group_size)


@lru_cache(maxsize=65536)
def exact_collapse(num_samples: int, num_correct: int, group_size: int) -> float:
    """Unbiased estimate of f_G(p) from c right answers among k: its mean is f_G(p) for every p.

    For G <= k it is the share of all groups of G among the k samples that would collapse,
    [C(c, G) + C(k - c, G)] / C(k, G). For odd G = k + 1 the polynomial's terms p^j are
    replaced by C(c, j) / C(k, j); single values may then leave [0, 1].

    Raises:
        ValueError: the degree of f_G exceeds k, so that no unbiased estimate exists.
    """
    k, c = num_samples, num_correct
    if degree(group_size) > k:
        raise ValueError(f"f_{group_size} has no unbiased estimate from {k} samples")
    if group_size <= k:
        alike = math.comb(c, group_size) + math.comb(k - c, group_size)
        return float(Fraction(alike, math.comb(k, group_size)))
    terms = (
        Fraction((-1) ** j * math.comb(group_size, j) * math.comb(c, j), math.comb(k, j))
        for j in range(group_size)
    )
    return float(sum(terms, Fraction(0)))


def exact_mean(
    num_samples: int, num_correct: Ints, num_questions: Ints | Floats, *, group_size: int
) -> float:
    """Mean of ``exact_collapse`` over questions that all have k = ``num_samples`` samples."""
    values = [exact_collapse(num_samples, int(correct), group_size) for correct in num_correct]
    return float(np.average(values, weights=num_questions))
