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
        self.asked = [(nth, task) for nth, task in enumerate(tasks) if task is not None]
        """The tasks that a worker is asked for, and which of the job they are."""
        self.num_answers = work.num_calls * len(self.asked)
        self.answers: dict[int, Answer] = {}
        """By the place of the call in the job."""
        self.ask()

    def ask(self) -> None:
        """Ask for the tasks that are not done; they begin anew."""
        if self.answers:
            self.asked = [each for each in self.asked if not self._is_done(each[0])]
        calls = self.work.num_calls
        self.places = [nth * calls + part for nth, _ in self.asked for part in range(calls)]
        """Of the calls that the worker is to make."""
        for place in self.answers.keys() & set(self.places):
            del self.answers[place]
        self.request: bytes | None = None
        """What asks for them, once it is prepared."""

    def prepare(self) -> bytes:
        """The request for the tasks that are asked for."""
        if self.request is None:
            self.request = self.work.write([task for _, task in self.asked])
        return self.request

    def _is_done(self, nth: int) -> bool:
        calls = self.work.num_calls
        return all(place in self.answers for place in range(nth * calls, (nth + 1) * calls))

    def take(self, call: int, answers: list[Answer]) -> None:
        """Answers to consecutive calls, by the number of the first among those asked for."""
        self.answers.update(zip(self.places[call:], answers, strict=False))

    def fail(self, call: int, reason: str) -> None:
        """The call that did not end, by its number; those after it for its task are not made."""
        nth, task = self.asked[call // self.work.num_calls]
        for place in range(nth * self.work.num_calls, (nth + 1) * self.work.num_calls):
            if place not in self.answers:
                self.answers[place] = self.work.failed(task, reason)
                reason = NOT_CALLED

    @property
    def done(self) -> bool:
        """Whether every call has its answer."""
        return len(self.answers) == self.num_answers

    def in_order(self) -> list[Answer]:
        """The answers to all calls."""
        return [self.answers[place] for place in sorted(self.answers)]

    def by_task(self) -> list[list[Answer] | None]:
        """The answers of each task in the order of its calls; null for a null task."""
        calls, answers = self.work.num_calls, self.in_order()
        found = (answers[place : place + calls] for place in range(0, len(answers), calls))
        return [None if task is None else next(found) for task in self.tasks]


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

    def has_jobs(self, number: int) -> bool:
        """Whether that many jobs wait for a worker, or can be read."""
        self.read_ahead(number)
        return self.num_waiting >= number

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
                if self.work.at_once == 1:
                    job.prepare()

    def next_jobs(self, number: int) -> list[Job[Task, Answer]]:
        """Up to so many jobs for a worker."""
        return list(itertools.islice(iter(self._next_job, None), number))

    def _next_job(self) -> Job[Task, Answer] | None:
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
