"""Math-Verify, for golds that our own grammar cannot read, such as integrals and sums.

Only its LaTeX path is used: ``ExprExtractionConfig`` would give plain text to sympy's
``parse_expr``, which evaluates it as Python. Golds and answers are boxed and the gold comes first;
two equations in plain text would both become 0 and "match". Its own time-outs need signals of the
main thread and are off; the caller kills a worker that takes too long. Runs in a worker only.
"""

from __future__ import annotations

import logging
import re
from typing import Any

_COMMANDS = frozenset(
    (
        "int", "sum", "prod", "lim", "to", "infty", "frac", "sqrt", "pi", "sin", "cos", "tan", "ln",
        "log", "exp", "binom", "alpha", "beta", "theta", "arcsin", "arccos", "arctan", "lambda",
    )
)  # fmt: skip
"""Commands that are handed on; the library drops those it does not know, and so misreads."""


def library_same(gold: str, answer: str) -> bool | None:
    """Whether Math-Verify finds the answer equal to the gold; null if it cannot read the gold."""
    from math_verify import verify

    gold_read = _parse(gold)
    if not gold_read:
        return None
    answer_read = _parse(answer)
    if not answer_read:
        return False
    return bool(verify(gold_read, answer_read, float_rounding=40, timeout_seconds=None))


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
