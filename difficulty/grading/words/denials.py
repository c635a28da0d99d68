"""Words that deny an answer, before it or after it."""

from __future__ import annotations

import re

from difficulty.grading.words.joints import EXCEPT
from difficulty.grading.words.word_lists import Words

DENY = Words(
    english="not, never, no longer, isn't, wasn't, aren't, doesn't, rather than, instead of",
    chinese="不是, 并非, 並非, 而非, 不选, 不選, 不应",
)
"""Before what is denied."""

NEITHER = Words(english="neither, nor, unlike, cannot be, can't be")
"""Likewise; an answer in words may begin so: ``cannot be determined``."""

RULED_OUT = Words(
    english="rule out, rules out, ruled out, ruling out, exclud*, reject*, eliminat*, discard*",
    chinese="排除, 除外",
)
"""Before an option that is ruled out."""

ABSENT = Words(
    english="without, unlikely, deny, denies, denied, lack, lacks, absence, negative, "
    "inconsistent, against",
    chinese="不支持, 不考虑, 不符合, 没有, 未见",
)
"""Before an option that the findings speak against; before a number they say nothing of it."""

DENIED = Words(
    english="is not the, is not correct, is not right, isn't the, isn't correct, isn't right, "
    "is wrong, is incorrect, is false",
    japanese="ではない, ではなく, ではなか, でない, でなく, でなか, ではありません, でありません, "
    "じゃありません, じゃな",
    chinese="不是, 不对, 不對",
    korean="아니, 아닌, 아님, 아닙",
)
"""After what is denied."""

UNKNOWN = Words(english="unknown, undetermined")
"""Where a number is expected: it is not known."""

NOT_BUT = (
    r"(?:では?|じゃ)なくて?[、,]?\s*", r"不是[^。\n]{1,20}?而是\s*", r"(?:가|이) 아니라,?\s*",
)  # fmt: skip
"""Between what is denied and what is meant."""

_DENIES = DENY + EXCEPT
DENIED_NUMBER = re.compile(rf"\s*+[^\s,;、。]{{0,6}}?\s*(?:(?:{DENIED.west})\b|{DENIED.east})")
"""Right after a number, with what it counts between."""
_BEFORE = rf"(?:\b(?:{(_DENIES + NEITHER).west})|n't|{_DENIES.east})"
NOT_NUMBER = re.compile(rf"{_BEFORE}\s*\Z")
"""Right before a number."""
NOT_NEAR_NUMBER = re.compile(rf"{_BEFORE}(?: \w+)?\s*\Z")
"""Before a number that is declared by nothing else, with a word between."""
NOT_VALUE = re.compile(
    r"\s*(?:(?:definitely|certainly|clearly|probably) )?"
    rf"(?:(?:{_DENIES.west}|n't)\b|(?:{_DENIES.east})(?=\W{{0,3}}\w))",
    re.IGNORECASE,
)
"""Where an answer is declared: what follows is not the answer."""
REJECTED = (
    rf"\b(?:{(DENY + NEITHER + RULED_OUT).west}|wrong|incorrect|false|distractors?)\b|n't\b|"
    rf"{RULED_OUT.east}"
)
"""The sentence or line names options that are no answer."""
