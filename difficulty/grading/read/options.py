"""The options of one question, and where a text names them by label or by their own words."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from difficulty.grading.normalize import is_circled_digit, plain
from difficulty.grading.words.anchors import Anchored
from difficulty.grading.words.answers import ANSWER
from difficulty.grading.words.denials import ABSENT, DENIED, DENY, NEITHER, RULED_OUT
from difficulty.grading.words.joints import AND, EXCEPT, OR, THEREFORE
from difficulty.grading.words.word_lists import alternation, split
from difficulty.schema import Choice

MAX_MENTIONS = 1000
"""Places where options are named that are looked at; an honest reply has far fewer."""

_EDGES = " \t\n.;,。$\"'`*"
_AGAINST = DENY + NEITHER + EXCEPT + RULED_OUT + ABSENT
_NOT_BEFORE = re.compile(
    rf"(?:\b(?:{_AGAINST.west})(?: \w+){{0,4}}\s*|"
    r"\bno (?:evidence|signs?|history|role|indication|need|reason) (?:of|for|to)(?: \w+){0,2}\s*|"
    rf"(?:{_AGAINST.east})\s*)[\"'(*_]*$"
)
_NOT_AFTER = re.compile(
    r"[\"')*_\]]*[^\S\n]*+(?:(?:is|are|was|were|would be|seems|has been|have been|"
    r"(?:can|may|could|must|should|will|needs? to|has to|have to|had to)(?: \w+)? be)\s+"
    rf"(?:(?:\w+ly|{THEREFORE.west}|also|very|less)\s+)?(?:not\b|n't|never\b|"
    r"unlikely|ruled out|"
    r"excluded|incorrect|wrong|false|rejected|eliminated|out\b|less likely|implausible|impossible|"
    r"inappropriate|contraindicated|discarded|refuted|premature|unnecessary|inadequate|unsafe|"
    r"harmful|(?:just |only |merely )?an? (?:distractor|trap|decoy|red herring))|"
    r"(?:isn't|wasn't|aren't|doesn't|don't|cannot|can't|does not|do not|did not|fails|fail|"
    r"(?:is |are )?(?:\w+ )?only (?:if|when)|plays? no (?:part|role)|has no (?:part|role|place)|"
    r"(?:is|are) of (?:no|little) (?:use|value|"
    r"benefit|help))\b|"
    rf"(?:は|が)?[^\S\n]*(?:{alternation(split(DENIED.japanese))}|とは(?:言え|いえ)|"
    r"否定|除外|以外(?!はの?(?:選択肢)?(?:すべて|全て|いずれも|どれも|みな|全部)?(?:が|は)?(?:誤|"
    r"不適|否定|除外|正し|間違|考えにく|当てはま|該当))|考えにく|違う|違い)|"
    r"は?[^\S\n]*(?:誤り|誤って|間違|不適)|と(?:見せかけ|思いきや|迷)|"
    r"は[^\S\n]*(?:適切|正し)(?:くな|では?な)|は(?:いずれも|すべて|全て|どれも|みな|ともに|共に|"
    r"両方とも?)[^\S\n]*"
    r"(?:誤|不適|否定|除外|正しくな|間違|違)|"
    rf"(?:项|选项)?[^\S\n]*(?:是|也)?(?:{alternation(split(DENIED.chinese))}|"
    r"错|不正确|不符|不成立|可以?排除|被排除|有误)|"
    rf"[은는이가]?[^\S\n]*(?:{alternation(split(DENIED.korean))}|않|틀|제외|옳지)|"
    r"번?(?:을|를|이|가|은|는|라고)[^.\n,a-z0-9]{0,12}?(?:않|없|아니|아닌|아닙|안 |못)|"
    rf"(?:を|は|が|も|と)(?:は)?(?:最も)?(?:選|{alternation(split(ANSWER.japanese))}|"
    r"採用|考え|言え|断定|すべき|する)"
    r"[^。、,\na-z0-9]{0,12}?(?:(?<!間違い)(?<!間違)(?<!違い)(?<!しか)(?<!ほか)(?<!他)(?<!問題)"
    r"(?:ない|ません)|のは(?:誤|間違))|"
    r"を?(?:選|選択)[^。、,\na-z0-9]{0,10}?(?:誤|間違い(?!な)|要注意|不正解)|"
    r"の?(?:ように|かに|らしく)?見え|と(?:思われ|考え|し|誤解し|間違え)がち|を?(?:選び|選択し)がち|"
    r"的(?:同学|学生|考生|人)|"
    r"(?:看似|貌似))"
)


_NEGATED_CLAUSE = re.compile(
    r"(?:だけ|のみ)?(?:は|が|を|の|に|も|で)[^。\n、,]{0,14}?(?:(?<!間違い)(?<!間違)(?<!違い)(?<!しか)(?<!ほか)("
    r"?<!他)"
    r"(?<!問題)(?<!に他なら)(?<!にほかなら)(?<!矛盾し)(?:ない|(?<=では)なく|(?<=で)なく|ません)|"
    r"可能性[はが][^。\n、,]{0,4}?低|否定的|禁忌|不要|不適|不十分|不足|無効|避け|控え)|"
    r"[^。\n，,、]{0,6}?(?:不(?:适|宜|能|支持|考虑|符|应|是|正)|禁忌|无效|无关)|"
    r"[^.\n,]{0,12}?(?:않|없|아니|부족)"
)
"""An option's own words that the rest of their clause denies."""


