"""The chance that a group collapses, and the two estimates of it that need no model.

A group of G answers to one question collapses when all G rewards are equal. With right/wrong
rewards and pass rate p that has probability f_G(p) = p^G + (1 - p)^G, a polynomial of degree G
for even G and G - 1 for odd G.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from difficulty.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXACT_SIZES = 256
"""Unbiased rates are given up to this group size, and at the one asked for."""


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


def exact_means(
    num_samples: int, num_correct: Ints, num_questions: Ints | Floats, *, group_size: int
) -> dict[int, float]:
    """Mean of ``exact_by_size`` over questions that all have k = ``num_samples`` samples.

    Given for every group size from 2 to ``EXACT_SIZES`` that k allows, and for ``group_size`` if k
    allows it.
    """
    largest = min(max(EXACT_SIZES, group_size), num_samples + 1)
    return {
        size: float(np.average(values, weights=num_questions))
        for size, values in exact_by_size(num_samples, num_correct, largest)
        if size <= EXACT_SIZES or size == group_size
    }


def exact_by_size(k: int, c: Ints, largest: int) -> Iterator[tuple[int, Floats]]:
    """(G, unbiased estimates of f_G(p)) from c right answers among k: their mean is f_G(p).

    For G <= k it is the share of all groups of G among the k samples that would collapse,
    [C(c, G) + C(k - c, G)] / C(k, G). For odd G = k + 1 the polynomial is
    sum_i (-1)^i p^(k - i) (1 - p)^i. The terms have the unbiased estimates 1[c = k - i] / C(k, c),
    so the whole has (-1)^(k - c) / C(k, c); single values then leave [0, 1].

    Args:
        k: samples, the same for all questions.
        c: (Q,) right answers of each question.
        largest: the greatest G wanted; each from 2 on is one factor more. Those that k does not
            allow are left out: no unbiased estimate exists.
    """
    right, wrong = c / k, (k - c) / k
    for size in range(2, min(largest, k) + 1):
        left = k - size + 1
        right, wrong = right * ((c - size + 1) / left), wrong * ((k - c - size + 1) / left)
        yield size, np.asarray(right + wrong)
    if k + 1 <= largest and degree(k + 1) == k:
        yield k + 1, (-1.0) ** (k - c) * np.exp(-_log_choose(k, c))


def _log_choose(k: int, c: Ints) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(k + 1.0) - gammaln(c + 1.0) - gammaln(k - c + 1.0))
