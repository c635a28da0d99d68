"""Where the words of a marker stand in a reply, before the line after them is looked at."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from difficulty.grading.words.anchors import Anchored, has_latin_words, places
from difficulty.grading.words.answers import ANSWER, FINAL_WORD
from difficulty.grading.words.markers import (
    ANSWER_GAP,
    ANSWER_HEADER,
    ANSWER_LINE,
    FINAL,
    LABELLED_LINE,
    MARK,
    WESTERN,
)
from difficulty.grading.words.markers_eastern import EASTERN

MAX_SITES = 200
"""Sites kept, the last ones: enough for any honest reply, and a bound for a hostile one."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A matched marker, before its line is looked at."""

    start: int
    value: int
    rank: int
    how: str
    direct: bool = False


_FINAL_BEFORE = re.compile(rf"(?:{FINAL_WORD.west}|{FINAL_WORD.east})\W{{0,4}}$")
ALL = (*WESTERN, *EASTERN)


def last_spots(low: str) -> Iterator[Spot]:
    """The last ``MAX_SITES`` matches of each marker."""
    latin = has_latin_words(low)
    for marker in WESTERN if low.isascii() else ALL:
        if marker.latin and not latin:
            continue
        for found in deque(marker.matches.finditer(low), maxlen=MAX_SITES):
            yield Spot(found.start(), found.end(), marker.rank, marker.how)
    if ":" in low:
        for found in deque(_labelled_lines(low), maxlen=MAX_SITES):
            yield Spot(found.start(), found.end(), MARK, "marker line")
    if "ans" in low:
        yield from _answer_spots(low)
    yield from deque(_header_spots(low), maxlen=MAX_SITES)
    if "|" in low:
        yield from _table_spots(low)


def _labelled_lines(low: str) -> Iterator[re.Match[str]]:
    """``Choice:`` at the beginning of a line, looked for from each colon."""
    last = 0
    for colon in places(low, (":",), 0, len(low)):
        line = low.rfind("\n", max(last, colon - 60), colon)
        if line < 0 and colon > 60:
            continue
        found = LABELLED_LINE.match(low, max(line, 0))
        if found is not None and found.end() == colon + 1:
            yield found
            last = found.end()


def _answer_spots(low: str) -> Iterator[Spot]:
    """``Answer: B``, ``the answer that fits best is B``, ``Answer B`` on a line of its own."""
    for found in deque(_ANSWERS.finditer(low), maxlen=MAX_SITES):
        final = _FINAL_BEFORE.search(low, max(0, found.start() - 14), found.start())
        how = "final answer" if final else "marker line"
        yield Spot(found.start(), found.end(), FINAL if final else MARK, how)
    for position in places(low, ("answer",), 0, len(low))[-MAX_SITES:]:
        gap = ANSWER_GAP.match(low, position) if _is_near(low, position) else None
        if gap:
            yield Spot(position, gap.end(), MARK, "the answer is", True)
        bare = _answer_label(low, position)
        if bare:
            yield Spot(position, bare, MARK, "marker line", True)


def _is_near(low: str, position: int) -> bool:
    """Whether the word *is* may stand within reach of ``ANSWER_GAP``."""
    return any(low.find(word, position, position + 100) >= 0 for word in (" is", "\nis", "\tis"))


_ANSWERS = Anchored(ANSWER_LINE, ("ans",))
_ANSWER_ALONE = re.compile(r"answer[*_\s]{1,4}(?=[(*$\[]{0,3}[a-z0-9][)*$\].]{0,3}\s*(?:\n|$))")


def _answer_label(low: str, position: int) -> int | None:
    """``Answer B`` on a line of its own: where the label begins."""
    found = _ANSWER_ALONE.match(low, position)
    if found is None:
        return None
    line_start = low.rfind("\n", max(0, position - 30), position) + 1
    if position - line_start > 20 or re.search(r"[^\s#*>_a-z]", low[line_start:position]):
        return None
    return found.end()


_HEADERS = Anchored(ANSWER_HEADER, (*ANSWER.western, *ANSWER.eastern))
_HEADER_BEFORE = re.compile(
    rf"[\s#*>_【✅-]*(?:{FINAL_WORD.west}|correct|the|my|{FINAL_WORD.east}|\s)*"
)
_FINAL_WORD = re.compile(rf"{FINAL_WORD.west}|{FINAL_WORD.east}")


def _header_spots(low: str) -> Iterator[Spot]:
    """``## Answer`` alone on its line; the answer is on the next line that is not empty."""
    if "\n" not in low:
        return
    for found in _HEADERS.finditer(low):
        line_start = low.rfind("\n", 0, found.start()) + 1
        before = low[line_start : found.start()]
        if len(before) > 30 or not _HEADER_BEFORE.fullmatch(before):
            continue
        rank = FINAL if _FINAL_WORD.search(before) else MARK
        yield Spot(found.start(), found.end(), rank, "answer heading")


_TABLE = re.compile(
    r"^[ \t]*\|(?P<head>[^\n]{1,300})\|[ \t]*\n[ \t]*\|[\s:|-]{3,300}\|[ \t]*\n"
    r"(?P<row>[ \t]*\|[^\n]{1,300}\|)[ \t]*(?:\n(?![ \t]*\|)|\Z)",
    re.MULTILINE,
)
_ANSWER_CELL = re.compile(
    rf"[\s*_]*(?:(?:final|correct|my|your) )?(?:{ANSWER.west}|choice|{ANSWER.east})[\s*_]*"
)


def _table_spots(low: str) -> Iterator[Spot]:
    """A table of one row: what stands under the heading ``Answer``."""
    for found in deque(_TABLE.finditer(low), maxlen=MAX_SITES):
        heads = found["head"].split("|")
        columns = [n for n, head in enumerate(heads) if _ANSWER_CELL.fullmatch(head)]
        if len(columns) != 1:
            continue
        cells = found["row"].split("|")[1:]
        if columns[0] < len(cells):
            before = sum(len(cell) + 1 for cell in cells[: columns[0]])
            start = found.start("row") + found["row"].index("|") + 1 + before
            yield Spot(start, start, MARK, "table")
