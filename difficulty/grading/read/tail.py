"""What a reply says after its declared option: another one instead, another one as well, or none.

Only short, plain words are read here: ``Sorry, D.``, ``or D``, ``Dも正解``, ``Correction: D``. An
option that an explanation merely mentions contradicts nothing.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from itertools import islice

from difficulty.grading.normalize import Normal
from difficulty.grading.read.declare import runs_on, sentence_start
from difficulty.grading.read.labels import after_own_words, case_fits, read_labels
from difficulty.grading.read.options import Options, denied
from difficulty.grading.read.settle import Declared
from difficulty.grading.words.denials import REJECTED
from difficulty.grading.words.joints import OR, OR_PARTICLE
from difficulty.grading.words.phrases import TAKEN_BACK
from difficulty.grading.words.turns import AS_WELL, CLAUSE, FIRST_CLAUSE, INSTEAD, MAX_CLAUSES

_SLASH = re.compile(
    r"[\s.。)\]}>*_\"'`」,]{0,8}+(?:</?\w+>)?(?:です|である|입니다|이다)?[。.]?\s*(?:/|→|⇒|"
    r"[-=]>)\s*"
)
_REJECTS = re.compile(rf"{REJECTED}|\bwhereas\b|誤|不|違")
_GOOD = (
    r"(?:correct|right|true|good|valid|acceptable|possible|plausible|appropriate|suitable|likely|"
    r"fine|an? (?:correct |right |possible |valid )?(?:answer|option|possibility)|the answer)"
)
_TOO = (
    rf"(?:(?:is|was|would be|could be|are) (?:also|equally|just as) {_GOOD}\b|"
    rf"(?:is|are|was) {_GOOD},? (?:as well|too)\b|(?:is|works|fits|would work),? too(?=[.,;!\n]|$)|"
    r"(?:would|could|might|may) (?:also |well )(?:be|work|fit)|"
    r"も(?:正解|正しい|正答|答え|可(?!能)|当てはま(?!ら)|許容|"
    r"認め(?!られな)|あり得る|ありうる)|也(?:对|正确|可以?(?!能))|도 (?:맞|정답|"
    r"가능하))"
)
_RIGHT_TOO = re.compile(rf"[)\]*\"']{{0,3}}\s*{_TOO}")
_ANY_TOO = re.compile(_TOO)
_ENDS = re.compile(
    r"[)\]}*_\"'`]{0,6}(?:\s*(?:[.!。\n]|$)|\s*(?:です|である|でした|だ|입니다|이다)|"
    r"\s+(?:is|was) (?:right|correct|better|it|the)\b)"
)
_WRAP = re.compile(r"[*_\"'(]{0,6}")
_OR = OR + OR_PARTICLE
_EITHER_LIST = re.compile(rf"[(*]{{0,3}}\w[)*]{{0,3}},?\s*(?:(?:{_OR.west})\b|/|{_OR.east})")
_ENDS_LINE = re.compile(r"[)\]}*_\"'`]{0,6}\s*[.!。]?\s*(?:\n|$)")


def after_declared(
    reply: Normal, declared: Declared, options: Options, *, several: bool = False
) -> Declared | None:
    """The declared option with what follows it taken into account; null if it is taken back.

    ``several``: the question asks for a set of options.
    """
    low = reply.low
    if declared.many or declared.end >= len(low) or runs_on(low, declared.end):
        return declared
    start = after_own_words(reply, declared.end, declared.value.split(",")[-1], options)
    slash = _SLASH.match(low, start)
    if slash and _other_at(reply, slash.end(), declared, options):
        return replace(declared, many=True)
    if _another_too(reply, start, declared, options):
        return replace(declared, many=True)
    found = declared
    first = FIRST_CLAUSE.match(low, start)
    clauses = islice(CLAUSE.finditer(low, start), MAX_CLAUSES)
    for words in (first, *clauses) if first else clauses:
        after = _after_words(reply, words, found, options, several=several)
        if after is None or after.many:
            return after
        found = after
    return None if found is declared and TAKEN_BACK.search(low, start) else found


def _after_words(
    reply: Normal, words: re.Match[str], declared: Declared, options: Options, *, several: bool
) -> Declared | None:
    """The answer that stands after one clause of the tail."""
    said = words["words"]
    if not said and _EITHER_LIST.match(reply.low, words.end()) is None:
        return declared
    place = _place_at(reply, words.end(), options)
    if place is None:
        return declared
    value, begin, end, either = place
    same = set(value.split(",")) == set(declared.value.split(","))
    if not said and not (either and declared.value in value.split(",")):
        return declared
    if re.search(r"\bnot\b", said) and "but" not in said:
        return None if same and _ENDS.match(reply.low, end) else declared
    if same or denied(reply.low, begin, end):
        return declared
    instead, as_well = INSTEAD.search(said), either or AS_WELL.search(said)
    if not (_ENDS if instead or as_well else _ENDS_LINE).match(reply.low, end):
        return declared
    before = reply.low[sentence_start(reply.low, words.start("words")) : words.start("words")]
    if not instead and _REJECTS.search(before):
        return declared
    if instead and not as_well and (several or "," not in value):
        return replace(declared, value=value, start=begin, end=end, closed=False)
    return replace(declared, many=True)


def _place_at(reply: Normal, start: int, options: Options) -> tuple[str, int, int, bool] | None:
    """The labels, or the option in its own words, at ``start``; whether they are alternatives."""
    labels = read_labels(reply, start, options)
    if labels is not None and labels.labels and case_fits(reply, labels, options):
        return ",".join(labels.labels), labels.start, labels.end, labels.either
    wrap = _WRAP.match(reply.low, start)
    mention = options.text_at(reply.low, wrap.end() if wrap else start)
    return None if mention is None else (mention.label, mention.start, mention.end, False)


def _other_at(reply: Normal, start: int, declared: Declared, options: Options) -> bool:
    place = _place_at(reply, start, options)
    return (
        place is not None
        and place[0] != declared.value
        and not denied(reply.low, place[1], place[2])
    )


def _another_too(reply: Normal, start: int, declared: Declared, options: Options) -> bool:
    """Whether another option is called right as well: ``D is also correct``."""
    if _ANY_TOO.search(reply.low, start) is None:
        return False
    text = options.pattern.pattern if options.pattern else r"(?!)"
    for found in _label_or_text(options.chars.lower(), text).finditer(reply.low, start):
        place = _place_at(reply, found.start(), options)
        if place and place[0] != declared.value and _RIGHT_TOO.match(reply.low, place[2]):
            return True
    return False


@functools.lru_cache(maxsize=256)
def _label_or_text(chars: str, text: str) -> re.Pattern[str]:
    """Where a label, or an option's own words, may begin."""
    labels = rf"(?<![a-z0-9])[{chars}](?![a-z0-9])" if chars else r"(?!)"
    return re.compile(f"{labels}|{text}")
