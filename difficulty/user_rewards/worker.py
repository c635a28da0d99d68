"""What a reward worker runs: it calls the user's functions.

Messages are JSON over one socket, and nothing that the parent reads is ever unpickled: the
functions may run what a model wrote. What they print goes to a log. With one function that is not
async the replies are judged one by one, on the main thread as functions expect; if all are async
any number is under way in one loop, as far as the parent sends them.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import inspect
import itertools
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from difficulty.user_rewards.call import BadResult, arguments, read_result, type_of
from difficulty.user_rewards.function import Loaded, Unusable, describe, load
from difficulty.user_rewards.setup import Setup, setup_from_json
from difficulty.user_rewards.under_way import UnderWay
from difficulty.workers.progress import Progress

Message = dict[str, Any]


def serve(connection: Connection, progress: Progress) -> None:
    """Load the functions, say so, and judge what comes until the socket closes."""
    faulthandler.enable()
    setup = setup_from_json(json.loads(connection.recv_bytes()))
    judge = _Judge(connection, progress, setup)
    if not judge.load():
        return
    if judge.together:
        asyncio.run(judge.judge_together())
    else:
        judge.judge_one_by_one()


class _Judge:
    """Calls each function for each reply and sends what it gave."""

    def __init__(self, connection: Connection, progress: Progress, setup: Setup) -> None:
        self.connection = connection
        self.progress = progress
        self.numbers = itertools.count()
        """Of the calls: the parent counts in the same way."""
        self.setup = setup
        self.tracebacks = 0

    def load(self) -> bool:
        """Import the user's files; says to the parent what they are, or why they cannot be used."""
        try:
            self.functions = load(self.setup)
        except Unusable as error:
            self._send({"unusable": str(error)})
            return False
        self.together = all(function.is_async for function in self.functions)
        facts = [function.facts() for function in self.functions]
        self._send({"ready": facts, "together": self.together})
        return True

    def judge_one_by_one(self) -> None:
        """Judge the requests of each message in order, each function in turn."""
        loop = asyncio.new_event_loop()
        while True:
            for request in json.loads(self.connection.recv_bytes()):
                for function in self.functions:
                    number, started = next(self.numbers), time.monotonic()
                    self.progress.begin(number, started)
                    found = self._call(function, request, loop)
                    self.progress.end()
                    self._report(number, found, started)

    def _call(self, function: Loaded, request: Message, loop: asyncio.AbstractEventLoop) -> Message:
        with self._faults() as found:
            result = function.call(**arguments(function, request, self.setup))
            if inspect.isawaitable(result):
                result = loop.run_until_complete(_await(result))
            found.update(self._value(result, function))
        return found

    async def judge_together(self) -> None:
        """Judge each request as it comes; an error of ours ends the process."""
        requests: asyncio.Queue[list[Message] | None] = asyncio.Queue()
        threading.Thread(target=self._read_into, args=(requests, asyncio.get_running_loop()),
                         daemon=True).start()  # fmt: skip
        under_way = UnderWay(self.progress, self.setup.deadline_s)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(under_way.watch())
            while (batch := await requests.get()) is not None:
                for request in batch:
                    for function in self.functions:
                        number = next(self.numbers)
                        tasks.create_task(self._judge_async(number, function, request, under_way))
            os._exit(0)  # the parent closed the socket and waits for nothing under way

    def _read_into(
        self, requests: asyncio.Queue[list[Message] | None], loop: asyncio.AbstractEventLoop
    ) -> None:
        put: Callable[[list[Message] | None], None] = requests.put_nowait
        try:
            while True:
                batch = json.loads(self.connection.recv_bytes())
                loop.call_soon_threadsafe(put, batch)
        except (EOFError, OSError):
            loop.call_soon_threadsafe(put, None)

    async def _judge_async(
        self, number: int, function: Loaded, request: Message, under_way: UnderWay
    ) -> None:
        started = time.monotonic()
        deadline = asyncio.timeout(None)
        with self._faults() as found:
            try:
                async with deadline:
                    under_way.begin(number, deadline)
                    try:
                        result = await function.call(**arguments(function, request, self.setup))
                    finally:
                        under_way.end(number)
            except TimeoutError as error:
                if not deadline.expired():
                    raise
                raise BadResult(f"deadline of {self.setup.deadline_s:g} s") from error
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                raise BadResult("CancelledError") from error
            found.update(self._value(result, function))
        self._report(number, found, started)

    def _value(self, result: Any, function: Loaded) -> Message:
        found = read_result(result, function.style)
        return {"value": found.value, "more": found.more, "type": type_of(result)}

    @contextlib.contextmanager
    def _faults(self) -> Iterator[Message]:
        """Hand out a dict; what the block raises becomes its ``fault``."""
        found: Message = {}
        try:
            yield found
        except BadResult as error:
            found["fault"] = str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - functions may raise anything
            found["fault"] = describe(error) + self._hint(error)
            if self.tracebacks < self.setup.tracebacks:
                self.tracebacks += 1
                with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream replaced
                    traceback.print_exc(file=sys.stderr)

    def _hint(self, error: BaseException) -> str:
        """Functions written for texts fail on messages in ways that say little."""
        mistaken = isinstance(error, TypeError | AttributeError) and "list" in str(error)
        if self.setup.completions == "text" or not mistaken:
            return ""
        return " (completions are messages here; --reward-completions text gives texts)"

    def _report(self, number: int, found: Message, started: float) -> None:
        milliseconds = 1000 * (time.monotonic() - started)
        self._send({"call": number, "ms": milliseconds, **found})

    def _send(self, message: Message) -> None:
        self.connection.send_bytes(json.dumps(message).encode())


async def _await(result: Awaitable[Any]) -> Any:
    return await result
