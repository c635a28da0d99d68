"""One concept's words with all languages side by side, and the patterns made from them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The words of one concept, lower case, separated by commas; a star is the rest of a word.

    A word added here is known to every kind of answer that asks for the concept.
    """

    english: str = ""
    other: str = ""
    """Of further languages that put spaces between their words."""
    japanese: str = ""
    chinese: str = ""
    korean: str = ""
    signs: str = ""

    def __add__(self, more: Words) -> Words:
        names = self.__dataclass_fields__
        return Words(**{
            name: ", ".join(filter(None, (getattr(self, name), getattr(more, name))))
            for name in names
        })  # fmt: skip

    @functools.cached_property
    def western(self) -> tuple[str, ...]:
        """Words with spaces around them."""
        return split(self.english, self.other)

    @functools.cached_property
    def eastern(self) -> tuple[str, ...]:
        """Words with nothing around them."""
        return split(self.japanese, self.chinese, self.korean, self.signs)

    @functools.cached_property
    def gates(self) -> tuple[str, ...]:
        """Plain strings of which every match of a pattern holds one, none within another."""
        words = sorted((word.rstrip("*") for word in (*self.western, *self.eastern)), key=len)
        return tuple(w for n, w in enumerate(words) if not any(s in w for s in words[:n]))

    @functools.cached_property
    def west(self) -> str:
        """An alternation of the words with spaces around them."""
        return alternation(self.western)

    @functools.cached_property
    def east(self) -> str:
        """An alternation of the others."""
        return alternation(self.eastern)

    @functools.cached_property
    def anywhere(self) -> str:
        """An alternation of all words; one that is a single character begins a clause."""
        single = [word for word in self.eastern if len(word) == 1]
        longer = alternation(word for word in self.eastern if len(word) > 1)
        return rf"\b(?:{self.west})\b|{longer}|(?<![\u3040-\u9fff])(?:{alternation(single)})"


def split(*lists: str) -> tuple[str, ...]:
    """The words of some lists, each once."""
    return tuple(dict.fromkeys(word for each in lists for word in each.split(", ") if word))


def alternation(words: Iterable[str]) -> str:
    """A pattern for one of the words, the longest first; for no words one that never matches."""
    longest = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\*", r"\w*") for word in longest) or "(?!)"