_JOINT = OR + AND
_LISTED = re.compile(rf"\s*(?:(?:,\s*)?(?:{_JOINT.west}|nor)\b|[,、・/]|{_JOINT.east}|や)\s*")
"""Between options that share one predicate: ``麻疹、風疹は否定的``."""


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
    """``option_key`` of an option's text -> label; texts that two options share are left out."""
    own: dict[str, str]
    """Label -> its normalised lower-case text; texts that two options share are left out."""
    pattern: re.Pattern[str] | None
    """Matches any option's text in a lower-case text, longest first."""
    first_words: tuple[str, ...]
    """The first word of each text: no text begins elsewhere."""
    longest: int
    """Characters of the longest text."""
    exact: str
    """The labels as written, for a character class."""
    chars: str
    """The characters a label may be written with, for a character class."""

    def label_of(self, char: str) -> str | None:
        """The label that a character stands for, in either case; null if none."""
        for form in (char, char.upper(), char.lower()):
            if form in self.labels:
                return form
        if is_circled_digit(char):
            number = str(int(unicodedata.numeric(char)))
            return number if number in self.labels else None
        return None

    def mentions(self, low: str, start: int, end: int) -> Iterator[Mention]:
        """Option texts named in ``low[start:end]`` and not denied there."""
        if self._anchored is None:
            return
        listed: list[Mention] = []
        for found in islice(self._anchored.finditer(low, start, end), MAX_MENTIONS):
            item = Mention(self.texts[option_key(found.group())], found.start(), found.end())
            if listed and _LISTED.fullmatch(low, listed[-1].end, item.start) is None:
                yield from listed
                listed = []
            if denied(low, item.start, item.end) or _NEGATED_CLAUSE.match(low, item.end):
                listed = []
            else:
                listed.append(item)
        yield from listed

    @functools.cached_property
    def _anchored(self) -> Anchored | None:
        return self.pattern and Anchored(self.pattern, self.first_words)

    def text_at(self, low: str, start: int) -> Mention | None:
        """The option whose text stands exactly at ``start``."""
        found = self.pattern.match(low, start) if self.pattern else None
        if found is None:
            return None
        return Mention(self.texts[option_key(found.group())], found.start(), found.end())

    def own_words(self, label: str) -> str:
        """The normalised text of one option; empty if it has none."""
        return self.own.get(label, "")


def denied(low: str, start: int, end: int) -> bool:
    """Whether what stands at [start, end) is denied by the words around it."""
    if _NOT_AFTER.match(low, end):
        return True
    clause = low[max(0, start - 60) : start]
    clause = re.split(r"[.,;:!?\n。、，；]|\bbut\b", clause)[-1]
    return _NOT_BEFORE.search(clause) is not None


