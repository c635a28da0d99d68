"""Mathematics compared in one worker process, for ``grade`` where it is called outside a pool."""

from __future__ import annotations

import atexit
import functools
import os
import threading

from difficulty.grading.equal.library import needs_library
from difficulty.grading.equal.verdict import Verdict
from difficulty.grading.grading_process import LOAD, READY, GradingProcess
from difficulty.workers.process import close_all

DEADLINE_S = 10.0
START_LIMIT_S = 120.0
"""Seconds within which the worker must have started and loaded what it needs."""


class _Shared:
    """The one worker that ``grade`` uses when it is called outside a pool."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker: GradingProcess | None = None
        self.owner = 0
        self.loaded = False
        """Whether the worker has loaded Math-Verify."""

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
            self.worker = GradingProcess(DEADLINE_S)
            self.owner = os.getpid()
            self.loaded = False
            if not self._ready():
                return self._end("the grader's worker does not start")
        if needs_library(gold) and not self.loaded:
            self.worker.send(LOAD)
            if not self._ready():
                return self._end("the grader's worker does not load Math-Verify")
            self.loaded = True
        self.worker.send((gold, answer))
        if not self._replied(DEADLINE_S):
            return self._end(f"the grader's deadline of {DEADLINE_S:g} s")
        return self._verdict()

    def _ready(self) -> bool:
        """Whether the worker is there and says so in time."""
        try:
            return bool(
                self.worker and self._replied(START_LIMIT_S) and self.worker.receive() == READY
            )
        except EOFError:
            return False

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
            close_all([self.worker])
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
