"""Answers to multiple-choice questions that are declared by a conclusion instead of a marker.

``B is correct``, ``which leaves D``, ``bdが正しい``, ``只有选项C是对的``, a reply of one letter, a
reply that names one option in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from difficulty.grading.normalize import Normal
from difficulty.grading.read.declare import sentence_start
from difficulty.grading.read.judged import right_ones, singled_out
from difficulty.grading.read.labels import Labels, case_fits, read_labels
from difficulty.grading.read.options import Mention, Options, begins_sentence, option_key
from difficulty.grading.read.settle import Declared
from difficulty.grading.read.stated import SENTENCE, stated, without_echo
from difficulty.grading.words.anchors import Anchored
from difficulty.grading.words.answers import ANSWER
from difficulty.grading.words.denials import REJECTED
from difficulty.grading.words.doubts import ASSUME, SUPPOSE, SUPPOSED
from difficulty.grading.words.joints import AND, OR
from difficulty.grading.words.leads import (
    CONCLUDING,
    NOT_CHOSEN,
    ONCE_THOUGHT,
    SINGLED_OUT,
    STATING,
    STOP,
    leads,
)
from difficulty.grading.words.markers import CONCLUDE, ODD_ONE, WEAK
from difficulty.grading.words.phrases import REFUSAL, UNASSERTED
from difficulty.grading.words.predicates import LabelChars, predicates
from difficulty.grading.words.word_lists import alternation, split


def conclusions(reply: Normal, start: int, options: Options) -> list[Declared]:
    """Answers that a sentence from ``start`` on concludes with, in reading order."""
    found = list(_by_predicate(reply, start, len(reply.low), options))
    found.extend(_by_lead(reply, start, len(reply.low), options))
    found.extend(_by_concluding_words(reply, start, options))
    found = [item for item in found if not _questioned(reply.low, item)]
    if any(item.how != ODD_ONE for item in found):
        found = [item for item in found if item.how != ODD_ONE]
    if not found:
        return _of_verdicts(reply, start, options) or _of_stated(reply, start, options)
    top = max(item.rank for item in found)
    return sorted((item for item in found if item.rank == top), key=lambda item: item.start)


def _of_verdicts(reply: Normal, start: int, options: Options) -> list[Declared]:
    """The right ones of a list of verdicts."""
    right = right_ones(reply, start, options) or singled_out(reply, start, options)
    return [Declared(item.label, item.start, item.end, WEAK, "list of verdicts") for item in right]


def _of_stated(reply: Normal, start: int, options: Options) -> list[Declared]:
    """Options that a sentence states in their own words."""
    found = [_of_mentions([item], WEAK, "option stated") for item in stated(reply, start, options)]
    return [item for item in found if not _questioned(reply.low, item)]


def concluded_before_cut(low: str, item: Declared) -> bool:
    """Whether a conclusion was finished before the cut: no step on the way to another one."""
    if item.how in {"bare label", "label and option", "option and label"}:
        return True
    if item.rank == WEAK and _OPENING.fullmatch(low, 0, item.start):
        return True
    ended = re.compile(r"[^.。!\n]{0,200}(?:[.。!]\s|。|\n)").match(low, item.end) is not None
    begin = sentence_start(low, item.start)
    first = item.rank > WEAK and not low[:begin].strip()
    return ended and (first or CONCLUDING.match(low, begin) is not None)


_OPENING = re.compile(r"\W*(?:(?:the )?(?:correct |right )?(?:answer|option|choice)\W*)?")


def within(reply: Normal, start: int, end: int, options: Options) -> list[Declared]:
    """Conclusions inside one declared line, as in ``Answer: C does not hold, which leaves D``."""
    found = [*_by_lead(reply, start, end, options), *_by_predicate(reply, start, end, options)]
    return [item for item in found if item.end <= end]


def _by_predicate(reply: Normal, start: int, end: int, options: Options) -> Iterator[Declared]:
    """Labels before ``is correct``, ``が正しい``, ``是对的``."""
    if not options.chars:
        return
    chars = LabelChars(options.exact, options.chars)
    for found in predicates(reply.text, reply.low, (start, end), chars):
        begin = found.start("l")
        if "," in found["l"] and _TAIL.search(reply.low, max(0, begin - 10), begin):
            begin += found["l"].index(",") + 1
        labels = read_labels(reply, begin, options)
        if labels is None or not labels.labels or ONCE_THOUGHT.match(reply.low, found.end()):
            continue
        if _NOT_HELD.match(reply.low, found.end()) or _is_conditional(reply.low, found):
            continue
        if found["end"] and not _FREE.search(reply.low, max(0, labels.start - 2), labels.start):
            continue
        if case_fits(reply, labels, options):
            how = ODD_ONE if found["odd"] else "concluding sentence"
            yield of_labels(labels, WEAK, how)


_NOT_HELD = re.compile(
    r"\s*,?\s*(?:but|yet|though)\s+(?:it\s+)?(?:actually\s+|really\s+|in fact\s+)?(?:(?:is|was|'s) "
    r"(?:actually |in fact )?(?:wrong|incorrect|not|false)\b|isn't|wasn't|not\b|fails\b)|"
    r"\s+(?:distractor|trap|decoy)s?\b|"
    r"[^.;,!\n]{0,12}?\s(?:(?:that )?(?:most|many|some|other|weaker) (?:students|people|candidates|"
    r"test[- ]takers|residents)|according to (?:my|a|an|some|many|most|other)\b)"
)
"""After ``is the best``: another person's view, or one that is given up at once."""
_CONDITION = re.compile(
    rf"[^.;!\n]{{0,80}}?\b(?:if|{SUPPOSE.west}|were|had)\b|"
    r"\s*(?:for|in|when|with)\s(?!this|the|these|her|him|our|such|general)"
)


