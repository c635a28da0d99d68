"""Call the user's functions for a stream of replies, on several processes or in one loop.

Messages are JSON, so that nothing is unpickled here: the functions may run what a model wrote.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from difficulty.errors import SettingsError
from difficulty.user_rewards.score import Part
from difficulty.user_rewards.setup import Setup
from difficulty.workers.pool import Pool
from difficulty.workers.process import WorkerProcess
from difficulty.workers.work import Answers, Ready, Work

ASYNC_CONCURRENCY = 32
LOOK_AHEAD = 2_000
"""Replies that may be read ahead of the oldest unfinished one: the bound on memory."""
MAX_CHUNK = 64
START_LIMIT_S = 300.0
"""Seconds within which a worker must have loaded the user's files: some load models."""
MESSAGE_BYTES = 2**20
"""A worker's messages are small; one that sends more is out of order."""
MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""All that the machine has: some functions load models."""
STDERR = 2

Request = dict[str, Any]


class RewardPool(Pool[Request, Part]):
    """Worker processes with the user's functions; a context manager, so that none is left behind.

    ``load`` gives what each function is (part, style, is_async, note), or raises SettingsError.

    Args:
        setup: which functions, and what they get.
        concurrency: calls at a time; null: one a core, or 32 if all functions are async.
        log: file that takes what the functions print; standard error if null.
    """

    def __init__(
        self, setup: Setup, *, concurrency: int | None = None, log: Path | None = None
    ) -> None:
        super().__init__(
            Work(
                start=functools.partial(_start, setup, log),
                write=lambda requests: json.dumps(requests).encode(),
                read=_read,
                failed=lambda _, reason: Part(value=None, fault=reason),
                fault=functools.partial(_fault, setup),
                no_start=functools.partial(_no_start, setup),
                deadline_s=setup.deadline_s,
                start_limit_s=START_LIMIT_S,
                message_bytes=MESSAGE_BYTES,
                look_ahead=LOOK_AHEAD,
                chunk=(1, MAX_CHUNK),
                workers=concurrency or num_cores(),
                at_once=concurrency or ASYNC_CONCURRENCY,
                num_calls=len(setup.functions),
            )
        )

    def score_all(self, requests: Iterable[Request | None]) -> Iterator[list[Part] | None]:
        """The parts of the reward of each request, one a function, in the order of the requests.

        A null request takes its place in the order and gives null. No more than ``LOOK_AHEAD``
        requests are held at a time.

        Raises:
            SettingsError: the functions cannot be used.
            RunError: the workers do not start.
        """
        return self.answer_all(requests)


def _start(setup: Setup, log: Path | None) -> WorkerProcess:
    with _output(log) as output:
        process = WorkerProcess(
            "difficulty.user_rewards.worker:serve",
            memory_bytes=MEMORY_BYTES,
            stdout=output,
            stderr=output,
        )
    process.send_bytes(json.dumps(setup.as_json()).encode())
    return process


@contextlib.contextmanager
def _output(log: Path | None) -> Iterator[int]:
    if log is None:
        yield STDERR
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        yield file.fileno()


def _read(text: bytes) -> Ready | Answers[Part]:
    """What a worker says.

    Raises:
        SettingsError: the user's files cannot be used.
        ValueError: it is no message.
    """
    message = json.loads(text)
    if not isinstance(message, dict):
        raise ValueError("no message")
    if "unusable" in message:
        raise SettingsError(str(message["unusable"]))
    if "ready" in message:
        return Ready(facts=message["ready"], together=bool(message["together"]))
    call = message.get("call")
    return Answers(first=call if isinstance(call, int) else -1, answers=[_part(message)])


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


def _fault(setup: Setup, code: int | None) -> str:
    return f"deadline of {setup.deadline_s:g} s" if code is None else f"ended its worker ({code})"


def _no_start(setup: Setup, code: int | None) -> str:
    names = ", ".join(function.file for function in setup.functions)
    what = "takes too long" if code is None else f"ended with code {code}"
    return f"reward worker does not start: loading {names} {what}. Import it alone to see why"


def num_cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
