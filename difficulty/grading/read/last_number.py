"""The number that a reply ends with, where it declares none plainly."""

from __future__ import annotations

import re

from difficulty.grading.normalize import Normal
from difficulty.grading.read.numbers import (
    Found,
    canonical,
    find_number_words,
    find_numbers,
    parse_number,
)
from difficulty.grading.read.settle import Declared
from difficulty.grading.read.together import (
    OPERATOR,
    REFUSED,
    SENTENCE_END,
    in_brackets,
    is_denied,
    is_ordinal,
    joined,
)
from difficulty.grading.words.denials import NOT_NEAR_NUMBER
from difficulty.grading.words.joints import IN_TOTAL, THEREFORE
from difficulty.grading.words.markers import CONCLUDE, NAMED
from difficulty.grading.words.phrases import NOT_STATED, REFUSAL

_RESULT = (THEREFORE + IN_TOTAL).west


def last_number(reply: Normal, start: int) -> list[Declared]:
    """The last number of the last sentence that has one; none where the reply refuses or asks."""
    low = reply.low
    bare = _bare(low)
    if bare is not None and start == 0:
        return [bare]
    words = _only_words(low) if start == 0 else None
    if words is not None:
        return [words]
    if start == 0 and len(low) < 400 and not _WORD_OR_SIGN.search(low):
        return _number_list(low)
    spans = list(_sentences(low, max(start, len(low) - 4000)))
    for index in range(len(spans) - 1, -1, -1):
        begin, end = spans[index]
        if index and low[begin:end].lstrip(" \n*")[:1] == "(" and ")" in low[end - 1 : end + 3]:
            continue
        if _OFFER.search(low, begin, end):
            continue
        numbers = [item for item in find_numbers(low, begin, end) if not is_ordinal(low, item)]
        if not numbers:
            continue
        if low[end - 1] == "?" or REFUSAL.search(low, begin, end):
            return []
        numbers = _without_denied(low, begin, numbers)
        if not numbers or NOT_STATED.search(low[begin : numbers[-1].start]):
            return []
        if _UNFINISHED.search(low, numbers[-1].end, end) or _is_sum(low, numbers):
            return []
        numbers = _main_numbers(low, begin, numbers)
        many = len(numbers) > 1 and joined(low, numbers, len(numbers) - 2)
        last = numbers[-1]
        many = many or _BOUND.search(low, max(begin, last.start - 24), last.start) is not None
        value = REFUSED if last.value is None else canonical(last.value)
        return [Declared(value, last.start, last.end, NAMED, "last number", many=many)]
    return []


_OFFER = re.compile(
    r"\b(?:let me know|feel free|would you like|hope (?:this|that) helps|if you (?:need|have|want|"
    r"would like))\b"
)
"""A closing sentence that says nothing about the answer."""
_BOUND = re.compile(
    r"(?<![\d%] )\b(?:more|less|fewer|greater|higher|lower|larger|smaller) than (?:the )?[$€£]?\Z"
)
"""A number that the answer is only more or less than."""


def _main_numbers(low: str, begin: int, numbers: list[Found]) -> list[Found]:
    """The only bold number, else those outside brackets, if there are any."""
    result = _result(low, begin, numbers)
    if result is not None:
        return [result]
    bold = [
        item
        for item in numbers
        if low[begin : item.start].rstrip("$ ").endswith("**")
        and "**" in low[item.end : item.end + 40]
    ]
    if len({item.value for item in bold}) == 1:
        return bold
    outside = [
        item
        for item in numbers
        if not _bracketed(low, begin, item)
        and not _TIME_OF.search(low, max(begin, item.start - 40), item.start)
    ]
    return outside or numbers


