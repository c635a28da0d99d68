"""What a worker is at, in memory that it shares with its parent.

Answers travel in batches. Should a worker hang or die, this memory still says which call it was at
and since when, so that exactly that call is blamed, after exactly its deadline.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import time
from dataclasses import dataclass

STILL_S = 0.5
"""Seconds that a look must come late by before the machine counts as having stood still."""
_BYTES = 16


@dataclass(frozen=True)
class At:
    """The place of a worker in its work."""

    number: int
    """The oldest call under way, or the last one, counted from 0; -1 before the first."""
    since: float
    """When it began, on the clock of ``time.monotonic``; 0 while no call is under way."""


class Progress:
    """Two numbers in shared memory; the parent resets them, one worker writes them.

    Args:
        descriptor: of memory made by ``shared_memory``.
    """

    def __init__(self, descriptor: int) -> None:
        self._numbers = memoryview(mmap.mmap(descriptor, _BYTES)).cast("d")

    def reset(self) -> None:
        """For a new worker: no call has begun."""
        self._numbers[1] = 0.0
        self._numbers[0] = -1.0

    def begin(self, number: int, now: float) -> None:
        """The worker begins a call: the number first, as ``since`` is what a reader relies on."""
        self._numbers[0] = float(number)
        self._numbers[1] = now

    def end(self) -> None:
        """No call is under way any more."""
        self._numbers[1] = 0.0

    def read(self) -> At:
        """Where the worker is now."""
        since = self._numbers[1]
        return At(int(self._numbers[0]), since)


class Standstill:
    """Notices that the machine stood still: a look comes later than it was to come.

    A job that a scheduler suspends finds its clocks gone on when it is resumed.
    """

    def __init__(self) -> None:
        self._last = time.monotonic()

    def seconds(self, expected: float) -> float:
        """By how much this look is late, if it was to come ``expected`` seconds after the last."""
        now = time.monotonic()
        late, self._last = now - self._last - expected, now
        return late if late > STILL_S else 0.0


def shared_memory() -> int:
    """A descriptor of new memory for a ``Progress``; the caller closes it."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("progress")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, _BYTES)
    return descriptor
