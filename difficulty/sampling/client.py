"""One asynchronous client over any number of OpenAI-compatible servers.

One request a question with ``n`` = the answers still missing; a shared queue, least requests in
flight first. What is the row's own fault (400, 413, 422) is recorded once and passed over; a wrong
key or model (401, 403, 404) stops the run; everything else is retried with backoff.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from difficulty.errors import ServerError
from difficulty.prompts import Message
from difficulty.run_spec import SamplingSpec
from difficulty.schema import Completion

if TYPE_CHECKING:
    import aiohttp

API_KEY_VARIABLE = "DIFFICULTY_API_KEY"
MAX_ATTEMPTS = 6
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 20.0
CONNECT_TIMEOUT_S = 10.0
ROW_FAULTS = (400, 413, 422)
STOP_FAULTS = (401, 403, 404)
BYTES_A_MESSAGE = 64
"""Room for the template's own tokens when a prompt's length is bounded from its bytes."""


@dataclass(frozen=True, kw_only=True)
class Owed:
    """A question with the samples it still needs."""

    question_id: str
    messages: list[Message]
    missing: tuple[int, ...]
    """Sample indexes to draw."""


@dataclass(kw_only=True)
class Endpoint:
    """One server as the client sees it."""

    url: str
    """Base address that ends in ``/v1``."""
    model: str
    """The name this server serves the model under."""
    max_model_len: int | None
    """Its context length in tokens; None if it does not say."""
    version: str | None = None
    in_flight: int = 0
    failures_in_a_row: int = 0
    num_answers: int = 0


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


def api_headers() -> dict[str, str]:
    """The authorisation header, from the environment only."""
    key = os.environ.get(API_KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def normal_url(url: str) -> str:
    """``http://host:8000`` or ``.../v1/`` -> the address that ends in ``/v1``.

    Raises:
        ServerError: no http address, or one that carries a password.
    """
    url = url.rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"endpoint is no http address: {url!r}. Write http://HOST:PORT")
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ServerError(
            f"endpoint carries a user name or password. Put the key into {API_KEY_VARIABLE} instead"
        )
    return url if url.endswith("/v1") else f"{url}/v1"


async def connect(session: aiohttp.ClientSession, url: str, model: str) -> Endpoint:
    """Ask a server what it serves.

    Raises:
        ServerError: nobody answers, the key is refused, or it serves another model.
    """
    url = normal_url(url)
    served = (await _get(session, f"{url}/models")).get("data") or []
    for entry in served:
        if model in (entry.get("id"), entry.get("root")):
            version = await _version(session, url)
            length = entry.get("max_model_len")
            return Endpoint(url=url, model=entry["id"], max_model_len=length, version=version)
    names = ", ".join(str(entry.get("id")) for entry in served) or "nothing"
    raise ServerError(
        f"endpoint {url} serves another model: {names}, not {model}. "
        "Pass --model with a served name"
    )


async def _get(session: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    import aiohttp

    try:
        async with session.get(url, timeout=aiohttp.ClientTimeout(total=30)) as reply:
            if reply.status in (401, 403):
                raise ServerError(
                    f"endpoint refuses the key: {url} answered {reply.status}. "
                    f"Set {API_KEY_VARIABLE}"
                )
            if reply.status != 200:
                raise ServerError(
                    f"endpoint is no OpenAI-compatible server: {url} answered {reply.status}. "
                    "Check the address"
                )
            body = await reply.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ServerError(
            f"no server answers at {url}: {error or type(error).__name__}. "
            "Start it, correct --endpoint, or leave --endpoint out to start one here"
        ) from error
    except ValueError as error:
        raise ServerError(f"endpoint does not speak JSON: {url}. Check the address") from error
    return body if isinstance(body, dict) else {}


async def _version(session: aiohttp.ClientSession, url: str) -> str | None:
    """Version of vLLM; None for other servers."""
    try:
        found = await _get(session, f"{url.removesuffix('/v1')}/version")
    except ServerError:
        return None
    return str(found["version"]) if "version" in found else None


def open_session(limit: int) -> aiohttp.ClientSession:
    """A session for up to ``limit`` requests at once."""
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit),
        headers=api_headers(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
    )


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
                await _get(self.session, f"{endpoint.url}/models")
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
            text=_text(message.get("content")),
            reasoning=_text(message.get("reasoning") or message.get("reasoning_content")),
            num_tokens=tokens,
            finish_reason=_text(choice.get("finish_reason")),
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


@dataclass(kw_only=True)
class Reply:
    """What one request brought."""

    server: str
    choices: list[dict[str, Any]] = field(default_factory=list)
    completion_tokens: int | None = None
    fault: str | None = None
    """The server's or the network's fault: worth another try."""
    problem: str | None = None
    """The row's own fault: recorded, not tried again."""


async def read_reply(answer: aiohttp.ClientResponse, endpoint: Endpoint) -> Reply:
    """Sort a response into answers, the row's fault, or something worth another try.

    Raises:
        ServerError: the key or the model is refused.
    """
    if answer.status in STOP_FAULTS:
        detail = _one_line(await answer.text(errors="replace"))
        raise ServerError(
            f"endpoint {endpoint.url} answered {answer.status}: {detail}. "
            f"Check --model and {API_KEY_VARIABLE}"
        )
    if answer.status in ROW_FAULTS:
        detail = _one_line(await answer.text(errors="replace"))
        return Reply(server=endpoint.url, problem=f"refused: {answer.status} {detail}")
    if answer.status != 200:
        return Reply(server=endpoint.url, fault=f"status {answer.status}")
    try:
        body = await answer.json(content_type=None)
        choices = [choice for choice in body["choices"] if isinstance(choice["message"], dict)]
        usage = body.get("usage") or {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Reply(server=endpoint.url, fault=f"broken answer: {type(error).__name__}")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return Reply(
        server=endpoint.url,
        choices=[choice for choice in choices if choice.get("finish_reason") != "abort"],
        completion_tokens=tokens if isinstance(tokens, int) else None,
    )


def request_body(
    model: str, sampling: SamplingSpec, question: Owed, *, missing: list[int], attempt: int
) -> dict[str, Any]:
    """The request, with every sampling parameter stated: a server's defaults never apply."""
    body: dict[str, Any] = {
        "model": model,
        "messages": question.messages,
        "n": len(missing),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
        "max_tokens": sampling.max_tokens,
        "seed": request_seed(sampling.seed, question.question_id, missing[0], attempt),
        "return_token_ids": True,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def request_seed(seed: int, question_id: str, first_index: int, attempt: int) -> int:
    """A seed of its own for each request; vLLM adds 0..n-1 to it for the n samples."""
    text = f"{seed}/{question_id}/{first_index}/{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") % 2**31


def _load(endpoint: Endpoint) -> int:
    """Requests in flight, plus a penalty: a failing server is used when the others are busy."""
    return endpoint.in_flight + 8 * min(endpoint.failures_in_a_row, 8)


def _text(value: Any) -> str | None:
    """The text, with halves of surrogate pairs written out: no table could hold them."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
