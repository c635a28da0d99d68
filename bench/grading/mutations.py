"""Random and mutated replies for the fuzz run: what models, templates and attackers could send."""

from __future__ import annotations

import random
from collections.abc import Callable

MEGABYTE = 1_000_000

MARKERS = (
    "Answer:", "\nAnswer: ", "Final answer: ", "**Answer:** ", "#### ", "\\boxed{", "\\boxed{{",
    "\\fbox{", "}", "{", "<answer>", "</answer>", "<think>", "</think>", '{"answer": ', '"}',
    "[/think]", "<|channel|>final<|message|>", "<|im_end|>", "正解は", "答え：", "【解答】",
    "答案是", "应选", "选", "정답은 ", "よって、", "therefore ", "So the answer is ", " not ",
    "n't ", "wait, ", "Actually, ", " or ", " and ", ", ", "、", "と", "・", "if ", "?",
    "is correct", "が正しい", "是对的", "Options:\nA) x\nB) y\n", "Question: ", "I cannot answer",
    "$", "$$", "\\(", "\\)", "\\[", "\\]", "```", "```json\n", "| A | B |\n", "\n\n", "> ", "- ",
    "1. ", "one of ", "either ",
)  # fmt: skip
LETTERS = "ABCDEFGHabcdefghＡＢＣＤａｂｃⒶⒷⓒ🅰🄱ⅠⅡⅢアイウ①②③④⑤"
NUMBERS = (
    "0", "-0", "4", "42", "-17", "1,234", "1 234 567", "3.14", ".5", "5.", "1/2", "1/0", "0/0",
    "10^3", "10^-3", "2e5", "1e999999999", "-1E-400", "10^{10^{10}}", "9" * 450,
    "1" + ",000" * 120, "½", "²", "10²", "⅔", "٣٤", "४२", "①3②8", "百", "三", "5億", "1億2万",
    "forty-two", "half", "two thirds", "minus three", "50%", "50 %", "$5", "€1.234,56", "∞", "NaN",
    "1_000", "0x1F", "7:30", "2:3", "1..5", "--3", "+-4", "3!", "99999999!", "10000!", "−5",
    "－５", "１２",
)  # fmt: skip
FORMULAS = (
    "\\frac", "\\dfrac", "\\sqrt", "\\sqrt[3]", "{", "}", "(", ")", "[", "]", "^", "_", "+", "-",
    "*", "/", "1", "2", "x", "y", "n", "\\pi", "\\infty", "e", "i", "\\pm", "\\mp", ",", ";", "=",
    "<", "\\le", "\\cup", "\\cap", "\\in", "!", "|", "\\text{cm}", "\\text{ or }", "%", "10",
    "0.5", "\\left", "\\right", "\\{", "\\}", "\\begin{pmatrix}", "\\end{pmatrix}", "&", "\\\\",
    "\\binom", "\\log", "\\sin", "\\arctan", "^{-1}", "\\int", "\\sum_{n=1}^{9}",
    "\\lim_{x\\to 0}", "\\circ", "^\\circ", "\\lfloor", "\\rfloor", "f(", "\\overline{3}",
    "\\mathbb{R}", "\\cdot", "'", "dx", "\\newline", "\\unknown", "\\", "999", "_8", "\\emptyset",
)  # fmt: skip
SOUP = (
    "\u202e", "\u202d", "\u2066", "\u2069", "\u200b", "\u200f", "\ufeff", "\u00ad", "\x00", "\x01",
    "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800", "\udfff", "\udc80", "\ufffd", "\uffff",
    "\U0010ffff", "e\u0301", "\u0301" * 5, "ﬁ", "ß", "ŉ", "İ", "ı", "ﷺ", "㎏", "㍿", "½", "²", "₂",
    "Ⅳ", "㊤", "👩‍👩‍👧‍👦", "🇯🇵", "🅱", "𝐁", "𝟜", "𝒙", "Ａ", "（Ｂ）", "：", "。", "、", "٣", "۴",
    "໑", "Ⓑ", "\t", "\r", "\r\n", "\v", "\f", "\u3000", "\xa0",
)  # fmt: skip
RUNS = (
    " ", "\n", "A", "B ", "(", ")", "{", "}", "[", "$", "\\", "\\boxed{", "\\boxed{B}", "\\frac{",
    "Answer:", "Answer: B\n", "answer is ", "not ", "1", "1,", "1.", "9", "10^", "-", "if ", "? ",
    "<think>", "</think>", "<answer>", '{"answer": "', "正解は", "答え：", "选", "よって",
    "therefore ", "wait, ", "Paris ", "①", "²", "\x00", "\ud800", "\u202e", "👩‍👩‍👧‍👦", "ﷺ",
    "Ａ", "\u0301", "|", "=", "\\text{", "**", "_", "x = 1\n", ". ", ", ", " or ", "和", "'", '"',
    "`", "#", "e", "\\(", "half ", "of ",
)  # fmt: skip

Maker = Callable[[random.Random, list[str]], str]


def _spliced(r: random.Random, texts: list[str]) -> str:
    """The beginning of one reply and the end of another."""
    first, second = r.choice(texts), r.choice(texts)
    joint = r.choice(("", "\n", "\n\n", " ", r.choice(MARKERS)))
    return first[: r.randint(0, len(first))] + joint + second[r.randint(0, len(second)) :]


def _joined(r: random.Random, texts: list[str]) -> str:
    """Several whole replies one after the other."""
    joint = r.choice(("\n\n", "\n", " ", "", "</think>"))
    return joint.join(r.choice(texts) for _ in range(r.randint(2, 5)))


