"""TRL: one step of a real GRPOTrainer on a CPU, and its own call of the reward on our replies."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from bench.trainers.proof import MODEL, Material, Reply, prove, same_rewards, same_rows


def try_it(material: Material) -> str:
    """Train, read the order of its loader, compare rewards."""
    trainer = _trainer(material)
    rows = same_rows(_order(trainer), material)
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.train()
    moved = sum(
        int((old != new).any()) for old, new in zip(before, trainer.model.parameters(), strict=True)
    )
    (logged,) = [each for each in trainer.state.log_history if "loss" in each]
    assert trainer.state.global_step == 1
    assert math.isfinite(logged["loss"])
    assert 0.0 <= logged["rewards/difficulty_reward/mean"] <= 1.0
    assert moved > 0 or logged["frac_reward_zero_std"] == 1.0  # collapsed groups teach nothing
    count = _compare(trainer, material)
    return (
        f"{rows} rows in our order, {count} rewards equal, cut ones included, 1 training step on "
        f"{trainer.args.per_device_train_batch_size} replies (mean reward {logged['reward']:.2f}, "
        f"{logged['frac_reward_zero_std']:.0%} of groups collapsed) moved {moved} of {len(before)} "
        "weights"
    )


def _trainer(material: Material) -> Any:
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from difficulty.rewards import make_trl_reward

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    config = GRPOConfig(
        output_dir=str(Path(sys.argv[1]) / "trl-output"),
        per_device_train_batch_size=8,
        num_generations=4,  # two groups of four
        max_completion_length=12,
        gradient_checkpointing=False,
        max_steps=1,
        learning_rate=1e-3,
        beta=0.0,
        shuffle_dataset=False,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
    )
    return GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL),
        processing_class=tokenizer,
        args=config,
        train_dataset=load_dataset("parquet", data_files=str(material.export), split="train"),
        reward_funcs=make_trl_reward(
            eos_token_ids=tokenizer.eos_token_id,
            max_completion_length=config.max_completion_length,
        ),
    )


def _order(trainer: Any) -> list[int]:
    """Positions in the order in which its sampler draws them, without the repeats of a group."""
    drawn = [trainer.train_dataset[index]["position"] for index in trainer._get_train_sampler()]
    seen = list(dict.fromkeys(drawn))
    return seen + list(range(len(seen), len(trainer.train_dataset)))  # a last part of a batch


def _compare(trainer: Any, material: Material) -> int:
    """The trainer's own reward call on replies of the profile, cut ones included."""
    rows = {row["question_id"]: row for row in trainer.train_dataset}
    end = trainer.processing_class.eos_token_id
    limit = trainer.args.max_completion_length
    replies = material.replies
    found = trainer._calculate_rewards(
        [rows[reply.question_id] for reply in replies],
        [rows[reply.question_id]["prompt"] for reply in replies],
        [[{"role": "assistant", "content": reply.text}] for reply in replies],
        [_ids(reply, end, limit) for reply in replies],
    )
    return same_rewards(found[:, 0].tolist(), replies, unknown=None)


def _ids(reply: Reply, end: int, limit: int) -> list[int]:
    """Token ids that end as the reply did."""
    return [0] * limit if reply.finish_reason == "length" else [0, end]


if __name__ == "__main__":
    prove("trl", ("trl", "torch", "transformers", "datasets"), try_it)
