"""One spelling for mathematics, and the limits and brackets that can be read off the text.

Only strings are handled here; values are compared in ``algebra``. Nothing is ever evaluated as
code.
"""

from __future__ import annotations

import re

from difficulty.grading.normalize import plain
from difficulty.grading.words.joints import AND, OR
from difficulty.grading.words.units import DEGREE

MAX_LENGTH = 2000
"""Characters of a mathematical answer; a longer one is refused."""
MAX_DEPTH = 40
"""Nested brackets and braces."""
MAX_DIGITS = 400
"""Digits in a row."""

_SYMBOLS = {
    "√": "\\sqrt ", "π": "\\pi ", "∞": "\\infty ", "≤": "<=", "≥": ">=", "≠": "!=", "±": "\\pm ",
    "∓": "\\mp ",
    "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∪": "\\cup ", "∩": "\\cap ",
    "°": "\\degree ", "∈": "\\in ",
    "α": "\\alpha ", "β": "\\beta ", "γ": "\\gamma ", "θ": "\\theta ", "λ": "\\lambda ",
    "μ": "\\mu ", "φ": "\\phi ",
    "ω": "\\omega ", "∅": "\\emptyset ", "ℝ": "\\mathbb{R}", "∠": "\\angle ", "–": "-", "∴": "",
    "\\lbrace": "\\{",
    "\\rbrace": "\\}",
    "\\lvert": "|", "\\rvert": "|", "\\vert": "|", "\\mid": "|", "\\lbrack": "[", "\\rbrack": "]",
}  # fmt: skip
_COMMANDS = {
    "dfrac": "\\frac", "tfrac": "\\frac", "cfrac": "\\frac", "leq": "<=", "leqslant": "<=",
    "le": "<=", "geq": ">=",
    "geqslant": ">=", "ge": ">=", "lt": "<", "gt": ">", "neq": "!=", "ne": "!=", "times": "*",
    "cdot": "*", "ast": "*",
    "div": "/", "lor": "\\text{or}", "vee": "\\text{or}", "dbinom": "\\binom",
    "tbinom": "\\binom", "displaystyle": "",
    "textstyle": "", "limits": "", "left": "", "right": "", "big": "", "Big": "", "bigg": "",
    "Bigg": "", "bigl": "",
    "bigr": "", "Bigl": "", "Bigr": "", "quad": " ", "qquad": " ", "textbf": "\\text",
    "textit": "\\text", "textrm": "\\text",
    "mbox": "\\text", "textnormal": "\\text", "mathrm": "\\text", "mathbf": "\\text",
    "mathsf": "\\text", "mathit": "\\text",
    "operatorname": "\\text", "bf": "", "rm": "", "approx": "=", "varnothing": "\\emptyset",
    "colon": ":", "dots": "...",
    "ldots": "...", "cdots": "...", "lparen": "(", "rparen": ")", "degrees": "\\degree",
    "equiv": "=", "implies": "\\implies",
    "boldsymbol": "\\text", "bm": "\\text", "varphi": "\\phi", "varepsilon": "\\epsilon",
    "unit": "\\text", "euro": "", "pounds": "", "therefore": "",
}  # fmt: skip
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_SPACE_COMMAND = re.compile(r"\\[,;:!> ]|~|\{,\}")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:\{,\}|\\[,!; ]|,\\!|~)\s?(?=\d{3}(?!\d))")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_REPEATING = re.compile(r"(\d{1,9})\.(\d{0,9})\\(?:overline|bar)\s*\{(\d{1,9})\}")
_DEGREES = re.compile(
    r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\(?:circ|degree)(?![a-z]))|\\circ(?![a-z])"
)
_DEGREE_WORD = re.compile(rf"(?<=\d)\s?(?:{DEGREE})(?=\W|$)")
_FUNCTION_TEXT = re.compile(
    r"\\text\s*\{\s*((?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|ln|log|exp|gcd|lcm|max|min|e|i|d|"
    r"sqrt|[A-Za-z])\s*\}"
)
_JOINT = OR + AND
_JOINING_TEXT = re.compile(rf"\\text\s*\{{\s*,?\s*(?:{_JOINT.west}|{_JOINT.east})\s*,?\s*\}}")
_JOINING_WORD = re.compile(rf"\s*,?\s+(?:{_JOINT.west})\s+")
_JOINING_EASTERN = re.compile(
    rf"(?<=[\dA-Za-z}})\]])\s?[,、]?\s?(?:{_JOINT.east})\s?(?=[-\dA-Za-z\\({{\[])"
)
_BOXED = re.compile(r"^\\?(?:boxed|fbox|framebox)\s*\{(.*)\}$", re.DOTALL)


