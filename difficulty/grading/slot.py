"""One place in the pool of graders: its process, which may be replaced, and its job."""

from __future__ import annotations

import signal
import time
from multiprocessing.reduction import ForkingPickler

from difficulty.errors import RunError
from difficulty.grading.grading_process import READY, GradingProcess, Pair, failed_grade
from difficulty.schema import Grade
from difficulty.workers.process import close_all
from difficulty.workers.progress import At

START_LIMIT_S = 120.0
"""Seconds within which a worker must have started and loaded what it needs."""
MAX_FAILED_STARTS = 3
LOOK_AGAIN_S = 0.5
"""Seconds between the two looks that must find a worker overdue at the same item.

The clock goes on while the machine stands still; the worker is then given the time to go on too.
"""


class Job:
    """A chunk of the stream: its pairs, and their grades as they come.

    Args:
        index: place of the chunk in the stream.
        pairs: what is to be graded.
    """

    def __init__(self, index: int, pairs: list[Pair]) -> None:
        self.index = index
        self.pairs = pairs
        self.grades: dict[int, Grade] = {}
        self.ask()

    def ask(self) -> None:
        """Prepare the request for what is not graded yet."""
        self.asked = [place for place in range(len(self.pairs)) if place not in self.grades]
        self.answered = 0
        self.request = ForkingPickler.dumps([self.pairs[place] for place in self.asked])

    def take(self, grades: list[Grade]) -> None:
        """Grades of the next items asked for, in order."""
        for grade in grades:
            self.grades[self.asked[self.answered]] = grade
            self.answered += 1

    def fail(self, number: int, reason: str) -> None:
        """The item that cannot be graded, by its number among those asked for."""
        place = self.asked[number]
        self.grades[place] = failed_grade(self.pairs[place][1], reason)

    @property
    def done(self) -> bool:
        """Whether every pair has its grade."""
        return len(self.grades) == len(self.pairs)

    def in_order(self) -> list[Grade]:
        """The grades in the order of the pairs."""
        return [self.grades[place] for place in range(len(self.pairs))]


class Slot:
    """A worker process and its job.

    Args:
        deadline_s: seconds that one completion may take.
    """

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.job: Job | None = None
        self.failed_starts = 0
        self.suspect: tuple[At, float] | None = None
        """Where the worker was found overdue, and when."""
        self._start()

    def _start(self) -> None:
        self.worker = GradingProcess(self.deadline_s)
        self.suspect = None
        self.heard = time.monotonic()

    def give(self, job: Job) -> None:
        """Send a job to the idle worker; one that is gone is noticed when it is read."""
        self.job = job
        self.worker.progress.reset()
        self.heard = time.monotonic()
        self.worker.send_bytes(job.request)

    def look_at(self) -> float:
        """When to look next at a worker that says nothing."""
        at = self.worker.progress.read()
        if self.suspect is not None and self.suspect[0] == at:
            return self.suspect[1] + LOOK_AGAIN_S
        return self._limit(at)

    def _limit(self, at: At) -> float:
        """When a worker has taken too long for its item, or for its start."""
        return at.since + self.deadline_s if at.since else self.heard + START_LIMIT_S

    def settle(self, *, heard: bool) -> Job | None:
        """Take one message if there is one, or end an overdue worker; returns the job once done.

        Raises:
            RunError: the workers cannot be started.
        """
        if heard:
            self._hear()
        else:
            self._look()
        job = self.job
        if job is None or not job.done:
            return None
        self.job = None
        return job

    def _look(self) -> None:
        now, at = time.monotonic(), self.worker.progress.read()
        if now <= self._limit(at):
            self.suspect = None
        elif self.suspect is None or self.suspect[0] != at:
            self.suspect = at, now
        elif now >= self.suspect[1] + LOOK_AGAIN_S:
            self._end_overdue(at)

    def _hear(self) -> None:
        try:
            self._take(self.worker.receive())
        except EOFError:
            self._lost(self.worker.exit_code())

    def _take(self, message: object) -> None:
        self.heard = time.monotonic()
        if message != READY and isinstance(message, list) and self.job is not None:
            self.failed_starts = 0
            self.job.take(message)

    def _end_overdue(self, at: At) -> None:
        """End the worker and blame its item, unless it went on to the next one just now."""
        self.worker.kill()
        same = at == self.worker.progress.read()
        self._replace(f"the grader's deadline of {self.deadline_s:g} s", blame=same)

    def _lost(self, code: int) -> None:
        own_limit = code == -signal.SIGPROF
        self._replace(
            "the grader's deadline" if own_limit else f"the grader's worker died ({code})"
        )

    def _replace(self, reason: str, *, blame: bool = True) -> None:
        """Start another worker and have it go on with what is left of the job."""
        job, at = self.job, self.worker.progress.read()
        if job is not None and at.since and blame:
            job.fail(at.number, reason)
        elif blame:
            self.failed_starts += 1
            if self.failed_starts >= MAX_FAILED_STARTS:
                raise RunError(
                    f"the grader's workers do not start: {reason}. Run grading alone to see why"
                )
        self._start()
        if job is not None and not job.done:
            job.ask()
            self.give(job)

    def close(self) -> None:
        """End the worker; a busy one at once."""
        if self.job is None:
            close_all([self.worker])
        else:
            self.worker.kill()
