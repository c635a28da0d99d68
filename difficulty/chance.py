"""Guessing: what it earns among a question's options, and how surely a pass rate beats it.

All in exact fractions, so that a rule decides the same on every machine.
"""

from __future__ import annotations

import math
from fractions import Fraction


def guess_chance(kind: str, num_options: int | None, num_golds: int) -> Fraction | None:
    """The pass rate of a pure guesser; None for questions that cannot be guessed.

    ``choice``: one of the options, each as likely. ``multi``: one of the 2^m - 1 sets of options,
    each as likely. ``num_golds`` answers count as right.
    """
    if kind not in ("choice", "multi") or not num_options:
        return None
    guesses = num_options if kind == "choice" else 2**num_options - 1
    return min(Fraction(num_golds, guesses), Fraction(1))


def beats_guessing(num_correct: int, num_graded: int, guess: Fraction) -> float:
    """P(p > guess | c of n right), with a uniform prior on the pass rate p.

    The posterior is Beta(c + 1, n - c + 1); its upper tail at ``guess`` is the chance that a
    Binomial(n + 1, guess) is at most c. The prior is uniform and not the law that the forecast
    fits: a handful of answers leaves open how that law divides just around the guess.
    """
    trials = num_graded + 1
    tail = sum(
        math.comb(trials, right) * guess**right * (1 - guess) ** (trials - right)
        for right in range(num_correct + 1)
    )
    return float(tail)
