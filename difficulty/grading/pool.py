"""Grade a stream of completions on several processes, with a deadline for every item.

A worker that hangs or runs out of memory costs one ``grader_error``: its parent kills it, starts
another and goes on with the rest of the chunk.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from types import TracebackType

from difficulty.errors import RunError
from difficulty.grading.verdict import Verdict
from difficulty.grading.worker import BEGIN, READY, Pair, Worker, failed_grade
from difficulty.schema import Completion, Grade, Question

CHUNK = 64
"""Completions sent to a worker at a time."""
WINDOW = 4
"""Chunks a worker that may be read ahead of the oldest unfinished one: the bound on memory."""
START_LIMIT_S = 120.0
"""Seconds within which a worker must have started and loaded what it needs."""
MAX_FAILED_STARTS = 3
DEADLINE_S = 10.0


@dataclass
class _Job:
    """A chunk on its way through a worker."""

    index: int
    pairs: list[Pair]
    grades: list[Grade] = field(default_factory=list)

    @property
    def current(self) -> Pair:
        return self.pairs[len(self.grades)]

    @property
    def rest(self) -> list[Pair]:
        return self.pairs[len(self.grades) :]


class _Slot:
    """One place in the pool: its process, which may be replaced, and its job."""

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.job: _Job | None = None
        self.failed_starts = 0
        self.start()

    def start(self) -> None:
        self.worker = Worker(self.deadline_s)
        self.working = False
        self.since = time.monotonic()

    def give(self, job: _Job) -> None:
        """Send what is left of a job; a worker that is gone is noticed when it is read."""
        self.job = job
        self.working = False
        self.since = time.monotonic()
        self.worker.send(job.rest)

    def overdue(self, now: float) -> bool:
        limit = self.deadline_s if self.working else START_LIMIT_S
        return self.job is not None and now - self.since > limit

    def read(self) -> None:
        """Take all replies that are there; replaces the process if it is gone."""
        try:
            while self.job is not None and self.worker.connection.poll():
                self._take(self.worker.receive())
        except EOFError:
            self._lost(self.worker.exit_code())

    def _take(self, message: object) -> None:
        self.since = time.monotonic()
        if message == READY:
            self.failed_starts = 0
        elif message == BEGIN:
            self.working = True
        elif isinstance(message, Grade) and self.job is not None:
            self.job.grades.append(message)

    def kill_overdue(self) -> None:
        """End a worker that is over its deadline; its current item is a grader error."""
        self.worker.kill()
        self._replace(f"the grader's deadline of {self.deadline_s:g} s")

    def _lost(self, code: int) -> None:
        alarm = code == -signal.SIGALRM
        self._replace("the grader's deadline" if alarm else f"the grader's worker died ({code})")

    def _replace(self, reason: str) -> None:
        job = self.job
        if job is not None and self.working:
            job.grades.append(failed_grade(job.current[1], reason))
        elif job is not None:
            self.failed_starts += 1
            if self.failed_starts >= MAX_FAILED_STARTS:
                raise RunError(
                    f"the grader's workers do not start: {reason}. Run grading alone to see why"
                )
        self.start()
        if job is not None and job.rest:
            self.give(job)


class GraderPool:
    """Worker processes that grade; use it as a context manager so that none is left behind.

    Args:
        workers: number of processes.
        deadline_s: seconds that one completion may take before it is a grader error.
    """

    def __init__(self, workers: int, deadline_s: float = DEADLINE_S) -> None:
        self.workers = workers
        self.deadline_s = deadline_s
        self._slots: list[_Slot] = []

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
            if slot.job is None:
                slot.worker.close()
            else:
                slot.worker.kill()
        self._slots = []

    def grade_all(self, pairs: Iterable[tuple[Question, Completion]]) -> Iterator[Grade]:
        """Grade pairs as a stream; grades come in the order of the pairs.

        At most ``workers * WINDOW`` chunks are held at a time.

        Raises:
            RunError: the workers cannot be started.
        """
        chunks = _chunks(pairs)
        finished: dict[int, list[Grade]] = {}
        try:
            for index in itertools.count():
                while index not in finished:
                    if not self._advance(chunks, finished, index):
                        return
                started = time.monotonic()
                yield from finished.pop(index)
                self._forgive(time.monotonic() - started)
        finally:
            if any(slot.job is not None for slot in self._slots):
                self.close()

    def _forgive(self, pause: float) -> None:
        """Time that the consumer of the stream took does not count against the workers."""
        for slot in self._slots:
            slot.since += pause

    def _advance(
        self, chunks: Iterator[_Job], finished: dict[int, list[Grade]], oldest: int
    ) -> bool:
        """Hand out chunks, then wait for one reply; false if nothing is left to do."""
        if not self._slots:
            self._slots = [_Slot(self.deadline_s) for _ in range(max(1, self.workers))]
        for slot in self._slots:
            if slot.job is None and len(finished) < WINDOW * len(self._slots):
                job = next(chunks, None)
                if job is not None:
                    slot.give(job)
        busy = [slot for slot in self._slots if slot.job is not None]
        if not busy:
            return False
        wait([slot.worker.connection for slot in busy], timeout=self._patience(busy))
        for slot in busy:
            _settle(slot, finished)
        return True

    def _patience(self, busy: list[_Slot]) -> float:
        """Seconds until the first worker is overdue."""
        now = time.monotonic()
        limits = [slot.deadline_s if slot.working else START_LIMIT_S for slot in busy]
        left = min(slot.since + limit - now for slot, limit in zip(busy, limits, strict=True))
        return max(0.01, left + 0.01)


def _settle(slot: _Slot, finished: dict[int, list[Grade]]) -> None:
    """Read a slot's replies, end it if it is overdue, and collect its job if that is done."""
    slot.read()
    if slot.job is not None and slot.job.rest and slot.overdue(time.monotonic()):
        slot.kill_overdue()
    if slot.job is not None and not slot.job.rest:
        finished[slot.job.index] = slot.job.grades
        slot.job = None


