"""How pieces of mathematics stand together: joined segments and boxes, and units after them."""

from __future__ import annotations

import re
from dataclasses import replace

from difficulty.grading.equal.latex import normalize_math
from difficulty.grading.read.ending import SEGMENT, UNIT_AFTER
from difficulty.grading.read.numbers import parse_number
from difficulty.grading.read.settle import Declared
from difficulty.grading.words.joints import AND, OR
from difficulty.grading.words.units import split_counter

_JOINT = "|".join(((OR + AND).west, (OR + AND).east))
JOIN = re.compile(rf"\s*(?:,\s*(?:{_JOINT})?|{_JOINT}|、)\s*")


def joined_segments(text: str, first: re.Match[str]) -> tuple[int, int]:
    """A math segment with those joined to it and a unit after it."""
    end = first.end()
    while True:
        joint = JOIN.match(text, end)
        following = SEGMENT.match(text, joint.end()) if joint else None
        if following is None or _is_restated(first.group(), following.group()):
            break
        end = following.end()
    unit = UNIT_AFTER.match(text, end)
    return first.start(), unit.end() if unit else end


def _is_restated(first: str, second: str) -> bool:
    r"""Whether a second segment is the same number: ``$\frac{3}{4}$, or $75\%$``."""
    values = []
    for segment in (first, second):
        body = normalize_math(segment).strip()
        value = parse_number(body.rstrip("% "))
        values.append(value / 100 if value is not None and body.endswith("%") else value)
    return values[0] is not None and values[0] == values[1]


_TEXT_COMMAND = re.compile(r"\\text\s*\{\s*([^{}]*?)\s*\}")


def join_side_by_side(text: str, items: list[Declared]) -> list[Declared]:
    r"""Boxes joined by *and* or a comma make one list: ``\boxed{3}`` and ``\boxed{-7}``."""
    joined: list[Declared] = []
    for item in items:
        previous = joined[-1] if joined else None
        if previous is not None and previous.how == item.how == "box" and item.start > previous.end:
            between = text[previous.end : item.start].strip(" }$\n").removesuffix("\\boxed{")
            between = _TEXT_COMMAND.sub(r"\1", between).strip(" $")
            if re.fullmatch(rf"(?:,\s*)?(?:{_JOINT})|,", between) and previous.value != item.value:
                value = f"{previous.value} , {item.value}"
                joined[-1] = Declared(
                    value, previous.start, item.end, item.rank, "box", closed=item.closed
                )
                continue
        joined.append(item)
    return joined


def with_counter(items: list[Declared]) -> list[Declared]:
    """A number written without its counter beside the same number with it: both are one answer."""
    if all(item.value.isascii() for item in items):
        return items
    split = {item.value: split_counter(item.value) for item in items}
    counted = {number: value for value, (number, counter) in split.items() if counter}
    return [
        replace(item, value=counted[item.value]) if item.value in counted else item
        for item in items
    ]
