"""Parts of a stream of tasks: what is asked of a worker at a time, and what waits for one."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Generic

from difficulty.workers.work import NOT_CALLED, Answer, Task, Work


class Job(Generic[Task, Answer]):
    """Consecutive tasks of a stream, and their answers as they come.

    Args:
        index: place of the job in the stream.
        tasks: what is to be done; a null one only takes its place.
        work: how it is asked for.
    """

    def __init__(self, index: int, tasks: list[Task | None], work: Work[Task, Answer]) -> None:
        self.index = index
        self.tasks = tasks
        self.work = work
        self.alone = False
        """Whether it may have ended a worker that had others under way."""
        self.took: float | None = None
        """Seconds that a worker needed for it, if it had nothing else to do and did it all."""
        self.answers: list[dict[int, Answer]] = [{} for _ in tasks]
        self.ask()

    def ask(self) -> None:
        """Prepare the request for the tasks that are not done; they begin anew."""
        calls = self.work.num_calls
        asked = [
            (place, task)
            for place, task in enumerate(self.tasks)
            if task is not None and len(self.answers[place]) < calls
        ]
        self.asked = [place for place, _ in asked]
        for place in self.asked:
            self.answers[place].clear()
        self.num_calls = self.num_missing = calls * len(asked)
        self.request = self.work.write([task for _, task in asked]) if asked else b""

    def take(self, number: int, answers: list[Answer]) -> None:
        """Answers to consecutive calls, by the number of the first among those asked for."""
        for call, answer in enumerate(answers, number):
            nth, part = divmod(call, self.work.num_calls)
            found = self.answers[self.asked[nth]]
            self.num_missing -= part not in found
            found[part] = answer

    def fail(self, number: int, reason: str) -> None:
        """The call that did not end, by its number; those after it for its task are not made."""
        place = self.asked[number // self.work.num_calls]
        task = self.tasks[place]
        assert task is not None
        for part in range(self.work.num_calls):
            if part not in self.answers[place]:
                self.answers[place][part] = self.work.failed(task, reason)
                self.num_missing -= 1
                reason = NOT_CALLED

    @property
    def done(self) -> bool:
        """Whether every call has its answer."""
        return not self.num_missing

    def in_order(self) -> Iterator[list[Answer] | None]:
        """The answers of each task in the order of its calls; null for a null task."""
        parts = range(self.work.num_calls)
        for task, found in zip(self.tasks, self.answers, strict=True):
            yield None if task is None else [found[part] for part in parts]


class Stream(Generic[Task, Answer]):
    """The jobs of one stream that are not with a worker.

    Args:
        source: the tasks; a null one only takes its place.
        work: how they are asked for.
    """

    def __init__(self, source: Iterator[Task | None], work: Work[Task, Answer]) -> None:
        self.source = source
        self.work = work
        self.chunk = work.chunk[0]
        """Tasks in the next job."""
        self.alone: deque[Job[Task, Answer]] = deque()
        """To be done by a worker that has nothing else under way."""
        self.again: deque[Job[Task, Answer]] = deque()
        self.prepared: deque[Job[Task, Answer]] = deque()
        """Ready to be sent, so that a worker that is done need not wait for its next one."""
        self.finished: dict[int, Job[Task, Answer]] = {}
        self.num_jobs = self.num_read = self.num_yielded = 0

    @property
    def num_waiting(self) -> int:
        """Jobs that a worker could be given."""
        return len(self.alone) + len(self.again) + len(self.prepared)

    def read_ahead(self, number: int) -> None:
        """Prepare up to ``number`` jobs, fewer at the bound on memory or at the end."""
        while len(self.prepared) < number:
            room = self.work.look_ahead - (self.num_read - self.num_yielded)
            tasks = list(itertools.islice(self.source, max(0, min(room, self.chunk))))
            if not tasks:
                return
            job = Job(self.num_jobs, tasks, self.work)
            self.num_jobs += 1
            self.num_read += len(tasks)
            if job.done:
                self.finished[job.index] = job
            else:
                self.prepared.append(job)

    def next_job(self) -> Job[Task, Answer] | None:
        """A job for a worker; null if there is none."""
        if not self.num_waiting:
            self.read_ahead(1)
        for jobs in (self.alone, self.again, self.prepared):
            if jobs:
                return jobs.popleft()
        return None

    def put_back(self, job: Job[Task, Answer]) -> None:
        """A job that has left its worker, done or not."""
        if job.done:
            self.finished[job.index] = job
        else:
            (self.alone if job.alone else self.again).append(job)
