"""What a reply says after its declared number: another one instead, or as well."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

from difficulty.grading.normalize import Normal
from difficulty.grading.read.declare import runs_on
from difficulty.grading.read.numbers import Found, canonical, find_numbers, parse_number
from difficulty.grading.read.settle import Declared
from difficulty.grading.words.turns import AS_WELL, CLAUSE, FIRST_CLAUSE, INSTEAD, MAX_CLAUSES
from difficulty.grading.words.units import COUNTER, counter_at_end

_SLASH = re.compile(
    r"[\s.。)\]}>*_\"'`」$,]{0,8}+(?:</?\w+>)?(?:です|である|입니다|이다)?[。.]?\s*/\s*"
)
_WRAP = re.compile(r"[\s*_$\"'(\\{]{0,6}(?:boxed\{)?")
_ENDS = re.compile(
    rf"[)\]}}*_$\"'`]{{0,6}}(?:\s*(?P<unit>[a-z%°]{{1,12}}|{COUNTER}))?"
    r"(?:\s*(?:[.!。\n]|$)|\s*(?:です|である|でした|だ|입니다|이다))"
)
_UNIT = re.compile(rf"[)\]}}*_$\"'`]{{0,6}}\s*([a-z%°]{{1,12}}|{COUNTER})")
_ALONE = re.compile(r"\n[\s*_$]*(?P<number>[-+]?[\d.,]*\d)[\s*_$.]*\Z")


def after_number(reply: Normal, declared: Declared) -> Declared:
    """The declared number, or another if one takes its place; ``many`` if one stands beside it."""
    low = reply.low
    if declared.many or declared.end >= len(low) or runs_on(low, declared.end):
        return declared
    slash = _SLASH.match(low, declared.end)
    if slash and _differs(low, slash.end(), declared):
        return replace(declared, many=True)
    alone = _ALONE.search(low, max(declared.end, len(low) - 40))
    if alone and parse_number(alone["number"]) not in {None, parse_number(declared.value)}:
        return replace(declared, many=True)
    first = FIRST_CLAUSE.match(low, declared.end)
    clauses = islice(CLAUSE.finditer(low, declared.end), MAX_CLAUSES)
    for words in (first, *clauses) if first else clauses:
        if not INSTEAD.search(words["words"]) and not AS_WELL.search(words["words"]):
            continue
        other = _differs(low, words.end(), declared)
        if other is None or other.value is None:
            continue
        if AS_WELL.search(words["words"]):
            return replace(declared, many=True)
        declared = replace(
            declared, value=canonical(other.value), start=other.start, end=other.end, closed=False
        )
    return declared


def _differs(low: str, start: int, declared: Declared) -> Found | None:
    """Another number at ``start`` that ends its clause and is no restatement in another unit."""
    wrap = _WRAP.match(low, start)
    begin = wrap.end() if wrap else start
    found = find_numbers(low, begin, min(len(low), begin + 60))
    if not found or found[0].start > begin or found[0].value == parse_number(declared.value):
        return None
    ends = _ENDS.match(low, found[0].end)
    if ends is None:
        return None
    after = _UNIT.match(low, declared.end)
    unit = after[1] if after else counter_at_end(low[declared.start : declared.end])
    return None if ends["unit"] is not None and unit != ends["unit"] else found[0]
