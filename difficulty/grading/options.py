"""The options of one question, and where a text names them by label or by their own words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from difficulty.grading.normalize import plain
from difficulty.schema import Choice

_EDGES = " \t\n.;,。$\"'`*"
_NOT_BEFORE = re.compile(
    r"(?:\b(?:not|never|no longer|nor|neither|without|except|unlikely|isn't|wasn't|aren't|doesn't|"
    r"rather than|instead of|rul(?:e|es|ed|ing) out|exclud\w+|reject\w*|eliminat\w+|"
    r"against|unlike|other than|cannot be|can't be|discard\w*)(?: \w+){0,4}\s*|"
    r"(?:不是|并非|並非|不选|不選|排除|除外|不应|而非)\s*)[\"'(*_]*$"
)
_NOT_AFTER = re.compile(
    r"[\"')*_\]]*\s*+(?:(?:is|are|was|were|would be|seems|can be|may be|could be|has been|"
    r"have been)\s+"
    r"(?:\w+ly\s+|therefore\s+|thus\s+|also\s+|very\s+|less\s+)?(?:not\b|n't|never\b|"
    r"unlikely|ruled out|"
    r"excluded|incorrect|wrong|false|rejected|eliminated|out\b|less likely|implausible|impossible|"
    r"inappropriate|contraindicated|discarded|refuted)|"
    r"(?:isn't|wasn't|aren't|doesn't|don't|cannot|can't|does not|do not|did not|fails|fail)\b|"
    r"(?:は|が)?\s*(?:では?な[いくか]|では?ありません|じゃありません|とは(?:言え|いえ)|じゃな|否定|除外|考えにく|誤り|誤って|間違|不適|違う|違い)|"
    r"は\s*(?:適切|正し)(?:くな|では?な)|"
    r"(?:项|选项)?\s*(?:是|也)?(?:错|不对|不對|不正确|不符|不成立|可以?排除|被排除|有误)|"
    r"[은는이가]?\s*(?:아니|아닌|아님|아닙|않|틀|제외|옳지))"
)


@dataclass(frozen=True)
class Mention:
    """One place where an option is named."""

    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Options:
    """The options of a question, ready to be searched for."""

    labels: tuple[str, ...]
    texts: dict[str, str]
    """Normalised lower-case option text -> label; texts that two options share are left out."""
    pattern: re.Pattern[str] | None
    """Finds any option's text in a lower-case text, longest first."""
    first_words: tuple[str, ...]
    """The first word of each text: where none occurs, no text does."""
    chars: str
    """The characters a label may be written with, for a character class."""

    def label_of(self, char: str) -> str | None:
        """The label that a character stands for, in either case; null if none."""
        for form in (char, char.upper(), char.lower()):
            if form in self.labels:
                return form
        return None

    def mentions(self, low: str, start: int, end: int) -> Iterator[Mention]:
        """Option texts named in ``low[start:end]`` and not denied there."""
        if self.pattern is None or not any(word in low for word in self.first_words):
            return
        for found in self.pattern.finditer(low, start, end):
            if not denied(low, found.start(), found.end()):
                yield Mention(self.texts[_squeeze(found.group())], found.start(), found.end())

    def text_at(self, low: str, start: int) -> Mention | None:
        """The option whose text stands exactly at ``start``."""
        found = self.pattern.match(low, start) if self.pattern else None
        if found is None:
            return None
        return Mention(self.texts[_squeeze(found.group())], found.start(), found.end())

    def own_words(self, label: str) -> str:
        """The normalised text of one option; empty if it has none."""
        return next((text for text, owner in self.texts.items() if owner == label), "")


def denied(low: str, start: int, end: int) -> bool:
    """Whether what stands at [start, end) is denied by the words around it."""
    if _NOT_AFTER.match(low, end):
        return True
    clause = low[max(0, start - 60) : start]
    clause = re.split(r"[.,;:!?\n。、，；]|\bbut\b", clause)[-1]
    return _NOT_BEFORE.search(clause) is not None


@functools.lru_cache(maxsize=4096)
def options_of(choices: tuple[Choice, ...]) -> Options:
    """The searchable form of a question's options; cached, as k replies share it."""
    texts: dict[str, str] = {}
    shared: set[str] = set()
    for choice in choices:
        text = _squeeze(plain(choice.text).lower())
        if text in texts:
            shared.add(text)
        texts.setdefault(text, choice.label)
    for text in shared | {""}:
        texts.pop(text, None)
    labels = tuple(plain(choice.label) for choice in choices)
    chars = "".join(sorted({form for label in labels for form in (label.upper(), label.lower())}))
    first_words = tuple({text.split(" ")[0] for text in texts})
    return Options(labels, texts, _texts_pattern(texts), first_words, re.escape(chars))


def _squeeze(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES)


def _texts_pattern(texts: dict[str, str]) -> re.Pattern[str] | None:
    """Alternation of the option texts, the longest first, each with its word borders."""
    if not texts:
        return None
    bordered = [_bordered(text) for text in sorted(texts, key=len, reverse=True)]
    return re.compile("|".join(bordered))


def _bordered(text: str) -> str:
    body = r"\s+".join(re.escape(word) for word in text.split(" "))
    before = r"(?<![a-z0-9])(?<!\d[.,])" if _is_word(text[0]) else ""
    if text[0].isdigit():
        before += r"(?<![-−])"
    after = r"(?![a-z0-9]|[.,]\d)" if _is_word(text[-1]) else ""
    return before + body + after


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()
