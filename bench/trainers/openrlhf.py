"""OpenRLHF: its blending and PromptDataset on our file, its executor with our reward file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from bench.trainers.proof import END, MODEL, Material, Reply, prove, same_rewards

MOST_TOKENS = 4096


def try_it(material: Material) -> str:
    """Load with messages and grading keys, run every reply through its single-turn executor."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    dataset = _load(tokenizer, material)
    rows = material.rows()
    assert len(dataset) == len(rows)
    prompts = {row["question_id"]: dataset[index] for index, row in enumerate(rows)}
    for row in rows:
        source, prompt, label, _ = prompts[row["question_id"]]
        assert (source, label) == (row["datasource"], row["grading_key"])
        assert all(turn["content"] in prompt for turn in row["input"])
    rewards = asyncio.run(_rewards(tokenizer, prompts, material))
    count = same_rewards(rewards, material.replies, unknown=0.0)
    return f"{len(rows)} rows, {count} rewards equal, cut ones included"


def _load(tokenizer: Any, material: Material) -> Any:
    from openrlhf.datasets import PromptDataset
    from openrlhf.datasets.utils import blending_datasets

    data = SimpleNamespace(
        input_key="input", label_key="grading_key", apply_chat_template=True, image_key="images"
    )
    strategy = SimpleNamespace(
        args=SimpleNamespace(data=data, use_ms=False), is_rank_0=lambda: True, print=print
    )
    raw = blending_datasets(str(material.export), None, strategy, 42, dataset_split="train")
    return PromptDataset(raw, tokenizer, strategy, input_template=None)


@dataclass
class OneReply:
    """An engine that answers one given text, as vLLM's asynchronous engine does."""

    token_ids: list[int]
    finish_reason: str

    async def generate(self, *_: Any, **__: Any) -> Any:
        """The reply as vLLM gives it, end token included where it ended."""
        output = SimpleNamespace(
            token_ids=self.token_ids, finish_reason=self.finish_reason, logprobs=None
        )
        return SimpleNamespace(outputs=[output])


async def _rewards(tokenizer: Any, prompts: dict[str, Any], material: Material) -> list[float]:
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    executor = SingleTurnAgentExecutor(material.plugin().__file__)
    parameters = SimpleNamespace(max_tokens=8, logprobs=None)
    found = []
    for reply in material.replies:
        _, prompt, label, _ = prompts[reply.question_id]
        engine = _engine(tokenizer, reply)
        out = await executor.execute(prompt, label, parameters, MOST_TOKENS, tokenizer, engine)
        assert out["reward"] is not None, reply
        assert out["extra_logs"]["truncated"].item() == (reply.outcome == "truncated")
        found.append(out["reward"].item())
    return found


def _engine(tokenizer: Any, reply: Reply) -> OneReply:
    ids = tokenizer(reply.text, add_special_tokens=False)["input_ids"]
    ended = reply.finish_reason == "stop"
    return OneReply(
        [*ids, tokenizer.convert_tokens_to_ids(END)] if ended else ids, reply.finish_reason
    )


if __name__ == "__main__":
    prove("openrlhf", ("openrlhf", "torch", "transformers", "datasets"), try_it)
