"""Read numbers as people write them: signs, separators, fractions, powers of ten, words, 万.

Values are exact (``Fraction``), so that 0.1 is a tenth and 1e-7 is not 2e-7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from difficulty.grading.normalize import is_circled_digit
from difficulty.grading.words.numerals import (
    DIGIT_SCALES,
    DIGITS,
    EASTERN_SCALES,
    MINUS,
    ONES,
    PARTS,
    SCALES,
    TENS,
)
from difficulty.grading.words.units import COUNTER
from difficulty.grading.words.word_lists import alternation

MAX_DIGITS = 400
"""A longer number is refused: no answer of an exam has as many digits."""
MAX_EXPONENT = 400

_WORD_VALUES = ONES | TENS
_SPELLED_SCALES = [word for word in SCALES if word.isascii()]
_WORD = alternation((*_WORD_VALUES, *_SPELLED_SCALES))
_TEN_THOUSAND = alternation(word for word, value in SCALES.items() if value == 10**4)

_INTEGER = (
    r"(?:\d{1,3}(?:(?:,|\{,\}|\\,|\\!|,\\!|_|'|[\u2009\u202f]|[ "
    r"~](?=\d{3}(?!\d)))\d{3})+(?!\d)|\d+)"
)
_PLAIN = rf"(?:{_INTEGER}(?:\.\d+)?|\.\d+)"
_CURRENCY = r"(?:\\?[$€£¥₹₩]|us\$|usd|eur|rs\.?|円|元)"
NUMBER = re.compile(
    rf"(?:(?P<sign>[-+–]|(?:{MINUS.west}) |{MINUS.east})\s{{0,2}})?"
    rf"(?:{_CURRENCY}\s{{0,2}})?(?P<sign2>[-+])?(?:"
    rf"\\[dtc]?frac\s*\{{\s*(?P<top>-?{_PLAIN})\s*\}}\s*\{{\s*(?P<bottom>{_PLAIN})\s*\}}|"
    rf"\\[dtc]?frac\s*(?P<top1>\d)\s*(?P<bottom1>\d)|"
    rf"(?P<ten>10\s*(?:\^|\*\*)\s*[({{]?\s*(?P<ten_power>[-+]?\d{{1,4}})\s*[)}}]?)(?![\d.])|"
    rf"(?P<whole>\d+)\s(?P<over>\d+)/(?P<under>\d+)(?![\d./])|"
    rf"(?P<number>{_PLAIN})"
    rf"(?:\s*(?:×|\*|x|·|\\times|\\cdot)\s*10\s*(?:\^|"
    rf"\*\*)\s*[({{]?\s*(?P<power>[-+]?\d{{1,4}})\s*[)}}]?"
    rf"|e(?P<exponent>[-+]?\d{{1,9}})(?!\w|\.\d)"
    rf"|\s*/\s*(?P<denominator>\d+(?:\.\d+)?)(?![\d./])"
    rf"|\s?(?P<scale>{alternation(SCALES)})(?![a-z])"
    rf"(?:(?P<lower>\d+)(?P<lower_scale>{_TEN_THOUSAND})?)?)?)"
)
"""One number in lower-case normalised text."""

_WORD_NUMBER = re.compile(
    rf"(?<![a-z-])(?:(?:{MINUS.west}) )?(?:{_WORD})(?:(?:[ -]|,? and )(?:{_WORD}))*(?![a-z-])"
)
_PART_WORD = re.compile(rf"[ -](?:of an? )?({alternation(PARTS)})s?(?![a-z])")
_KANJI = "".join((*DIGITS, *DIGIT_SCALES, EASTERN_SCALES))
_KANJI_NUMBER = re.compile(
    rf"(?<![\d\u4e00-\u9fff])(?!十分)([{_KANJI}]{{1,12}})"
    rf"(?=です|で(?:ある|した)|と?な[るり]|{COUNTER}|[。.\s)}}\]*」]|$)"
)
_BOX_DIGITS = re.compile(
    r"(?:[①-⑳]\s*[:=は]?\s*\d(?!\d)(?:\s{0,2}\.(?=\s{0,2}[①-⑳]))?\s*[,、;]?\s*){2,}"
)
_BOX_DIGIT = re.compile(r"[①-⑳]\s*[:=は]?\s*(\d)|(\.)")


@dataclass(frozen=True)
class Found:
    """A number in a text, with its exact value; null if it breaks a limit."""

    value: Fraction | None
    start: int
    end: int


def find_numbers(low: str, start: int, end: int) -> list[Found]:
    """The numbers in ``low[start:end]``, in reading order; digit boxes ①3②8 are one number, 38."""
    found: list[Found] = []
    taken = start
    boxes = list(_BOX_DIGITS.finditer(low, start, end)) if _has_circled(low, start, end) else []
    for box in boxes:
        digits = "".join(digit or point for digit, point in _BOX_DIGIT.findall(box.group()))
        value = Fraction(digits) if digits.count(".") <= 1 else None
        found.append(Found(value, box.start(), box.end()))
    for match in NUMBER.finditer(low, start, end):
        inside = any(box.start() <= match.start() < box.end() for box in boxes)
        if inside or match.start() < taken or _inside_word(low, match) or _is_clock(low, match):
            continue
        found.append(Found(_value(match), match.start(), match.end()))
        taken = match.end()
    return sorted(found, key=lambda item: item.start)


def find_number_words(low: str, start: int, end: int) -> list[Found]:
    """Numbers in English words: ``forty-two``."""
    found = []
    for match in _WORD_NUMBER.finditer(low, start, end):
        value, stop = _words_value(match.group()), match.end()
        part = _PART_WORD.match(low, stop, end)
        if part:
            value, stop = value * PARTS[part[1]], part.end()
        found.append(Found(value, match.start(), stop))
    for match in _KANJI_NUMBER.finditer(low, start, end):
        found.append(Found(_kanji_value(match[1]), match.start(), match.end(1)))
    return sorted(found, key=lambda item: item.start)


def parse_number(text: str) -> Fraction | None:
    """The value of a text that is one number and nothing else, else null."""
    low = text.strip().lower()
    match = NUMBER.fullmatch(low)
    return _value(match) if match else None


def canonical(value: Fraction) -> str:
    """One spelling for a value: an integer, a finite decimal or a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or value.denominator > 10**30:
        return f"{value.numerator}/{value.denominator}"
    places = next(n for n in range(1, 110) if (value * 10**n).denominator == 1)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _kanji_value(text: str) -> Fraction:
    """``百二十`` is 120; without a unit the digits are read in order: ``二〇`` is 20."""
    if all(char in DIGITS for char in text):
        return Fraction(int("".join(str(DIGITS[char]) for char in text)))
    total = part = digit = 0
    for char in text:
        if char in DIGITS:
            digit = DIGITS[char]
        elif char in DIGIT_SCALES:
            part, digit = part + (digit or 1) * DIGIT_SCALES[char], 0
        else:
            total, part, digit = total + (part + digit or 1) * SCALES[char], 0, 0
    return Fraction(total + part + digit)


