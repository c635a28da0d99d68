"""Call the user's functions for a stream of replies, on several processes or in one loop.

A call that hangs or ends its process costs one reply its reward; the others of that process are
judged again. Of several calls in one loop nobody knows which one it was, so each is tried alone.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import Any

from difficulty.user_rewards.score import Part
from difficulty.user_rewards.setup import Setup
from difficulty.user_rewards.slot import Item, Slot
from difficulty.workers.process import close_all

ASYNC_CONCURRENCY = 32
LOOK_AHEAD = 2_000
"""Replies that may be read ahead of the oldest unfinished one: the bound on memory."""

Request = dict[str, Any]


class RewardPool:
    """Worker processes with the user's functions; a context manager, so that none is left behind.

    Args:
        setup: which functions, and what they get.
        concurrency: calls at a time; null: one a core, or 32 if all functions are async.
        log: file that takes what the functions print; standard error if null.
    """

    def __init__(
        self, setup: Setup, *, concurrency: int | None = None, log: Path | None = None
    ) -> None:
        self.setup = setup
        self.concurrency = concurrency
        self.log = log
        self._slots: list[Slot] = []
        self._empty()

    def _empty(self) -> None:
        self._again: deque[Item] = deque()
        self._alone: deque[Item] = deque()
        self._finished: dict[int, list[Part] | None] = {}
        self._taken = 0
        self._exhausted = False

    def __enter__(self) -> RewardPool:
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
            if slot.items or not slot.ready:
                slot.process.kill()
        close_all([slot.process for slot in self._slots if slot.ready and not slot.items])
        self._slots = []

    def load(self) -> list[dict[str, Any]]:
        """Load the functions in a first worker; returns what each is (part, style, is_async, note).

        Raises:
            SettingsError: they cannot be used; says why.
            RunError: the worker does not start.
        """
        if not self._slots:
            self._slots = [Slot(self.setup, self.log)]
        while not self._slots[0].ready:
            self._listen(self._slots)
        return self._slots[0].facts

    def score_all(self, requests: Iterable[Request | None]) -> Iterator[list[Part] | None]:
        """The parts of the reward of each request, one a function, in the order of the requests.

        A null request takes its place in the order and gives null. No more than ``LOOK_AHEAD``
        requests are held at a time.

        Raises:
            SettingsError: the functions cannot be used.
            RunError: the workers do not start.
        """
        source = iter(requests)
        self._empty()
        yielded = 0
        try:
            while True:
                while yielded not in self._finished:
                    if not self._advance(source, yielded):
                        return
                started = time.monotonic()
                yield self._finished.pop(yielded)
                yielded += 1
                for slot in self._slots:
                    slot.forgive(time.monotonic() - started)
        finally:
            if any(slot.items for slot in self._slots):
                self.close()

    def _advance(self, source: Iterator[Request | None], yielded: int) -> bool:
        """Hand out replies, then wait for a message; false if nothing is left to do."""
        self._hand_out(source, yielded + LOOK_AHEAD)
        if yielded in self._finished:
            return True
        under_way = self._again or self._alone or any(slot.items for slot in self._slots)
        if self._exhausted and not under_way:
            return False
        self._listen([slot for slot in self._slots if slot.items or not slot.ready])
        return True

    def _hand_out(self, source: Iterator[Request | None], limit: int) -> None:
        """Give replies to the workers that have room, and start workers while there are more."""
        for slot in self._slots:
            while room := self._room(slot):
                items = [item for _ in range(room) if (item := self._next(source, limit))]
                if not items:
                    return
                slot.give(items)
        held: list[Item] = []
        starting = sum(not slot.ready for slot in self._slots)
        while self._may_start():
            item = self._next(source, limit)
            if item is None:
                break
            held.append(item)
            if len(held) > starting:
                self._slots.append(Slot(self.setup, self.log))
                starting += 1
        self._again.extendleft(reversed(held))

    def _room(self, slot: Slot) -> int:
        """How many replies a worker may be given now."""
        if not slot.ready:
            return 0
        if not slot.together:
            return 0 if slot.items else slot.chunk
        if self._alone:
            return 0 if slot.items else 1
        if any(item.alone for item in slot.items.values()):
            return 0
        return (self.concurrency or ASYNC_CONCURRENCY) - len(slot.items)

    def _next(self, source: Iterator[Request | None], limit: int) -> Item | None:
        """The next reply to be judged; null requests on the way are finished at once."""
        if self._alone:
            return self._alone.popleft()
        if self._again:
            return self._again.popleft()
        while self._taken < limit:
            try:
                request = next(source)
            except StopIteration:
                self._exhausted = True
                return None
            index, self._taken = self._taken, self._taken + 1
            if request is not None:
                return Item(index, request, len(self.setup.functions))
            self._finished[index] = None
        return None

    def _may_start(self) -> bool:
        """Whether another worker would help: the first one says whether one is enough."""
        if not self._slots:
            return True
        together = any(slot.together for slot in self._slots)
        learned = any(slot.facts for slot in self._slots)
        return learned and not together and len(self._slots) < (self.concurrency or num_cores())

    def _listen(self, slots: list[Slot]) -> None:
        """Wait for messages of these workers, and replace those that are gone or overdue."""
        patience = min(slot.due() for slot in slots) - time.monotonic()
        wait([slot.process.connection for slot in slots], timeout=max(0.01, patience + 0.01))
        for slot in slots:
            try:
                for item in slot.read():
                    self._finished[item.index] = item.in_order()
            except EOFError:
                self._lost(slot, overdue=False)
            if time.monotonic() > slot.due():
                self._lost(slot, overdue=True)

    def _lost(self, slot: Slot, *, overdue: bool) -> None:
        loss = slot.replace(overdue=overdue)
        for item in loss.failed:
            self._finished[item.index] = item.in_order()
        for item in loss.unknown:
            item.alone = True
        self._alone.extend(loss.unknown)
        self._again.extendleft(reversed(loss.rest))


def num_cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
