"""AReaL: its loader on our folder, and its RLVRWorkflow's own reward call on our replies."""

from __future__ import annotations

import asyncio
from typing import Any

from bench.trainers.proof import END, MODEL, Material, Reply, prove, same_rewards, same_rows


def try_it(material: Material) -> str:
    """Load the saved folder in order; let the workflow grade every reply in its processes."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    loader = _loader(tokenizer, material)
    items = [row for batch in loader for row in batch]
    rows = same_rows((row["position"] for row in items), material)
    assert [row["messages"] for row in items] == [row["messages"] for row in material.rows()]
    by_id = {row["question_id"]: row for row in items}
    found = asyncio.run(_rewards(tokenizer, by_id, material))
    count = same_rewards(found, material.replies, unknown=0.0)
    return f"{rows} rows in our order, {count} rewards equal, cut ones included"


def _loader(tokenizer: Any, material: Material) -> Any:
    from areal.api.cli_args import TrainDatasetConfig
    from areal.dataset import get_custom_dataset
    from areal.utils.dataloader import create_dataloader

    config = TrainDatasetConfig(
        path=str(material.export.with_name("train")),
        type="rl",
        batch_size=8,
        shuffle=False,
        drop_last=False,
        scheduling_spec=None,  # else it asks a data service on other machines
    )
    dataset = get_custom_dataset(split="train", dataset_config=config, tokenizer=tokenizer)
    return create_dataloader(dataset, rank=0, world_size=1, dataset_config=config)


async def _rewards(tokenizer: Any, rows: dict[str, Any], material: Material) -> list[float]:
    from areal.api.cli_args import GenerationHyperparameters
    from areal.workflow.rlvr import RLVRWorkflow

    workflow = RLVRWorkflow(
        reward_fn=material.plugin().reward_fn,
        gconfig=GenerationHyperparameters(max_new_tokens=16),
        tokenizer=tokenizer,
    )
    engine = Engine(tokenizer)
    found = []
    for reply in material.replies:
        engine.reply = reply
        result = await workflow.arun_episode(engine, rows[reply.question_id])
        found.append(result["rewards"].item())
    return found


class Engine:
    """An inference engine that gives ``reply``, with its end token where it ended."""

    reply: Reply

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    async def agenerate(self, request: Any) -> Any:
        """The reply as AReaL's engines give it."""
        from areal.api import ModelResponse

        ids = self.tokenizer(self.reply.text, add_special_tokens=False)["input_ids"]
        if self.reply.finish_reason == "stop":
            ids = [*ids, self.tokenizer.convert_tokens_to_ids(END)]
        return ModelResponse(
            input_tokens=request.input_ids,
            output_tokens=ids,
            output_logprobs=[0.0] * len(ids),
            output_versions=[0] * len(ids),
            stop_reason=self.reply.finish_reason,
        )


if __name__ == "__main__":
    prove("areal", ("areal", "torch", "transformers", "datasets"), try_it)
