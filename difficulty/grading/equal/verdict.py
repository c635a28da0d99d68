"""Compare two pieces of mathematics: at once where that is safe and fast, else by evaluation.

Plain numbers and equal spellings are settled at once. Everything else is evaluated, which callers
do in a worker process under a deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from difficulty.grading.equal.latex import squeeze, static_limit
from difficulty.grading.read.numbers import parse_number
from difficulty.grading.words.units import same_unit, split_counter


@dataclass(frozen=True)
class Verdict:
    """Whether an answer equals the gold; null if that could not be told."""

    equal: bool | None
    reason: str


MathEqual = Callable[[str, str], Verdict]
"""Compares (gold, answer), both in the common spelling of ``latex.normalize_math``."""


def compare_at_once(gold: str, answer: str) -> Verdict | None:
    """The verdict where no evaluation is needed; null where it is."""
    if squeeze(gold) == squeeze(answer):
        return Verdict(True, "same spelling")
    refused = static_limit(answer)
    if refused is not None:
        return Verdict(False, f"answer refused: {refused}")
    (gold, gold_unit), (answer, unit) = split_counter(gold), split_counter(answer)
    gold_number, answer_number = parse_number(gold), parse_number(answer)
    if gold_number is None or answer_number is None:
        return None
    if not same_unit(gold_unit, unit):
        return Verdict(False, "another unit")
    same = gold_number == answer_number
    return Verdict(same, "same number" if same else "another number")


def evaluate(gold: str, answer: str) -> Verdict:
    """The verdict by evaluation. Call it in a worker: it may take long.

    A gold that cannot be read gives null, never a free point; an answer that cannot is wrong.
    """
    from difficulty.grading.equal.algebra import TooLargeError
    from difficulty.grading.equal.compare import math_same, readable
    from difficulty.grading.equal.expression import UnreadableError

    try:
        same = math_same(gold, answer)
    except UnreadableError:
        return _by_library(gold, answer)
    except TooLargeError as error:
        if readable(gold) is not None:
            return Verdict(None, f"gold_unparsable: {error}")
        return Verdict(False, f"answer refused: {error}")
    return Verdict(same, "same value" if same else "another value")


def _by_library(gold: str, answer: str) -> Verdict:
    """Math-Verify for golds beyond our grammar (integrals, sums); null if it cannot read them."""
    from difficulty.grading.equal.algebra import TooLargeError
    from difficulty.grading.equal.library import library_same

    try:
        same = library_same(gold, answer)
    except TooLargeError as error:
        return Verdict(False, f"answer refused: {error}")
    if same is None:
        return Verdict(None, "gold_unparsable: not in the grammar")
    return Verdict(same, "same value" if same else "another value")
