"""Grade a stream of completions on several processes, with a deadline for every item."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from difficulty.grading.grading_process import DEADLINE_S, Pair, failed_grade, grading_work
from difficulty.schema import Grade
from difficulty.workers.pool import Pool

CHUNK = 128
"""Completions sent to a worker at a time."""
WINDOW = 6
"""Chunks a worker that may be held beyond the oldest unfinished one: the bound on memory."""


class GraderPool(Pool[Pair, Grade]):
    """Worker processes that grade; use it as a context manager so that none is left behind.

    Args:
        workers: number of processes.
        deadline_s: seconds that one completion may take before it is a grader error.
    """

    def __init__(self, workers: int, deadline_s: float = DEADLINE_S) -> None:
        workers = max(1, workers)
        super().__init__(
            grading_work(
                "serve",
                lambda pair, reason: failed_grade(pair[1], reason),
                deadline_s=deadline_s,
                workers=workers,
                chunk=CHUNK,
                look_ahead=workers * WINDOW * CHUNK,
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
