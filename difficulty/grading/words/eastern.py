"""Where a value stands in a Japanese, Chinese or Korean sentence, as 6 in ``値は 6 個である``."""

from __future__ import annotations

import re

from difficulty.grading.words.units import counter_at_end

EASTERN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
"""A character that no formula has."""

_COPULAS = (
    "となります", "になります", "である", "でした", "となる", "になる", "입니다", "이다", "です",
    "だ",
)  # fmt: skip
_VALUE = re.compile(r"[^a-zA-Z=$\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]*\Z")
_REACH = 80


def without_copula(text: str) -> str:
    """The text without the verb and the full stop at its end."""
    text = text.rstrip(" \t。.")
    return text.removesuffix(next(filter(text.endswith, _COPULAS), "")).rstrip()


def last_value(line: str) -> tuple[int, int] | None:
    """Where the number after は, 为 or 은 stands that ends a line, with its counter; or null."""
    body = without_copula(line)
    number = body.removesuffix(counter_at_end(body)).rstrip()
    found = _VALUE.search(number, max(0, len(number) - _REACH))
    if found is None or not re.search(r"\d", found.group()):
        return None
    if number[found.start() - 1 : found.start()] not in set("は为是은는"):
        return None
    start = found.start() + len(found.group()) - len(found.group().lstrip())
    return start, len(body)
