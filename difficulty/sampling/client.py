"""The asynchronous client: every owed sample is drawn once, whatever the servers do.

One request a question with ``n`` = the answers still missing, topped up until none is. What is the
row's own fault (400, 413, 422) is recorded once and passed over; a wrong key or model (401, 403,
404) stops the run; everything else is tried again, on whichever server is free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from difficulty.errors import ServerError
from difficulty.sampling import answers, protocol
from difficulty.sampling.dispatch import Dispatcher, Endpoint
from difficulty.sampling.protocol import Owed, Reply
from difficulty.sampling.servers.server_set import ServerSet
from difficulty.schema import Completion
from difficulty.settings.run import SamplingSpec

if TYPE_CHECKING:
    import aiohttp

MAX_STRIKES = 6
"""Tries of one question that arrived at a server and failed there; then the question is failed."""
MAX_REFUSALS = 20
"""Refused questions (400) before anything was answered; then it is not the rows' fault."""
RETRY_S = 0.25
BYTES_A_MESSAGE = 64
"""Room for the template's own tokens when a prompt's length is bounded from its bytes."""
QUEUE_S = 300.0
SECONDS_A_TOKEN = 1.0
"""Deadline of a request: queueing on a busy server, then a slow but living token a second."""
MEND_EVERY_S = 2.0
SILENT_AFTER_S = 180.0
"""Requests in flight and no token made for this long: the engine is dead behind its address."""
SILENCE_CHECK_S = 15.0


@dataclass(kw_only=True)
class Progress:
    """Counters of a sampling run, for the display; all start at 0."""

    questions: int = 0
    samples: int = 0
    tokens: int = 0
    failed: int = 0
    truncated: int = 0


