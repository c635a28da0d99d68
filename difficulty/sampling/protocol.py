"""The OpenAI-compatible protocol as vLLM speaks it: requests out, replies sorted by whose fault."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from difficulty.errors import ServerError
from difficulty.prompts import Message
from difficulty.run_spec import SamplingSpec

if TYPE_CHECKING:
    import aiohttp

API_KEY_VARIABLE = "DIFFICULTY_API_KEY"
CONNECT_TIMEOUT_S = 10.0
ROW_FAULTS = (400, 413, 422)
STOP_FAULTS = (401, 403, 404)


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
class Reply:
    """What one request brought."""

    server: str
    choices: list[dict[str, Any]] = field(default_factory=list)
    completion_tokens: int | None = None
    fault: str | None = None
    """The server's or the network's fault: worth another try."""
    problem: str | None = None
    """The row's own fault: recorded, not tried again."""


def api_headers() -> dict[str, str]:
    """The authorisation header, from the environment only."""
    key = os.environ.get(API_KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def normal_url(url: str) -> str:
    """``http://host:8000`` or ``.../v1/`` -> the address that ends in ``/v1``."""
    url = url.rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


async def connect(session: aiohttp.ClientSession, url: str, model: str) -> Endpoint:
    """Ask a server what it serves.

    Raises:
        ServerError: nobody answers, the key is refused, or it serves another model.
    """
    url = normal_url(url)
    served = (await get_json(session, f"{url}/models")).get("data") or []
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


async def get_json(session: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    """The JSON object at an address.

    Raises:
        ServerError: nobody answers, the key is refused, or the answer is no JSON.
    """
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
        found = await get_json(session, f"{url.removesuffix('/v1')}/version")
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
    """The request, with every sampling parameter stated: a server's defaults never apply.

    The samples of one request are independent with and without a seed; no two requests share one.
    """
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
        "return_token_ids": True,
    }
    if sampling.seed is not None:
        body["seed"] = request_seed(sampling.seed, question.question_id, missing[0], attempt)
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def request_seed(seed: int, question_id: str, first_index: int, attempt: int) -> int:
    """A seed of its own for each request; vLLM adds 0..n-1 to it for the n samples."""
    text = f"{seed}/{question_id}/{first_index}/{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") % 2**31


def clean_text(value: Any) -> str | None:
    """The text, with halves of surrogate pairs written out: no table could hold them."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
