"""Options stated in their own words by a sentence that says which one it is.

``The most likely diagnosis is pulmonary embolism``, ``まず行うべき処置は胸腔ドレナージである``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from difficulty.grading.normalize import Normal
from difficulty.grading.read.options import Mention, Options, begins_sentence
from difficulty.grading.words.answers import ANSWER
from difficulty.grading.words.doubts import SUPPOSE, SUPPOSED
from difficulty.grading.words.joints import AND, OR, OR_PARTICLE, THEREFORE
from difficulty.grading.words.phrases import REFUSAL, Phrases

SENTENCE = re.compile(r"[^.!?。\n]+(?:(?:\.(?=\d)|(?<=[^a-z][a-z])\.)[^.!?。\n]*)*[.!?。]?")
"""A sentence; the point of ``1.5`` and of ``B. Lisinopril`` does not end it."""

MAX_SENTENCE = 1000
"""Characters of a sentence that is looked at; a longer one states nothing plainly."""

_LEAD = Phrases(
    re.compile(
        r"(?:\bmost (?:likely|probable|appropriate|suitable|accurate|plausible|consistent|"
        r"reasonable|effective)|\bbest|\bnext|\bfirst(?:-line)?|\bcorrect|\bright|\bpreferred|"
        r"\brecommended|\bideal|\boptimal|\bdefinitive|\binitial|\bdiagnosis|\bof choice|\bdrug|"
        r"\btreatment|\bculprit|\bcause|\bmechanism)(?:[\s-][a-z'-]+){0,7}?,?(?: which)? (?:is|"
        r"would be|should be|"
        r"will be|must be|remains)(?: to)?\s|"
        r"\b(?:patient|child|infant|man|woman|boy|girl|he|she|this|it) (?:most likely |clearly |"
        r"probably |likely |must )?(?:has|have|is|shows|suggests|represents|indicates) |"
        r"\b(?:consistent with|diagnostic of|characteristic of|pathognomonic for|typical of|"
        r"classic for|points? to|suggestive of|due to|caused by|called|known as|specific for|"
        r"deficiency of|i'd start|i would (?:start|give|order|choose|recommend|prescribe)|"
        r"switched to|treated with|start|favou?rs?|proceed (?:directly )?to|indicates) |\bmakes |"
        r"\bleaves |"
        r"最も|まず|最初に|第一(?:に|選択)|直ちに|診断(?:は|として)|べき|残る|"
        r"缺乏|由于|最可能|首先考虑|更?支持|提示|诊断(?:为|是)|考虑(?:为|诊断)|最(?:符合|合适|"
        r"恰当|佳)|应(?:首选|选择)|"
        r"가장|우선"
    ),
    (
        "likely", "most ", "best", "next", "first", "correct", "right", "preferred", "recommended",
        "ideal", "optimal", "definitive", "initial", "diagnos", "choice", "drug", "treatment",
        "culprit", "cause", "mechanism", " has ", " have ", " is ", "shows", "suggest",
        "represents", "indicates", "consistent", "characteristic", "pathognomonic", "typical",
        "classic", "point", "due to", "called", "known as", "specific", "deficiency", "i'd",
        "i would", "switched", "treated", "start", "favo", "proceed", "makes ", "leaves ", "缺乏",
        "由于", "最", "まず", "第一", "直ちに", "診断", "べき", "残る", "首先", "诊断", "考虑",
        "应",
        "支持", "提示", "가장", "우선",
    ),
)  # fmt: skip
"""Words after which the option that is named next is the one that is meant."""

_AFTER = re.compile(
    r"[\s)*_\]」\"']{0,4}(?:\([^()\n]{1,20}\))?[\s*_]{0,3}(?:"
    rf"(?:is|was|would be|should be|must be) (?:(?:{THEREFORE.west}|clearly|definitely) )?"
    r"(?:the|a|an)?\s?(?:\w+ly )?(?:single |one |only |most )?(?:best|correct|right|likely|"
    r"appropriate|preferred|first-line|answer|treatment of choice|drug of choice|indicated\b|"
    r"recommended\b|diagnosis)|"
    r"it is\b|best (?:explains|fits|accounts|describes)|"
    r"(?:が|を|は)(?:最も|第一選択|最適|適切(?!で(?:は)?な)|疑う|疑われ|考える|考えられ|該当す|"
    r"妥当で|"
    rf"優先|推奨され(?!な)|{ANSWER.east}|正しい|選択す|選ぶ(?!べきで(?:は)?な)|"
    r"行う(?:べき(?!で(?:は)?な))?|"
    r"投与す|開始す|施行す)|と(?:診断|考えられ|考える|判断|する)|"
    r"でよい|で良い|である(?:。|$)|です(?:。|$)|の可能性が(?:最も)?高|"
    r"的可能性(?:最|较)?大|可能性最|(?:이|가)\s?가장|의 가능성이|[을를] (?:시행|선택|투여|실시))"
)
_ASIDE = re.compile(r"\b(?:although|whereas|while|despite|unlike|though)\b")
_ASIDE_FIRST = re.compile(r"\W{0,4}(?:although|while|whereas|despite|unlike|though|even though)\b")
_GAP = re.compile(
    rf"[\s*_\"'(:]*(?:(?:the|an?|to|likely|probably|most|{THEREFORE.west}|clearly|definitely|with|of|"
    r"start|give|perform|order|option|choice|deficient|oral|intravenous|"
    r"[a-h][).:])[\s*_\"'(:]*){0,4}|"
    r"[^a-z、。,.]{0,14}"
)
_EQUALS = re.compile(r"=[\s$*]{0,4}\Z")
_ENDS = re.compile(r"[\s$*.。]{0,6}(?:\n|\Z)")
_NOT_MEANT = re.compile(
    r"\b(?:would|could|might|may)\s+(?!(?:be (?:the|best|most|fine|a)|choose|pick|select|go|"
    r"start|give|order|recommend|say|answer|treat|prescribe|perform|use)\b)|"
    rf"\b(?:if|{SUPPOSE.west}|history of|common|commonly|usually|"
    rf"rule out|such as)\b|鑑別|除外|一般に|場合|鉴别|除了|경우|{(SUPPOSE + SUPPOSED).east}"
)


def stated(reply: Normal, start: int, options: Options) -> Iterator[Mention]:
    """The option that a sentence states in its own words, sentence by sentence."""
    mentions = list(options.mentions(reply.low, start, len(reply.low)))
    mentions = without_echo(reply.low, mentions, options)
    mentions = [item for item in mentions if not begins_sentence(reply.low, item, options)]
    if not mentions:
        return
    index = 0
    for sentence in SENTENCE.finditer(reply.low, start):
        begin, end = sentence.span()
        here = index
        while index < len(mentions) and mentions[index].start < end:
            index += 1
        if index > here:
            mention = _stated_in(reply.low, begin, end, mentions[here:index])
            if mention is not None:
                yield mention
        if index == len(mentions):
            return


def without_echo(low: str, mentions: list[Mention], options: Options) -> list[Mention]:
    """Leave out a copy of the question's options: all of them, one after the other."""
    count = len(options.labels)
    for first in range(len(mentions) - count + 1):
        copied = mentions[first : first + count]
        if tuple(item.label for item in copied) == options.labels and all(
            len(low[one.end : other.start].strip()) <= 4 for one, other in pairwise(copied)
        ):
            return mentions[:first] + mentions[first + count :]
    return mentions


