"""Words at the start of a clause that put another answer in place of, or beside, the first one.

``Sorry, D``, ``on second thought, 15``, ``or B``, ``訂正：d``.
"""

from __future__ import annotations

import re

from difficulty.grading.words.answers import ANSWER_IS
from difficulty.grading.words.doubts import GIVE_UP, TAKE_BACK
from difficulty.grading.words.joints import AND, IN_TOTAL, OR, PERHAPS, THEREFORE
from difficulty.grading.words.word_lists import alternation, split

_JA, _ZH, _KO = (
    alternation(split(words)) for words in (TAKE_BACK.japanese, TAKE_BACK.chinese, TAKE_BACK.korean)
)
_SO = THEREFORE + IN_TOTAL
_BESIDE = OR + AND + PERHAPS

MAX_CLAUSES = 200
"""Clauses after a declared answer that are looked at."""

_INSTEAD = (
    rf"(?:no|{TAKE_BACK.west}|not \w{{1,2}} but|wait|hm+|corrected|edit|updated?|"
    rf"revis(?:ed|ion)|rather|instead|i mean|make that|{GIVE_UP.west}|"
    r"let me (?:revise|correct|fix|change)(?: (?:that|it|this|my answer))?|"
    r"on (?:second|further|closer) (?:thought|look|inspection)|"
    r"i (?:now |would )?(?:change|switch|revise|correct|go|choose)(?: (?:it|this|my (?:answer|"
    r"mind)))?"
    r"(?: (?:to|with))?|that(?:'s| is| was) (?:wrong|incorrect|a mistake))(?![a-z])|"
    rf"いえ|(?:{_JA})[ぁ-ん]{{0,6}}|(?:{_ZH})[了的]?|不，|아니(?:요|다)?|(?:{_KO})[가-힣]{{0,6}}"
)
_AS_WELL = (
    rf"(?:{_BESIDE.west}|also|otherwise|either|both(?: are \w+)?|"
    r"equally|as (?:is|are|well as)|so (?:is|are)|(?:along|together) with)(?![a-z])|"
    rf"{_BESIDE.east}"
)
_FILLER = (
    rf"(?:but|{_SO.west}|well|then|final(?: answer)?|it(?:'s| is)|the|my|"
    r"correct|right|best|answer|option|choice|is|be|should|must|now|still|indeed|here|to|not)"
    rf"(?![a-z])|{ANSWER_IS}|应该是|是|选|{_SO.east}"
)
_CLAUSE = (
    r"[\s.。)\]}>*_\"'`」:;(…-]{0,12}+"
    rf"(?P<words>(?:(?:{_INSTEAD}|{_AS_WELL}|{_FILLER})[\s,.:;…、，。→-]{{0,4}}+){{0,7}}+)"
)
FIRST_CLAUSE = re.compile(rf"(?:です|である|입니다|이다)?{_CLAUSE}")
CLAUSE = re.compile(rf"(?:^|[.!?。;\n),，、→\]}}>*\"'`」]){_CLAUSE}")
"""At the start of a clause: words that put another option in place of, or beside, the first."""
INSTEAD = re.compile(_INSTEAD)
"""The words say that the first answer is given up."""
AS_WELL = re.compile(_AS_WELL)
"""The words put a second answer beside the first."""