def _has_circled(low: str, start: int, end: int) -> bool:
    return not low.isascii() and any(is_circled_digit(char) for char in low[start:end])


def _inside_word(low: str, match: re.Match[str]) -> bool:
    """Whether a number is part of a word or name: ``b12``, ``x_1``, ``co2``."""
    before = low[match.start() - 1 : match.start()] if match.start() else ""
    if _follows_command(match):
        return False
    return not _is_binary(match) and before.isascii() and (before.isalpha() or before in {"_", "^"})


def _is_clock(low: str, match: re.Match[str]) -> bool:
    """Whether a number is half of ``7:30`` or of a ratio ``2:3``."""
    around = low[max(0, match.start() - 2) : match.start()], low[match.end() : match.end() + 2]
    before, after = around
    return (after[:1] == ":" and after[1:].isdigit()) or (
        before[1:] == ":" and before[:1].isdigit()
    )


_COMMAND_BEFORE = re.compile(r"\\(?:boxed|fbox|cdot|times|div|left)\Z")


def _follows_command(match: re.Match[str]) -> bool:
    r"""Whether a number stands right after a command that takes it, as in ``\boxed-5``."""
    start = match.start()
    return _COMMAND_BEFORE.search(match.string, max(0, start - 8), start) is not None


def _is_binary(match: re.Match[str]) -> bool:
    """Whether the sign stands between two terms, as in ``48-24`` or ``10-20``."""
    before = match.string[match.start() - 1 : match.start()] if match.start() else ""
    if not match["sign"] or not before.isascii() or _follows_command(match):
        return False
    return before.isalnum() or before in {")", "}", "]", "%"}


def _value(match: re.Match[str]) -> Fraction | None:
    if len(match.group()) > MAX_DIGITS:
        return None
    magnitude = _magnitude(match)
    if magnitude is None:
        return None
    minus = match["sign"] not in {None, "+"} and not _is_binary(match)
    return -magnitude if minus != (match["sign2"] == "-") else magnitude


def _magnitude(match: re.Match[str]) -> Fraction | None:
    top, bottom = match["top"] or match["top1"], match["bottom"] or match["bottom1"]
    if top is not None:
        return _ratio(_decimal(top), _decimal(bottom))
    if match["ten"] is not None:
        return _power_of_ten(match["ten_power"])
    if match["whole"] is not None:
        part = _ratio(Fraction(match["over"]), Fraction(match["under"]))
        return None if part is None else Fraction(match["whole"]) + part
    return _scaled(match, _decimal(match["number"]))


def _scaled(match: re.Match[str], number: Fraction) -> Fraction | None:
    power = match["power"] or match["exponent"]
    if power is not None:
        factor = _power_of_ten(power)
        return None if factor is None else number * factor
    if match["denominator"] is not None:
        return _ratio(number, Fraction(match["denominator"]))
    if match["scale"] is not None:
        lower = Fraction(match["lower"] or 0) * SCALES.get(match["lower_scale"] or "", 1)
        return number * SCALES[match["scale"]] + lower
    return number


def _decimal(text: str) -> Fraction:
    return Fraction(re.sub(r"[^\d.-]", "", text))


def _ratio(top: Fraction, bottom: Fraction) -> Fraction | None:
    return top / bottom if bottom else None


def _power_of_ten(power: str) -> Fraction | None:
    if abs(int(power)) > MAX_EXPONENT:
        return None
    return Fraction(10) ** int(power)


def _words_value(text: str) -> Fraction:
    total, current, sign = 0, 0, 1
    for word in re.split(r"[ ,-]+", text):
        if word in MINUS.western:
            sign = -1
        elif word in _WORD_VALUES:
            current += _WORD_VALUES[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in SCALES:
            total, current = total + max(current, 1) * SCALES[word], 0
    return Fraction(sign * (total + current))
