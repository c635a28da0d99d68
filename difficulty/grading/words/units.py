"""Units and counters in all languages, and how they are split off a quantity and compared.

A missing unit is no fault, another unit is.
"""

from __future__ import annotations

import re

from difficulty.grading.words.numerals import EASTERN_SCALES
from difficulty.grading.words.word_lists import alternation, split

MEASURES = (
    "m, meter, meters, metre, metres, メートル, 米, 미터",
    "cm, centimeter, centimeters, centimetre, centimetres, センチメートル, センチ, 厘米",
    "mm, millimeter, millimeters, millimetre, millimetres, ミリメートル, ミリ, 毫米",
    "km, kilometer, kilometers, kilometre, kilometres, キロメートル, キロ, 千米, 公里",
    "in, inch, inches", "ft, foot, feet", "yd, yard, yards", "mi, mile, miles", "mph",
    "s, sec, secs, second, seconds, 秒, 秒間, 초", "min, mins, minute, minutes, 分, 分間, 分钟, 분",
    "h, hr, hrs, hour, hours, 時間, 小时, 小時, 시간", "day, days, 日, 日間, 天, 일",
    "week, weeks, 週, 週間, 周, 星期, 주", "month, months, か月, ヶ月, カ月, 个月, 개월",
    "year, years, yr, yrs, 年, 年間, 년", "歳, 才, 岁, 살, 세",
    "kg, kilogram, kilograms, キログラム, キロ, 千克, 公斤", "g, gram, grams, グラム, 克",
    "mg, milligram, milligrams, ミリグラム, 毫克", "lb, lbs, pound, pounds", "oz, ounce, ounces",
    "L, l, liter, liters, litre, litres, リットル, 升",
    "mL, ml, milliliter, milliliters, millilitre",
    "degree, degrees, deg, 度, 도", "percent, %, パーセント, 퍼센트", "newton, newtons",
    "joule, joules", "watt, watts", "square, sq", "cubic, cu",
    "dollar, dollars, usd, ドル, 美元, 달러", "cent, cents", "円, yen, jpy, ¥, 日元, 엔",
    "元, 块, yuan, rmb, cny, ¥, 위안", "원, won, krw, ₩",
)  # fmt: skip
"""What is measured: one unit a line, its words in every language, of which any may be written."""

COUNTERS = (
    "個, コ, 箇, つ, 个, 개", "人, 名, 명, 인", "本", "枚, 张, 장", "冊, 册, 권", "匹, 마리",
    "頭, 头, 마리", "羽, 只, 마리", "台, 대", "回, 次, 회", "点, 점", "倍, 배", "問, 题, 문제",
    "段", "階, 层, 층", "杯, 잔", "軒", "箱, 상자", "袋", "組, 组", "通り, 种, 가지",
    "種, 種類, 种, 가지", "ページ, 页, 쪽",
)  # fmt: skip
"""What is counted, likewise. Another counter is another thing: 26人 is not 26個."""

_MEASURED = {word.lower(): line[0] for line in map(split, MEASURES) for word in line}
_LINES = [split(line) for line in (*MEASURES, *COUNTERS)]
_NAMES = {
    word.lower(): frozenset(line[0] for line in _LINES if word in line)
    for words in _LINES
    for word in words
}
"""Word -> the first word of each line that has it."""
EASTERN = tuple(sorted((word for word in _NAMES if not word.isascii()), key=len, reverse=True))
"""Units and counters that stand right after a number, the longest first."""
COUNTER = alternation(EASTERN)
DEGREE = alternation(word for word in EASTERN if "degree" in _NAMES[word])
WESTERN = alternation(word for word in _NAMES if word.isascii() and word[0].isalpha())
"""Units in Latin letters."""
_EMPTY = {"unit", ""}
_TEXT_UNIT = re.compile(
    r"(?P<value>.*?[^\s\\])\s*\\text\s*\{\s*(?P<unit>[^{}]*)\s*\}\s*(?:\^\s*\{?\s*(?P<power>["
    r"23])\s*\}?)?\.?$",
    re.DOTALL,
)
_PLAIN_UNIT = re.compile(
    r"(?P<value>[-\d.,/\s]*\d|.*(?:[}\d)]|\\pi|"
    r"\\infty))\s+(?P<unit>[A-Za-z][A-Za-z/]+(?:\s+[A-Za-z]+)?|"
    r"[A-Za-z]{2}[A-Za-z/]*)(?:\^\s*\{?\s*(?P<power>[23])\s*\}?)?\.?$"
)
_MARK_UNIT = re.compile(r"(?P<value>.*?\S)\s*(?P<unit>\\degree|%)\s*[CF]?$", re.DOTALL)
_SIGN_UNIT = re.compile(r"(?P<unit>[¥₩])\s*(?P<value>.+)", re.DOTALL)
_GLUED_UNIT = re.compile(r"(?P<value>[-+]?\d[\d.,]*)\s*(?P<unit>km|cm|mm|kg|mg|m[lL]|mph)$")
"""Units that are written right after their number, and that no algebra is."""
_COUNTED = re.compile(
    rf"(?P<value>[\x00-\x7f{EASTERN_SCALES}]*[\x21-\x7e{EASTERN_SCALES}])\s*(?P<unit>{COUNTER})"
)
_COUNTED_NUMBER = re.compile(rf"[-+]?\d[\d.,/]*\s*(?:{COUNTER})")
_SPACED = re.compile(r"[-+]?\d[\d.,]*\s+(?P<unit>[A-Za-z]+(?:/[A-Za-z]+)?)")
_PLURAL = re.compile(r"[a-z]{2,}s|people|children|men|women|mice|sheep|fish")
_NO_UNIT = re.compile(r"(?:sin|cos|tan|cot|sec|csc|ln|log|exp|sqrt|pi|abs|arc\w+)\b")


