"""Number words and their values."""

from __future__ import annotations

from fractions import Fraction

from difficulty.grading.words.word_lists import Words

ONES = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
TENS = {
    word: 20 + 10 * index
    for index, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    )
}
SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12, "만": 10**4, "억": 10**8,
}  # fmt: skip
"""What a number before them is multiplied by."""
EASTERN_SCALES = "".join(word for word in SCALES if len(word) == 1)
PARTS = {
    word: Fraction(1, bottom)
    for bottom, word in enumerate(
        ["half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"],
        start=2,
    )
} | {"halve": Fraction(1, 2)}
DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
DIGIT_SCALES = {"十": 10, "百": 100, "千": 1000}
MINUS = Words(
    english="minus, negative", japanese="マイナス, 負の, 負", chinese="负", korean="마이너스"
)
"""Before a number below zero."""
