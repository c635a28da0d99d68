"""The OpenAI-compatible protocol as vLLM speaks it: requests out, replies sorted by whose fault."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from difficulty.errors import ServerError
from difficulty.prompts import Message, plain_text
from difficulty.sampling.servers.server_set import Address
from difficulty.settings.run import SamplingSpec
from difficulty.settings.sampling import template_arguments

if TYPE_CHECKING:
    import aiohttp

API_KEY_VARIABLE = "DIFFICULTY_API_KEY"
CONNECT_TIMEOUT_S = 10.0
ROW_FAULTS = (400, 413, 422)
STOP_FAULTS = (401, 403, 404)
LONGEST_WAIT_S = 60.0
"""A server that asks for more patience than this (Retry-After) is asked again sooner."""
LARGEST_REPLY = 64 * 2**20
"""Bytes of one reply; more is a broken server, not an answer."""

Fault = Literal["busy", "unreachable", "server"]
"""busy: 429, try later. unreachable: the request never arrived. server: it arrived and failed."""


class UnreachableError(ServerError):
    """Nobody answers at an address; somebody may later."""


@dataclass(frozen=True, kw_only=True)
class Owed:
    """A question with the samples it still needs."""

    question_id: str
    messages: list[Message]
    missing: tuple[int, ...]
    """Sample indexes to draw."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A server that answered, and what it serves."""

    address: Address
    model: str
    """The name this server serves the model under."""
    max_model_len: int | None
    """Its context length in tokens; None if it does not say."""
    version: str | None
    """vLLM's version; None for other servers."""


@dataclass(kw_only=True)
class Reply:
    """What one request brought: answers, or whose fault it is that there are none."""

    server: str
    choices: list[dict[str, Any]] = field(default_factory=list)
    completion_tokens: int | None = None
    fault: Fault | None = None
    """Worth another try."""
    detail: str = ""
    """What the fault looked like."""
    wait_s: float | None = None
    """How long a busy server asks to be left alone."""
    problem: str | None = None
    """The row's own fault: recorded, not tried again."""


def headers(address: Address) -> dict[str, str]:
    """Authorisation: a started server's own key, else the user's from the environment."""
    key = address.api_key or os.environ.get(API_KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def normal_url(url: str) -> str:
    """``http://host:8000`` or ``.../v1/`` -> the address that ends in ``/v1``."""
    url = url.rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


def root_url(address: Address) -> str:
    """The address without ``/v1``, where vLLM keeps ``/tokenize``, ``/version``, ``/metrics``."""
    return address.url.removesuffix("/v1")


def open_session() -> aiohttp.ClientSession:
    """A session without a limit of its own: how much is in flight is the pool's business."""
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
    )


async def connect(session: aiohttp.ClientSession, address: Address, model: str) -> Served:
    """Ask a server what it serves.

    Raises:
        ServerError: nobody answers, the key is refused, or it serves another model.
    """
    served = (await get_json(session, address, f"{address.url}/models")).get("data")
    listed = served if isinstance(served, list) else []
    entries = [e for e in listed if isinstance(e, dict) and isinstance(e.get("id"), str)]
    for entry in entries:
        if model in (entry.get("id"), entry.get("root")):
            length = entry.get("max_model_len")
            return Served(
                address=address,
                model=entry["id"],
                max_model_len=length if type(length) is int else None,
                version=await _version(session, address),
            )
    names = ", ".join(str(entry.get("id")) for entry in entries[:10]) or "nothing"
    raise ServerError(
        f"endpoint {address.url} serves another model: {names}, not {model}. "
        "Pass --model with a served name"
    )


async def get_json(session: aiohttp.ClientSession, address: Address, url: str) -> dict[str, Any]:
    """The JSON object at an address.

    Raises:
        UnreachableError: nobody answers.
        ServerError: the key is refused, or the answer is no JSON.
    """
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=30)
    try:
        async with session.get(url, headers=headers(address), timeout=timeout) as reply:
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
            body = json.loads(await _read(reply))
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise UnreachableError(
            f"no server answers at {url}: {error or type(error).__name__}. "
            "Start it, correct --endpoint, or leave --endpoint out to start one here"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ServerError(f"endpoint does not speak JSON: {url}. Check the address") from error
    return body if isinstance(body, dict) else {}


async def _version(session: aiohttp.ClientSession, address: Address) -> str | None:
    try:
        found = await get_json(session, address, f"{root_url(address)}/version")
    except ServerError:
        return None
    return str(found["version"]) if "version" in found else None


async def tokens_made(session: aiohttp.ClientSession, address: Address) -> float | None:
    """The server's own counters of tokens read and written; None if it keeps none.

    A server that is alive makes them grow, whatever its health address says.
    """
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=10)
    try:
        url = f"{root_url(address)}/metrics"
        async with session.get(url, headers=headers(address), timeout=timeout) as reply:
            text = (await _read(reply)).decode("utf-8", "replace") if reply.status == 200 else ""
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None
    found = re.findall(r"^vllm:(?:prompt|generation)_tokens_total\S* (\S+)$", text, re.MULTILINE)
    try:
        return sum(map(float, found)) if found else None
    except ValueError:
        return None


