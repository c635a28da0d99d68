"""The words by which a reply declares its answer, in English and the other languages of exams.

Every pattern is written for lower-case normalised text, is linear (possessive repeats, bounded
gaps) and has a gate: a plain string that must occur before the pattern is tried at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from difficulty.grading.words.anchors import Anchored, Gated
from difficulty.grading.words.answers import ANSWER, IS
from difficulty.grading.words.joints import THEREFORE
from difficulty.grading.words.word_lists import alternation, split

FINAL, MARK, CONCLUDE, WEAK, NAMED = 4, 3, 2, 1, 0
"""How plainly an answer is declared, from "final answer" down to an option's words alone."""


BEFORE_LABEL = "…は"
"""Declares only an option: a number after such words is one of the steps."""

ODD_ONE = "the wrong choice is"
"""Declares the answer to "which is false?", unless a right choice is declared as well."""


@dataclass(frozen=True)
class Marker:
    """A pattern whose end is where the declared answer begins."""

    matches: Anchored | Gated
    rank: int
    how: str
    latin: bool = False
    """Whether every match holds two Latin letters side by side."""


_IS = (
    r"(?:is|are|was|=|equals?|would be|should be|must be|will be|has to be|"
    r"(?:turns|comes|works) out (?:to be|to|as)|becomes|remains)(?![a-z])"
)
_COLON = r"(?::|={1,2}>?|[→➡⇒⟶👉▶►»]|—|–|-{1,3}>|-(?=\s))"
_QUOTES = r"(?:</?(?:b|strong|em|i|p|span|u|code|div)>|&nbsp;|[*_`~\"')\]}】」』>$])*+"
_ADVERB = (
    rf"(?:,?\s+(?:{THEREFORE.west}|then|clearly|definitely|most likely|likely|probably|"
    r"simply|indeed),?)?"
)

ANSWER_LINE = re.compile(
    rf"(?<![a-z/])(?:{alternation(split(ANSWER.english))})(?:s|\(s\))?(?:[\s_]+(?:choice|option|letter|key|number|value|"
    rf"no\.?))?"
    rf"(?:\s+(?:to|for|of|in)\s+(?:this|the|your|that|part|question|"
    rf"problem)\b[^.:;\n=?\"“「]{{0,60}}?)?"
    rf"(?:\s*\([^()\n]{{0,30}}\))?{_QUOTES}{_ADVERB}\s*+{_QUOTES}(?:{_COLON}|{_IS}){_QUOTES}"
)
"""``Answer:``, ``the answer to this question is``."""

ANSWER_GAP = re.compile(r"answer\b[^.:;\n=?]{0,80}?\sis(?=\s)")
"""``The answer that fits the findings best is``: only counts with a label or number right after."""

ANSWER_HEADER = re.compile(
    rf"(?:(?<![a-z])(?:{ANSWER.west})s?|{ANSWER.east})(?:[*_#:】]|[^\S\n])*+(?=\n)"
)
"""``## Answer`` on a line of its own."""

LABELLED_LINE = re.compile(
    r"(?:^|\n)[\s>#*_✅•+-]{0,12}+(?:(?:your|my|the) )?(?:(?:final|correct|selected|"
    r"chosen|best|right)[ _]?)?"
    r"(?:choice|option|selected|pick|selection|conclusion|verdict|result|solution|"
    r"final|response|output|correct|guess|correction|prediction|letter|remaining|decision)"
    r"[*_\s]{0,6}+:"
)
"""``Choice:`` at the beginning of a line."""

_FITTING = (
    "correct", "right", "best", "final", "chosen", "selected", "true", "only", "likely",
    "appropriate", "suitable", "probable", "accurate", "my", "single", "overall", "plausible",
)  # fmt: skip
_CHOOSING = (
    "choose", "select", "pick", "go with", "ing with", "opt for", "vote for", "settle on",
    "ing for", "go for",
)  # fmt: skip
_FOREIGN = split(ANSWER.other)

WESTERN: tuple[Marker, ...] = (
    Marker(
        Anchored(re.compile(r"####(?!#)\s*+(?:(?:final )?answer\s*:?)?"), ("####",), sign="#"),
        FINAL,
        "#### line",
    ),
    Marker(
        Gated(
            re.compile(
                r"[\"'](?:final|correct|best|selected|predicted|chosen|your|my)?[_ -]?"
                r"(?:answer|choice|option|result|prediction|label|value)(?:[_ -]?(?:choice|"
                r"option|letter|label))?"
                r"[\"']\s?:"
            ),
            ('":', "':", '" :', "' :"),
            signs="\"'",
        ),
        FINAL,
        "JSON field",
    ),
    Marker(
        Anchored(
            re.compile(
                r"<(?:final[_ -]?)?(?:answer|ans|choice|option|result|final|output|response|"
                r"solution)>"
            ),
            ("<",),
            sign="<",
        ),
        FINAL,
        "tag",
    ),
    Marker(
        Anchored(re.compile(r"\[(?:final[_ ]?)?answer\](?!\()"), ("[answer]", "[final"), sign="["),
        FINAL,
        "tag",
    ),
    Marker(
        Anchored(
            re.compile(
                rf"(?<![a-z])(?:{'|'.join(_FITTING)})\s+(?:(?:answer|option|choice|single)\s+)?"
                r"(?:option|choice|selection|one|statement|solution|response|alternative|pick|"
                r"letter|conclusion|verdict|result|value|total)s?"
                r"(?:\s+(?:here|among [a-z ]{1,20}|of [a-z ]{1,20}|for this (?:question|"
                rf"case|patient)))?{_QUOTES}{_ADVERB}\s*+{_QUOTES}(?:{_COLON}|{_IS})"
            ),
            (*(word for word in _FITTING if word != "my"), "my "),
        ),
        MARK,
        "the right choice is",
        latin=True,
    ),
    Marker(
        Anchored(
            re.compile(
                r"(?<![a-z])(?:false|incorrect|wrong)\s+(?:answer\s+)?(?:option|choice|one|"
                rf"statement|alternative)s?(?:\s+here)?{_QUOTES}{_ADVERB}\s*+{_QUOTES}"
                rf"(?:{_COLON}|{_IS})"
            ),
            ("false", "incorrect", "wrong"),
        ),
        MARK,
        ODD_ONE,
        latin=True,
    ),
    Marker(
        Gated(
            re.compile(
                r"(?<![a-z])(?:i|we|i'd|i'll|i'm|i am|let's|let us|we'd|we'll|i would|we would|"
                rf"must|should)\s+(?:(?:would|will|{THEREFORE.west}|must|should|"
                r"have to|can|now|finally|confidently|then|also|definitely|ultimately)"
                r"\s+){0,3}(?:choose|select|pick|go with|going with|going for|go for|opt "
                r"for|vote for|settle on)(?:\s+(?:answer|option|choice))?\s*:?"
            ),
            _CHOOSING,
        ),
        MARK,
        "I choose",
        latin=True,
    ),
    Marker(
        Anchored(
            re.compile(
                rf"(?:{alternation(_FOREIGN)})"
                r"(?:\s+(?:correcta|correta|corretta|correcte|final|finale|finala|richtige|"
                r"правильный|đúng|benar))?(?:\s+(?:correcta|final|finale))?"
                rf"{_QUOTES}\s*+(?::|—|-(?=\s)|(?:{alternation(split(IS.other))})(?![a-z]))"
            ),
            _FOREIGN,
        ),
        MARK,
        "marker line",
    ),
)
