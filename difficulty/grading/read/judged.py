"""Replies that judge the options one by one: ``A: incorrect. B: correct.``, ``a × b ○``, ``[x] C``.

A list of verdicts declares its right ones only where it judges (nearly) every option.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from difficulty.grading.normalize import Normal
from difficulty.grading.read.options import Options
from difficulty.grading.words.joints import THEREFORE

MAX_VERDICT = 400
"""Characters of one option's part of the list that are looked at."""

_RIGHT = (
    r"[○◯◎✓✔✅☑⭕👍]|correct(?:ly)?\b|right\b|true\b|best (?:answer|option|choice)|"
    r"正しい|正解|正答|正\b|適切(?!で|とは)|該当(?!し?な)|当てはまる|正确|正確|对(?![的于症比])|"
    r"符合|맞|옳(?!지)|정답"
)
_WRONG = (
    r"[×✕✖✗✘❌☒]|x(?![a-z0-9])|incorrect\b|wrong\b|false\b|not (?:correct|right|true)\b|"
    r"ruled out\b|excluded\b|eliminated\b|"
    r"誤|不正解|不適|正しくな|該当しな|当てはまらな|间违|間違|错|錯|不正确|不正確|不对|不符|틀|"
    r"아니|오답"
)
_VERDICT = rf"(?:(?P<wrong>{_WRONG})|(?P<right>{_RIGHT}))"
_HEAD = re.compile(rf"[\s:.,)\]|>*_`\"'(→⇒=~、。は が-]{{0,16}}(?:->\s*)?(?:is |are )?{_VERDICT}")
_TAIL = re.compile(rf"(?:[\s:(|*_\[→⇒=、。,—–-]|->){_VERDICT}[\s.。!)|*_\]、,]*\Z")
_CELL = re.compile(r"\|[\s*_]*(?:(?P<right>yes)|no)[\s*_]*\|?[ \t]*\Z")
_BOX = re.compile(r"\[(x|✓|✔| )\]\s*[*_(]{0,3}\Z")
_GATES = ("correct", "right", "true", "best ", "yes", "[x]")
_EASTERN_GATES = (*"○◯◎✓✔✅☑⭕👍正適該对符맞옳", "当てはまる")


@dataclass(frozen=True)
class Judged:
    """The verdict on one option; positions are of its label."""

    label: str
    right: bool
    start: int
    end: int


def right_ones(reply: Normal, start: int, options: Options) -> list[Judged]:
    """The options that a list of verdicts calls right; empty where it is no such list."""
    low = reply.low
    gates = _GATES if low.isascii() else (*_GATES, *_EASTERN_GATES)
    if not options.chars or not any(map(low.__contains__, gates)):
        return []
    found = _judged(reply, start, options)
    verdicts = {item.label: item.right for item in found}
    enough = max(2, len(options.labels) - 1)
    if len(verdicts) < enough or len(found) != len(verdicts) or all(verdicts.values()):
        return []
    return [item for item in found if item.right]


_SINGLED = re.compile(
    rf"(?:^|[.:;,)–—\s-])(?:this|it|which|{THEREFORE.west}) "
    rf"(?:option |choice |answer )?(?:is|must be) (?:(?:{THEREFORE.west}|clearly|most likely) )?"
    r"(?:the )?(?:single |only |most )?"
    r"(?:correct|right|best|likely|appropriate)(?: (?:answer|option|choice|diagnosis|one|step))?"
    r"(?: here)?\s*[.!\n*]|(?:これ|こちら)が(?:正解|正しい|最も適切)|此(?:项|为)(?:正确|正解)"
)

_SINGLED_GATES = (
    "is the ", "is correct", "is right", "is best", "is most", "is clearly", "is single", "is only",
    "is likely", "is appropriate", "must be ", "が正", "が最", "此",
    *(f"is {word}" for word in THEREFORE.western),
)  # fmt: skip


def singled_out(reply: Normal, start: int, options: Options) -> list[Judged]:
    """The option whose own part of a list of all options says that it is the right one."""
    if not options.chars or not any(map(reply.low.__contains__, _SINGLED_GATES)):
        return []
    places = _places(reply, start, options)
    if len({label for _, label in places}) < max(3, len(options.labels) - 1):
        return []
    ends = [begin for begin, _ in places[1:]] + [len(reply.low)]
    found = [
        Judged(label, True, begin, begin + 1)
        for (begin, label), end in zip(places, ends, strict=True)
        if _SINGLED.search(reply.low, begin, _line_end(reply.low, begin, end))
    ]
    return found if len(found) == 1 else []


def _line_end(low: str, begin: int, end: int) -> int:
    """Past the line break in ``low[begin:end]``; ``end`` if there is none."""
    found = low.find("\n", begin, end)
    return found + 1 if found >= 0 else end


@functools.lru_cache(maxsize=256)
def _label_pattern(chars: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:^|[\s(*_|。.、,;✓✔✗✘○×])(?P<l>[{chars}])(?=[\s).:、,|*_\]→=×○◯✓✔✗✘✅❌は가이是项が-]"
        rf")",
        re.MULTILINE,
    )


def _places(reply: Normal, start: int, options: Options) -> list[tuple[int, str]]:
    """Where each label stands that may begin an option's part, and the label."""
    return [
        (found.start("l"), label)
        for found in _label_pattern(options.chars).finditer(reply.text, start)
        if (label := options.label_of(found["l"])) is not None and found["l"] == label
    ]


def _judged(reply: Normal, start: int, options: Options) -> list[Judged]:
    """The verdicts in reading order; each option's part runs up to the next one's label."""
    places = _places(reply, start, options)
    judged = []
    for index, (begin, label) in enumerate(places):
        end = places[index + 1][0] if index + 1 < len(places) else len(reply.low)
        right = _verdict(reply.low, begin, min(end, begin + MAX_VERDICT), label, options)
        if right is not None:
            judged.append(Judged(label, right, begin, begin + 1))
    return judged


def _verdict(low: str, begin: int, end: int, label: str, options: Options) -> bool | None:
    """Whether the part of one option calls it right; null if it does not say."""
    box = _BOX.search(low, max(0, begin - 8), begin)
    if box:
        return box[1] != " "
    line = low.find("\n", begin, end)
    stop = line if line >= 0 else end
    after = begin + 1
    while after < stop and low[after] in " .:)-–—*|":
        after += 1
    mention = options.text_at(low, after)
    after = mention.end if mention is not None and mention.label == label else begin + 1
    found = _HEAD.match(low, after, stop) or _TAIL.search(low, after, stop)
    found = found or _CELL.search(low, after, stop)
    return None if found is None else found["right"] is not None
