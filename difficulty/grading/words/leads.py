"""The words of a conclusion that stand before a label: ``which leaves D``, ``よって``.

Patterns are for lower-case normalised text, linear, and most are behind a gate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from difficulty.grading.words.anchors import Anchored, has_latin_words, places
from difficulty.grading.words.answers import ANSWER_IS
from difficulty.grading.words.denials import DENY, NOT_BUT
from difficulty.grading.words.doubts import SUPPOSE
from difficulty.grading.words.joints import EXCEPT, THEREFORE

_CHOOSING = (
    r"(?:choose|chose|select(?:ed)?|pick(?:ed)?|mark|circle|tick|answer(?:ing)?(?: with)?|"
    r"(?:go|going|went|gone) (?:with|for)|opt(?:ed|ing)? for|settled? (?:on|for)|vote for|"
    r"lean(?:ing)? towards?|return|submit|report|say|guess)"
)
_LABEL_ENDS = r"[(*]{0,3}[a-h1-9][)*]{0,3}[.!]?\s{0,3}$"


@dataclass(frozen=True)
class Lead:
    """Words after which a label is the conclusion."""

    kind: str
    start: int
    end: int


_SO = tuple(
    word + end
    for word in THEREFORE.western
    for end in (("",) if len(word) > 2 else (" ", ",", ":", "\n"))
)
"""A short word stands in many others; its end tells it apart."""
_CHOSEN = (
    "choose", "chose", "select", "pick", "mark", "circle", "tick", "answer", "go with", "go for",
    "going ", "went ", "gone ", "opt for", "opted for", "opting for", "settle", "vote for", "lean",
    "return", "submit", "report", "say", "guess",
)  # fmt: skip
_ITIS = (
    "it's ", "it's\n", "it is", "it must be", "it has to be", "it should be", "it ought to be",
    "must be", "should be", "wait", "no ", "no\n", "rather", "actually", "i mean", "make that",
    "i think", "i believe", "i'm ", "i am ", "i say", "i'd say", "my guess is", "my choice is",
    "my pick is", "my vote is", "definitely", "probably", "clearly", "i guess",
)  # fmt: skip
_LEAVES = (
    "leave", "leaving", "left with", "remain", "down to", "point", "correspond", "namely",
    "that would be", "matches", "make", "making", "in favo", "change", "switch", "revise",
    "pathognomonic", "diagnostic", "characteristic", "typical", "suggestive", "indicative",
    "consistent", "classic", "sticking with",
)  # fmt: skip
_WESTERN_LEADS: tuple[tuple[str, Anchored], ...] = (
    (
        "so",
        Anchored(
            re.compile(
                rf"(?<![a-z])(?:{THEREFORE.west})[,:]?\s+(?:it(?:'s| is| must be| has to be)\s|"
                r"the \w+(?: \w+){0,4} (?:is|must be)\s|that(?:'s| is)\s|this is\s|"
                r"we (?:get|have)\s|i(?:'d| would)? say\s)?"
            ),
            _SO,
        ),
    ),
    (
        "leaves",
        Anchored(
            re.compile(
                r"(?<![a-z])(?:leaves?|leaving|left with|remains?|down to|points? (?:clearly |"
                r"strongly )?to|corresponds? to|namely|(?:pathognomonic|diagnostic|"
                r"characteristic|typical|suggestive|indicative|consistent|classic) (?:for|of|"
                r"with)|sticking with|that would be|matches|(?:makes?|making) (?:it|the "
                r"(?:correct |right |best )?(?:answer|choice|option))|in favou?r of|"
                r"(?:changed?|switch(?:ed)?|revised?) (?:it |this |my answer |the answer )?to|"
                r"remaining(?: (?:option|choice|answer|one|candidate))?(?:,| is| would be|:))"
                r"\s+(?:us with |only |just |me with )?"
            ),
            _LEAVES,
        ),
    ),
    (
        "choose",
        Anchored(
            re.compile(
                rf"(?<![a-z]){_CHOOSING}\s+(?:option |choice |answer |letter )?"
                r"(?=[(*\"'`]{0,3}[a-z0-9][)*\"'`]{0,3}(?:(?:,\s?| )(?:and |& )?[(*]{0,2}"
                r"[a-z0-9](?![a-z0-9])| here| then| too| instead|,? (?:as|since|because)\b|"
                r"\s*[-–—]\s)?(?:\s*[.!;:,\n(]|\s*$))"
            ),
            _CHOSEN,
        ),
    ),
    (
        "step",
        Anchored(
            re.compile(
                r"(?<![a-z])(?:next|best|first|initial|likely|appropriate|preferred)(?: \w+){0,2} "
                r"(?:step|diagnosis|treatment|management|intervention|test|drug|therapy|cause|"
                r"mechanism|agent|organism|approach|study|action) (?:is|would be|should be)\s+"
                r"(?=(?:option )?[(*\"'`]{0,3}[a-z0-9][)*\"'`]{0,3}(?:\s*[.!;:,\n(]|\s*$))"
            ),
            ("next ", "best ", "first ", "initial ", "likely ", "appropriate ", "preferred "),
        ),
    ),
    (
        "only",
        Anchored(
            re.compile(
                r"(?<![a-z])only\s+(?=(?:option |choice |statement |answer )?"
                r"[(*]{0,3}[a-h1-9][)*]{0,3} (?:is|fits|works|holds|remains|satisfies|matches|"
                r"explains))"
            ),
            ("only",),
        ),
    ),
    (
        "arrow",
        Anchored(
            re.compile(
                r"(?:→|⇒|➡|[-=]>)\s{0,2}(?=[(*]{0,3}[a-z0-9][)*]{0,3}[.。]?\s{0,3}(?:\n|$))"
            ),
            ("→", "⇒", "➡", "->", "=>"),
        ),
    ),
)
_EASTERN_LEADS: tuple[tuple[str, Anchored], ...] = (
    (
        "cjk",
        Anchored(
            re.compile(
                rf"(?:{THEREFORE.east})[、,:]?\s*"
                rf"(?:{ANSWER_IS}|选项?|誤っているのは|誤りは)?\s*"
            ),
            THEREFORE.eastern,
        ),
    ),
    ("only_zh", Anchored(re.compile(r"(?:只有|仅有?|唯有|仅)\s*"), ("只有", "仅", "唯有"))),
    (
        "notbut",
        Anchored(
            re.compile(rf"{NOT_BUT[0]}(?=[(「『*]{{0,3}}[a-z0-9ア-オ])|{'|'.join(NOT_BUT[1:])}"),
            ("ではなく", "でなく", "じゃなく", "不是", "가 아니라", "이 아니라"),
        ),
    ),
    (
        "ja_so",
        Anchored(
            re.compile(r"(?:なので|ので|ため|から)[、,]\s*"),
            ("ので、", "ので,", "ため、", "ため,", "から、", "から,"),
            back=1,
        ),
    ),
    (
        "zh",
        Anchored(
            re.compile(
                r"(?:应该?[是为]|應該?[是為]|应当是|我认为是|大概是|那就是|最后选|最终选择?)\s*"
            ),
            ("应", "應", "我认为是", "大概是", "那就是", "最后选", "最终选"),
        ),
    ),
)
_JA = re.compile(
    r"(?:^|[。\n]|(?<![a-z0-9ア-オ])[、,]|なので|ため|ので|から|おそらく|恐らく|多分|たぶん|"
    r"きっと|やはり|"
    r"結果)、?\s*\Z"
)
_JA_LABEL = re.compile(
    r"[a-z0-9ア-オ①-⑨][)」』*]{0,2}\s?番?(?:です|でしょう|だ[とろ。]|である|と(?:思|考)|"
    r"に(?:し(?!た場合|て)|する(?!と|場合|な)|変|訂|決|なり)|を選|とする|とします)"
)
_IT_IS = re.compile(
    r"(?:^|[.\n!:,(]\s{0,3})(?:\W{0,3}(?:(?:so |but |and |here,? (?:however,? )?)?"
    r"(?:it's|it is|it must be|it has to be|it should be|it ought to be)|must be|should be|"
    r"(?:no,? )?wait,?|no|rather|actually|i mean|make that|"
    r"i(?:'m| am) (?:quite |very |fairly )?(?:confident|certain|sure|convinced)(?: that)?|"
    r"i think|i believe|i say|i'd say|my (?:guess|choice|pick|vote) is|definitely|probably|clearly|"
    r"i guess)\s+(?:it's |it is |the answer is |that )?)"
)
_CLAUSE_STARTS = re.compile(r"[.\n!:,(]")
_ALL_BUT = re.compile(
    r"(?<![a-z])(?:all|every\w*|any\w*|none|nothing)(?: \w+){0,4}? "
    rf"(?:{EXCEPT.west}|but)\s+"
)
_EXCEPT = (" but ", *(f" {word}" for word in EXCEPT.western))
_LAST = re.compile(rf"[.!:]\s{{1,3}}(?={_LABEL_ENDS})")


def leads(low: str, start: int, end: int) -> list[Lead]:
    """The leading words in ``low[start:end]``, in order, none overlapping another."""
    found = [
        Lead(kind, *match.span())
        for kind, words in _kinds(low)
        for match in words.finditer(low, start, end)
    ]
    if has_latin_words(low):
        found += _it_is(low, start, end)
        found += _all_but(low, start, end)
    if not low.isascii():
        found += _ja(low, start, end)
    last = _LAST.search(low, max(start, end - 14), end)
    if last is not None:
        found.append(Lead("last", *last.span()))
    found.sort(key=lambda lead: lead.start)
    kept: list[Lead] = []
    for lead in found:
        if not kept or lead.start >= kept[-1].end:
            kept.append(lead)
    return kept


_ALL_LEADS = (*_WESTERN_LEADS, *_EASTERN_LEADS)
_NO_LATIN_LEADS = (_WESTERN_LEADS[-1], *_EASTERN_LEADS)


def _kinds(low: str) -> tuple[tuple[str, Anchored], ...]:
    """The kinds of leading words that a text can hold at all."""
    if low.isascii():
        return _WESTERN_LEADS
    return _ALL_LEADS if has_latin_words(low) else _NO_LATIN_LEADS


def _it_is(low: str, start: int, end: int) -> list[Lead]:
    """``it is``, ``probably`` and the like at the beginning of a clause."""
    found: list[Lead] = []
    for position in places(low, _ITIS, start, end):
        window = max(start, position - 30)
        starts = _CLAUSE_STARTS.finditer(low, window, position)
        begins = [begin.start() for begin in starts]
        if window == 0 and begins[:1] != [0]:
            begins.insert(0, 0)
        for begin in begins:
            match = _IT_IS.match(low, begin, end)
            if match is not None and match.end() > position:
                found.append(Lead("itis", *match.span()))
                break
    return found


def _all_but(low: str, start: int, end: int) -> list[Lead]:
    """``all options but``, looked for from ``but`` on backwards."""
    found: list[Lead] = []
    for position in places(low, _EXCEPT, start, end):
        for match in _ALL_BUT.finditer(low, max(start, position - 80), min(end, position + 20)):
            if match.start() < position < match.end():
                found.append(Lead("but", *match.span()))
    return found


def _ja(low: str, start: int, end: int) -> list[Lead]:
    """The beginning of a clause that is a label and a copula: ``cです``, ``bを選ぶ``."""
    found: list[Lead] = []
    for label in _JA_LABEL.finditer(low, start, end):
        begin = label.start()
        while begin > start and label.start() - begin < 2 and low[begin - 1] in "(「『*":
            begin -= 1
        before = _JA.search(low, max(start, begin - 12), begin)
        if before is not None:
            found.append(Lead("ja", before.start(), begin))
    return found


STOP = re.compile(
    r"\s*番?(?:[.!;。,、\n)(]|$|である|です|でしょう|だろう|だ[。\n]|だと|だ$|となる|とする|"
    r"とします|"
    r"と(?:思|考)|に(?:し|する|変|訂|決|なり)|が(?:正|適|最|該)|を選|"
    r"입니다|이다|일 것|인 것|項?正确|项|对|正|是|because|since|as\b|here\b|then\b|:|[-–—]\s)|"
    r"\s+(?:is|are|can|fits|works|holds|remains|satisfies|matches|explains)\b"
)
"""What may follow the label of such a conclusion."""

NOT_CHOSEN = re.compile(
    rf"\b(?:{(DENY + SUPPOSE).west}|cannot|wrong to|tempt\w*|mistake\w*|might|may|could|if|you|"
    r"students?|some|many|they|one would|people|textbooks?|examiners?|second|first choice)\b|n't\b"
)
"""Before a verb of choosing: it is denied, supposed or another person's."""

ONCE_THOUGHT = re.compile(r"\s*(?:だ|である)?と[^。、\n]{0,6}(?:思っ|考え)(?:た|てい)")
"""``aと思ったが``."""

SINGLED_OUT = re.compile(
    r"[)\]*]*\s+(?:is|are|was|were|can|could|fits?|fails?|must|should|do|does|have|has)\b"
)
"""After ``all but B``: what the others are or do."""

CONCLUDING = re.compile(
    rf"^\W{{0,4}}(?:{THEREFORE.west}|my answer|final|{THEREFORE.east})(?![a-z])"
)
"""The beginning of a sentence that concludes."""

STATING = re.compile(
    r"\W{0,4}(?:(?:this|that|these|it|the \w+)(?: \w+)?|the \w+ (?:that|which|responsible for)\b"
    r"[^.;:,!?\n]{0,80}?) (?:is|are|must be|fits?|points? to)\b"
)
"""The beginning of a last sentence that states what something is."""
