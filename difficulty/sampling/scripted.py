"""A server that speaks vLLM's API and answers by script: for tests and for developing against.

It draws each answer right with a given chance, and can be told to misbehave: each entry of
``faults`` is used up by one request, in order; after that it behaves.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from aiohttp import web

Fault = Literal[
    "400", "401", "404", "429", "500", "503", "reset", "hang", "broken_json", "null_content",
    "fewer_choices", "no_choices", "cut", "not_an_object", "abort",
]  # fmt: skip
Answer = Callable[[list[dict[str, str]], random.Random], str]
"""(messages, source of chance) -> the text of one sample."""


def answer_with_chance(right: str, wrong: str, chance: float) -> Answer:
    """Answers ``right`` with the given chance, whatever is asked."""
    return lambda _messages, chooser: right if chooser.random() < chance else wrong


@dataclass(kw_only=True)
class Script:
    """What the server does, and what it saw."""

    answer: Answer
    model: str = "scripted"
    root: str | None = None
    """What it says it was loaded from; its name if not stated."""
    max_model_len: int = 4096
    delay_s: float = 0.0
    """How long every answer takes."""
    delays: Callable[[random.Random], float] | None = None
    """How long each answer takes, drawn from this: heavy tails, say. On top of ``delay_s``."""
    silent: bool = False
    """Be healthy, take requests, and never make a token."""
    poisoned: str | None = None
    """Answer 500 to every request whose last message contains this."""
    faults: list[Fault] = field(default_factory=list)
    ignores_n: bool = False
    """Send one choice whatever ``n`` is, as some gateways do."""
    api_key: str | None = None
    """Refuse requests without this key."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of all completion requests, in order of arrival."""
    num_sent: int = 0
    """Samples sent in good answers."""
    num_tokens: int = 0
    """Tokens made, as ``/metrics`` tells them."""
    in_flight: int = 0
    most_in_flight: int = 0


@contextmanager
def scripted_server(script: Script, *, port: int = 0) -> Iterator[str]:
    """Serve on loopback in a thread of its own; hands out the address.

    With a ``port`` of its own a server can die and come back under the same address.
    """
    ready: list[str] = []
    loop = asyncio.new_event_loop()
    started = threading.Event()
    thread = threading.Thread(target=_serve, args=(loop, script, port, ready, started), daemon=True)
    thread.start()
    started.wait()
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _serve(
    loop: asyncio.AbstractEventLoop,
    script: Script,
    port: int,
    ready: list[str],
    started: threading.Event,
) -> None:
    from aiohttp import web

    asyncio.set_event_loop(loop)
    runner = web.AppRunner(_application(script), shutdown_timeout=0.1)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
    loop.run_until_complete(site.start())
    ready.append(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
    started.set()
    loop.run_forever()
    loop.run_until_complete(runner.cleanup())
    hanging = asyncio.all_tasks(loop)
    for task in hanging:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*hanging, return_exceptions=True))
    loop.close()


def _application(script: Script) -> web.Application:
    from aiohttp import web

    async def models(request: web.Request) -> web.Response:
        if _refused(script, request):
            return web.json_response({"error": "bad key"}, status=401)
        entry = {
            "id": script.model,
            "root": script.root or script.model,
            "max_model_len": script.max_model_len,
        }
        return web.json_response({"data": [entry]})

    async def version(_request: web.Request) -> web.Response:
        return web.json_response({"version": "scripted"})

    async def tokenize(request: web.Request) -> web.Response:
        body = await request.json()
        turns = body.get("messages") or [{"content": body.get("prompt", "")}]
        count = sum(len(turn["content"].split()) + 4 for turn in turns)
        return web.json_response({"count": count, "max_model_len": script.max_model_len})

    async def metrics(_request: web.Request) -> web.Response:
        line = f'vllm:generation_tokens_total{{model_name="{script.model}"}} {script.num_tokens}.0'
        return web.Response(text=f"# HELP tokens\n{line}\n")

    async def completions(request: web.Request) -> web.StreamResponse:
        if _refused(script, request):
            return web.json_response({"error": "bad key"}, status=401)
        script.in_flight += 1
        script.most_in_flight = max(script.most_in_flight, script.in_flight)
        try:
            return await _complete(script, request)
        finally:
            script.in_flight -= 1

    app = web.Application()
    app.router.add_get("/v1/models", models)
    app.router.add_get("/version", version)
    app.router.add_post("/tokenize", tokenize)
    app.router.add_get("/metrics", metrics)
    app.router.add_post("/v1/chat/completions", completions)
    app.router.add_post("/v1/completions", completions)
    return app


def _refused(script: Script, request: web.Request) -> bool:
    return script.api_key is not None and (
        request.headers.get("Authorization") != f"Bearer {script.api_key}"
    )


async def _complete(script: Script, request: web.Request) -> web.StreamResponse:
    from aiohttp import web

    body = await request.json()
    script.requests.append(body)
    fault = script.faults.pop(0) if script.faults else None
    chance = random.Random(f"{len(script.requests)}")
    await asyncio.sleep(script.delay_s + (script.delays(chance) if script.delays else 0.0))
    if script.poisoned is not None and script.poisoned in _last_text(body):
        fault = "500"
    if script.silent:
        fault = "hang"
    if fault is not None and fault.isdecimal():
        return web.json_response({"error": {"message": "as scripted"}}, status=int(fault))
    if fault == "hang":
        await asyncio.sleep(3600)
    if fault == "reset":
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    if fault == "not_an_object":
        return web.json_response([1, 2])
    reply = _reply(script, body, fault)
    text = json.dumps(reply)
    if fault == "broken_json":
        text = text[: len(text) // 2]
    elif fault != "abort":
        script.num_sent += len(reply["choices"])
        script.num_tokens += reply["usage"]["completion_tokens"]
    return web.Response(text=text, content_type="application/json")


def _reply(script: Script, body: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
    count = 1 if script.ignores_n else body["n"]
    count = {"fewer_choices": max(1, count - 2), "no_choices": 0}.get(fault or "", count)
    choices = [_choice(script, body, index, fault) for index in range(count)]
    tokens = sum(len(choice["token_ids"]) for choice in choices)
    return {"choices": choices, "usage": {"completion_tokens": tokens}}


def _messages(body: dict[str, Any]) -> list[dict[str, str]]:
    """The messages asked, plain prompts as one user message."""
    return body.get("messages") or [{"role": "user", "content": body["prompt"]}]


def _last_text(body: dict[str, Any]) -> str:
    return _messages(body)[-1]["content"]


def _choice(
    script: Script, body: dict[str, Any], index: int, fault: Fault | None
) -> dict[str, Any]:
    messages = _messages(body)
    chooser = random.Random(f"{body.get('seed', len(script.requests))} {messages} {index}")
    text = script.answer(messages, chooser)
    shown = None if fault == "null_content" else text
    tokens = text.split()
    finish = {"cut": "length", "abort": "abort"}.get(fault or "", "stop")
    choice: dict[str, Any] = {"index": index, "finish_reason": finish}
    choice["token_ids"] = list(range(len(tokens)))
    if "prompt" in body:
        return {**choice, "text": shown}
    choice["message"] = {"role": "assistant", "content": shown}
    if body.get("logprobs"):
        top = [{"logprob": math.log(0.5)}, {"logprob": math.log(0.25)}]
        entry = {"logprob": math.log(0.5), "top_logprobs": top}
        choice["logprobs"] = {"content": [entry] * len(tokens)}
    return choice
