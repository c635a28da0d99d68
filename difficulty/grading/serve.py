"""The child's side of grading in a process of its own: what a ``GradingProcess`` runs.

It ignores SIGINT (its parent handles it) and has a limit on processor time of its own, so that it
is not left behind hung if its parent is killed: a comparison may keep every other thread from
running. That time stands still with the process, where a scheduler suspends a job.
"""

from __future__ import annotations

import functools
import math
import pickle
import signal
import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection

from difficulty.grading.equal.library import load_library, needs_library
from difficulty.grading.equal.verdict import Verdict, evaluate
from difficulty.grading.grade import grade
from difficulty.grading.grading_process import LOAD, READY, Pair, failed_grade
from difficulty.schema import Completion, Grade, Question
from difficulty.workers.progress import Progress

GRACE_S = 5
"""Processor seconds beyond the deadline at which a worker ends itself, if its parent has not."""
SEND_EVERY_S = 0.2
"""Grades wait at most this long for others to be sent with: what a crash can make undone."""


def serve(connection: Connection, progress: Progress, deadline_s: float) -> None:
    """The child's side: answer requests until the socket closes.

    A request is a list of pairs, answered by lists of as many Grades in all, each with the number
    of its first pair since the start, or a (gold, answer) pair of strings, answered by one Verdict.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds, first = math.ceil(deadline_s) + GRACE_S, 0
    connection.send(READY)
    while True:
        request = connection.recv()
        if request == LOAD:
            load_library()
            connection.send(READY)
        elif isinstance(request, tuple):
            connection.send(_compare(*request, seconds=seconds))
        else:
            _grade_all(connection, progress, request, first, seconds)
            first += len(request)


def _grade_all(
    connection: Connection, progress: Progress, pairs: Sequence[Pair], first: int, seconds: int
) -> None:
    """Grade pairs that are numbered from ``first`` on, and send the grades in batches."""
    _preload(question for question, _ in pairs if question.kind == "math")
    grades: list[Grade] = []
    sent = now = time.monotonic()
    for number, (question, completion) in enumerate(pairs, first):
        progress.begin(number, now)
        grades.append(_grade_one(question, completion, seconds))
        progress.end()
        now = time.monotonic()
        if now - sent > SEND_EVERY_S or number + 1 == first + len(pairs):
            connection.send_bytes(pickle.dumps((number + 1 - len(grades), grades)))
            grades = []
            sent = now = time.monotonic()


def _grade_one(question: Question, completion: Completion, seconds: int) -> Grade:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return grade(question, completion, math_equal=cached_evaluate)
    except MemoryError:
        return failed_grade(completion, "the worker's memory limit")
    except RecursionError:
        return failed_grade(completion, "the worker's limit on nesting")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _compare(gold: str, answer: str, *, seconds: int) -> Verdict:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return cached_evaluate(gold, answer)
    except MemoryError:
        return Verdict(None, "the worker's memory limit")
    except RecursionError:
        return Verdict(None, "the worker's limit on nesting")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@functools.lru_cache(maxsize=20_000)
def cached_evaluate(gold: str, answer: str) -> Verdict:
    """``evaluate``, remembered: k samples of a question repeat their answers."""
    return evaluate(gold, answer)


def _preload(questions: Iterable[Question]) -> None:
    """Load what the golds need before the first deadline runs."""
    golds = [gold for question in questions for gold in (question.answer, *question.aliases)]
    if golds:
        import mpmath  # type: ignore[import-untyped]  # noqa: F401

        from difficulty.grading.equal import compare  # noqa: F401
    if any(map(needs_library, golds)):
        load_library()
