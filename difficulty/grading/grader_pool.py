"""Grade a stream of completions on several processes, with a deadline for every item."""

from __future__ import annotations

import contextlib
import functools
import pickle
import signal
from collections.abc import Iterable, Iterator

from difficulty.grading.grading_process import READY, GradingProcess, Pair, failed_grade
from difficulty.schema import Grade
from difficulty.workers.pool import Pool
from difficulty.workers.work import Answers, Ready, Work

CHUNK = 128
"""Completions sent to a worker at a time."""
WINDOW = 6
"""Chunks a worker that may be held beyond the oldest unfinished one: the bound on memory."""
DEADLINE_S = 10.0
START_LIMIT_S = 120.0
"""Seconds within which a worker must have started and loaded what it needs."""
MESSAGE_BYTES = 2**28
"""More than the grades of a chunk of the longest replies."""


class GraderPool(Pool[Pair, Grade]):
    """Worker processes that grade; use it as a context manager so that none is left behind.

    Args:
        workers: number of processes.
        deadline_s: seconds that one completion may take before it is a grader error.
    """

    def __init__(self, workers: int, deadline_s: float = DEADLINE_S) -> None:
        workers = max(1, workers)
        super().__init__(
            Work(
                start=functools.partial(GradingProcess, deadline_s),
                write=pickle.dumps,
                read=_read,
                failed=lambda pair, reason: failed_grade(pair[1], reason),
                fault=functools.partial(_fault, deadline_s),
                no_start=functools.partial(_no_start, deadline_s),
                deadline_s=deadline_s,
                start_limit_s=START_LIMIT_S,
                message_bytes=MESSAGE_BYTES,
                look_ahead=workers * WINDOW * CHUNK,
                chunk=(CHUNK, CHUNK),
                workers=workers,
            )
        )

    def grade_all(self, pairs: Iterable[Pair]) -> Iterator[Grade]:
        """Grade pairs as a stream; grades come in the order of the pairs.

        At most ``workers * WINDOW`` chunks are held at a time.

        Raises:
            RunError: the workers cannot be started.
        """
        with contextlib.closing(self.do_all(pairs)) as jobs:
            for job in jobs:
                yield from job.in_order()


def _read(message: bytes) -> Ready | Answers[Grade]:
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