def _repeated(r: random.Random, texts: list[str]) -> str:
    """A piece of a reply many times over."""
    text = r.choice(texts)
    begin = r.randint(0, len(text))
    piece = text[begin : begin + r.randint(1, 80)]
    return text[:begin] + piece * r.randint(2, 60) + text[begin:]


def _truncated(r: random.Random, texts: list[str]) -> str:
    """A reply cut anywhere."""
    text = r.choice(texts)
    return text[: r.randint(0, len(text))]


def _marked(r: random.Random, texts: list[str]) -> str:
    """Markers, letters and numbers put in anywhere."""
    return _insert(r, r.choice(texts), (*MARKERS, *LETTERS, *NUMBERS), r.randint(1, 8))


def _souped(r: random.Random, texts: list[str]) -> str:
    """Odd characters put in anywhere."""
    return _insert(r, r.choice(texts), SOUP, r.randint(1, 12))


def _insert(r: random.Random, text: str, pieces: tuple[str, ...], number: int) -> str:
    for _ in range(number):
        place = r.randint(0, len(text))
        text = text[:place] + r.choice(pieces) + text[place:]
    return text


def _mutated(r: random.Random, texts: list[str]) -> str:
    """Characters left out, swapped, doubled, in another case or in full width."""
    chars = list(r.choice(texts))
    for _ in range(r.randint(1, 10)):
        if not chars:
            break
        place = r.randrange(len(chars))
        char = chars[place][:1]
        wide = chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char
        chars[place] = r.choice(("", char * 2, char.swapcase(), wide, r.choice(chars)))
    return "".join(chars)


def _marker_soup(r: random.Random, _: list[str]) -> str:
    """Nothing but markers, letters and numbers."""
    pieces = (MARKERS, LETTERS, NUMBERS, ("\n", " ", "."), SOUP)
    return "".join(r.choice(r.choice(pieces)) for _ in range(r.randint(1, 25)))


def _unicode(r: random.Random, _: list[str]) -> str:
    """Characters from all of Unicode, lone surrogates too."""
    tops = r.choices((0x7F, 0x24F, 0x30FF, 0xFFFF, 0x10FFFF), k=r.randint(1, 120))
    return "".join(chr(r.randint(0, top)) for top in tops)


def _ascii(r: random.Random, _: list[str]) -> str:
    return "".join(chr(r.randint(9, 126)) for _ in range(r.randint(0, 200)))


def _formula(r: random.Random, _: list[str]) -> str:
    """A random formula, declared as an answer in one of the usual ways."""
    formula = "".join(r.choice(FORMULAS) for _ in range(r.randint(1, 25)))
    return _declared(r, formula)


def _number(r: random.Random, _: list[str]) -> str:
    """One odd number or several, declared in one of the usual ways."""
    joint = r.choice((" ", ", ", "^", "/", "*", "e", "-", "", ":", " or "))
    return _declared(r, joint.join(r.choice(NUMBERS) for _ in range(r.randint(1, 3))))


def _nested(r: random.Random, _: list[str]) -> str:
    """Brackets, fractions, roots or powers within one another, closed or not."""
    opening, closing = r.choice(
        (
            ("\\frac{", "}{2}"), ("\\sqrt{", "}"), ("{", "}"), ("(", ")"), ("[", "]"), ("|", "|"),
            ("\\left(", "\\right)"), ("x^{", "}"), ("\\boxed{", "}"), ("-", ""), ("\\text{", "}"),
            ("\\{", "\\}"), ("(1,", ")"), ("\\begin{pmatrix}", "\\end{pmatrix}"), ("f(", ")"),
            ("\\sin ", ""), ("2^", ""), ("\\frac", "12"), ("<answer>", "</answer>"), ("\\pm ", ""),
            ("**", "**"), ('{"answer": ', "}"), ("", "!"), ("", "'"), ("\\lfloor ", "\\rfloor "),
        )
    )  # fmt: skip
    depth = r.choice((2, 5, 20, 39, 41, 100, 400, 1_500))
    return _declared(r, opening * depth + "1" + closing * r.choice((depth, depth, depth - 1, 0)))


def _declared(r: random.Random, answer: str) -> str:
    """An answer in one of the usual forms."""
    form = r.choice(
        (
            "{}", "\\boxed{{{}}}", "$\\boxed{{{}}}$", "Answer: {}", "Answer: ${}$", "#### {}",
            "The answer is {}.", "So $x = {}$.", "<answer>{}</answer>", '{{"answer": "{}"}}',
            "答えは{}です。", "答案是{}", "x = {}", "Therefore, $${}$$", "**{}**", "\\[ {} \\]",
        )
    )  # fmt: skip
    return form.format(answer)


def long_run(r: random.Random, texts: list[str]) -> str:
    """Up to a megabyte of the same, before or after a reply."""
    unit = r.choice(RUNS)
    size = r.choice((10_000, 100_000, MEGABYTE))
    text, run = r.choice(texts), unit * (size // len(unit))
    return r.choice((run + text, text + run, run, "Answer: " + run, "\\boxed{" + run + "}"))


MAKERS: tuple[Maker, ...] = (
    _spliced, _spliced, _joined, _repeated, _truncated, _truncated, _marked, _marked, _souped,
    _mutated, _mutated, _marker_soup, _marker_soup, _unicode, _ascii, _formula, _formula, _number,
    _nested,
)  # fmt: skip
"""Each as often as it stands here; ``long_run`` is left to the caller, as it takes long."""
