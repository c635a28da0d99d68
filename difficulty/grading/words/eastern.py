"""Where a value stands in a Japanese, Chinese or Korean sentence, as 6 in ``値は 6 個である``."""

from __future__ import annotations

import re

EASTERN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
"""A character that no formula has."""

_COPULAS = (
    "となります", "になります", "である", "でした", "となる", "になる", "입니다", "이다", "です",
    "だ",
)  # fmt: skip
_COUNTERS = (*"個人本枚回円点匹台組度种个元", "通り", "개", "가지", "명", "원")
_VALUE = re.compile(r"[^a-zA-Z=$\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]*\Z")
_REACH = 80


def without_copula(text: str) -> str:
    """The text without the verb, the counter and the full stop at its end."""
    text = text.rstrip(" \t。.")
    for endings in (_COPULAS, _COUNTERS):
        found = next((ending for ending in endings if text.endswith(ending)), "")
        text = text[: len(text) - len(found)].rstrip()
    return text


def last_value(line: str) -> tuple[int, int] | None:
    """Where the number after は, 为 or 은 stands that ends a line; null if none does."""
    body = without_copula(line)
    found = _VALUE.search(body, max(0, len(body) - _REACH))
    if found is None or not re.search(r"\d", found.group()):
        return None
    if body[found.start() - 1 : found.start()] not in set("は为是은는"):
        return None
    start = found.start() + len(found.group()) - len(found.group().lstrip())
    return start, len(body)
