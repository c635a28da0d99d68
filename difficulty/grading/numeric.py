"""The number that a reply declares, and whether it is the gold."""

from __future__ import annotations

import re
from fractions import Fraction

from difficulty.grading.declare import Site, sites_of
from difficulty.grading.markers import CONCLUDE, NAMED
from difficulty.grading.normalize import Normal
from difficulty.grading.numbers import (
    Found,
    canonical,
    find_number_words,
    find_numbers,
    parse_number,
)
from difficulty.grading.phrases import REFUSAL
from difficulty.grading.settle import Declared, settle

REFUSED = "refused"
"""Value of a declared number that breaks a limit."""

_SENTENCE_END = re.compile(r"[.!?](?=\s|$|[^\x00-\x7f])|[。!?]|\n")
_LIST = re.compile(
    r"(?:\s*[a-z%°$€£\\}){\]*円個人本]{0,12})?\s*(?:,|/|;|\||、|\bor\b|\band\b|\bto\b|または|又は|か|或|"
    r"또는|–|—|~|〜|and/or|-(?=\s))\s*(?:\bor\b|\band\b|maybe|possibly|"
    r"perhaps)?\s*[$€£*_({\[\\]{0,4}(?:[a-z]\s?=)?\s*"
)
_ONE_OF = re.compile(
    r"\s*(?:[*_]{0,2}(?:one of|either|between|any of|among|somewhere|in the range|from "
    r"\S{1,8} to|のいずれか|以下のどれか))"
)
_NEGATED = re.compile(
    r"\s*(?:definitely |certainly |clearly |probably )?(?:not|n't|never|unknown|undefined|"
    r"impossible)\b"
)
_NEGATED_AFTER = re.compile(r"\s*+\S{0,6}?\s*(?:では?な[いく]|じゃな|不是|不对|가 아니|이 아니)")
_HEAD = re.compile(
    r"[\s*_`~\"'“‘({\[【「:=≈~〜→$\\>|#]*(?:(?:approximately|about|around|roughly|exactly|only|"
    r"just|the|is|are|a total of|総計|合計|約|大约|约|약|text\{|mathbf\{|approx|boxed\{|"
    r"\()\s*\{?[\s*_\"'($]*)*"
)
_EQUALS = re.compile(r"(?<![<>!≤≥])(?:=|≈|≒|\\approx)")
_ORDINAL = re.compile(
    r"(?:\b(?:step|question|problem|part|case|equation|eq\.?|figure|table|option|line|"
    r"chapter|no\.|q|example|page|section)\s*#?\s*|第|\()$"
)
_BARE = re.compile(r"[\s*_`\"'($\\\[{.]*")


def read_numeric(reply: Normal, *, truncated: bool) -> Declared | None:
    """The declared number in canonical spelling; ``many`` marks a hedge; null if none."""
    plain = [
        declared for site in sites_of(reply) if (declared := _at_site(reply, site)) is not None
    ]

    def weaker(start: int) -> list[Declared]:
        return [] if truncated else _last_number(reply, start)

    return settle(reply, plain, weaker, last_wins=True)


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
    if _NEGATED.match(low, site.value):
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
    if chosen is None or _NEGATED_AFTER.match(low, chosen.end):
        return None
    value = REFUSED if chosen.value is None else canonical(chosen.value)
    closed = site.closed or low[chosen.end : chosen.end + 1] in set('*)}]`"$')
    return Declared(value, chosen.start, chosen.end, site.rank, site.how, closed=closed, many=many)


def _choose(low: str, site: Site, numbers: list[Found], end: int) -> tuple[Found | None, bool]:
    """The number meant in a declared line: right after ``=``, at its head, else its last one."""
    if _ONE_OF.match(low, site.value):
        return numbers[-1], len({item.value for item in numbers}) > 1
    equals = [found.end() for found in _EQUALS.finditer(low, site.value, end)]
    if equals:
        after = [item for item in numbers if item.start >= equals[-1] - 1]
        if after:
            return after[0], _joined(low, after, 0)
    head = numbers[0].start <= _head_end(low, site.value)
    index = 0 if head else len(numbers) - 1
    chosen = numbers[index]
    if not head and _ordinal(low, chosen):
        return None, False
    many = _joined(low, numbers, index) or (index > 0 and _joined(low, numbers, index - 1))
    return chosen, many


_COUNTED = re.compile(r"(\s*[a-z]{2,12}),\s*$")
"""A counted thing before a comma: ``5 apples, 3 of which`` is no list of candidates."""


def _head_end(low: str, start: int) -> int:
    found = _HEAD.match(low, start)
    return found.end() if found else start


def _joined(low: str, numbers: list[Found], index: int) -> bool:
    """Whether a number is joined to the next, different one by ``or`` or a comma."""
    if index + 1 >= len(numbers):
        return False
    first, second = numbers[index], numbers[index + 1]
    between = low[first.end : second.start]
    if first.value == second.value or len(between) > 40:
        return False
    if not between.strip():
        return False
    unit = _COUNTED.match(between)
    if unit and not low.startswith(unit[1], second.end):
        return False
    return _LIST.fullmatch(between) is not None or (
        between.endswith(" ") is False and between == "-"
    )


def _sentence_end(low: str, site: Site) -> int:
    """The end of the declared line's first sentence that has a digit."""
    position = site.value
    while position < site.end:
        found = _SENTENCE_END.search(low, position, site.end)
        stop = found.start() if found else site.end
        if any(char.isdigit() for char in low[position:stop]):
            return stop
        if found is None:
            break
        position = found.end()
    return site.end


def _last_number(reply: Normal, start: int) -> list[Declared]:
    """The last number of the last sentence that has one; none where the reply refuses or asks."""
    low = reply.low
    bare = _bare(low)
    if bare is not None and start == 0:
        return [bare]
    if start == 0 and len(low) < 400 and not _WORD_OR_SIGN.search(low):
        return _number_list(low)
    for begin, end in reversed(list(_sentences(low, max(start, len(low) - 4000)))):
        numbers = [item for item in find_numbers(low, begin, end) if not _ordinal(low, item)]
        if not numbers:
            continue
        if (
            low[end - 1] == "?"
            or REFUSAL.search(low, begin, end)
            or _is_denied(low, begin, numbers)
        ):
            return []
        many = len(numbers) > 1 and _joined(low, numbers, len(numbers) - 2)
        last = numbers[-1]
        value = REFUSED if last.value is None else canonical(last.value)
        return [Declared(value, last.start, last.end, NAMED, "last number", many=many)]
    return []


_WORD_OR_SIGN = re.compile(r"[^\W\d_]|[=+*/^≈]|\s-\s")


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


def _is_denied(low: str, begin: int, numbers: list[Found]) -> bool:
    before = low[begin : numbers[-1].start]
    return bool(re.search(r"(?:\bnot|n't)(?: \w+){0,1}\s*$", before)) or bool(
        _NEGATED_AFTER.match(low, numbers[-1].end)
    )


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
    for found in _SENTENCE_END.finditer(low, start):
        spans.append((position, found.end()))
        position = found.end()
    if position < len(low):
        spans.append((position, len(low)))
    return spans


def _ordinal(low: str, item: Found) -> bool:
    """Whether a number only numbers something: ``step 3``, ``(2)``, ``4.`` at a line's start."""
    before = low[max(0, item.start - 12) : item.start]
    if before.endswith("("):
        opens = before[:-1].strip(" ") == "" or before[:-1].rstrip(" ")[-1:] in {
            "\n",
            ".",
            ":",
            ";",
        }
        return opens and low[item.end : item.end + 1] == ")"
    return _ORDINAL.search(before) is not None