def _is_conditional(low: str, found: re.Match[str]) -> bool:
    """``B would be correct if ...``: it is not."""
    return "would" in found.group() and _CONDITION.match(low, found.end()) is not None


_TAIL = re.compile(rf"[a-z0-9)],?\s(?:{(OR + AND).west}|&)\s\Z")
"""The label after these words ends a list, and the next one begins a clause."""
_FREE = re.compile(r"(?:^|[\s。、,:(「『*はがとでのもに])\Z")
"""What may stand before a label that ends a sentence: not the word of ``ビタミンCである``."""


def _by_lead(reply: Normal, start: int, end: int, options: Options) -> Iterator[Declared]:
    """Labels after ``therefore``, ``which leaves``, ``よって``."""
    low = reply.low
    for lead in leads(low, start, end):
        if lead.kind == "last" and (
            lists_options(reply, options) or _not_concluding(low, lead.start)
        ):
            continue
        singled_out = lead.kind == "but"
        labels = read_labels(reply, lead.end, options, even_denied=singled_out)
        if labels is None or not labels.labels or not case_fits(reply, labels, options):
            continue
        if ONCE_THOUGHT.match(low, labels.end):
            continue
        if lead.kind == "choose" and _not_chosen(low, lead.start):
            continue
        if singled_out and not SINGLED_OUT.match(low, labels.end):
            continue
        if len(labels.labels) == len(options.labels) > 2:
            continue
        if "\n" not in low[lead.end : labels.start] and STOP.match(low, labels.end):
            yield of_labels(labels, CONCLUDE, "concluding sentence")


_ASKED_FOR = re.compile(r"\b(?:options?|choices?|format|letters?|following|labels?)\W{0,3}\Z")
"""Before a colon and a label: the label is an example of what is asked for."""
_REJECTED = re.compile(
    rf"(?:{REJECTED}|\b(?:trap|worst|avoid|unlikely|contraindicated)\b)[^.:\n]{{0,16}}\Z"
)
"""Before a colon and a label: the label is rejected."""


def _not_concluding(low: str, sign: int) -> bool:
    """Whether the words before a colon or full stop ask for, or reject, the label after it."""
    before = max(0, sign - 30)
    if _ASKED_FOR.search(low, before, sign):
        return True
    return low[sign] == ":" and _REJECTED.search(low, before, sign) is not None


def _not_chosen(low: str, start: int) -> bool:
    """Whether a verb of choosing at ``start`` is denied, supposed or another person's."""
    return NOT_CHOSEN.search(low, sentence_start(low, start), start) is not None


def _by_concluding_words(reply: Normal, start: int, options: Options) -> Iterator[Declared]:
    """The one option whose own words a sentence such as ``Therefore ...`` names."""
    low = reply.low
    sentences = list(SENTENCE.finditer(low, start))
    for sentence in sentences:
        last = sentence is sentences[-1] and STATING.match(sentence.group())
        if not (last or CONCLUDING.match(sentence.group())) or REFUSAL.search(sentence.group()):
            continue
        mentions = [
            item
            for item in options.mentions(low, sentence.start(), sentence.end())
            if not begins_sentence(low, item, options)
        ]
        if len({mention.label for mention in mentions}) == 1 and not _doubted(low, mentions[-1]):
            yield _of_mentions(mentions, CONCLUDE, "option named in a conclusion")


def named(reply: Normal, start: int, options: Options) -> list[Mention]:
    """Options named in their own words from ``start`` on; empty where the reply refuses or asks."""
    low = reply.low
    body = low[start:].strip(" \n\t.。*_\"'`$()「」")
    label = options.texts.get(option_key(body)) if len(body) <= options.longest + 40 else None
    if label is not None:
        position = low.find(body, start)
        return [Mention(label, position, position + len(body))]
    if next(_UNSETTLED.finditer(low, start), None) is not None:
        return []
    mentions = [
        mention
        for mention in options.mentions(low, start, len(low))
        if re.search(r"[^\W\d_]|\d{3}", low[mention.start : mention.end])
        and mention.end - mention.start >= (3 if low[mention.start].isascii() else 2)
    ]
    return [item for item in without_echo(low, mentions, options) if not _doubted(low, item)]


