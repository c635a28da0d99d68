"""One asynchronous client over any number of OpenAI-compatible servers.

One request a question with ``n`` = the answers still missing; a shared queue, least requests in
flight first. What is the row's own fault (400, 413, 422) is recorded once and passed over; a wrong
key or model (401, 403, 404) stops the run; everything else is retried with backoff.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from difficulty.errors import ServerError
from difficulty.run_spec import SamplingSpec
from difficulty.sampling.protocol import (
    CONNECT_TIMEOUT_S,
    Endpoint,
    Owed,
    Reply,
    clean_text,
    get_json,
    read_reply,
    request_body,
)
from difficulty.schema import Completion

if TYPE_CHECKING:
    import aiohttp

MAX_ATTEMPTS = 6
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 20.0
BYTES_A_MESSAGE = 64
"""Room for the template's own tokens when a prompt's length is bounded from its bytes."""


@dataclass(kw_only=True)
class Progress:
    """Counters of a sampling run, for the display; all start at 0."""

    questions: int = 0
    samples: int = 0
    tokens: int = 0
    failed: int = 0
    truncated: int = 0
    retries: int = 0
    endpoints: list[Endpoint] = field(default_factory=list)


class Client:
    """Draws what is owed from all endpoints and hands each finished request to ``keep``."""

    def __init__(
        self,
        *,
        session: aiohttp.ClientSession,
        endpoints: list[Endpoint],
        sampling: SamplingSpec,
        keep: Callable[[list[Completion]], None],
        progress: Progress,
    ) -> None:
        self.session = session
        self.endpoints = endpoints
        self.sampling = sampling
        self.keep = keep
        self.progress = progress
        self.deadline_s = 300.0 + 1.0 * sampling.max_tokens
        """Queueing on a busy server, then a slow but living one token a second."""
        progress.endpoints = endpoints

    async def draw_all(self, owed: Iterator[Owed], *, concurrency: int) -> None:
        """Draw everything; ``concurrency`` requests in flight for each server.

        Raises:
            ServerError: a wrong key or model, or no server left that answers.
        """
        async with asyncio.TaskGroup() as tasks:
            for _ in range(concurrency * len(self.endpoints)):
                tasks.create_task(self._work(owed))

    async def _work(self, owed: Iterator[Owed]) -> None:
        for question in owed:  # one shared iterator: each worker takes the next question
            await self.draw(question)
            self.progress.questions += 1

    async def draw(self, question: Owed) -> None:
        """Draw the missing samples of one question, topping up until none is missing."""
        missing = list(question.missing)
        attempt = stalled = 0
        problem = await self._too_long(question)
        while missing and problem is None:
            attempt += 1
            reply = await self._request(question, missing, attempt)
            problem = reply.problem
            done = [
                self._completion(question, index, choice, attempt, reply)
                for index, choice in zip(missing, reply.choices, strict=False)
            ]
            self._settle(done)
            missing = missing[len(done) :]
            stalled = 0 if done else stalled + 1
            if missing and problem is None:
                problem = await self._before_retry(reply, stalled)
        if problem is not None:
            self._settle(
                [self._failure(question, index, max(attempt, 1), problem) for index in missing]
            )

    def _settle(self, completions: list[Completion]) -> None:
        if not completions:
            return
        self.keep(completions)
        self.progress.samples += len(completions)
        self.progress.failed += sum(c.error is not None for c in completions)
        self.progress.truncated += sum(c.finish_reason == "length" for c in completions)
        self.progress.tokens += sum(c.num_tokens or 0 for c in completions)

    async def _before_retry(self, reply: Reply, stalled: int) -> str | None:
        """Wait before the next attempt, or say why there is none.

        Only attempts that bring nothing count: a server that ignores ``n`` is topped up one by one.
        """
        if stalled >= MAX_ATTEMPTS:
            await self._require_a_living_server()
            return f"gave_up: {MAX_ATTEMPTS} attempts, last: {reply.fault or 'too few answers'}"
        self.progress.retries += 1
        if reply.fault is not None:
            longest = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**stalled)
            await asyncio.sleep(random.uniform(longest / 2, longest))
        return None

    async def _require_a_living_server(self) -> None:
        """Stop the run, rather than record failures, when nobody answers any more."""
        for endpoint in self.endpoints:
            try:
                await get_json(self.session, f"{endpoint.url}/models")
            except ServerError as error:
                last = error
            else:
                return
        raise ServerError(
            f"no server is left: {last}. Everything finished is kept; run the same command again"
        ) from last

    async def _too_long(self, question: Owed) -> str | None:
        """Count the prompt's tokens where its bytes do not already prove that it fits."""
        endpoint = self.endpoints[0]
        if endpoint.max_model_len is None:
            return None
        room = endpoint.max_model_len - self.sampling.max_tokens
        num_bytes = sum(len(m["content"].encode()) + BYTES_A_MESSAGE for m in question.messages)
        if num_bytes <= room:
            return None
        count = await self._count_tokens(endpoint, question)
        if count is None or count <= room:
            return None
        return (
            f"prompt_too_long: {count} tokens, room for {room} "
            f"(context {endpoint.max_model_len} - max_tokens {self.sampling.max_tokens})"
        )

    async def _count_tokens(self, endpoint: Endpoint, question: Owed) -> int | None:
        import aiohttp

        body = {"model": endpoint.model, "messages": question.messages}
        try:
            async with self.session.post(
                f"{endpoint.url.removesuffix('/v1')}/tokenize",
                json=body,
                timeout=aiohttp.ClientTimeout(total=60),
            ) as reply:
                found = await reply.json(content_type=None) if reply.status == 200 else {}
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
            return None
        count = found.get("count") if isinstance(found, dict) else None
        return count if isinstance(count, int) else None

    async def _request(self, question: Owed, missing: list[int], attempt: int) -> Reply:
        endpoint = min(self.endpoints, key=_load)
        body = request_body(
            endpoint.model, self.sampling, question, missing=missing, attempt=attempt
        )
        endpoint.in_flight += 1
        try:
            reply = await self._post(endpoint, body)
        finally:
            endpoint.in_flight -= 1
        endpoint.failures_in_a_row = endpoint.failures_in_a_row + 1 if reply.fault else 0
        endpoint.num_answers += len(reply.choices)
        return reply

    async def _post(self, endpoint: Endpoint, body: dict[str, Any]) -> Reply:
        import aiohttp

        try:
            async with self.session.post(
                f"{endpoint.url}/chat/completions",
                json=body,
                timeout=aiohttp.ClientTimeout(
                    total=self.deadline_s, sock_connect=CONNECT_TIMEOUT_S
                ),
            ) as answer:
                return await read_reply(answer, endpoint)
        except TimeoutError:
            return Reply(server=endpoint.url, fault=f"no answer within {self.deadline_s:.0f} s")
        except (aiohttp.ClientError, OSError) as error:
            return Reply(server=endpoint.url, fault=f"{type(error).__name__}: {error}")

    def _completion(
        self, question: Owed, index: int, choice: dict[str, Any], attempt: int, reply: Reply
    ) -> Completion:
        message = choice["message"]
        token_ids = choice.get("token_ids")
        tokens = len(token_ids) if isinstance(token_ids, list) else None
        if tokens is None and len(reply.choices) == 1:
            tokens = reply.completion_tokens
        return Completion(
            question_id=question.question_id,
            sample_index=index,
            text=clean_text(message.get("content")),
            reasoning=clean_text(message.get("reasoning") or message.get("reasoning_content")),
            num_tokens=tokens,
            finish_reason=clean_text(choice.get("finish_reason")),
            attempt=attempt,
            max_tokens=self.sampling.max_tokens,
            server=reply.server,
            error=None,
        )

    def _failure(self, question: Owed, index: int, attempt: int, problem: str) -> Completion:
        return Completion(
            question_id=question.question_id,
            sample_index=index,
            text=None,
            reasoning=None,
            num_tokens=None,
            finish_reason=None,
            attempt=attempt,
            max_tokens=self.sampling.max_tokens,
            server=None,
            error=problem,
        )


def _load(endpoint: Endpoint) -> int:
    """Requests in flight, plus a penalty: a failing server is used when the others are busy."""
    return endpoint.in_flight + 8 * min(endpoint.failures_in_a_row, 8)