def normalize_math(text: str) -> str:
    """The common spelling of a piece of mathematics, LaTeX or plain."""
    text = strip_delimiters(plain(text).strip())
    if not text.isascii() or "\\" in text:
        for symbol, command in _SYMBOLS.items():
            text = text.replace(symbol, command)
    text = _BETWEEN_DIGITS.sub("", text.replace("\\\\", "\\newline "))
    text = _REPEATING.sub(_repeating, text)
    text = _DEGREES.sub(r"\\degree ", text)
    text = _COMMAND.sub(
        lambda found: _COMMANDS.get(found[1], found[0]),
        text,
    )
    if not text.isascii():
        text = _JOINING_EASTERN.sub(" , ", _DEGREE_WORD.sub(r"\\degree ", text))
    text = _SPACE_COMMAND.sub(" ", text).replace("\\$", "").replace("$", "").replace("\\%", "%")
    text = text.replace("**", "^").replace("=>", "\\implies ").replace("==", "=")
    text = re.sub(r"\s+", " ", text)  # before the patterns that look for space on two sides
    text = _JOINING_TEXT.sub(" , ", text)
    text = _FUNCTION_TEXT.sub(_function_text, text)
    text = _JOINING_WORD.sub(" , ", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = text.rstrip(".;,").strip() if not text.endswith("...") else text
    return text if _is_list_like(text) else _THOUSANDS.sub(lambda m: m[0].replace(",", ""), text)


def _repeating(found: re.Match[str]) -> str:
    r"""``0.1\overline{6}`` as the fraction that it is."""
    head, tail = found[1] + found[2], found[3]
    top = int(head + tail) - int(head)
    return f"\\frac{{{top}}}{{{'9' * len(tail)}{'0' * len(found[2])}}}"


def _function_text(found: re.Match[str]) -> str:
    name = found[1]
    return f" {name} " if len(name) == 1 else f"\\{name} "


def _is_list_like(text: str) -> bool:
    """Whether commas separate items: within brackets, or with a space after one."""
    return (text[:1] in "([{\\" and text[:2] != "\\f" and text[-1:] in ")]}") or ", " in text


def squeeze(text: str) -> str:
    """A key under which equal spellings are equal: no spaces, no needless braces."""
    text = re.sub(r"(\\[A-Za-z]+)\s+(?=[A-Za-z])", r"\1@", text)
    text = re.sub(r"\s+", "", text).replace("@", " ")
    return re.sub(r"\{(\w)\}", r"\1", text)


def strip_delimiters(text: str) -> str:
    """Take off dollars, brackets of LaTeX, boxes, bold marks and quotes around the whole."""
    for _ in range(6):
        text = text.strip().strip('*`"').strip()
        boxed = _BOXED.match(text)
        if boxed and balanced(boxed[1]):
            text = boxed[1]
        elif len(text) > 1 and text[0] == "$" and text[-1] == "$":
            text = text.strip("$")
        elif text[:2] in {"\\(", "\\["} and text[-2:] in {"\\)", "\\]"}:
            text = text[2:-2]
        elif text.endswith(("$.", "\\).", "\\].")):
            text = text[:-1]
        else:
            break
    return text.strip()


def balanced(text: str) -> bool:
    """Whether braces are balanced and never close before they open."""
    depth = 0
    for found in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if depth < 0:
            return False
    return depth == 0


MAX_FUNCTIONS = 6
_FUNCTION_CHAIN = re.compile(
    r"(?:\\?(?<![a-z])(?:(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|log|ln|exp|sqrt|gamma)[\s({[]*+){"
    rf"{MAX_FUNCTIONS + 1}}}"
)


def static_limit(text: str) -> str | None:
    """Why a mathematical text may not be evaluated at all; null if it may."""
    if len(text) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if re.search(rf"\d{{{MAX_DIGITS + 1}}}", text):
        return f"a number of more than {MAX_DIGITS} digits"
    if nesting(text) > MAX_DEPTH:
        return f"brackets nested deeper than {MAX_DEPTH}"
    if re.search(r"\d{5,}\s*!|!\s*!|\)\s*!\s*\)\s*!", text):
        return "a factorial of a large number"
    if re.search(r"\^\s*\{?\s*\(?\s*[^\s{}^]{1,20}\s*\^\s*\{?\s*\(?\s*[^\s{}^]{1,20}\s*\^", text):
        return "a tower of exponents"
    if _FUNCTION_CHAIN.search(text):
        return f"functions of functions, more than {MAX_FUNCTIONS} deep"
    return None


def nesting(text: str) -> int:
    """How many brackets and braces stand within one another at the deepest."""
    depth = deepest = 0
    for char in text:
        depth += 1 if char in "([{" else -1 if char in ")]}" else 0
        deepest = max(deepest, depth)
    return deepest


def split_top(text: str, separators: str) -> list[str]:
    """Split at separator characters that stand outside all brackets and braces."""
    parts, depth, begin, index = [], 0, 0, 0
    while index < len(text):
        char = text[index]
        if char == "\\" and text[index + 1 : index + 2] in set("{}"):
            depth += 1 if text[index + 1] == "{" else -1
            index += 2
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth = max(0, depth - 1)
        elif depth == 0 and char in separators:
            parts.append(text[begin:index])
            begin = index + 1
        index += 1
    parts.append(text[begin:])
    return [part.strip() for part in parts]


def enclosed(text: str) -> tuple[str, str, str] | None:
    """Opening bracket, inside and closing bracket if one pair encloses the whole text."""
    text = text.strip()
    opening = "\\{" if text.startswith("\\{") else text[:1]
    closing = "\\}" if text.endswith("\\}") else text[-1:]
    if opening not in {"(", "[", "\\{", "{"} or closing not in {")", "]", "\\}", "}"}:
        return None
    inside = text[len(opening) : -len(closing)]
    depth = 0
    for found in re.finditer(r"\\[{}]|\\.|[(\[{)\]}]", inside):
        if found.group()[-1] in "([{" and found.group() not in {"\\(", "\\["}:
            depth += 1
        elif found.group()[-1] in ")]}" and found.group() not in {"\\)", "\\]"}:
            depth -= 1
        if depth < 0:
            return None
    return (opening, inside.strip(), closing) if depth == 0 else None