def split_unit(text: str) -> tuple[str, str]:
    """(value, unit in one spelling); the unit is empty if none is written."""
    text = text.strip()
    for pattern in (_TEXT_UNIT, _PLAIN_UNIT, _MARK_UNIT, _GLUED_UNIT, _COUNTED, _SIGN_UNIT):
        found = pattern.fullmatch(text)
        if found is None or _NO_UNIT.match(found["unit"]):
            continue
        power = found["power"] if "power" in found.re.groupindex else None
        return found["value"].strip(), _spell(found["unit"], power)
    return text, ""


def split_counter(text: str) -> tuple[str, str]:
    """The same for a unit or counter of a language without spaces alone."""
    found = None if text.isascii() else _COUNTED.fullmatch(text)
    return (found["value"], _spell(found["unit"], None)) if found else (text, "")


def counter_at_end(text: str) -> str:
    """The unit or counter of a language without spaces that a text ends with; empty if none."""
    return next(filter(text.endswith, EASTERN), "")


def is_quantity(text: str) -> bool:
    """Whether a text is one number with a unit or with what it counts: ``26個``, ``18 apples``.

    A word that is neither a unit nor a plural in lower case may be a name: ``7 Eleven``.
    """
    if _GLUED_UNIT.fullmatch(text.strip()) or _COUNTED_NUMBER.fullmatch(text.strip()):
        return True
    found = _SPACED.fullmatch(text.strip())
    if found is None:
        return False
    known = all(unit_of(part) for part in found["unit"].split("/"))
    return known or _PLURAL.fullmatch(found["unit"]) is not None


def unit_of(word: str) -> str | None:
    """The unit of measure that a word names, in one spelling; null if it names none."""
    return _MEASURED.get(word.lower())


def same_unit(gold: str, answer: str) -> bool:
    """Whether two units agree, or one of them is not written.

    A noun agrees with any counter: ``26 students`` are ``26人``.
    """
    if gold == answer or not gold or not answer or _names(gold) & _names(answer):
        return True
    nouns = [bool(_NOUN.fullmatch(unit)) and unit not in _NAMES for unit in (gold, answer)]
    counted = [unit not in _MEASURED and unit in _NAMES for unit in (gold, answer)]
    return (nouns[0] and counted[1]) or (counted[0] and nouns[1])


_NOUN = re.compile(r"[a-z ]{3,}")
_LETTER_UNIT = re.compile(r"(?P<value>.*[\d)}])\s*(?P<unit>[A-Za-z])")


def without_letter(text: str, unit: str) -> tuple[str, str]:
    """The same for one letter, which is a unit only beside the same unit in words: ``5 h``."""
    found = _LETTER_UNIT.fullmatch(text.strip())
    if (
        found is None
        or found["unit"].lower() not in _NAMES
        or not same_unit(unit, _name(found["unit"].lower()))
    ):
        return text, ""
    return found["value"].strip(), unit


def _names(unit: str) -> frozenset[str]:
    return _NAMES.get(unit, frozenset({unit}))


def _spell(unit: str, power: str | None) -> str:
    words = [word for word in re.split(r"[\s.]+", unit.strip().lower().strip("\\")) if word]
    spelled = [_name(word) for word in words]
    for name, exponent in (("square", "2"), ("cubic", "3")):
        if name in spelled:
            spelled.remove(name)
            power = exponent
    joined = " ".join(spelled)
    return "" if joined in _EMPTY else joined + (f"^{power}" if power else "")


def _name(word: str) -> str:
    """The first word of a unit's line; a word of several units or of none stays as it is."""
    names = _NAMES.get(word)
    if names is None:
        return word.rstrip("s") if len(word) > 3 else word
    return next(iter(names)) if len(names) == 1 else word
