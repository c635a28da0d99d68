"""The calls under way in one loop, and their deadline. In a worker process only."""

from __future__ import annotations

import asyncio
import time
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

    def begin(self, number: int, deadline: asyncio.Timeout) -> None:
        """A call begins: have its deadline, which has been entered, expire in time."""
        now = time.monotonic()
        self.calls[number] = _Call(now, now + self.deadline_s, deadline)
        if len(self.calls) == 1:
            self.progress.begin(number, now)

    def end(self, number: int) -> None:
        """A call has ended, in whatever way."""
        oldest = next(iter(self.calls))
        del self.calls[number]
        if not self.calls:
            self.progress.end()
        elif number == oldest:
            oldest = next(iter(self.calls))
            self.progress.begin(oldest, self.calls[oldest].since)

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
