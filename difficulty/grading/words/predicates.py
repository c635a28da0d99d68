"""The words of a conclusion that stand after a label: ``B is correct``, ``bdが正しい``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from difficulty.grading.words.answers import ANSWER
from difficulty.grading.words.joints import AND, THEREFORE
from difficulty.grading.words.word_lists import alternation, split

_LIST_JOIN = rf"[)\]*]{{0,3}}+\s{{0,2}}+(?:[,、・·/&]|{AND.east})?+\s{{0,2}}+[(\[*]{{0,3}}+"
_LAST_JOIN = rf"[)\]*]{{0,3}}+\s{{0,2}}+(?:,?\s?(?:{AND.west})\s|&)\s{{0,2}}+[(\[*]{{0,3}}+"
_COUNT = r"(?:\s?の\s?[2-5二三四五]つ)?"
_JA_RIGHT = (
    rf"正しい|{alternation(split(ANSWER.japanese))}|選択肢|適切(?!で(?:は)?な)|該当(?!し?な)|最適|"
    r"妥当(?!で(?:は)?な)|"
    r"選(?!べな|ばな|択しな|び(?:がち|やす)|ぶ(?:人|受験|学生|こと)|ぶべきで(?:は)?な)|ふさわしい|"
    r"当てはま(?!ら)|適当(?!で(?:は)?な)"
)
_ENGLISH_RIGHT = (
    r"correct|right|best|answers?\b|true\b|likely\b(?! to)|appropriate|suitable|accurate|probable|"
    r"fitting|choice|preferred|better\b|acceptable\b|left\b|remaining|selected\b|chosen\b|marked\b|"
    r"picked\b|next (?:best )?step\b|(?:treatment|drug|test) of choice\b|diagnosis\b|first-line\b|"
    r"only (?:one|option|choice|answer)"
)
_ADVERB = r"(?!hard|bare|scarce|rare|near|supposed|alleged|seeming|superficial|false|wrong)\w+ly"
_PREDICATE = (
    r"[)\]*\"'$:]{0,4}(?:"
    r"\s*,?\s{0,2}(?:is|are|was|must be|would be(?= the| my| our| correct| right| best)|should be|"
    r"has to be|(?:seems|looks|appears)(?: to be)?)\s+"
    rf"(?:(?:{_ADVERB}|{THEREFORE.west}|also|all|both)\s+){{0,2}}(?:the\s+|our\s+|my\s+)?"
    rf"(?:{_ADVERB}\s+)?(?:single\s+|one\s+|only\s+|most\s+)?(?:{_ENGLISH_RIGHT})|"
    r"\s{1,2}the (?:single |only |most )?(?:correct|right|best|likely|better) (?:answer|option|"
    r"choice|diagnosis)|\s{1,2}best (?:explains|fits|matches|accounts|describes)|"
    r"\s{1,2}it (?:is|must be|has to be)\b(?! (?:not|wrong))|"
    r"\s{1,2}stands out\b|\s{1,2}(?:remains|stands|survives|wins)(?=[.;\n]|$)|"
    rf"{_COUNT}\s*(?:のみ|だけ)?(?:が|は|を|で)\s*(?:最も)?(?:{_JA_RIGHT})|"
    r"\s*だ?と(?:考えられる|考える|考えます|判断|診断|思われ|推測)|"
    r"\s*(?:が|は)最も(?:疑|考え|可能性|妥当|適|正|合致|一致|近い|当ては)|"
    r"\s*以外はの?(?:選択肢)?(?:すべて|全て|いずれも|どれも|みな|全部)?(?:が|は)?(?:誤|不適|否定|"
    r"除外|"
    r"正し|間違|考えにく|当てはま|該当)|"
    r"\s*(?:项|選項|选项)?\s*(?:才|均|都)?(?:是|为|均为|為)?\s*(?:最)?(?:正确|正確|对的|對的|合适|"
    r"合適|"
    r"符合|最佳|恰当|对(?=[。,.;!\s]|$))|"
    r"\s{0,2}:?\s{0,2}[○◯✓✔✅⭕]|"
    r"\s*번?(?:이|가)\s*(?:정답|맞|옳|적절|가장)|\s*번?(?:을|를)\s*(?:선택|고르|고른|택)|"
    r"\s*번?이?라고\s*(?:생각|판단)|\s*번?(?:일 것|인 것)|"
    rf"(?P<end>\s*(?:のみ|だけ|番)?{_COUNT}(?:です|である|でしょう|となる|になる)(?=[。\n]|$))|"
    r"(?P<odd>が(?:誤り|誤って|間違|正しくな|適切では?な|不適切|不正解)|"
    r"\s+is the (?:only )?(?:false|"
    r"incorrect|untrue|inaccurate|exception|odd|wrong)\b(?! (?:answer|choice|option)\b)))"
)


def predicates(
    text: str, low: str, span: tuple[int, int], chars: LabelChars
) -> Iterator[re.Match[str]]:
    """Labels (group l) and the words after them that call them right (``end``, ``odd``).

    Looked for where a label stands as the question writes it, or in either case after a bracket.
    """
    pattern = _predicate_pattern(chars.either.lower())
    last = span[0]
    for position in _label_places(text, span, chars):
        found = pattern.match(low, position, span[1]) if position >= last else None
        if found is not None:
            yield found
            last = found.end()


@dataclass(frozen=True)
class LabelChars:
    """The characters of a question's labels, for a character class."""

    exact: str
    """As the question writes them."""
    either: str
    """In either case."""


def _label_places(text: str, span: tuple[int, int], chars: LabelChars) -> list[int]:
    if chars.exact.islower():  # few letters stand in the text of such questions
        return [place.start() for place in _class(chars.either).finditer(text, *span)]
    exact, bracketed = _class(chars.exact), _bracketed_class(chars.either)
    found = [place.start() for place in exact.finditer(text, *span)]
    found += [place.start() + 1 for place in bracketed.finditer(text, *span)]
    return sorted(set(found))


@functools.lru_cache(maxsize=256)
def _class(chars: str) -> re.Pattern[str]:
    return re.compile(rf"[{chars}]")


@functools.lru_cache(maxsize=256)
def _bracketed_class(chars: str) -> re.Pattern[str]:
    return re.compile(rf"[(\[*\"'][{chars}](?![A-Za-z0-9])")


@functools.lru_cache(maxsize=256)
def _predicate_pattern(chars: str) -> re.Pattern[str]:
    run = rf"[{chars}]{{1,8}}+(?![a-z0-9])"
    labels = rf"(?P<l>{run}(?:{_LIST_JOIN}{run}){{0,7}}+(?:{_LAST_JOIN}{run})?+)"
    return re.compile(rf"(?<![a-z0-9_^\\'°-]){labels}{_PREDICATE}")