def _stated_in(low: str, begin: int, end: int, mentions: list[Mention]) -> Mention | None:
    if end - begin > MAX_SENTENCE or low[end - 1] == "?" or REFUSAL.search(low, begin, end):
        return None
    meant = [item for item in mentions if _is_meant(low, begin, end, item)]
    labels = {item.label for item in meant}
    return meant[0] if len(labels) == 1 and not _joined(low, meant[0], mentions) else None


def _is_meant(low: str, begin: int, end: int, item: Mention) -> bool:
    """Whether words of choice lead to an option, or follow it, and no supposition is made."""
    clause = max(low.rfind(mark, begin, item.start) for mark in ",;") + 1 or begin
    begin = (
        max(low.rfind(mark, begin, item.start) for mark in ("が、", "が,", "ものの、")) + 1 or begin
    )
    judged = clause if _ASIDE_FIRST.match(low, begin) else begin
    if _NOT_MEANT.search(low, judged, item.end) or _ASIDE.search(low, clause, item.start):
        return False
    if _AFTER.match(low, item.end, end) or (
        _EQUALS.search(low, begin, item.start) and _ENDS.match(low, item.end)
    ):
        return True
    lead = _last_end(low, begin, item.start)
    return lead is not None and _GAP.fullmatch(low, lead, item.start) is not None


_BESIDE = OR + AND + OR_PARTICLE
_JOINT = re.compile(rf"\s*(?:[,/、]|{_BESIDE.west}|{_BESIDE.east})\s*")


def _joined(low: str, item: Mention, mentions: list[Mention]) -> bool:
    """Whether another option stands beside it: ``X or Y``."""
    near = [other for other in mentions if other.label != item.label]
    return any(
        _JOINT.fullmatch(low, one.end, two.start)
        for one, two in (
            (min(item, other, key=_start), max(item, other, key=_start)) for other in near
        )
    )


def _start(item: Mention) -> int:
    return item.start


def _last_end(low: str, begin: int, end: int) -> int | None:
    """Where the last of the leading words ends; null if there are none."""
    if _LEAD.search(low, begin, end) is None:
        return None
    return max(found.end() for found in _LEAD.pattern.finditer(low, begin, end))