_UNSETTLED = Anchored(
    re.compile(
        r"\b(?:answer|option|choice)s?\b[^.\n]{0,40}?(?:\bnot\b|n't\b|cannot\b)|\bwhy not\b|"
        rf"(?:{alternation(split(ANSWER.japanese))})は[^。\n]{{0,20}}(?:ない|ません)"
    ),
    ("answer", "option", "choice", "why not", *split(ANSWER.japanese)),
)
"""A reply that only says what the answer is not names none by mentioning an option."""


def _doubted(low: str, item: Mention) -> bool:
    """Whether the sentence of a mention asks or refuses."""
    reach = min(len(low), item.end + 300)
    ends = [end for mark in ".。\n" if (end := low.find(mark, item.end, reach)) >= 0]
    sentence = sentence_start(low, item.start), min(ends, default=reach)
    if _ALSO.match(low, item.end):
        return True
    if _asked(low, item.end) or REFUSAL.search(low, *sentence) is not None:
        return True
    if _ONE_OF_MANY.search(low, sentence[0], item.start) or _WEIGHED.search(low, *sentence):
        return True
    if _SUPPOSITION.match(low, sentence[0]) or _EASTERN_SUPPOSITION.search(low, *sentence):
        return True
    own = _OWN_LABEL_BEFORE.search(low, max(0, item.start - 8), item.start)
    end = own.start() if own else item.start
    before = low[sentence_start(low, end) : end].replace(",", " ")
    if UNASSERTED.search(before) is not None:
        return True
    return _WOULD.search(low, *sentence) is not None


_ALSO = re.compile(r"も(?:考|可|挙|疑|あり|候補)|也(?:可|有|能|应)|도 (?:가능|고려)")
_WEIGHED = re.compile(
    r"\b(?:contrary to|nothing (?:to )?(?:suggest|support)|differential|question is about|"
    r"i considered|should consider|might consider|mimics?|mistaken for|confused with)\b|"
    r"鑑別|除外|否定|まぎらわし|紛らわし|鉴别|排除|不宜|禁用|禁忌|慎用|不用|감별|배제"
)
"""Words of a sentence in which an option is weighed and not chosen."""
_SUPPOSE = SUPPOSE + ASSUME
_SUPPOSITION = re.compile(rf"\W{{0,4}}(?:if|{_SUPPOSE.west}|had|should|were|in case)\b")
_EASTERN_SUPPOSITION = re.compile(rf"なら[、,]|{(SUPPOSE + SUPPOSED).east}")
_ONE_OF_MANY = re.compile(
    r"\b(?:includ(?:e|es|ed|ing)|such as|many|several|various|rang(?:e|es|"
    r"ing) from)\b[^.;]{0,120}\Z|(?:など|挙げられ)"
)
_OWN_LABEL_BEFORE = re.compile(r"(?<![^\W\d_])\w[.):\s*]{1,4}\Z")
_WOULD = re.compile(
    r"(?<!i )(?<!we )\b(?:would|might) (?!be (?:the|best|most|fine|right|appropriate|correct|"
    r"given)\b|"
    r"choose|pick|select|go|start|give|order|recommend|say|answer|treat|prescribe|perform|use)"
)
"""What an option would do or show is no choice of it."""


def lists_options(reply: Normal, options: Options) -> bool:
    """Whether two or more options are listed with their labels, as a copy of the question does."""
    pattern = rf"(?:^|[\s(*])([{options.chars}])[).:][\s*]"
    if len({found.lower() for found in re.findall(pattern, reply.text)}) >= 2:
        return True
    return lists_own_words(reply, options)


def lists_own_words(reply: Normal, options: Options) -> bool:
    """Whether two or more options stand after their labels: ``a アスピリン b ワルファリン``."""
    mentions = options.mentions(reply.low, 0, len(reply.low))
    return len({item.label for item in mentions if _after_own_label(reply, item)}) >= 2


def _after_own_label(reply: Normal, item: Mention) -> bool:
    """Whether an option's own words follow its label: ``a アスピリン``."""
    before = reply.text[max(0, item.start - 6) : item.start].rstrip(" .:)-*")
    return before[-1:] == item.label and not before[-2:-1].isalnum()


def of_labels(labels: Labels, rank: int, how: str) -> Declared:
    """Labels as a declared answer; several are a hedge."""
    many = len(labels.labels) > 1
    value = ",".join(labels.labels)
    return Declared(
        value, labels.start, labels.end, rank, how, many=many, either=labels.either
    )  # fmt: skip


def _of_mentions(mentions: list[Mention], rank: int, how: str) -> Declared:
    last = mentions[-1]
    return Declared(last.label, last.start, last.end, rank, how)


def _questioned(low: str, item: Declared) -> bool:
    before = low[sentence_start(low, item.start) : item.start]
    if _asked(low, item.end) or _SUPPOSED.search(before) is not None:
        return True
    return UNASSERTED.search(before) is not None


_SUPPOSED = re.compile(
    rf"\b(?:if|whether|{SUPPOSE.west}|(?:not|say|says|claim|claims|think) that|thought(?: that)?) "
    r"(?:option |answer |choice )?\W*$"
)


def _asked(low: str, end: int) -> bool:
    """Whether the sentence goes on to a question mark."""
    return re.compile(r"[^.!?。\n]{0,120}\?").match(low, end) is not None
