"""The number that a reply declares, and whether it is the gold."""

from __future__ import annotations

import re
from fractions import Fraction

from difficulty.grading.normalize import Normal
from difficulty.grading.read.declare import Site, sites_of
from difficulty.grading.read.last_number import last_number
from difficulty.grading.read.number_tail import after_number
from difficulty.grading.read.numbers import Found, canonical, find_number_words, find_numbers
from difficulty.grading.read.settle import Declared, settle
from difficulty.grading.read.together import (
    REFUSED,
    SENTENCE_END,
    in_brackets,
    is_denied,
    is_ordinal,
    joined,
)
from difficulty.grading.words.denials import NEITHER, NOT_NUMBER, NOT_VALUE, UNKNOWN
from difficulty.grading.words.markers import BEFORE_LABEL
from difficulty.grading.words.phrases import TAKEN_BACK

_ONE_OF = re.compile(
    r"\s*(?:[*_]{0,2}(?:one of|either|between|any of|among|somewhere|in the range|from "
    r"\S{1,8} to|のいずれか|以下のどれか))"
)
_BOUND = re.compile(
    r"[\s*_]*(?:is )?(?:more|less|fewer|greater|higher|lower) than\b|[\s*_]*over (?=\d)"
)
_NO_NUMBER = re.compile(rf"\s*(?:{(NEITHER + UNKNOWN).west}|undefined|impossible)\b")
_HEAD = re.compile(
    r"[\s*_`~\"'“‘({\[【「:=≈~〜→$\\>|#]*(?:(?:approximately|about|around|roughly|exactly|only|"
    r"just|the|is|are|a total of|総計|合計|約|大约|约|약|text\{|mathbf\{|approx|boxed\{|"
    r"\()\s*\{?[\s*_\"'($]*)*"
)
_EQUALS = re.compile(r"(?<![<>!≤≥])(?:=|≈|≒|\\approx)")


def read_numeric(reply: Normal, *, truncated: bool) -> Declared | None:
    """The declared number in canonical spelling; ``many`` marks a hedge; null if none."""
    plain = [
        declared for site in sites_of(reply) if (declared := _at_site(reply, site)) is not None
    ]

    def weaker(start: int) -> list[Declared]:
        found = [] if truncated else last_number(reply, start)
        return [item for item in found if not TAKEN_BACK.search(reply.low, item.end)]

    declared = settle(reply, plain, weaker, last_wins=True)
    return None if declared is None else after_number(reply, declared)


def numeric_equal(gold: Fraction, answer: Fraction, tolerance: str | None) -> bool:
    """Whether a number is the gold within the question's own tolerance; exact if it has none.

    Raises:
        ValueError: the tolerance is not ``abs:x``, ``rel:x`` or ``decimals:n``.
    """
    if tolerance is None:
        return answer == gold
    name, _, amount = tolerance.partition(":")
    if name == "abs":
        return abs(answer - gold) <= Fraction(amount)
    if name == "rel":
        return abs(answer - gold) <= Fraction(amount) * abs(gold)
    if name == "decimals":
        return _rounded(answer, int(amount)) == _rounded(gold, int(amount))
    raise ValueError(f"unknown tolerance: {tolerance!r}")


def _rounded(value: Fraction, places: int) -> int:
    """Round half away from zero, as exams do; in units of the last place."""
    scaled = abs(value) * Fraction(10) ** places + Fraction(1, 2)
    whole = scaled.numerator // scaled.denominator
    return int(-whole if value < 0 else whole)


def _at_site(reply: Normal, site: Site) -> Declared | None:
    low = reply.low
    if NOT_VALUE.match(low, site.value) or _NO_NUMBER.match(low, site.value):
        return None
    if site.how == BEFORE_LABEL:
        return None
    end = site.end if site.closed else _sentence_end(low, site)
    numbers = find_numbers(low, site.value, end) or find_number_words(low, site.value, end)
    if not numbers:
        return None
    if site.direct and numbers[0].start > _head_end(low, site.value):
        return None
    return _declared(low, site, numbers, end)


def _declared(low: str, site: Site, numbers: list[Found], end: int) -> Declared | None:
    chosen, many = _choose(low, site, numbers, end)
    if chosen is None or is_denied(low, site.value, chosen, NOT_NUMBER):
        return None
    value = REFUSED if chosen.value is None else canonical(chosen.value)
    closed = site.closed or low[chosen.end : chosen.end + 1] in set('*)}]`"$')
    return Declared(value, chosen.start, chosen.end, site.rank, site.how, closed=closed, many=many)


def _choose(low: str, site: Site, numbers: list[Found], end: int) -> tuple[Found | None, bool]:
    """The number meant in a declared line: right after ``=``, at its head, else its last one."""
    if _BOUND.match(low, site.value):
        return numbers[0], True
    if _ONE_OF.match(low, site.value):
        return numbers[-1], len({item.value for item in numbers}) > 1
    equals = [
        found.end()
        for found in _EQUALS.finditer(low, site.value, end)
        if not in_brackets(low, site.value, found.start())
    ]
    if equals:
        after = [item for item in numbers if item.start >= equals[-1] - 1]
        if after:
            return after[0], joined(low, after, 0)
    head = numbers[0].start <= _head_end(low, site.value)
    index = 0 if head else len(numbers) - 1
    chosen = numbers[index]
    if not head and is_ordinal(low, chosen):
        return None, False
    many = joined(low, numbers, index) or (index > 0 and joined(low, numbers, index - 1))
    return chosen, many


def _head_end(low: str, start: int) -> int:
    found = _HEAD.match(low, start)
    return found.end() if found else start


def _sentence_end(low: str, site: Site) -> int:
    """The end of the declared line's first sentence that has a digit."""
    position = site.value
    while position < site.end:
        found = SENTENCE_END.search(low, position, site.end)
        stop = found.start() if found else site.end
        if any(char.isdigit() for char in low[position:stop]):
            return stop
        if found is None:
            break
        position = found.end()
    return site.end
