"""Mathematics compared in one worker process, for ``grade`` where it is called outside a pool."""

from __future__ import annotations

import atexit
import functools
import os
import threading

from difficulty.errors import RunError
from difficulty.grading.equal.verdict import Verdict
from difficulty.grading.grading_process import DEADLINE_S, Comparison, grading_work
from difficulty.workers.pool import Pool


class _Shared:
    """The pool of one worker that ``grade`` uses when it is called outside a pool.

    Args:
        deadline_s: seconds that one comparison may take.
    """

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._lock = threading.Lock()
        self._deadline_s = deadline_s
        self._pool: Pool[Comparison, Verdict] | None = None
        self._owner = 0
        """The process that started it: a fork must not talk to its parent's worker."""

    def compare(self, gold: str, answer: str) -> Verdict:
        """One comparison; a caller that is interrupted leaves no reply behind for the next."""
        with self._lock:
            if self._pool is None or self._owner != os.getpid():
                work = grading_work("serve_comparisons", _no_verdict, deadline_s=self._deadline_s)
                self._pool, self._owner = Pool(work), os.getpid()
            try:
                (verdicts,) = self._pool.answer_all([(gold, answer)])
            except RunError:
                self.close()
                return Verdict(None, "the grader's worker does not start")
            return verdicts[0] if verdicts else Verdict(None, "the grader's worker is confused")

    def close(self) -> None:
        """End the worker, unless it is the parent's of a fork."""
        if self._pool is not None and self._owner == os.getpid():
            self._pool.close()
        self._pool = None


def _no_verdict(_: Comparison, reason: str) -> Verdict:
    return Verdict(None, reason)


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