def _chunks(pairs: Iterable[Pair]) -> Iterator[_Job]:
    iterator = iter(pairs)
    for index in itertools.count():
        chunk = list(itertools.islice(iterator, CHUNK))
        if not chunk:
            return
        yield _Job(index, chunk)


class _Shared:
    """The one worker that ``grade`` uses when it is called outside a pool."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker: Worker | None = None
        self.owner = 0

    def compare(self, gold: str, answer: str) -> Verdict:
        """One comparison; a caller that is interrupted leaves no reply behind for the next."""
        with self.lock:
            try:
                return self._compare(gold, answer)
            except BaseException:
                self._end("interrupted")
                raise

    def _compare(self, gold: str, answer: str) -> Verdict:
        if self.worker is None or self.owner != os.getpid():
            self.worker = Worker(DEADLINE_S)
            self.owner = os.getpid()
            if not self._replied(START_LIMIT_S) or self.worker.receive() != READY:
                return self._end("the grader's worker does not start")
        self.worker.send((gold, answer))
        if not self._replied(DEADLINE_S):
            return self._end(f"the grader's deadline of {DEADLINE_S:g} s")
        return self._verdict()

    def _replied(self, seconds: float) -> bool:
        return self.worker is not None and self.worker.connection.poll(seconds)

    def _verdict(self) -> Verdict:
        try:
            reply = self.worker.receive() if self.worker else None
        except EOFError:
            return self._end("the grader's worker died")
        return reply if isinstance(reply, Verdict) else self._end("the grader's worker is confused")

    def _end(self, reason: str) -> Verdict:
        if self.worker is not None:
            self.worker.kill()
            self.worker = None
        return Verdict(None, reason)

    def close(self) -> None:
        if self.worker is not None and self.owner == os.getpid():
            self.worker.close()
            self.worker = None


_shared = _Shared()
atexit.register(_shared.close)


class _NoVerdictError(Exception):
    """Carries a verdict that is none past the cache: the next try may do better."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


@functools.lru_cache(maxsize=20_000)
def _remembered(gold: str, answer: str) -> Verdict:
    verdict = _shared.compare(gold, answer)
    if verdict.equal is None:
        raise _NoVerdictError(verdict)
    return verdict


def shared_math_equal(gold: str, answer: str) -> Verdict:
    """Compare mathematics in one worker process, started when first needed, under a deadline."""
    try:
        return _remembered(gold, answer)
    except _NoVerdictError as unknown:
        return unknown.verdict
