"""The calls under way in one loop, and their deadline. In a worker process only."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from difficulty.workers.progress import Progress, Standstill

TICK_S = 0.1
"""Seconds between looks at the deadlines."""


@dataclass
class _Call:
    since: float
    due: float
    """When it is over its deadline, on the clock of ``time.monotonic``."""
    deadline: asyncio.Timeout


class UnderWay:
    """Calls in the order in which they began: the parent is told the oldest one.

    Time in which the machine stands still does not count, nor does time in which a call keeps the
    whole loop from running: the parent ends such a worker.

    Args:
        progress: what the parent sees.
        deadline_s: seconds that one call may take.
    """

    def __init__(self, progress: Progress, deadline_s: float) -> None:
        self.progress = progress
        self.deadline_s = deadline_s
        self.calls: dict[int, _Call] = {}

    @contextlib.contextmanager
    def call(self, number: int, deadline: asyncio.Timeout) -> Iterator[None]:
        """Note a call, and have its deadline expire in time."""
        now = time.monotonic()
        self.calls[number] = _Call(now, now + self.deadline_s, deadline)
        self._tell()
        try:
            yield
        finally:
            del self.calls[number]
            self._tell()

    def _tell(self) -> None:
        number = next(iter(self.calls), None)
        if number is None:
            self.progress.end()
        else:
            self.progress.begin(number, self.calls[number].since)

    async def watch(self) -> None:
        """End calls that are over their deadline, for ever."""
        standstill = Standstill()
        while True:
            await asyncio.sleep(TICK_S)
            self._look(still=standstill.seconds(TICK_S))

    def _look(self, *, still: float) -> None:
        now = time.monotonic()
        for call in self.calls.values():
            call.due += still
            if call.due <= now and not call.deadline.expired():
                call.deadline.reschedule(now)