class Client:
    """Draws what is owed from all servers and hands each finished request to ``keep``."""

    def __init__(
        self,
        *,
        session: aiohttp.ClientSession,
        servers: ServerSet,
        sampling: SamplingSpec,
        dispatcher: Dispatcher,
        keep: Callable[[list[Completion]], None],
    ) -> None:
        self.session = session
        self.servers = servers
        self.sampling = sampling
        self.dispatcher = dispatcher
        self.keep = keep
        self.progress = Progress()
        self._held: list[tuple[Owed, list[int], str]] = []
        self.deadline_s = QUEUE_S + SECONDS_A_TOKEN * sampling.max_tokens

    async def draw_all(self, owed: Iterator[Owed]) -> None:
        """Draw everything.

        Raises:
            ServerError: a wrong key or model, or no server left that answers.
        """
        async with asyncio.TaskGroup() as watch:
            background = [
                watch.create_task(self._keep_mending()),
                watch.create_task(self._watch_for_silence()),
            ]
            async with asyncio.TaskGroup() as tasks:
                for question in owed:
                    endpoint = await self.dispatcher.acquire()
                    tasks.create_task(self._draw(question, endpoint))
            self._record_held()
            for task in background:
                task.cancel()

    def _refused(self, question: Owed, missing: list[int], problem: str) -> None:
        """Record the row's own fault; but a server that refuses everything refuses us.

        Raises:
            ServerError: ``MAX_REFUSALS`` refusals and not one answer; none of them is recorded.
        """
        if self.dispatcher.num_answers:
            self._settle_failures(question, missing, problem)
            return
        self._held.append((question, missing, problem))
        if len(self._held) >= MAX_REFUSALS:
            raise ServerError(
                f"the server refuses every request, last: {problem}. "
                "Check the sampling settings, or whether it is a vLLM server at all"
            )

    def _record_held(self) -> None:
        """Record refusals that came before the first answer, now that there is one, or the end."""
        while self._held:
            self._settle_failures(*self._held.pop())

    async def _draw(self, question: Owed, endpoint: Endpoint) -> None:
        """Draw the missing samples of one question; the first slot is already taken."""
        missing = list(question.missing)
        attempt = strikes = 0
        problem = await self._too_long(question, endpoint)
        if problem is not None:
            self.dispatcher.release(
                endpoint, Reply(server=endpoint.served.address.url, problem=problem)
            )
            self._settle_failures(question, missing, problem)
            missing = []
        while missing:
            if attempt:
                endpoint = await self.dispatcher.acquire()
            attempt += 1
            reply = await self._request(endpoint, question, missing, attempt)
            missing = self._settle_choices(question, missing, reply, attempt)
            strikes += reply.fault == "server"
            if missing and reply.problem is not None:
                self._refused(question, missing, reply.problem)
                missing = []
            elif missing and await self._gives_up(reply, strikes):
                problem = f"gave_up: {strikes} tries failed, last: {reply.detail}"
                self._settle_failures(question, missing, problem)
                missing = []
        self.progress.questions += 1

    def _settle_choices(
        self, question: Owed, missing: list[int], reply: Reply, attempt: int
    ) -> list[int]:
        """Keep the answers of a reply; returns the sample indexes still missing."""
        done = [
            answers.read_choice(
                question, index, choice, reply=reply, attempt=attempt, sampling=self.sampling
            )
            for index, choice in zip(missing, reply.choices, strict=False)
        ]
        self._settle(done)
        if done and self._held:
            self._record_held()
        return missing[len(done) :]

    def _settle_failures(self, question: Owed, missing: list[int], problem: str) -> None:
        failures = [
            answers.failure(question, index, problem=problem, sampling=self.sampling)
            for index in missing
        ]
        self._settle(failures)

    def _settle(self, completions: list[Completion]) -> None:
        if not completions:
            return
        self.keep(completions)
        self.progress.samples += len(completions)
        self.progress.failed += sum(c.error is not None for c in completions)
        self.progress.truncated += sum(c.finish_reason == "length" for c in completions)
        self.progress.tokens += sum(c.num_tokens or 0 for c in completions)

    async def _gives_up(self, reply: Reply, strikes: int) -> bool:
        """Wait a little before the next try of a question; true if there should be none.

        While no server has answered anything it is an outage, not the question's fault: the
        dispatcher ends the run, and nothing is recorded.
        """
        if strikes >= MAX_STRIKES and self.dispatcher.num_answers:
            return True
        if reply.fault == "server":
            await asyncio.sleep(RETRY_S * min(strikes, MAX_STRIKES))
        return False

    async def _request(
        self, endpoint: Endpoint, question: Owed, missing: list[int], attempt: int
    ) -> Reply:
        """One request on a slot that is taken; gives the slot back."""
        post = asyncio.create_task(self._post(endpoint, question, missing, attempt))
        endpoint.posts.add(post)
        reply = Reply(server=endpoint.served.address.url, fault="unreachable", detail="cancelled")
        try:
            reply = await post
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                post.cancel()
                raise
        finally:
            endpoint.posts.discard(post)
            self.dispatcher.release(endpoint, reply)
        return reply

    async def _post(
        self, endpoint: Endpoint, question: Owed, missing: list[int], attempt: int
    ) -> Reply:
        import aiohttp

        served = endpoint.served
        body = protocol.request_body(
            served.model, self.sampling, question, missing=missing, attempt=attempt
        )
        try:
            async with self.session.post(
                protocol.completion_url(served.address, self.sampling),
                json=body,
                headers=protocol.headers(served.address),
                timeout=aiohttp.ClientTimeout(
                    total=self.deadline_s, sock_connect=protocol.CONNECT_TIMEOUT_S
                ),
            ) as answer:
                return await protocol.read_reply(answer, served.address)
        except aiohttp.ClientConnectorError as error:
            return Reply(server=served.address.url, fault="unreachable", detail=str(error))
        except TimeoutError:
            detail = f"no answer within {self.deadline_s:.0f} s"
            return Reply(server=served.address.url, fault="server", detail=detail)
        except (aiohttp.ClientError, OSError) as error:
            detail = f"{type(error).__name__}: {error}"
            return Reply(server=served.address.url, fault="server", detail=detail)

    async def _too_long(self, question: Owed, endpoint: Endpoint) -> str | None:
        """Count the prompt's tokens where its bytes do not already prove that it fits."""
        length = endpoint.served.max_model_len
        if length is None:
            return None
        room = length - self.sampling.max_tokens
        num_bytes = sum(len(m["content"].encode()) + BYTES_A_MESSAGE for m in question.messages)
        if num_bytes <= room:
            return None
        count = await protocol.count_tokens(self.session, endpoint.served, self.sampling, question)
        if count is None or count <= room:
            return None
        return (
            f"prompt_too_long: {count} tokens, room for {room} "
            f"(context {length} - max_tokens {self.sampling.max_tokens})"
        )

    async def _keep_mending(self) -> None:
        """Have dead servers replaced, and use the new ones, for as long as the run lasts."""
        while True:
            await asyncio.sleep(MEND_EVERY_S)
            self.dispatcher.mending = await asyncio.to_thread(self.servers.mend)
            await self.use_addresses()

    async def use_addresses(self) -> None:
        """Bring the dispatcher in line with the servers that are up now."""
        now = {address.url: address for address in self.servers.addresses()}
        for url in set(self.dispatcher.endpoints) - set(now):
            self.dispatcher.remove(url)
        for url in set(now) - set(self.dispatcher.endpoints):
            try:
                served = await protocol.connect(self.session, now[url], self.sampling.model)
            except ServerError:
                continue  # it will be there, or be replaced, the next time we look
            self.dispatcher.add(served)

    async def _watch_for_silence(self) -> None:
        """Find servers that hold requests but make no tokens, and take the requests back."""
        seen: dict[str, tuple[float | None, float]] = {}
        while True:
            await asyncio.sleep(SILENCE_CHECK_S)
            for url, endpoint in list(self.dispatcher.endpoints.items()):
                made = await protocol.tokens_made(self.session, endpoint.served.address)
                now = self.dispatcher.clock()
                before, since = seen.get(url, (None, now))
                if made is None or made != before or not endpoint.in_flight:
                    seen[url] = (made, now)
                elif now - since > SILENT_AFTER_S:
                    seen[url] = (made, now)
                    self.dispatcher.trip(endpoint)
