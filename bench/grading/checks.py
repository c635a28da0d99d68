"""What must hold of every grade, whatever the reply."""

from __future__ import annotations

import re
import signal
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from difficulty.grading.equal.latex import normalize_math, squeeze
from difficulty.grading.grade import MAX_CHARS
from difficulty.grading.normalize import normalize, plain
from difficulty.grading.read.numbers import canonical, find_number_words, find_numbers, parse_number
from difficulty.grading.read.options import option_key, options_of
from difficulty.grading.read.text import text_key
from difficulty.grading.read.together import REFUSED
from difficulty.schema import Completion, Grade, Question

T = TypeVar("T")

LIMIT_S = 0.5
"""Processor seconds that a short reply may take."""
LIMIT_S_PER_MEGABYTE = 2.0
"""Processor seconds that a reply may take on top for its length."""

REWARDS = {"correct": 1.0, "wrong": 0.0, "no_answer": 0.0, "truncated": 0.0}
"""The outcomes that a reply can have; one that there is is neither failed nor unknown."""
NUMBER_WORDS = re.compile(
    r"zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twel|teen|ty|hundred|thousand|"
    r"half|third|quarter|fifth|sixth|[〇零一二三四五六七八九十百千万億兆]",
    re.IGNORECASE,
)


class TooSlowError(BaseException):
    """A call took more processor time than it may; no ``except Exception`` on the way stops it."""


def limit_s(text: str) -> float:
    """Processor seconds that a reply may take."""
    return LIMIT_S + LIMIT_S_PER_MEGABYTE * len(text) / 1e6


def timed(limit: float, call: Callable[[], T]) -> tuple[T, float]:
    """What a call returns and the processor seconds it took; main thread only.

    Raises:
        TooSlowError: it took longer than the limit, and was ended.
    """
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, limit)
    started = time.process_time()
    try:
        return call(), time.process_time() - started
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(number: int, frame: FrameType | None) -> None:
    while frame is not None and "difficulty" not in Path(frame.f_code.co_filename).parts:
        frame = frame.f_back
    at = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else "?"
    raise TooSlowError(f"too slow at {at}")


def faults(question: Question, completion: Completion, found: Grade) -> list[str]:
    """What is wrong with the grade of a reply; empty if nothing is."""
    text = completion.text or ""
    wrong = []
    if found.outcome not in REWARDS or found.reward != REWARDS[found.outcome]:
        wrong.append(f"illegal: {found.outcome}, {found.reward}, {found.reason}")
    if not found.reason:
        wrong.append("no reason")
    if (found.extracted_answer is None) != (found.span is None):
        wrong.append("an answer without a span, or a span without an answer")
    if found.outcome == "truncated" and completion.finish_reason != "length":
        wrong.append("truncated, but not cut")
    if found.outcome in {"correct", "wrong"} and found.extracted_answer is None:
        wrong.append("a verdict without an answer")
    if found.span is not None and not 0 <= found.span.start < found.span.end <= len(text):
        wrong.append(f"span {found.span} outside of {len(text)} characters")
    elif found.span is not None and not _stands_there(question, found, text):
        piece = text[found.span.start : found.span.end]
        wrong.append(f"extracted {found.extracted_answer!r} at {piece!r} ({found.reason})")
    golds = (question.answer, *question.aliases)
    lettered = question.kind in {"choice", "multi"}
    if found.outcome == "correct" and lettered and found.extracted_answer not in golds:
        wrong.append(f"credit for {found.extracted_answer} where {golds} is asked for")
    if found.outcome == "correct" and not _can_be_right(question, text):
        wrong.append(f"credit for a reply with nothing of the gold ({found.reason})")
    return wrong


def _stands_there(question: Question, found: Grade, text: str) -> bool:
    """Whether the span holds what was extracted, or the last part of it."""
    assert found.span is not None
    assert found.extracted_answer is not None
    if "several answers" in found.reason or found.extracted_answer == REFUSED:
        return True
    if question.kind == "numeric":
        return _number_stands_there(found, text)
    piece = text[found.span.start : found.span.end]
    if found.reason.startswith("equation chain"):  # its segments lose their delimiters
        bare = plain(piece).replace("\\\\", " ")
        return _letters(found.extracted_answer) in _letters(bare)
    return _holds(question, piece, found.extracted_answer)


def _letters(text: str) -> str:
    return re.sub(r"\W", "", normalize_math(text))


def _number_stands_there(found: Grade, text: str) -> bool:
    """Whether one of the numbers that the reply has at the span is what was extracted.

    It is read in its place, as ``-5`` is 5 in ``8-5``.
    """
    assert found.span is not None
    assert found.extracted_answer is not None
    reply = normalize(text, max(0, len(text) - MAX_CHARS)).last(MAX_CHARS)
    begin, end = found.span.start, found.span.end
    items = [
        *find_numbers(reply.low, 0, len(reply.low)),
        *find_number_words(reply.low, 0, len(reply.low)),
    ]
    values = {
        canonical(item.value)
        for item in items
        if item.value is not None
        and (span := reply.span(item.start, item.end)).start < end
        and span.end > begin
    }
    piece = plain(text[begin:end]).lower()
    alone = [
        *find_numbers(piece, 0, len(piece)),
        *find_number_words(piece, 0, len(piece)),
    ]
    values |= {canonical(item.value) for item in alone if item.value is not None}
    bare = parse_number(piece.strip(" \n\t*_`\"'.。$\\()[]{}"))
    if bare is not None:
        values.add(canonical(bare))
    return found.extracted_answer in values


def _holds(question: Question, piece: str, value: str) -> bool:
    low = plain(piece).lower()
    if question.kind in {"choice", "multi"}:
        return any(_names(question, low, label) for label in value.split(","))
    if question.kind == "math":
        last = squeeze(value.split(" , ")[-1])
        return last in squeeze(normalize_math(plain(piece)))
    return value in text_key(low) or value in text_key(_without_struck(low))


def _without_struck(low: str) -> str:
    """A text without what is ``~~struck through~~``, which the grader does not read."""
    return re.sub(r"~~.*?~~", " ", low)


def _names(question: Question, low: str, label: str) -> bool:
    """Whether a text has an option's label, also as ②, or its own words, also as ``E. coli``."""
    options = options_of(question.choices or ())
    if any(options.label_of(char) == label for char in low):
        return True
    found = options.pattern.finditer(low) if options.pattern else ()
    return any(options.texts[option_key(words.group())] == label for words in found)


def _can_be_right(question: Question, text: str) -> bool:
    """Whether a reply has anything of a gold at all: without it no rule could find it there."""
    low = plain(text).lower()
    golds = (question.answer, *question.aliases)
    if question.kind == "choice":
        return any(_names(question, low, gold) for gold in golds)
    if question.kind == "multi":
        return any(all(_names(question, low, each) for each in gold.split(",")) for gold in golds)
    if question.kind == "text":
        return any(text_key(gold) in text_key(text) for gold in golds)
    return _has_number(text) or any(_same_letters(gold, low) for gold in golds)


def _has_number(text: str) -> bool:
    return bool(NUMBER_WORDS.search(text)) or any(
        unicodedata.numeric(c, None) is not None for c in text
    )


def _same_letters(gold: str, low: str) -> bool:
    """Whether a gold without digits has its letters in the reply."""
    letters = re.findall(r"[a-z]+|[^\x00-\x7f]", normalize_math(gold).lower())
    return bool(letters) and any(part in low or part in normalize_math(low) for part in letters)
