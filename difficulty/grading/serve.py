"""The child's side of grading in a process of its own: what a grading worker runs.

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
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

from difficulty.grading.equal.library import load_library, needs_library
from difficulty.grading.equal.verdict import Verdict, evaluate
from difficulty.grading.grade import grade
from difficulty.grading.grading_process import READY, Comparison, Pair, failed_grade
from difficulty.schema import Grade
from difficulty.workers.progress import Progress

GRACE_S = 5
"""Processor seconds beyond the deadline at which a worker ends itself, if its parent has not."""
SEND_EVERY_S = 0.2
"""Grades wait at most this long for others to be sent with: what a crash can make undone."""


def serve(connection: Connection, progress: Progress, deadline_s: float) -> None:
    """The child's side of grading: each request is a list of pairs, each answer a Grade."""
    _serve(connection, progress, deadline_s, _grade, _golds_of)


def serve_comparisons(connection: Connection, progress: Progress, deadline_s: float) -> None:
    """The same for lists of (gold, answer) of mathematics, each answered by a Verdict."""
    _serve(connection, progress, deadline_s, _compare, lambda pair: (pair[0],))


def _serve(
    connection: Connection,
    progress: Progress,
    deadline_s: float,
    call: Callable[[Any], Any],
    golds_of: Callable[[Any], Iterable[str]],
) -> None:
    """Answer requests until the socket closes, in lists, each with the number of its first call.

    Calls are counted from the start; what a call needs is loaded before the first one's time runs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds, number = math.ceil(deadline_s) + GRACE_S, 0
    connection.send(READY)
    while True:
        tasks = connection.recv()
        _preload([gold for task in tasks for gold in golds_of(task)])
        answers: list[Any] = []
        sent = now = time.monotonic()
        for left, task in zip(range(len(tasks) - 1, -1, -1), tasks, strict=True):
            progress.begin(number, now)
            answers.append(_limited(call, task, seconds))
            progress.end()
            number += 1
            now = time.monotonic()
            if now - sent > SEND_EVERY_S or not left:
                connection.send_bytes(pickle.dumps((number - len(answers), answers)))
                answers = []
                sent = now = time.monotonic()


def _limited(call: Callable[[Any], Any], task: Any, seconds: int) -> Any:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return call(task)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _grade(pair: Pair) -> Grade:
    question, completion = pair
    try:
        return grade(question, completion, math_equal=cached_evaluate)
    except MemoryError:
        return failed_grade(completion, "the worker's memory limit")
    except RecursionError:
        return failed_grade(completion, "the worker's limit on nesting")


def _compare(pair: Comparison) -> Verdict:
    try:
        return cached_evaluate(*pair)
    except MemoryError:
        return Verdict(None, "the worker's memory limit")
    except RecursionError:
        return Verdict(None, "the worker's limit on nesting")


@functools.lru_cache(maxsize=20_000)
def cached_evaluate(gold: str, answer: str) -> Verdict:
    """``evaluate``, remembered: k samples of a question repeat their answers."""
    return evaluate(gold, answer)


def _golds_of(pair: Pair) -> tuple[str, ...]:
    """What a pair may have compared as mathematics."""
    question = pair[0]
    return (question.answer, *question.aliases) if question.kind == "math" else ()


def _preload(golds: list[str]) -> None:
    """Load what the golds need before the first deadline runs."""
    if golds:
        import mpmath  # type: ignore[import-untyped]  # noqa: F401

        from difficulty.grading.equal import compare  # noqa: F401
    if any(map(needs_library, golds)):
        load_library()