async def count_tokens(
    session: aiohttp.ClientSession, served: Served, sampling: SamplingSpec, question: Owed
) -> int | None:
    """Tokens of a question's prompt as the server counts them; None if it cannot say."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=60)
    body = {"model": served.model, **prompt_fields(sampling, question)}
    try:
        async with session.post(
            f"{root_url(served.address)}/tokenize",
            json=body,
            headers=headers(served.address),
            timeout=timeout,
        ) as reply:
            found = json.loads(await _read(reply)) if reply.status == 200 else {}
    except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError, OSError):
        return None
    count = found.get("count") if isinstance(found, dict) else None
    return count if type(count) is int else None


def completion_url(address: Address, sampling: SamplingSpec) -> str:
    """Where answers come from: messages go to the chat address, which templates them once."""
    return (
        f"{address.url}/{'completions' if sampling.prompt_style == 'plain' else 'chat/completions'}"
    )


def prompt_fields(sampling: SamplingSpec, question: Owed) -> dict[str, Any]:
    """The prompt as messages, or as plain text for base models without a template."""
    if sampling.prompt_style == "plain":
        return {"prompt": plain_text(question.messages)}
    arguments = template_arguments(sampling)
    more = {"chat_template_kwargs": arguments} if arguments else {}
    return {"messages": question.messages, **more}


def request_body(
    model: str, sampling: SamplingSpec, question: Owed, *, missing: list[int], attempt: int
) -> dict[str, Any]:
    """The request, with every sampling parameter stated: a server's defaults never apply.

    The samples of one request are independent with and without a seed; no two requests share one.
    """
    body: dict[str, Any] = {
        "model": model,
        **prompt_fields(sampling, question),
        "n": len(missing),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
        "max_tokens": sampling.max_tokens,
        "return_token_ids": True,
    }
    if sampling.seed is not None:
        body["seed"] = request_seed(sampling.seed, question.question_id, missing[0], attempt)
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.logprobs is not None:
        plain = sampling.prompt_style == "plain"
        chat = {"logprobs": True, "top_logprobs": sampling.logprobs}
        body.update({"logprobs": sampling.logprobs} if plain else chat)
    return body


def request_seed(seed: int, question_id: str, first_index: int, attempt: int) -> int:
    """A seed of its own for each request; vLLM adds 0..n-1 to it for the n samples."""
    text = f"{seed}/{question_id}/{first_index}/{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") % 2**31


async def read_reply(answer: aiohttp.ClientResponse, address: Address) -> Reply:
    """Sort a response into answers, the row's fault, or something worth another try.

    Raises:
        ServerError: the key or the model is refused.
    """
    body = await _read(answer)
    if answer.status in STOP_FAULTS:
        raise ServerError(
            f"endpoint {address.url} answered {answer.status}: {_one_line(body)}. "
            f"Check --model and {API_KEY_VARIABLE}"
        )
    if answer.status in ROW_FAULTS:
        problem = f"refused: {answer.status} {_one_line(body)}"
        return Reply(server=address.url, problem=problem)
    if answer.status == 429:
        wait = _seconds(answer.headers.get("Retry-After"))
        return Reply(server=address.url, fault="busy", detail="status 429", wait_s=wait)
    if answer.status != 200:
        return Reply(server=address.url, fault="server", detail=f"status {answer.status}")
    return _answers(body, address)


def _answers(body: bytes, address: Address) -> Reply:
    try:
        found = json.loads(body)
        choices = [choice for choice in found["choices"] if isinstance(_text_holder(choice), dict)]
        usage = found.get("usage")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        detail = f"broken answer ({type(error).__name__})"
        return Reply(server=address.url, fault="server", detail=detail)
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    usable = [choice for choice in choices if choice.get("finish_reason") not in ("abort", "error")]
    return Reply(
        server=address.url,
        choices=usable,
        completion_tokens=tokens if type(tokens) is int and 0 <= tokens < 2**31 else None,
        fault=None if usable else "server",
        detail="" if usable else "no choices",
    )


def _text_holder(choice: dict[str, Any]) -> Any:
    """Where a choice keeps its text: its message, or itself for plain completions."""
    return choice if "text" in choice else choice["message"]


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The whole body, up to ``LARGEST_REPLY``; what is cut is no JSON any more."""
    parts, size = [], 0
    async for part in answer.content.iter_any():
        size += len(part)
        if size > LARGEST_REPLY:
            break
        parts.append(part)
    return b"".join(parts)


def _seconds(text: str | None) -> float | None:
    try:
        return min(max(float(text or ""), 0.0), LONGEST_WAIT_S)
    except ValueError:
        return None


def _one_line(body: bytes) -> str:
    line = " ".join(body[:4096].decode("utf-8", "backslashreplace").split())
    return line if len(line) <= 300 else line[:297] + "..."
