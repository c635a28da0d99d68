"""Do a stream of tasks on several processes that may be killed, with a deadline for every call.

A worker that hangs, ends or takes too much memory costs the one call that it was at: its parent
ends it with all that it started, starts another, and has the rest done again. Of several calls in
one loop nobody knows which one it was, so each is then tried alone.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Generator, Iterable, Iterator
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Generic, Self

from difficulty.workers.job import Job, Stream
from difficulty.workers.process import close_all
from difficulty.workers.progress import Standstill
from difficulty.workers.slot import Slot
from difficulty.workers.work import Answer, Task, Work

CHUNK_S = 0.1
"""How long the tasks that are sent together should take: quick ones go many at a time."""
LOOK_EVERY_S = 0.5
"""Seconds between looks at workers that say nothing: nobody says that a call begins."""


class Pool(Generic[Task, Answer]):
    """Worker processes; use it as a context manager so that none is left behind.

    Args:
        work: what they do, and what becomes of what cannot be done.
    """

    def __init__(self, work: Work[Task, Answer]) -> None:
        self._work = work
        self._slots: list[Slot[Task, Answer]] = []
        self._standstill = Standstill()

    def __enter__(self) -> Self:
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
            if slot.busy:
                slot.worker.kill()
        close_all([slot.worker for slot in self._slots if not slot.busy])
        self._slots = []

    def load(self) -> Any:
        """Have a first worker load what it needs; returns what it says of itself.

        Raises:
            RunError: the worker does not start.
        """
        if not self._slots:
            self._slots = [Slot(self._work)]
        self._standstill = Standstill()
        while (ready := self._slots[0].ready) is None:
            self._listen(self._slots[:1])
        return ready.facts

    def answer_all(self, tasks: Iterable[Task | None]) -> Iterator[list[Answer] | None]:
        """The answers to each task, one a call, in the order of the tasks; as ``do_all``."""
        with contextlib.closing(self.do_all(tasks)) as jobs:
            for job in jobs:
                yield from job.by_task()

    def do_all(self, tasks: Iterable[Task | None]) -> Generator[Job[Task, Answer], None, None]:
        """Consecutive tasks with their answers, in the order of the tasks.

        A null task only takes its place. No more than ``look_ahead`` tasks are held at a time.

        Raises:
            RunError: the workers do not start.
        """
        stream = Stream(iter(tasks), self._work)
        self._standstill = Standstill()
        try:
            for index in itertools.count():
                while index not in stream.finished:
                    if not self._advance(stream):
                        return
                job = stream.finished.pop(index)
                yield job
                stream.num_yielded += len(job.tasks)
        finally:
            if any(slot.jobs for slot in self._slots):
                self.close()

    def _advance(self, stream: Stream[Task, Answer]) -> bool:
        """Hand out jobs and take those that are finished; false if nothing is left to do."""
        num_finished = len(stream.finished)
        self._hand_out(stream)
        if len(stream.finished) > num_finished:
            return True
        if not stream.num_waiting and not any(slot.jobs for slot in self._slots):
            return False
        for job in self._listen([slot for slot in self._slots if slot.busy]):
            stream.put_back(job)
            self._fit_chunk(stream, job)
        self._hand_out(stream)  # workers need not wait for the reader of what is finished
        return True

    def _hand_out(self, stream: Stream[Task, Answer]) -> None:
        """Give jobs to the workers that have room, and start workers while there are more jobs."""
        for slot in self._slots:
            if jobs := stream.next_jobs(slot.room(alone=bool(stream.alone))):
                slot.give(jobs)
        starting = sum(slot.ready is None for slot in self._slots)
        while self._may_start() and stream.has_jobs(starting + 1):
            self._slots.append(Slot(self._work))
            starting += 1
        stream.read_ahead(len(self._slots))

    def _may_start(self) -> bool:
        """Whether another worker would help: the first one says whether one loop is enough."""
        if not self._slots:
            return True
        known = self._work.at_once == 1 or any(slot.ready for slot in self._slots)
        together = any(slot.together for slot in self._slots)
        return known and not together and len(self._slots) < self._work.workers

    def _fit_chunk(self, stream: Stream[Task, Answer], job: Job[Task, Answer]) -> None:
        """Size the next jobs by how long this one took."""
        if job.took is not None:
            fewest, most = self._work.chunk
            rate = len(job.asked) / max(1e-6, job.took)
            stream.chunk = max(fewest, min(most, int(CHUNK_S * rate)))

    def _listen(self, slots: list[Slot[Task, Answer]]) -> list[Job[Task, Answer]]:
        """Wait for messages of these workers, replace those that are gone or overdue."""
        first = min(slot.look_at() for slot in slots) - time.monotonic()
        patience = max(0.01, min(first + 0.01, LOOK_EVERY_S))
        heard = wait([slot.worker.connection for slot in slots], timeout=patience)
        still = self._standstill.seconds(patience)
        left = []
        for slot in slots:
            if still:
                slot.forgive(still)
            left += slot.settle(heard=slot.worker.connection in heard)
        return left
