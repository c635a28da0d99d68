"""From all declared answers to the one that counts: the last, unless it is retracted or hedged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from difficulty.grading.normalize import Normal
from difficulty.grading.words.joints import AND, IN_TOTAL, OR, PERHAPS, THEREFORE
from difficulty.grading.words.markers import NAMED
from difficulty.grading.words.phrases import SECOND_THOUGHTS, TAKEN_BACK


@dataclass(frozen=True)
class Declared:
    """One declared answer, read; positions are of the normalised text."""

    value: str
    """Canonical: equal values are the same answer."""
    start: int
    end: int
    rank: int
    how: str
    closed: bool = False
    """Whether a brace, quote or bracket ends it."""
    many: bool = False
    """Whether it names several answers where one is asked for."""
    either: bool = False
    """Whether the labels that it names are alternatives."""


Weaker = Callable[[int], list[Declared]]
"""Answers declared less plainly from an index on; called only when nothing plain is there."""

_PROSE = re.compile(r"[a-z]{2,}|[^\x00-\x7f]")
_JOINS = re.compile((OR + AND + PERHAPS).anywhere)
_JOIN_ONLY = re.compile(r"(?:either|also|text|quad|answers?|boxed|final|is|the|frac|sqrt)")
_CHECK = re.compile(
    r"double[- ]check\w*|re-?(?:check|evaluat|examin|read|calculat|visit|comput)\w*"
)
SO = re.compile((THEREFORE + IN_TOTAL).anywhere)
"""What follows is a result."""


def settle(
    reply: Normal, plain: list[Declared], weaker: Weaker, *, last_wins: bool
) -> Declared | None:
    """The declared answer that counts, or null; ``many`` is set when several different ones stand.

    ``last_wins``: of different answers with reasoning between them the last one counts (numbers and
    mathematics, where a result on the way is often boxed too); otherwise they are a hedge.
    """
    ordered = sorted(plain, key=lambda declared: declared.start)
    kept = _after_retraction(reply.low, ordered)
    if not kept:
        return _one_of(_after_retraction(reply.low, weaker(0)))
    kept = _outranked(reply.low, kept, last_wins)
    tail = kept[-1].end
    if not SECOND_THOUGHTS.search(reply.low, tail) and not TAKEN_BACK.search(reply.low, tail):
        return _one_of(kept)
    return _retracted(reply, kept, weaker)


def _retracted(reply: Normal, kept: list[Declared], weaker: Weaker) -> Declared | None:
    """What stands when words of retraction follow the last plain answer."""
    tail = kept[-1].end
    found = SECOND_THOUGHTS.search(reply.low, tail) or TAKEN_BACK.search(reply.low, tail)
    later = weaker(found.start()) if found else []
    if all(item.rank == NAMED for item in later) and not _given_up(reply.low, tail):
        later = []
    if later:
        return _one_of(_after_retraction(reply.low, later))
    if TAKEN_BACK.search(reply.low, tail):
        return None
    return _one_of(kept)


def _given_up(low: str, start: int) -> bool:
    """Whether more than a check follows; a number in a check is no new answer."""
    matches = SECOND_THOUGHTS.pattern.finditer(low, start)
    if any(_CHECK.fullmatch(found.group()) is None for found in islice(matches, 20)):
        return True
    return TAKEN_BACK.search(low, start) is not None


def _after_retraction(low: str, ordered: list[Declared]) -> list[Declared]:
    """The answers after the last words of retraction that another answer follows."""
    for index in range(len(ordered) - 1, 0, -1):
        previous, current = ordered[index - 1], ordered[index]
        if previous.end <= current.start and (
            SECOND_THOUGHTS.search(low, previous.end, current.start)
            or TAKEN_BACK.search(low, previous.end, current.start)
        ):
            return ordered[index:]
    return ordered


def _outranked(low: str, kept: list[Declared], last_wins: bool) -> list[Declared]:
    """Drop answers that a plainer later one, or simply a later one, replaces."""
    top = max(declared.rank for declared in kept)
    first = min(declared.start for declared in kept if declared.rank == top)
    kept = [item for item in kept if item.rank == top or item.start > first]
    if not last_wins:
        return kept
    for index in range(len(kept) - 1, 0, -1):
        previous, current = kept[index - 1], kept[index]
        if _replaces(low, previous, current):
            return kept[index:]
    return kept


def _replaces(low: str, previous: Declared, current: Declared) -> bool:
    """Whether reasoning stands between two answers, and the later is not the weaker one."""
    if current.start < previous.end or (current.rank < previous.rank and previous.how != "box"):
        return False
    between = low[previous.end : current.start]
    if "\n" in between and SO.search(between):
        return True
    prose = _PROSE.findall(_JOINS.sub(" ", between))
    words = [word for word in prose if not _JOIN_ONLY.fullmatch(word)]
    return len(words) >= 4


def _one_of(kept: Sequence[Declared]) -> Declared | None:
    """The last of equal answers; different ones become one answer that is marked ``many``."""
    if not kept:
        return None
    values = list(dict.fromkeys(declared.value for declared in kept))
    last = kept[-1]
    if len(values) == 1:
        return replace(last, many=any(declared.many for declared in kept))
    return replace(last, value=" | ".join(values), many=True)
