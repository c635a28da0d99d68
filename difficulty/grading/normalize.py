"""One spelling for what people write in many: full width, superscripts, exotic spaces.

Superscripts and circled digits are taken out *before* Unicode's NFKC, which would turn ``10²`` into
102. Circled digits stay as they are: in exam answers they name the box that a digit goes into.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from difficulty.schema import Span

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿˣⁱ", "0123456789+-()nxi", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\ufe0f")
_FIXED = {
    "−": "-", "﹣": "-", "－": "-", "⁄": "/", "∕": "/", "\u2028": "\n", "\u2029": "\n",
    "İ": "I", "′": "'", "’": "'", "‘": "'", "：": ":", "﹕": ":", "∶": ":",
}  # fmt: skip


_FULL_WIDTH = tuple(zip("，：；（）？！　．／＝", ",:;()?! ./=", strict=True))
MAX_SPELLED = 6
"""A character that stands for a longer phrase is left as it is, so that no text grows much."""
_OTHER = re.compile(
    r"[^\x00-\x7f、。「」『』【】々〜\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3○×→“”]"
)
"""A character that may have another spelling; those left out have one alone."""


@dataclass(frozen=True)
class Normal:
    """A text in one spelling, and where each of its characters stood in the original."""

    text: str
    """The normalised text."""
    low: str
    """The same text in lower case, character for character."""
    positions: Sequence[int] | None
    """Original index of each character; null means ``offset`` plus the own index."""
    offset: int
    """Index in the original at which the normalised part begins."""

    def last(self, count: int) -> Normal:
        """The last ``count`` characters; itself if it has no more."""
        spare = len(self.text) - count
        if spare <= 0:
            return self
        positions = None if self.positions is None else self.positions[spare:]
        offset = self.offset + (spare if positions is None else 0)
        return Normal(self.text[spare:], self.low[spare:], positions, offset)

    def span(self, start: int, end: int) -> Span:
        """Characters [start, end) of the normalised text, as a span of the original."""
        if self.positions is None:
            return Span(start=start + self.offset, end=end + self.offset)
        if end <= start:
            first = self.positions[start] if start < len(self.positions) else self.offset
            return Span(start=first, end=first)
        return Span(start=self.positions[start], end=self.positions[end - 1] + 1)


def normalize(text: str, offset: int = 0) -> Normal:
    """Normalise ``text[offset:]``; one linear pass, none for plain ASCII."""
    body = text[offset:] if offset else text
    if body.isascii():
        return Normal(body, body.lower(), None, offset)
    for full, half in _FULL_WIDTH:
        body = body.replace(full, half)
    pieces: list[str] = []
    positions: list[int] = []
    done = 0
    for found in _OTHER.finditer(body):
        index = found.start()
        piece = _spell(found.group(), body[index - 1 : index])
        pieces += (body[done:index], piece)
        positions.extend(range(done + offset, index + offset))
        positions.extend([index + offset] * len(piece))
        done = index + 1
    if not pieces:
        return Normal(body, body.lower(), None, offset)
    pieces.append(body[done:])
    positions.extend(range(done + offset, len(body) + offset))
    joined = "".join(pieces)
    return Normal(joined, joined.lower(), positions, offset)


def plain(text: str) -> str:
    """The normalised text alone, for golds and option texts."""
    return normalize(text).text


def _spell(char: str, previous: str) -> str:
    """One character in the common spelling, given the one before it."""
    if char in _SUPERSCRIPTS:
        return ("" if previous in _SUPERSCRIPTS else "^") + _SUPERSCRIPTS[char]
    if char in _SUBSCRIPTS:
        return ("" if previous in _SUBSCRIPTS else "_") + _SUBSCRIPTS[char]
    spelled = _spell_alone(char)
    if "/" in spelled and spelled != "/" and previous.isdigit():
        return " " + spelled
    return spelled


@functools.lru_cache(maxsize=16384)
def _spell_alone(char: str) -> str:
    if char in _INVISIBLE:
        return ""
    if char in _FIXED:
        return _FIXED[char]
    if is_circled_digit(char):
        return char
    for first in ("🅐", "🅰"):
        if 0 <= ord(char) - ord(first) < 26:
            return chr(ord("A") + ord(char) - ord(first))
    spelled = unicodedata.normalize("NFKC", char).replace("⁄", "/").replace("−", "-")
    if len(spelled) > MAX_SPELLED:
        return char
    return "".join(part if len(part.lower()) == 1 else part.lower()[0] for part in spelled)


def line_spans(text: str, start: int = 0) -> list[tuple[int, int]]:
    """[start, end) of each line from ``start`` on that is not blank."""
    spans = []
    position = start
    for line in text[start:].split("\n"):
        if line and not line.isspace():
            spans.append((position, position + len(line)))
        position += len(line) + 1
    return spans


def is_circled_digit(char: str) -> bool:
    """Whether a character is one of ①-⑳, ⓪, ❶-❿."""
    return "①" <= char <= "⑳" or char == "⓪" or "❶" <= char <= "❿"
