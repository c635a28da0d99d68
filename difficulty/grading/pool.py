"""Grade a stream of completions on several processes, with a deadline for every item.

A worker that hangs or runs out of memory costs one ``grader_error``: its parent kills it, starts
another and goes on with the rest of the chunk.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from types import TracebackType

from difficulty.grading.grading_process import Pair
from difficulty.grading.slot import Job, Slot
from difficulty.schema import Completion, Grade, Question

CHUNK = 128
"""Completions sent to a worker at a time."""
WINDOW = 4
"""Finished chunks a worker that may wait for an older unfinished one: the bound on memory."""
DEADLINE_S = 10.0


@dataclass
class _Stream:
    """The chunks of one stream that are not with a worker."""

    source: Iterator[Job]
    ready: deque[Job] = field(default_factory=deque)
    """Read and prepared, so that a worker that is done need not wait for its next one."""
    finished: dict[int, list[Grade]] = field(default_factory=dict)

    def read_ahead(self, number: int, bound: int) -> None:
        """Prepare up to ``number`` chunks, fewer if that many finished ones are waiting."""
        while len(self.ready) < number and len(self.finished) < bound:
            job = next(self.source, None)
            if job is None:
                return
            self.ready.append(job)


class GraderPool:
    """Worker processes that grade; use it as a context manager so that none is left behind.

    Args:
        workers: number of processes.
        deadline_s: seconds that one completion may take before it is a grader error.
    """

    def __init__(self, workers: int, deadline_s: float = DEADLINE_S) -> None:
        self.workers = workers
        self.deadline_s = deadline_s
        self._slots: list[Slot] = []

    def __enter__(self) -> GraderPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; busy ones at once."""
        for slot in self._slots:
            slot.close()
        self._slots = []

    def grade_all(self, pairs: Iterable[tuple[Question, Completion]]) -> Iterator[Grade]:
        """Grade pairs as a stream; grades come in the order of the pairs.

        At most ``workers * (WINDOW + 2)`` chunks are held at a time.

        Raises:
            RunError: the workers cannot be started.
        """
        stream = _Stream(_chunks(pairs))
        try:
            for index in itertools.count():
                while index not in stream.finished:
                    if not self._advance(stream):
                        return
                yield from stream.finished.pop(index)
        finally:
            if any(slot.job is not None for slot in self._slots):
                self.close()

    def _advance(self, stream: _Stream) -> bool:
        """Hand out chunks, then wait for a worker; false if nothing is left to do."""
        if not self._slots:
            self._slots = [Slot(self.deadline_s) for _ in range(max(1, self.workers))]
        bound = WINDOW * len(self._slots)
        for slot in self._slots:
            if slot.job is None:
                stream.read_ahead(1, bound)
                if stream.ready:
                    slot.give(stream.ready.popleft())
        busy = [slot for slot in self._slots if slot.job is not None]
        if not busy:
            return False
        stream.read_ahead(len(self._slots), bound)
        # Nobody says that an item begins: looking once a deadline is soon enough to end it in time.
        first = min(slot.look_at() for slot in busy) - time.monotonic()
        heard = wait(
            [slot.worker.connection for slot in busy],
            timeout=max(0.01, min(first, self.deadline_s) + 0.01),
        )
        for slot in busy:
            job = slot.settle(heard=slot.worker.connection in heard)
            if job is not None:
                stream.finished[job.index] = job.in_order()
        return True


def _chunks(pairs: Iterable[Pair]) -> Iterator[Job]:
    iterator = iter(pairs)
    for index in itertools.count():
        chunk = list(itertools.islice(iterator, CHUNK))
        if not chunk:
            return
        yield Job(index, chunk)
