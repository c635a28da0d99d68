"""Leave out an option's own words where they stand beside its label: ``うつ病(a)と適応障害(d)``."""

from __future__ import annotations

import re

from difficulty.grading.normalize import Normal
from difficulty.grading.read.options import Options

_BEFORE = re.compile(r"(?<![^\W\d_])(?P<l>\w)[\s.:)*_「(-]{0,4}\Z")
_AFTER = re.compile(r"[\s*_」]{0,3}[(\[](?:option |choice |選択肢)?(?P<l>\w)[)\]]")


def without_own_words(reply: Normal, options: Options) -> tuple[Normal, list[int]]:
    """The shorter text, and for each of its characters (and its end) the index in ``reply``."""
    kept: list[str] = []
    places: list[int] = []
    position = 0
    for item in options.mentions(reply.low, 0, len(reply.low)):
        if item.start < position or not _is_beside(
            reply, item.start, item.end, item.label, options
        ):
            continue
        kept.append(reply.text[position : item.start])
        places.extend(range(position, item.start))
        position = item.end
    kept.append(reply.text[position:])
    places.extend(range(position, len(reply.text) + 1))
    text = "".join(kept)
    return Normal(text, text.lower(), None, 0), places


def _is_beside(reply: Normal, start: int, end: int, label: str, options: Options) -> bool:
    before = _BEFORE.search(reply.text, max(0, start - 6), start)
    after = _AFTER.match(reply.text, end)
    near = [found["l"] for found in (before, after) if found is not None]
    return any(options.label_of(char) == label for char in near)
