"""A process that grades or compares for its parent, and how a pool of them is told its work."""

from __future__ import annotations

import functools
import pickle
import signal
from collections.abc import Callable
from typing import TypeVar

from difficulty.schema import Completion, Grade, Question
from difficulty.workers.process import WorkerProcess
from difficulty.workers.work import Answers, Ready, Work

Pair = tuple[Question, Completion]
Comparison = tuple[str, str]
"""Gold and answer of mathematics."""
Task = TypeVar("Task")
Answer = TypeVar("Answer")

READY = "ready"
DEADLINE_S = 10.0
"""Seconds that one completion or comparison may take."""
START_LIMIT_S = 120.0
"""Seconds within which a worker must have started and loaded what it needs."""
MESSAGE_BYTES = 2**28
"""More than the grades of a chunk of the longest replies."""
MEMORY_BYTES = 4 * 2**30
"""Memory that grading may take beyond what the process has at its start."""


def grading_work(
    target: str,
    failed: Callable[[Task, str], Answer],
    *,
    deadline_s: float = DEADLINE_S,
    workers: int = 1,
    chunk: int = 1,
    look_ahead: int = 1,
) -> Work[Task, Answer]:
    """The work of a pool whose processes run ``target``, a function of ``serve``."""
    return Work(
        start=functools.partial(
            WorkerProcess,
            f"difficulty.grading.serve:{target}",
            (deadline_s,),
            memory_bytes=MEMORY_BYTES,
        ),
        write=pickle.dumps,
        read=_read,
        failed=failed,
        fault=functools.partial(_fault, deadline_s),
        no_start=functools.partial(_no_start, deadline_s),
        deadline_s=deadline_s,
        start_limit_s=START_LIMIT_S,
        message_bytes=MESSAGE_BYTES,
        look_ahead=look_ahead,
        chunk=(chunk, chunk),
        workers=workers,
    )


def _read(message: bytes) -> Ready | Answers[Answer]:
    found = pickle.loads(message)
    return Ready() if found == READY else Answers(first=found[0], answers=found[1])


def _fault(deadline_s: float, code: int | None) -> str:
    if code is None:
        return f"the grader's deadline of {deadline_s:g} s"
    own_limit = code == -signal.SIGPROF
    return "the grader's deadline" if own_limit else f"the grader's worker died ({code})"


def _no_start(deadline_s: float, code: int | None) -> str:
    reason = _fault(deadline_s, code)
    return f"the grader's workers do not start: {reason}. Run grading alone to see why"


def failed_grade(completion: Completion, reason: str) -> Grade:
    """The grade of a completion that could not be judged: unknown, never wrong."""
    return Grade(
        question_id=completion.question_id,
        sample_index=completion.sample_index,
        outcome="grader_error",
        reward=None,
        components=(),
        extracted_answer=None,
        span=None,
        reason=reason,
    )
