"""Answers to multiple-choice questions that are declared by a conclusion instead of a marker.

``B is correct``, ``which leaves D``, ``bdが正しい``, ``只有选项C是对的``, a reply of one letter, a
reply that names one option in its own words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from difficulty.grading.declare import sentence_start
from difficulty.grading.labels import Labels, read_labels
from difficulty.grading.markers import CONCLUDE, WEAK
from difficulty.grading.normalize import Normal, line_spans
from difficulty.grading.options import Mention, Options
from difficulty.grading.phrases import REFUSAL
from difficulty.grading.settle import Declared

_JOIN = (
    r"[)\]*]{0,3}+\s{0,2}+(?:,\s?and\s|[,、・·/&]|and\s|と|和|与|및|와|과)?+\s{0,2}+[(\[*]{0,3}+"
)
_PREDICATE = (
    r"[)\]*\"'$:]{0,4}(?:"
    r"\s*,?\s{0,2}(?:is|are|was|must be|would be|should be|has to be|seems|"
    r"looks)\s+(?:\w+ly\s+|therefore\s+|thus\s+|also\s+|all\s+|both\s+){0,2}"
    r"(?:the\s+|our\s+|my\s+)?(?:\w+ly\s+)?(?:single\s+|one\s+|only\s+|most\s+)?(?:correct|"
    r"right|best|answers?\b|true\b|likely\b(?! to)|appropriate|suitable|"
    r"accurate|probable|fitting|choice|preferred|left\b|remaining)|"
    r"\s*(?:のみ|だけ)?(?:が|は|を|で)\s*(?:最も)?(?:正しい|正解|適切(?!で(?:は)?な)|該当(?!し?な)|選(?!べな|ばな|択しな|"
    r"ぶべきで(?:は)?な)|最適|妥当(?!で(?:は)?な)|答|ふさわしい|当てはま(?!ら)|適当(?!で(?:は)?な))|"
    r"\s*(?:项|選項|选项)?\s*(?:才|均|都)?(?:是|为|均为|為)?\s*(?:最)?(?:正确|正確|对的|對的|合适|合適|符合|最佳|恰当|"
    r"对(?=[。,.;!\s]|$))|"
    r"\s{0,2}:?\s{0,2}[○◯✓✔✅⭕]|"
    r"\s*번?(?:이|가)\s*(?:정답|맞|옳|적절|가장)|\s*번?(?:을|를)\s*(?:선택|고르|고른|택))"
)
_BEFORE = re.compile(
    r"(?P<so>(?<![a-z])(?:so|therefore|thus|hence|consequently|accordingly|in conclusion|"
    r"conclusion|overall|in summary|to conclude|ergo)[,:]?\s+"
    r"(?:it(?:'s| is| must be| has to be)\s|the \w+(?: \w+){0,4} (?:is|must be)\s|that(?:'s| "
    r"is)\s|this is\s|we (?:get|have)\s|i(?:'d| would)? say\s)?)|"
    r"(?P<leaves>(?<![a-z])(?:leaves?|leaving|left with|remains?|down to|points? (?:clearly |"
    r"strongly )?to|corresponds? to|namely|that would be|matches)\s+(?:us with |only |just |"
    r"me with )?)|"
    r"(?P<itis>(?:^|[.\n!:,]\s{0,3})(?:\W{0,3}(?:it's|it is|it must be|it has to be|must be|"
    r"i think|i believe|i say|i'd say|my guess is|my choice is|definitely|probably|clearly|"
    r"choose|select|pick|go with|i choose|i pick|i guess)\s+(?:it's |it is |the answer is |"
    r"that )?))|"
    r"(?P<only>(?<![a-z])only\s+(?=(?:option |choice |statement |answer "
    r")?[(*]{0,3}[a-h1-9][)*]{0,3} (?:is|fits|works|holds|remains|satisfies|matches|"
    r"explains)))|"
    r"(?P<cjk>(?:よって|したがって|従って|ゆえに|故に|以上より|以上から|結論として|因此|所以|综上所?述?|故|따라서|"
    r"그러므로)[、,:]?\s*(?:正解は|答えは|答案是|选项?|정답은|誤っているのは|誤りは)?\s*)|"
    r"(?P<only_zh>(?:只有|仅有?|唯有|仅)\s*)|"
    r"(?P<last>[.!]\s{1,3}(?=[(*]{0,3}[a-h1-9][)*]{0,3}[.!]?\s{0,3}$))"
)
_GATES = (
    "so ", "so,", "therefore", "thus", "hence", "conclu", "overall", "summary", "leav",
    "left with", "remain", "down to",
    "point", "correspond", "namely", "would be", "it's", "it is", "must be", "think", "believe",
    "say", "guess",
    "choice is", "definitely", "probably", "clearly", "only", "よって", "したがって", "従って",
    "ゆえに", "故",
    "以上",
    "結論", "因此", "所以", "综上", "따라서", "그러므로", "只有", "仅", "唯有", "choose",
    "select", "pick", "go with",
    "matches", "ergo",
    "accordingly", "consequently", "it has",
)  # fmt: skip
_LAST_LABEL = re.compile(r"[.!]\s{1,3}[(*]{0,3}[a-h1-9][)*]{0,3}[.!]?\s{0,3}$")
_STOP = re.compile(
    r"\s*(?:[.!;。,、\n)]|$|である|です|だ[。\n]|だ$|となる|が(?:正|適|最|該)|を選|입니다|이다|項?正确|项|对|正|是|because|"
    r"since|as\b|:)|"
    r"\s+(?:is|fits|works|holds|remains|satisfies|matches|explains)\b"
)
_ONCE_THOUGHT = re.compile(r"\s*(?:だ|である)?と[^。、\n]{0,6}(?:思っ|考え)(?:た|てい)")
_CONCLUDING = re.compile(
    r"^\W{0,4}(?:so|therefore|thus|hence|consequently|in conclusion|overall|in summary|to "
    r"conclude|conclusion|accordingly|my answer|final|"
    r"よって|したがって|従って|ゆえに|以上より|以上から|結論|因此|所以|综上|故|따라서|그러므로)(?![a-z])"
)
_STATING = re.compile(
    r"\W{0,4}(?:this|that|these|it|the \w+)(?: \w+)? (?:is|are|must be|fits?|points? to)\b"
)
_SENTENCE = re.compile(r"[^.!?。\n]+(?:\.(?=\d)[^.!?。\n]*)*[.!?。]?")


@functools.lru_cache(maxsize=256)
def _predicate_pattern(chars: str) -> re.Pattern[str]:
    labels = rf"(?P<l>[{chars}](?:{_JOIN}[{chars}]){{0,7}})"
    return re.compile(rf"(?<![a-z0-9_^\\'°-]){labels}{_PREDICATE}")


def conclusions(reply: Normal, start: int, options: Options) -> list[Declared]:
    """Answers that a sentence from ``start`` on concludes with, in reading order."""
    found = list(_by_predicate(reply, start, len(reply.low), options))
    if any(gate in reply.low for gate in _GATES) or _LAST_LABEL.search(reply.low[-12:]):
        found.extend(_by_lead(reply, start, len(reply.low), options))
    found.extend(_by_concluding_words(reply, start, options))
    found = [item for item in found if not _questioned(reply.low, item)]
    if not found:
        return []
    top = max(item.rank for item in found)
    return sorted((item for item in found if item.rank == top), key=lambda item: item.start)


def within(reply: Normal, start: int, end: int, options: Options) -> list[Declared]:
    """Conclusions inside one declared line, as in ``Answer: C does not hold, which leaves D``."""
    found = [*_by_lead(reply, start, end, options), *_by_predicate(reply, start, end, options)]
    return [item for item in found if item.end <= end]


def _by_predicate(reply: Normal, start: int, end: int, options: Options) -> Iterator[Declared]:
    """Labels before ``is correct``, ``が正しい``, ``是对的``."""
    if not options.chars:
        return
    for found in _predicate_pattern(options.chars.lower()).finditer(reply.low, start, end):
        labels = read_labels(reply, found.start("l"), options)
        if labels is None or not labels.labels or _ONCE_THOUGHT.match(reply.low, found.end()):
            continue
        if _case_fits(reply, labels, options):
            yield _declared(labels, WEAK, "concluding sentence")


def _by_lead(reply: Normal, start: int, end: int, options: Options) -> Iterator[Declared]:
    """Labels after ``therefore``, ``which leaves``, ``よって``."""
    for found in _BEFORE.finditer(reply.low, start, end):
        if found["last"] and _lists_options(reply, options):
            continue
        labels = read_labels(reply, found.end(), options)
        if labels is None or not labels.labels or not _case_fits(reply, labels, options):
            continue
        if "\n" not in reply.low[found.end() : labels.start] and _STOP.match(reply.low, labels.end):
            yield _declared(labels, CONCLUDE, "concluding sentence")


def _case_fits(reply: Normal, labels: Labels, options: Options) -> bool:
    """A loose lower-case letter is not a label where the labels are upper case."""
    first = reply.text[labels.start]
    bracketed = labels.start > 0 and reply.text[labels.start - 1] in "([*\"'"
    return first in options.labels or bracketed


def _by_concluding_words(reply: Normal, start: int, options: Options) -> Iterator[Declared]:
    """The one option whose own words a sentence such as ``Therefore ...`` names."""
    sentences = list(_SENTENCE.finditer(reply.low, start))
    for sentence in sentences:
        last = sentence is sentences[-1] and _STATING.match(sentence.group())
        if not (last or _CONCLUDING.match(sentence.group())) or REFUSAL.search(sentence.group()):
            continue
        mentions = list(options.mentions(reply.low, sentence.start(), sentence.end()))
        if len({mention.label for mention in mentions}) == 1:
            yield _of_mentions(mentions, CONCLUDE, "option named in a conclusion")


def named(reply: Normal, start: int, options: Options) -> list[Mention]:
    """Options named in their own words from ``start`` on; empty where the reply refuses or asks."""
    low = reply.low
    body = low[start:].strip(" \n\t.。*_\"'`$()「」")
    if body in options.texts:
        position = low.find(body, start)
        return [Mention(options.texts[body], position, position + len(body))]
    if _UNSETTLED.search(low, start):
        return []
    mentions = [
        mention
        for mention in options.mentions(low, start, len(low))
        if re.search(r"[^\W\d_]", low[mention.start : mention.end])
        and mention.end - mention.start >= (3 if low[mention.start].isascii() else 2)
    ]
    return [item for item in mentions if not _doubted(low, item)]


_UNSETTLED = re.compile(
    r"\b(?:answer|option|choice)s?\b[^.\n]{0,40}?(?:\bnot\b|n't\b|cannot\b)|"
    r"(?:正解|答え)は[^。\n]{0,20}(?:ない|ません)"
)
"""A reply that only says what the answer is not names none by mentioning an option."""


def _doubted(low: str, item: Mention) -> bool:
    """Whether the sentence of a mention asks or refuses."""
    reach = min(len(low), item.end + 300)
    ends = [end for mark in ".。\n" if (end := low.find(mark, item.end, reach)) >= 0]
    sentence = sentence_start(low, item.start), min(ends, default=reach)
    return _asked(low, item.end) or REFUSAL.search(low, *sentence) is not None


def bare(reply: Normal, options: Options) -> list[Declared]:
    """A reply, or its first or last line, that is nothing but a label and perhaps its option."""
    spans = line_spans(reply.text)
    if not spans:
        return []
    ends = [spans[0]] if len(spans) == 1 else [spans[0], spans[-1]]
    found = [item for span in ends if (item := _bare_line(reply, *span, options)) is not None]
    if found and _lists_options(reply, options):
        several = [item for item in found if 0 < item.value.count(",") < len(options.labels) - 1]
        return [item for item in found if item.how == "bare label"][-1:] or several[-1:]
    return found


_ITEM_NUMBER = re.compile(r"\s*\d{1,3}[.)]\s+(?=[(*\[]{0,3}[a-h][)*\].]{0,3}\s*$)", re.MULTILINE)
_QA_PREFIX = re.compile(r"\s*a\s*:\s*(?=[(*\[]{0,3}[a-h][)*\].]{0,3}\s*$)", re.MULTILINE)


_BARE_LEAD = re.compile(
    r"\W*(?:only |just )?(?:\d{1,3}[.)]\s*)?(?:(?:option|choice|letter|選択肢|选项|선택지)\s*)?\W*"
)


def _bare_line(reply: Normal, start: int, end: int, options: Options) -> Declared | None:
    prefix = _QA_PREFIX.match(reply.low, start)
    number = _ITEM_NUMBER.match(reply.low, start)
    lead = prefix or number
    labels = read_labels(reply, lead.end() if lead else start, options)
    if labels is None or not labels.labels or labels.end > end:
        return None
    if not prefix and not _BARE_LEAD.fullmatch(reply.low, start, labels.start):
        return None
    rest = reply.low[labels.end : end].strip(" .:)-–—,*_`\"'。번です입니다")
    if not rest:
        return _declared(labels, CONCLUDE, "bare label")
    own = options.own_words(labels.labels[-1])
    if own and rest.startswith(own):
        return _declared(labels, CONCLUDE, "label and option")
    only_line = not reply.text[:start].strip() and not reply.text[end:].strip()
    reasoned = re.match(r"\s+(?:because|since|as it|due to|given)\b", reply.low[labels.end : end])
    if only_line and (reasoned or reply.text[labels.end : labels.end + 1] in set(".):,")):
        return _declared(labels, CONCLUDE, "label and words")
    return None


def _lists_options(reply: Normal, options: Options) -> bool:
    """Whether two or more options are listed with their labels, as a copy of the question does."""
    pattern = rf"(?:^|[\s(*])([{options.chars}])[).:][\s*]"
    return len({found.lower() for found in re.findall(pattern, reply.text)}) >= 2


def _declared(labels: Labels, rank: int, how: str) -> Declared:
    many = len(labels.labels) > 1
    return Declared(",".join(labels.labels), labels.start, labels.end, rank, how, many=many)


def _of_mentions(mentions: list[Mention], rank: int, how: str) -> Declared:
    last = mentions[-1]
    return Declared(last.label, last.start, last.end, rank, how)


def _questioned(low: str, item: Declared) -> bool:
    before = low[sentence_start(low, item.start) : item.start]
    return _asked(low, item.end) or _SUPPOSED.search(before) is not None


_SUPPOSED = re.compile(
    r"\b(?:if|whether|unless|suppose|(?:not|say|says|claim|claims|think) that|thought(?: that)?) "
    r"(?:option |answer |choice )?\W*$"
)


def _asked(low: str, end: int) -> bool:
    """Whether the sentence goes on to a question mark."""
    return re.compile(r"[^.!?。\n]{0,120}\?").match(low, end) is not None