_ABOUT = re.compile(
    r"[\s*_$%]*(?P<thing>(?:[a-z]{1,12}\s+){0,3}?)(?:for|in|on|from|with|over|per|by|after|during|"
    r"across)\s(?:the |those |these |all |each |every |both |a |an |his |her |their |its )?[$€£]?\Z"
)
_SO = re.compile(rf"\b(?:{_RESULT})\b[^\d\n.;]{{0,60}}\Z")


def _result(low: str, begin: int, numbers: list[Found]) -> Found | None:
    """The number after ``=`` or *so* that only words about it and one more number follow.

    ``= $64 for the 16 glasses`` is 64, ``so he has 18 fruits in 2 baskets`` is 18.
    """
    if len(numbers) < 2:
        return None
    result = numbers[-2]
    about = _ABOUT.fullmatch(low, result.end, numbers[-1].start)
    if about is None:
        return None
    before = low[max(begin, result.start - 80) : result.start]
    if before.rstrip(" $€£*").endswith("="):
        return result
    return result if about["thing"] and _SO.search(before) else None


_TIME_OF = re.compile(r"\b(?:at|by) the end of\b[^.\d]{0,20}\Z")


def _bracketed(low: str, begin: int, item: Found) -> bool:
    """Whether a number stands within round brackets that open after ``begin``."""
    return in_brackets(low, begin, item.start) and ")" in low[item.end : item.end + 80]


def _is_sum(low: str, numbers: list[Found]) -> bool:
    """Whether the last number is a term that is not worked out: ``48 + 24``."""
    if len(numbers) < 2:
        return False
    between = low[numbers[-2].end : numbers[-1].start]
    if not between.strip() and low[numbers[-1].start] in "+-–":
        return True
    return OPERATOR.fullmatch(between) is not None


_UNFINISHED = re.compile(r"[=+×÷/≈]\s*[?_]*\s*\Z")
_WORD_OR_SIGN = re.compile(r"[^\W\d_]|[=+*/^≈]|\s-\s")


def _only_words(low: str) -> Declared | None:
    """A short reply without a digit that begins with a number in words: ``Thirty-six pages``."""
    if len(low) > 160 or re.search(r"\d", low) or "?" in low or REFUSAL.search(low):
        return None
    found = find_number_words(low, 0, len(low))
    if len(found) != 1 or found[0].value is None or found[0].value < 2:
        return None
    before = low[: found[0].start].strip(" *_\"'(")
    if before and not re.match(rf"(?:{_RESULT})\b[^.;:!]*\Z", before):
        return None
    value = canonical(found[0].value)
    return Declared(value, found[0].start, found[0].end, NAMED, "number in words")


def _number_list(low: str) -> list[Declared]:
    """A reply of several numbers and nothing else, which names none of them."""
    numbers = find_numbers(low, 0, len(low))
    if not numbers:
        return []
    values = dict.fromkeys(REFUSED if n.value is None else canonical(n.value) for n in numbers)
    last = numbers[-1]
    return [
        Declared(
            " | ".join(values), last.start, last.end, NAMED, "numbers alone", many=len(values) > 1
        )
    ]


def _without_denied(low: str, begin: int, numbers: list[Found]) -> list[Found]:
    """Drop the last numbers while they are denied: ``40 minutes, not 36``."""
    while numbers and is_denied(low, begin, numbers[-1], NOT_NEAR_NUMBER):
        numbers = numbers[:-1]
    return numbers


def _bare(low: str) -> Declared | None:
    """A reply, or its last line, that is nothing but a number."""
    stripped = low.strip(" \n\t*_`\"'.。")
    value = parse_number(stripped.strip("$\\()[]{} "))
    if value is None:
        return None
    start = low.find(stripped)
    return Declared(canonical(value), start, start + len(stripped), CONCLUDE, "bare number")


def _sentences(low: str, start: int) -> list[tuple[int, int]]:
    spans = []
    position = start
    for found in SENTENCE_END.finditer(low, start):
        spans.append((position, found.end()))
        position = found.end()
    if position < len(low):
        spans.append((position, len(low)))
    return spans
