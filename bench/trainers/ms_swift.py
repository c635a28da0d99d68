"""ms-swift: its dataset loader on our file, and its GRPO trainer's own call of our reward."""

from __future__ import annotations

from typing import Any

from bench.trainers.proof import Material, prove, same_rewards, same_rows


def try_it(material: Material) -> str:
    """Load as its GRPO arguments do, register our plugin, compare rewards."""
    dataset = _load(material)
    rows = same_rows(dataset["position"], material)
    assert dataset["messages"] == [row["messages"] for row in material.rows()]
    count = _compare(dataset, material)
    return f"{rows} rows in our order, {count} rewards equal, cut ones included"


def _load(material: Material) -> Any:
    from swift.arguments import RLHFArguments
    from swift.dataset import load_dataset

    names = RLHFArguments.__dataclass_fields__
    assert {"dataset_shuffle", "train_dataloader_shuffle", "strict", "external_plugins"} <= set(
        names
    )
    dataset, held_out = load_dataset(
        [str(material.export)],
        split_dataset_ratio=0.0,
        num_proc=1,
        strict=True,
        shuffle=False,
        load_from_cache_file=False,
        remove_unused_columns=False,  # its GRPO arguments set this themselves
    )
    assert held_out is None
    return dataset


def _compare(dataset: Any, material: Material) -> int:
    """Rewards as its GRPO trainers score a batch of samples, cut ones included."""
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import score_completions

    material.plugin()
    by_id = {row["question_id"]: row for row in dataset}
    samples = []
    for reply in material.replies:
        sample = GRPOSample.from_row(by_id[reply.question_id])
        sample.messages = [*sample.messages, {"role": "assistant", "content": reply.text}]
        sample.finish_reason = reply.finish_reason
        samples.append(sample)
    found = score_completions(
        samples, [orms["difficulty"](args=None)], [None], False, torch.device("cpu")
    )
    return same_rewards(found[:, 0].tolist(), material.replies, unknown=None)


if __name__ == "__main__":
    prove("ms-swift", ("ms-swift", "torch", "transformers", "trl", "datasets"), try_it)
