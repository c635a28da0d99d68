"""One place in a pool: its process, which may be replaced, and its jobs."""

from __future__ import annotations

import time
from typing import Generic

from difficulty.errors import RunError
from difficulty.workers.job import Job
from difficulty.workers.progress import At
from difficulty.workers.work import Answer, Ready, Task, Work

MAX_FAILED_STARTS = 3
LOOK_AGAIN_S = 0.5
"""Seconds between the two looks that must find a worker overdue in the same call."""
GRACE_S = 5.0
"""Seconds that a worker in one loop gets to end an overdue call by itself."""
MESSAGES = 1_000
"""Messages that are read before other workers have their turn."""


class Slot(Generic[Task, Answer]):
    """A worker process and its jobs: one, or several at a time if it does them together."""

    def __init__(self, work: Work[Task, Answer]) -> None:
        self.work = work
        self.num_failed_starts = 0
        self._start()

    def _start(self) -> None:
        self.worker = self.work.start()
        self.ready: Ready | None = None
        self.jobs: dict[int, Job[Task, Answer]] = {}
        """By the number of their first call, counted since the worker started."""
        self.num_calls = 0
        self.suspect: tuple[At, float] | None = None
        """Where the worker was found overdue, and when."""
        self.forgiven = At(-1, 0), 0.0
        """Seconds in which the machine stood still during a call."""
        self.heard = self.given = time.monotonic()

    @property
    def together(self) -> bool:
        """Whether the worker has many tasks under way in one loop."""
        return self.ready is not None and self.ready.together

    @property
    def busy(self) -> bool:
        """Whether the worker has a job or still starts."""
        return self.ready is None or bool(self.jobs)

    def room(self, *, alone: bool) -> int:
        """How many jobs the worker may be given now.

        Args:
            alone: the next one must be the only one.
        """
        if self.ready is None:
            return 0
        if not self.together or alone or any(job.alone for job in self.jobs.values()):
            return 0 if self.jobs else 1
        return self.work.at_once - len(self.jobs)

    def give(self, jobs: list[Job[Task, Answer]]) -> None:
        """Send jobs; a worker that is gone is noticed when it is read."""
        for job in jobs:
            self.jobs[self.num_calls] = job
            self.num_calls += len(job.places)
        self.heard = self.given = time.monotonic()
        if len(jobs) == 1:
            self.worker.send_bytes(jobs[0].prepare())
        else:
            self.worker.send_bytes(self.work.write([task for job in jobs for _, task in job.asked]))

    def forgive(self, seconds: float) -> None:
        """Time in which the machine stood still does not count against the worker."""
        self.heard += seconds
        at = self.worker.progress.read()
        before = self.forgiven[1] if self.forgiven[0] == at else 0.0
        self.forgiven = at, before + seconds

    def look_at(self) -> float:
        """When to look next at a worker that says nothing."""
        at = self.worker.progress.read()
        if self.suspect is not None and self.suspect[0] == at:
            return self.suspect[1] + LOOK_AGAIN_S
        return self._limit(at)

    def _limit(self, at: At) -> float:
        """When a worker has taken too long for its call, or to begin one."""
        if not at.since:
            return self.heard + self.work.start_limit_s
        forgiven = self.forgiven[1] if self.forgiven[0] == at else 0.0
        return at.since + self.work.deadline_s + forgiven + (GRACE_S if self.together else 0.0)

    def settle(self, *, heard: bool) -> list[Job[Task, Answer]]:
        """Take what the worker says, or end it once overdue; returns the jobs that have left it.

        They are done or have to be asked for again.

        Raises:
            RunError: the workers do not start, again and again.
        """
        left: list[Job[Task, Answer]] = []
        try:
            if heard:
                self._hear(left)
        except EOFError:
            return left + self._replace(self.worker.exit_code())
        return left + self._look()

    def _look(self) -> list[Job[Task, Answer]]:
        now, at = time.monotonic(), self.worker.progress.read()
        if not self.busy or now <= self._limit(at):
            self.suspect = None
        elif self.suspect is None or self.suspect[0] != at:
            self.suspect = at, now
        elif now >= self.suspect[1] + LOOK_AGAIN_S:
            return self._end_overdue(at)
        return []

    def _hear(self, left: list[Job[Task, Answer]]) -> None:
        """Read what is there; appends the jobs that are done to ``left``.

        Raises:
            EOFError: the process is gone, or sends what is no message.
        """
        try:
            for _ in range(MESSAGES):
                message = self.work.read(self.worker.connection.recv_bytes(self.work.message_bytes))
                self.heard = time.monotonic()
                if isinstance(message, Ready):
                    self.ready = self.ready or message
                else:
                    self._take(message.first, message.answers, left)
                if not self.worker.has_message():
                    return
        except (OSError, ValueError) as error:
            raise EOFError from error

    def _job_of(self, call: int) -> int:
        """The number by which the job of a call is known."""
        return call - call % self.work.num_calls if self.together else next(iter(self.jobs), 0)

    def _take(self, first: int, answers: list[Answer], left: list[Job[Task, Answer]]) -> None:
        """Note answers; those to calls that nobody asked for are dropped."""
        begin = self._job_of(first)
        job = self.jobs.get(begin)
        if job is None or not 0 <= first - begin <= len(job.places) - len(answers):
            return
        self.num_failed_starts = 0
        job.take(first - begin, answers)
        if job.done:
            job.took = None if self.together else self.heard - self.given
            left.append(self.jobs.pop(begin))

    def _end_overdue(self, at: At) -> list[Job[Task, Answer]]:
        """End the worker and blame its call, unless it went on to the next one just now."""
        self.worker.kill()
        return self._replace(None, blame=at == self.worker.progress.read())

    def _replace(self, code: int | None, *, blame: bool = True) -> list[Job[Task, Answer]]:
        """Start another worker; returns the jobs of the one that is gone."""
        jobs = list(self.jobs.values())
        if blame:
            self._blame(code)
        for job in jobs:
            if not job.done:
                job.ask()
        self._start()
        return jobs

    def _blame(self, code: int | None) -> None:
        """Blame the call under way; of several nobody knows which, so each is tried alone."""
        at = self.worker.progress.read()
        begin = self._job_of(at.number)
        if not at.since or begin not in self.jobs:
            self.num_failed_starts += 1
            if self.num_failed_starts >= MAX_FAILED_STARTS:
                raise RunError(self.work.no_start(code))
        elif len(self.jobs) == 1:
            self.jobs[begin].fail(at.number - begin, self.work.fault(code))
        else:
            for job in self.jobs.values():
                job.alone = True
