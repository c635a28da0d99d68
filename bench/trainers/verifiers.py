"""verifiers: real rollouts of our environment against a scripted server that gives our replies."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from typing import Any

from bench.trainers.proof import Material, Reply, prove, same_rewards, same_rows

KEY = "DIFFICULTY_NO_KEY"


def try_it(material: Material) -> str:
    """Load our environment from the README's file, roll it out, compare rewards."""
    environment = material.plugin().load_environment()
    dataset = environment.get_dataset()
    rows = same_rows(dataset["example_id"], material)
    assert dataset["prompt"] == [row["prompt"] for row in material.rows()]
    rewards, replies = asyncio.run(_rollouts(environment, dataset, material))
    count = same_rewards(rewards, replies, unknown=0.0)
    return f"{rows} rows in our order, {count} rollouts with equal rewards, cut ones included"


async def _rollouts(
    environment: Any, dataset: Any, material: Material
) -> tuple[list[float], list[Reply]]:
    """One rollout a reply, each through an OpenAI client and a server that answers that reply."""
    import json

    import verifiers as vf

    by_id = defaultdict(list)
    for reply in material.replies:
        by_id[reply.question_id].append(reply)
    server = Server()
    os.environ[KEY] = "none"
    rewards, replies = [], []
    async with server:
        client = vf.ClientConfig(api_base_url=server.url, api_key_var=KEY)
        for row in dataset:
            for reply in by_id[json.loads(row["info"])["question_id"]]:
                server.reply = reply
                state = await environment.rollout(row, client=client, model="scripted")
                await environment.rubric.score_rollout(state)
                rewards.append(state["reward"])
                replies.append(reply)
    return rewards, replies


class Server:
    """Speaks as much of the chat API as the client needs; gives ``reply`` to every request."""

    reply: Reply
    url: str

    async def __aenter__(self) -> Server:
        from aiohttp import web

        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _complete(self, request: Any) -> Any:
        from aiohttp import web

        body = await request.json()
        assert body["messages"][-1]["role"] == "user"
        message = {"role": "assistant", "content": self.reply.text}
        choice = {"index": 0, "finish_reason": self.reply.finish_reason, "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return web.json_response(
            {
                "id": "reply",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [choice],
                "usage": usage,
            }
        )


if __name__ == "__main__":
    prove("verifiers", ("verifiers", "openai", "datasets"), try_it)