_AFTER_LABEL = re.compile(r"(?<![^\W_])(?P<l>[^\W_])\.\s+\Z")


def begins_sentence(low: str, item: Mention, options: Options) -> bool:
    """Whether an option stands right after another one's label and full stop: ``B. Rome is``."""
    before = _AFTER_LABEL.search(low, max(0, item.start - 6), item.start)
    label = options.label_of(before["l"]) if before else None
    return label is not None and label != item.label


@functools.lru_cache(maxsize=4096)
def options_of(choices: tuple[Choice, ...]) -> Options:
    """The searchable form of a question's options; cached, as k replies share it."""
    texts: dict[str, str] = {}
    own: dict[str, str] = {}
    shared: set[str] = set()
    for choice in choices:
        text = plain(choice.text).lower()
        key = option_key(text)
        if key in texts:
            shared.add(key)
        elif key:
            own[choice.label] = _squeeze(text)
        texts.setdefault(key, choice.label)
    for key in shared | {""}:
        own.pop(texts.pop(key, ""), None)
    labels = tuple(plain(choice.label) for choice in choices)
    chars = "".join(sorted({form for label in labels for form in _forms(label)}))
    exact = re.escape("".join(label for label in labels if len(label) == 1))
    circled = "".join(form for label in labels for form in _forms(label) if is_circled_digit(form))
    exact += circled
    short = _short_names(choices)
    texts = short | texts
    written = [*own.values(), *short]
    first_words = tuple({_FIRST_WORD.split(text)[0] for text in written})
    pattern = _texts_pattern(written)
    longest = max(map(len, written), default=0)
    return Options(labels, texts, own, pattern, first_words, longest, exact, re.escape(chars))


_BINOMIAL = re.compile(r"([A-Z])[a-z]{3,} ([a-z]{4,})")


def _short_names(choices: tuple[Choice, ...]) -> dict[str, str]:
    """``e. coli`` for the option ``Escherichia coli``, if no other option is shortened so."""
    found = [(_BINOMIAL.fullmatch(choice.text.strip()), choice.label) for choice in choices]
    short = [(f"{name[1].lower()}. {name[2]}", label) for name, label in found if name]
    names = [name for name, _ in short]
    return {name: label for name, label in short if names.count(name) == 1}


_FIRST_WORD = re.compile(r" |(?<=\d)(?=[a-z%°μ])")
_UNIT_GAP = re.compile(r"(?<=\d) (?=[a-z%°μ])")


def _forms(label: str) -> set[str]:
    """How a label may be written: in either case, a digit also in a circle."""
    forms = {label.upper(), label.lower()}
    if label.isascii() and label.isdigit() and 1 <= int(label) <= 9:
        forms |= {chr(ord(first) + int(label) - 1) for first in "①❶"}
    return forms


def option_key(text: str) -> str:
    """The form under which two spellings of an option's text are one: ``5  MG`` and ``5mg``."""
    return _UNIT_GAP.sub("", _squeeze(text.lower()))


def _squeeze(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES)


def _texts_pattern(texts: list[str]) -> re.Pattern[str] | None:
    """Alternation of the option texts, the longest first, each with its word borders."""
    if not texts:
        return None
    bordered = [_bordered(text) for text in sorted(texts, key=len, reverse=True)]
    return re.compile("|".join(bordered))


def _bordered(text: str) -> str:
    words = [_bordered_word(word) for word in _UNIT_GAP.sub("", text).split(" ")]
    body = r"\s+".join(words)
    before = r"(?<![a-z0-9])(?<!\d[.,])" if _is_word(text[0]) else ""
    if text[0].isdigit():
        before += r"(?<![-−])"
    after = r"(?![a-z0-9]|[.,]\d)" if _is_word(text[-1]) else ""
    return before + body + after


def _bordered_word(word: str) -> str:
    """A word in which a unit may stand apart from its number."""
    return r"\s{0,2}".join(re.escape(part) for part in _FIRST_WORD.split(word))


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()
