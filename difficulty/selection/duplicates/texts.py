"""What of a question is compared: its words and its options, without case, width and spacing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
_SPACE = re.compile(r"\s+")
_END = " .?!:。？！："
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def comparable(prompt: str, options: Sequence[str]) -> str:
    """The question as one text that its copies share: options count, their order does not.

    Punctuation stays, since it is the content of mathematics; only what ends a text goes.
    """
    parts = [plain(prompt), *sorted(plain(option) for option in options)]
    return "\n".join(parts)


def plain(text: str) -> str:
    """One width, one case, single spaces, no full stop or question mark at the end."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip(_END)


def numbers(text: str) -> str:
    """The numbers of a text in their order: questions that differ in one are different ones."""
    return " ".join(_NUMBERS.findall(text))


def gram_length(text: str) -> int:
    """Characters a gram: 3 where most letters are written without spaces (Japanese), else 5."""
    letters = sum(char.isalpha() for char in text)
    return 3 if 2 * len(_UNSPACED.findall(text)) > letters else 5
