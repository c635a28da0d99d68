"""One place in the pool of reward workers: its process, which may be replaced, and its work."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty.errors import RunError, SettingsError
from difficulty.user_rewards.reward_process import RewardProcess
from difficulty.user_rewards.score import Part
from difficulty.user_rewards.setup import Setup

START_LIMIT_S = 300.0
"""Seconds within which a worker must have loaded the user's files: some load models."""
MAX_FAILED_STARTS = 3
GRACE_S = 5.0
"""Seconds that a loop of async functions gets to end an overdue call by itself."""
CHUNK_S = 0.1
"""How long the replies that are sent together should take: quick functions get many at a time."""
MAX_CHUNK = 64


class Item:
    """One reply on its way: its request, and the parts of its reward as they come."""

    def __init__(self, index: int, request: dict[str, Any], num_parts: int) -> None:
        self.index = index
        self.request = {**request, "index": index}
        self.num_parts = num_parts
        self.alone = False
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.parts: dict[int, Part] = {}
        self.since = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether every function has answered."""
        return len(self.parts) == self.num_parts

    def blame(self, reason: str) -> None:
        """The call under way did not end; those after it were not made."""
        for number in range(self.num_parts):
            if number not in self.parts:
                self.parts[number] = Part(value=None, fault=reason)
                reason = "not called, since the one before it did not end"

    def in_order(self) -> list[Part]:
        """The parts in the order of the functions."""
        return [self.parts[number] for number in range(self.num_parts)]


@dataclass(frozen=True)
class Loss:
    """What a worker that is gone leaves behind."""

    failed: list[Item]
    """The reply that it was judging."""
    unknown: list[Item]
    """Replies of which one ended it, nobody knows which: to be judged alone."""
    rest: list[Item]
    """Replies that it had not begun."""


class Slot:
    """A worker process and its replies.

    Args:
        setup: what the worker loads.
        log: where its functions print.
    """

    def __init__(self, setup: Setup, log: Path | None) -> None:
        self.setup = setup
        self.log = log
        self.failed_starts = 0
        self.chunk = 1
        self.num_given = 0
        self.facts: list[dict[str, Any]] = []
        self.together = False
        self.start()

    def start(self) -> None:
        """Start a process; the replies of one before are forgotten."""
        self.process = RewardProcess(self.setup, self.log)
        self.items: dict[int, Item] = {}
        self.ready = False
        self.heard = self.given = time.monotonic()

    def give(self, items: list[Item]) -> None:
        """Send replies; a worker that is gone is noticed when it is read."""
        self.given = self.heard = time.monotonic()
        self.num_given = len(items)
        for item in items:
            item.forget()
            self.items[item.index] = item
        self.process.send([item.request for item in items])

    def read(self) -> Iterator[Item]:
        """Take all messages that are there; hands out the replies that are done.

        Raises:
            EOFError: the process is gone.
            SettingsError: the user's files cannot be used.
        """
        for message in self.process.messages():
            self.heard = time.monotonic()
            item = self._take(message)
            if item is not None and item.done:
                del self.items[item.index]
                self._fit_chunk()
                yield item

    def _take(self, message: dict[str, Any]) -> Item | None:
        if "unusable" in message:
            raise SettingsError(str(message["unusable"]))
        if "ready" in message:
            self.facts, self.together = message["ready"], bool(message["together"])
            self.ready, self.failed_starts = True, 0
            return None
        item = self.items.get(message.get("index", -1))
        number = message.get("part")
        if item is None or not isinstance(number, int) or number not in range(item.num_parts):
            return None
        item.parts[number] = _part(message)
        return item

    def _fit_chunk(self) -> None:
        """Once a chunk is done, size the next one by how long it took."""
        if not self.items:
            rate = self.num_given / max(1e-6, self.heard - self.given)
            self.chunk = max(1, min(MAX_CHUNK, int(CHUNK_S * rate)))

    def due(self) -> float:
        """When (monotonic time) the worker is overdue; infinite while it has nothing to do."""
        if not self.ready:
            return self.heard + START_LIMIT_S
        if not self.items:
            return math.inf
        if self.together:
            first = min(item.since for item in self.items.values())
            return first + self.setup.deadline_s + GRACE_S
        return self.heard + self.setup.deadline_s

    def forgive(self, pause: float) -> None:
        """Time in which nobody read its messages does not count against the worker."""
        self.heard += pause
        self.given += pause
        for item in self.items.values():
            item.since += pause

    def replace(self, *, overdue: bool) -> Loss:
        """End the process, start another, and say what became of the replies.

        Raises:
            RunError: it does not start, again and again.
        """
        code = self.process.kill() if overdue else self.process.exit_code()
        if not self.ready:
            self._count_failed_start("takes too long" if overdue else f"ended with code {code}")
        reason = (
            f"deadline of {self.setup.deadline_s:g} s" if overdue else f"ended its worker ({code})"
        )
        items = list(self.items.values())
        if self.together and len(items) > 1:
            loss = Loss([], items, [])
        else:
            loss = Loss(items[:1], [], items[1:])
            for item in loss.failed:
                item.blame(reason)
        self.start()
        return loss

    def _count_failed_start(self, what: str) -> None:
        self.failed_starts += 1
        if self.failed_starts >= MAX_FAILED_STARTS:
            names = ", ".join(function.file for function in self.setup.functions)
            raise RunError(
                f"reward worker does not start: loading {names} {what}. Import it alone to see why"
            )


def _part(message: dict[str, Any]) -> Part:
    """The part of a message; a value that is none is a fault, whatever sent it."""
    value, more, ms = message.get("value"), message.get("more"), message.get("ms")
    good = isinstance(value, float) and math.isfinite(value)
    fault = None if good else str(message.get("fault", "gave no value"))[:300]
    pairs = more.items() if good and isinstance(more, dict) else ()
    return Part(
        value=value if good else None,
        more=tuple((str(key), float(number)) for key, number in pairs),
        fault=fault,
        type=str(message["type"]) if "type" in message else None,
        ms=float(ms) if isinstance(ms, float) else None,
    )
