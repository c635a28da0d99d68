"""How the numbers of a sentence stand together: listed, in brackets, numbered, denied."""

from __future__ import annotations

import re

from difficulty.grading.read.numbers import Found
from difficulty.grading.words.denials import DENIED_NUMBER
from difficulty.grading.words.joints import AND, OR, OR_PARTICLE, PERHAPS
from difficulty.grading.words.units import COUNTER, unit_of

REFUSED = "refused"
"""Value of a declared number that breaks a limit."""

SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?](?=\s|$|(?![①-⑳])[^\x00-\x7f])|[。!?]|\n")
_BESIDE = OR + AND + OR_PARTICLE
_LIST = re.compile(
    rf"(?:\s*[a-z%°$€£\\}}){{\]*]{{0,12}}(?:{COUNTER})?)?\s*(?:,|/|;|\||、|\b(?:{_BESIDE.west}|to)\b|"
    rf"{_BESIDE.east}|–|—|~|〜|and/or|-(?=\s))\s*(?:\b(?:{_BESIDE.west})\b|{PERHAPS.west})?"
    r"\s*[$€£*_({\[\\]{0,4}(?:[a-z]\s?=)?\s*"
)
_ORDINAL = re.compile(
    r"(?:\b(?:step|question|problem|part|case|equation|eq\.?|figure|table|option|line|"
    r"chapter|no\.|q|example|page|section)\s*#?\s*|第|\()$"
)
OPERATOR = re.compile(r"\s*(?:[+×÷·*]|\s/|\\times|\\cdot|\\div|\s[-x])\s*")


_COUNTED = re.compile(r"(\s*[a-z]{2,12}),\s*$")
"""A counted thing before a comma: ``5 apples, 3 of which`` is no list of candidates."""


def joined(low: str, numbers: list[Found], index: int) -> bool:
    """Whether a number is joined to the next, different one by ``or`` or a comma."""
    if index + 1 >= len(numbers):
        return False
    first, second = numbers[index], numbers[index + 1]
    between = low[first.end : second.start]
    if first.value == second.value or len(between) > 40:
        return False
    if not between.strip():
        return low[second.start] in "-–" and first.end == second.start
    if OPERATOR.fullmatch(between):
        return True
    if _is_restated(low, first, second):
        return False
    unit = _COUNTED.match(between)
    if unit and (not low.startswith(unit[1], second.end) or _is_aside(low, first.start)):
        return False
    return _LIST.fullmatch(between) is not None or (
        between.endswith(" ") is False and between == "-"
    )


_SUBORDINATE = re.compile(
    r"(?:\A|[.;:!?\n,]\s{0,3})[\s*_]{0,4}(?:(?:and|so|then|but) )?"
    r"(?:after|before|when|if|since|with|without|because|once|given|while|as|from|out of|of)\b"
    r"[^.;:!?\n,]{0,80}\Z"
)


def _is_aside(low: str, start: int) -> bool:
    """Whether the clause before ``start`` is a subordinate one: ``after eating 1 slice, 15 …``."""
    return _SUBORDINATE.search(low[max(0, start - 100) : start]) is not None


_MEASURE = re.compile(rf"\s*([a-z]{{1,12}}(?![a-z])|{COUNTER})")


def _is_restated(low: str, first: Found, second: Found) -> bool:
    """Whether two numbers are one quantity in two units: ``90 minutes, or 1.5 hours``."""
    units = [_MEASURE.match(low, item.end) for item in (first, second)]
    names = [unit_of(unit[1]) if unit else None for unit in units]
    return None not in names and names[0] != names[1]


def is_denied(low: str, begin: int, item: Found, before: re.Pattern[str]) -> bool:
    """Whether words ``before`` a number, from ``begin`` on, or right after it deny it."""
    if DENIED_NUMBER.match(low, item.end):
        return True
    return before.search(low, max(begin, item.start - 40), item.start) is not None


def in_brackets(low: str, begin: int, position: int) -> bool:
    """Whether a round bracket opens between ``begin`` and ``position`` and stays open."""
    before = low[max(begin, position - 80) : position]
    opened = before.rfind("(")
    if opened < 0 or ")" in before[opened:] or not low[begin : position - len(before) + opened]:
        return False
    return before[opened - 1 : opened] != "\\"


def is_ordinal(low: str, item: Found) -> bool:
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
