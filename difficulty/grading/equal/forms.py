r"""The outer structure of a piece of mathematics: set, tuple, interval, list, equation, text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from difficulty.grading.equal.latex import enclosed, normalize_math, split_top

_RELATION = re.compile(r"<=|>=|!=|=|<|>")
_SUBSCRIPT = re.compile(r"_\s*\{[^{}]*\}")
_MATRIX = re.compile(
    r"\\begin\s*\{(?:[pbBvV]?matrix|array)\}(?:\{[^{}]*\})?(.*)\\end\s*\{\w+\}", re.DOTALL
)
_MEMBER = re.compile(r"^\s*[a-zA-Z](?:_\{?\w+\}?)?\s*\\in\s*")
_KNOWN_WORDS = re.compile(
    r"\\[A-Za-z]+|(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|ln|log|exp|sqrt|pi|abs"
)


@dataclass(frozen=True)
class Form:
    """The outer structure of a piece of mathematics."""

    kind: str
    """expression, list, set, brackets, union, relation, equation, matrix or text."""
    parts: tuple[str, ...]
    marks: str = ""
    """The brackets, or the relation signs."""


def form_of(text: str) -> Form:
    """Classify a normalised text by its outer structure."""
    text = _MEMBER.sub("", text.strip())
    matrix = _MATRIX.fullmatch(text)
    if matrix:
        rows = tuple(row.strip() for row in matrix[1].split("\\newline") if row.strip())
        return Form("matrix", rows)
    if _is_text(text):
        return Form("text", (text,))
    signs = signs_opened(text) if "\\pm" in text or "\\mp" in text else [text]
    if signs != [text]:  # unopened signs, as in (1, ±2), must not make a list of itself
        return Form("list", tuple(signs))
    if "\\cup" in text:
        return Form("union", tuple(part.strip() for part in text.split("\\cup")))
    return _delimited(text)


def _delimited(text: str) -> Form:
    items = split_top(text, ",;")
    if len(items) > 1:
        return Form("list", tuple(item for item in items if item))
    relations, parts = _relations(text)
    if relations:
        plain = all(sign == "=" for sign in relations)
        return Form("equation" if plain else "relation", parts, " ".join(relations))
    pair = enclosed(text)
    if pair is not None:
        opening, inside, closing = pair
        parts = tuple(split_top(inside, ",;"))
        if (
            opening in {"\\{", "{"}
            and closing in {"\\}", "}"}
            and (opening == "\\{" or len(parts) > 1)
        ):
            return Form("set", tuple(part for part in parts if part))
        if len(parts) > 1:
            return Form("brackets", parts, opening + closing)
    return Form("expression", (text,))


def _relations(text: str) -> tuple[list[str], tuple[str, ...]]:
    r"""The relation signs and what they separate; signs in a subscript (``\sum_{i=1}``) are not."""
    bare = _SUBSCRIPT.sub(lambda found: "_" * len(found[0]), text)
    signs, parts, begin = [], [], 0
    for found in _RELATION.finditer(bare):
        signs.append(found[0])
        parts.append(text[begin : found.start()].strip())
        begin = found.end()
    return signs, (*parts, text[begin:].strip())


def _is_text(text: str) -> bool:
    r"""Whether a text is words: ``\text{odd}``, ``Evelyn``, ``\text{(C)}``."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text)
    if re.search(r"\d|[=<>+^]|\\(?!text)", re.sub(r"\\text", "", bare)) and not text.startswith(
        "\\text"
    ):
        return False
    if text.startswith("\\text") and re.fullmatch(r"(?:\\text\s*\{[^{}]*\}\s*)+", text):
        return True
    words = _KNOWN_WORDS.sub("", bare)
    return bool(re.fullmatch(r"[\s(]*[A-Za-z][A-Za-z' -]{2,}[\s)]*", words)) and bool(
        re.search(r"[a-z]{3}|\s", words)
    )


def signs_opened(text: str) -> list[str]:
    r"""Both readings of ``\pm`` (at most the first three signs are opened)."""
    if text.count("\\pm") + text.count("\\mp") > 3 or "," in text:
        parts = split_top(text, ",;")
        return [
            value
            for part in parts
            for value in (signs_opened(part) if "\\pm" in part and len(parts) > 1 else [part])
        ]
    upper = text.replace("\\pm", "+").replace("\\mp", "-")
    lower = text.replace("\\pm", "-").replace("\\mp", "+")
    return [_strip_plus(upper), _strip_plus(lower)]


def _strip_plus(text: str) -> str:
    return text.strip().removeprefix("+").strip()


def words_key(text: str) -> str:
    r"""Words without mark-up, brackets, articles and case: ``\text{(C)}`` and ``C`` are one."""
    text = re.sub(r"\\[A-Za-z]+", " ", normalize_math(text))
    text = re.sub(r"[^\w]+", " ", text.lower()).strip()
    return re.sub(r"^(?:the|an?)\s+(?=\w\w)", "", text)
