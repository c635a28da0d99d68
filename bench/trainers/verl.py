"""verl: its dataset with the shipped configuration, its sampler, and its reward manager."""

from __future__ import annotations

import asyncio
from typing import Any

from bench.trainers.proof import MODEL, Material, Reply, prove, same_rewards, same_rows

BATCH = 40


def try_it(material: Material) -> str:
    """Load with the shipped ppo_trainer configuration, compare rewards, naive manager."""
    from transformers import AutoTokenizer

    config, tokenizer = _config(material), AutoTokenizer.from_pretrained(MODEL)
    dataset, rows = _load(config, tokenizer, material)
    by_id = {row["extra_info"]["question_id"]: row for row in dataset}
    found = asyncio.run(_rewards(config, tokenizer, by_id, material.stopped))
    scores = [each["reward_score"] for each in found]
    outcomes = [each["reward_extra_info"]["outcome"] for each in found]
    assert outcomes == [reply.outcome for reply in material.stopped]
    count = same_rewards(scores, material.stopped, unknown=0.0)
    return f"{rows} rows in our order, {count} rewards and outcomes equal"


def _config(material: Material) -> Any:
    """The shipped configuration with what the export's README tells to set."""
    from hydra import compose, initialize_config_module

    with initialize_config_module(config_module="verl.trainer.config", version_base=None):
        return compose(
            "ppo_trainer",
            overrides=[
                f"data.train_files={material.export}",
                "data.shuffle=False",
                "data.filter_overlong_prompts=True",
                "data.filter_overlong_prompts_workers=1",
                "data.max_prompt_length=1024",
                "reward.custom_reward_function.path=pkg://difficulty.rewards",
                "reward.custom_reward_function.name=compute_score",
            ],
        )


def _load(config: Any, tokenizer: Any, material: Material) -> tuple[Any, int]:
    from torch.utils.data import DataLoader
    from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
    from verl.utils.dataset.rl_dataset import collate_fn

    dataset = create_rl_dataset(config.data.train_files, config.data, tokenizer, None)
    sampler = create_rl_sampler(config.data, dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler, collate_fn=collate_fn)
    batches = list(loader)
    rows = same_rows(
        (int(info["position"]) for batch in batches for info in batch["extra_info"]), material
    )
    prompts = [list(prompt) for batch in batches for prompt in batch["raw_prompt"]]
    assert prompts == [row["prompt"] for row in material.rows()]
    return dataset, rows


async def _rewards(
    config: Any, tokenizer: Any, rows: dict[str, Any], replies: list[Reply]
) -> list[dict[str, Any]]:
    from verl.trainer.ppo.reward import load_reward_manager

    manager = load_reward_manager(config, tokenizer)
    found: list[dict[str, Any]] = []
    for start in range(0, len(replies), BATCH):
        part = replies[start : start + BATCH]
        protos = [_proto(tokenizer, rows[reply.question_id], reply) for reply in part]
        found.extend(await asyncio.gather(*(manager.run_single(proto) for proto in protos)))
    return found


def _proto(tokenizer: Any, row: dict[str, Any], reply: Reply) -> Any:
    """One reply in verl's own batch, tokenized, as its rollout would hand it on."""
    import numpy as np
    import torch
    from verl import DataProto

    prompt = tokenizer.apply_chat_template(row["raw_prompt"], add_generation_prompt=True)
    prompt = prompt["input_ids"] if not isinstance(prompt, list) else prompt
    answer = [*tokenizer(reply.text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return DataProto.from_dict(
        tensors={
            "prompts": torch.tensor([prompt]),
            "responses": torch.tensor([answer]),
            "attention_mask": torch.ones(1, len(prompt) + len(answer), dtype=torch.long),
        },
        non_tensors={
            name: np.array([row[name]], dtype=object)
            for name in ("data_source", "reward_model", "extra_info")
        },
    )


if __name__ == "__main__":
    prove("verl", ("verl", "torch", "transformers", "datasets"), try_it)
