"""What a worker is at, in memory that it shares with its parent.

Grades travel in batches. Should a worker hang or die, this memory still says which item it was at
and since when, so that exactly that item is blamed, after exactly its deadline.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from dataclasses import dataclass

_BYTES = 16


@dataclass(frozen=True)
class At:
    """The place of a worker in its job."""

    number: int
    """The item begun last, counted from 0; -1 before the first."""
    since: float
    """When it began, on the clock of ``time.monotonic``; 0 while no item is being graded."""


class Progress:
    """Two numbers in shared memory; the parent resets them, one worker writes them.

    Args:
        descriptor: of memory made by ``shared_memory``.
    """

    def __init__(self, descriptor: int) -> None:
        self._numbers = memoryview(mmap.mmap(descriptor, _BYTES)).cast("d")

    def reset(self) -> None:
        """Before a job: no item has begun."""
        self._numbers[1] = 0.0
        self._numbers[0] = -1.0

    def begin(self, number: int, now: float) -> None:
        """The worker begins an item: the number first, as ``since`` is what a reader relies on."""
        self._numbers[0] = float(number)
        self._numbers[1] = now

    def end(self) -> None:
        """The worker has graded the item."""
        self._numbers[1] = 0.0

    def read(self) -> At:
        """Where the worker is now."""
        since = self._numbers[1]
        return At(int(self._numbers[0]), since)


def shared_memory() -> int:
    """A descriptor of new memory for a ``Progress``; the caller closes it."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("progress")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, _BYTES)
    return descriptor
