"""What a pool is told of its work: what a task is, and what becomes of one that cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from difficulty.workers.process import WorkerProcess

Task = TypeVar("Task")
Answer = TypeVar("Answer")

NOT_CALLED = "not called, since the one before it did not end"
"""Why a call has no answer that was to follow one that hung."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A worker says that it has loaded what it needs."""

    facts: Any = None
    """What else it says of itself, for ``Pool.load``."""
    together: bool = False
    """It has many tasks under way in one loop, so that one such worker is enough."""


@dataclass(frozen=True, kw_only=True)
class Answers(Generic[Answer]):
    """Answers of a worker to consecutive calls."""

    first: int
    """Number of the first of these calls, counted from 0 since the worker started."""
    answers: list[Answer]


@dataclass(frozen=True, kw_only=True)
class Work(Generic[Task, Answer]):
    """The work of a pool: plain values and functions.

    A worker makes ``num_calls`` calls for each task that it is sent, and gives each call an answer.
    """

    start: Callable[[], WorkerProcess]
    write: Callable[[list[Task]], bytes]
    """The message to a worker that asks for these tasks."""
    read: Callable[[bytes], Ready | Answers[Answer]]
    """What a worker's message says; raises ValueError if it says nothing, which ends the worker."""
    failed: Callable[[Task, str], Answer]
    """The answer to a call that could not be made, with the reason."""
    fault: Callable[[int | None], str]
    """The reason when a worker ended with this exit code in a call; null: it was overdue."""
    no_start: Callable[[int | None], str]
    """The message when workers end, in the same sense, again and again without any call."""
    deadline_s: float
    """Seconds that a call may take."""
    start_limit_s: float
    """Seconds within which a worker must have started, or have begun what it was sent."""
    message_bytes: int
    """A worker that sends more at a time is out of order."""
    look_ahead: int
    """Tasks that may be held beyond the oldest unfinished one: the bound on memory."""
    chunk: tuple[int, int]
    """Fewest and most tasks that are sent together."""
    workers: int
    """Processes at the most."""
    at_once: int = 1
    """Tasks that a worker in one loop may have under way; 1: no worker is one."""
    num_calls: int = 1
