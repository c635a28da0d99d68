"""Split a unit off a quantity and compare units: a missing unit is no fault, another unit is."""

from __future__ import annotations

import re

_SAME = {
    "m": "m meter meters metre metres", "cm": "cm centimeter centimeters centimetre centimetres",
    "mm": "mm millimeter millimeters millimetre millimetres",
    "km": "km kilometer kilometers kilometre kilometres",
    "in": "in inch inches", "ft": "ft foot feet", "yd": "yd yard yards", "mi": "mi mile miles",
    "s": "s sec secs second seconds", "min": "min mins minute minutes", "h": "h hr hrs hour hours",
    "day": "day days", "week": "week weeks", "month": "month months", "year": "year years yr yrs",
    "kg": "kg kilogram kilograms", "g": "g gram grams", "mg": "mg milligram milligrams",
    "lb": "lb lbs pound pounds",
    "oz": "oz ounce ounces", "L": "l liter liters litre litres",
    "mL": "ml milliliter milliliters millilitre",
    "degree": "degree degrees deg", "percent": "percent %", "dollar": "dollar dollars usd",
    "cent": "cent cents",
    "mph": "mph", "square": "sq square", "cubic": "cubic cu", "N": "newton newtons",
    "J": "joule joules", "W": "watt watts",
}  # fmt: skip
_UNIT = {word: unit for unit, words in _SAME.items() for word in words.split()}
_EMPTY = {"unit", "units", ""}
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
_COUNTERS = (
    "個 コ 箇 つ 人 名 円 元 本 枚 冊 匹 頭 羽 台 回 点 歳 才 分 秒 時間 日 日間 週間",
    "か月 ヶ月 カ月 年 年間 問 段 階 杯 軒 箱 袋 組 通り 倍 度 ページ グラム キログラム",
    "キロ メートル センチメートル センチ ミリ リットル パーセント",
    "个 块 岁 天 小时 分钟 页 개 명 원 살 시간",
)
_GLUED = ["km", "cm", "mm", "kg", "mg", "ml", "mL", "mph"]
"""Units that are written right after their number, and that no algebra is."""
_COUNTED = sorted((*" ".join(_COUNTERS).split(), *_GLUED), key=len, reverse=True)
_GLUED_UNIT = re.compile(rf"(?P<value>[-+]?\d[\d.,]*)\s*(?P<unit>{'|'.join(_COUNTED)})$")
_SPACED = re.compile(r"[-+]?\d[\d.,]*\s+(?P<unit>[A-Za-z]+(?:/[A-Za-z]+)?)")
_PLURAL = re.compile(r"[a-z]{2,}s|people|children|men|women|mice|sheep|fish")
_NO_UNIT = re.compile(r"(?:sin|cos|tan|cot|sec|csc|ln|log|exp|sqrt|pi|abs|arc\w+)\b")


def split_unit(text: str) -> tuple[str, str]:
    """(value, unit in one spelling); the unit is empty if none is written."""
    text = text.strip()
    for pattern in (_TEXT_UNIT, _PLAIN_UNIT, _MARK_UNIT, _GLUED_UNIT):
        found = pattern.match(text)
        if found is None or _NO_UNIT.match(found["unit"]):
            continue
        power = found["power"] if "power" in found.re.groupindex else None
        return found["value"].strip(), _spell(found["unit"], power)
    return text, ""


def is_quantity(text: str) -> bool:
    """Whether a text is one number with a unit or with what it counts: ``26個``, ``18 apples``.

    A word that is neither a unit nor a plural in lower case may be a name: ``7 Eleven``.
    """
    if _GLUED_UNIT.fullmatch(text.strip()):
        return True
    found = _SPACED.fullmatch(text.strip())
    if found is None:
        return False
    known = all(unit_of(part) for part in found["unit"].split("/"))
    return known or _PLURAL.fullmatch(found["unit"]) is not None


def unit_of(word: str) -> str | None:
    """The unit that a word names, in one spelling; null if it names none."""
    return _UNIT.get(word.lower())


def same_unit(gold: str, answer: str) -> bool:
    """Whether two units agree, or one of them is not written."""
    return gold == answer or not gold or not answer


def _spell(unit: str, power: str | None) -> str:
    words = [word for word in re.split(r"[\s.]+", unit.strip().lower().strip("\\")) if word]
    spelled = [_UNIT.get(word, word.rstrip("s") if len(word) > 3 else word) for word in words]
    for name, exponent in (("square", "2"), ("cubic", "3")):
        if name in spelled:
            spelled.remove(name)
            power = exponent
    joined = " ".join(spelled)
    if joined in {_UNIT.get(word, word.rstrip("s")) for word in _EMPTY} or joined in _EMPTY:
        return ""
    return joined + (f"^{power}" if power else "")
