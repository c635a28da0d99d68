"""Math-Verify, for golds that our own grammar cannot read, such as integrals and sums.

Only its LaTeX path is used: ``ExprExtractionConfig`` would give plain text to sympy's
``parse_expr``, which evaluates it as Python. Golds and answers are boxed and the gold comes first;
two equations in plain text would both become 0 and "match". Its own time-outs need signals of the
main thread and are off; the caller kills a worker that takes too long. Runs in a worker only.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from difficulty.grading.equal.algebra import MAX_FACTORIAL, MAX_POWER, TooLargeError, exact
from difficulty.grading.equal.expression import Node, UnreadableError, read_expression
from difficulty.grading.equal.latex import nesting

_COMMANDS = frozenset(
    (
        "int", "sum", "prod", "lim", "to", "infty", "frac", "sqrt", "pi", "sin", "cos", "tan", "ln",
        "log", "exp", "binom", "alpha", "beta", "theta", "arcsin", "arccos", "arctan", "lambda",
    )
)  # fmt: skip
"""Commands that are handed on; the library drops those it does not know, and so misreads."""


MAX_NESTING = 10
MAX_EXPANDED = 500
"""Largest power of a sum: Math-Verify multiplies it out."""
_BEYOND_OURS = re.compile(r"\\(?:int|sum|prod|lim)(?![A-Za-z])")


def needs_library(gold: str) -> bool:
    """Whether a gold is one that our own grammar does not read."""
    return _BEYOND_OURS.search(gold) is not None


def load_library() -> None:
    """Import Math-Verify and build its grammar, which takes longer than most comparisons."""
    _parse("1")


def library_same(gold: str, answer: str) -> bool | None:
    """Whether Math-Verify finds the answer equal to the gold; null if it cannot read the gold.

    Raises:
        TooLargeError: the answer has a number that would take for ever to write out.
    """
    from math_verify import verify

    gold_read = _parse_gold(gold)
    if not gold_read:
        return None
    _refuse_large(answer)
    answer_read = _parse(answer)
    if not answer_read:
        return False
    return bool(verify(list(gold_read), answer_read, float_rounding=40, timeout_seconds=None))


def _refuse_large(answer: str) -> None:
    """Math-Verify evaluates powers and factorials exactly, with no limit of its own.

    The time of its parser doubles with each brace within braces.
    """
    if nesting(answer) > MAX_NESTING:
        raise TooLargeError(f"brackets nested deeper than {MAX_NESTING}")
    try:
        node = read_expression(answer)
    except UnreadableError:
        return
    if _is_large(node):
        raise TooLargeError("a number too large to evaluate")


def _is_large(node: Node) -> bool:
    values = [exact(arg) for arg in node.args]
    large = _LARGE.get(node.op)
    if large and None not in values and large(*values):
        return True
    if node.op == "pow" and values[0] is None and values[1] is not None:
        limit = MAX_EXPANDED if node.args[0].op == "add" else MAX_POWER
        return abs(values[1]) > limit or _is_large(node.args[0])
    return any(map(_is_large, node.args))


def _large_power(base: Fraction, exponent: Fraction) -> bool:
    if exponent.denominator != 1 or base == 0:
        return abs(exponent) > MAX_POWER
    power = Node("pow", (Node("number", number=base), Node("number", number=exponent)))
    return exact(power) is None


_LARGE: dict[str, Callable[..., bool]] = {
    "pow": _large_power,
    "factorial": lambda value: value > MAX_FACTORIAL,
    "binom": lambda top, bottom: min(abs(bottom), abs(top - bottom)) > MAX_FACTORIAL,
}


@functools.lru_cache(maxsize=1024)
def _parse_gold(gold: str) -> tuple[Any, ...]:
    """A gold, read once for the samples of its question."""
    return tuple(_parse(gold))


def _parse(text: str) -> list[Any]:
    from math_verify import LatexExtractionConfig, parse

    if not set(re.findall(r"\\([A-Za-z]+)", text)) <= _COMMANDS:
        return []
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    return list(
        parse(
            f"\\boxed{{{text}}}",
            [LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False)],
            fallback_mode="no_fallback",
            extraction_mode="first_match",
            parsing_timeout=None,
        )
    )
