"""Find the matches of a pattern by the plain words that each of them holds.

Looking for a few words and trying the pattern only where one stands is many times faster than
trying it at every character, and finds the same matches.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Anchored:
    """A pattern, and words of which one stands at most ``back`` characters after a match begins."""

    pattern: re.Pattern[str]
    anchors: tuple[str, ...]
    back: int = 0
    sign: str = ""
    """One character that every match holds, if any: much the cheapest to look for."""

    @functools.cached_property
    def _shortest(self) -> tuple[str, ...]:
        """The anchors, without those that begin with another one."""
        words = set(self.anchors)
        return tuple(
            word for word in words if not any(word[:end] in words for end in range(1, len(word)))
        )

    @functools.cached_property
    def _ascii(self) -> tuple[str, ...]:
        return tuple(word for word in self._shortest if word.isascii())

    def finditer(self, low: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        """The matches in ``low[start:end]``, in order, none overlapping another."""
        if self.sign and self.sign not in low:
            return
        stop = len(low) if end is None else end
        last = start
        words = self._ascii if low.isascii() else self._shortest
        for position in places(low, words, start, stop):
            for begin in range(max(last, position - self.back), position + 1):
                found = self.pattern.match(low, begin, stop)
                if found is not None and found.end() > position:
                    yield found
                    last = found.end()
                    break


@dataclass(frozen=True)
class Gated:
    """A pattern that is tried at every character, but only if one of the gates occurs at all."""

    pattern: re.Pattern[str]
    gates: tuple[str, ...]
    signs: str = ""
    """Characters of which every match holds one, if any are given."""

    def finditer(self, low: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        """The matches in ``low[start:end]``, in order."""
        stop = len(low) if end is None else end
        if self.signs and not any(map(low.__contains__, self.signs)):
            return
        if any(map(low.__contains__, self.gates)):
            yield from self.pattern.finditer(low, start, stop)


_LATIN = re.compile(r"[a-z]{2}")


def has_latin_words(low: str) -> bool:
    """Whether two Latin letters stand side by side; a text without has none of these words."""
    return low.isascii() or _LATIN.search(low) is not None


@functools.lru_cache(maxsize=2)
def _characters(low: str) -> frozenset[str]:
    """The characters of a text: many scripts have thousands, so most words lack one."""
    return frozenset(low)


def places(low: str, words: Iterable[str], start: int, end: int) -> list[int]:
    """Where one of these words begins in ``low[start:end]``, in order."""
    found: list[int] = []
    find = low.find
    if not low.isascii():
        present = _characters(low)
        words = [word for word in words if word[0] in present and present.issuperset(word)]
    for word in words:
        position = find(word, start, end)
        while position >= 0:
            found.append(position)
            position = find(word, position + 1, end)
    if len(found) > 1:
        found = sorted(set(found))
    return found
