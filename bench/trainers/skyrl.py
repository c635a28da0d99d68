"""SkyRL: its PromptDataset on our file, and its gym making our environment of each row."""

from __future__ import annotations

from typing import Any

from bench.trainers.proof import MODEL, Material, prove, same_rewards


def try_it(material: Material) -> str:
    """Load, then step the environment that our README registers with every finished reply."""
    from skyrl.train.dataset import PromptDataset
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    dataset = PromptDataset(str(material.export), tokenizer, max_prompt_length=1024, num_workers=1)
    rows = material.rows()
    items = dataset.collate_fn([dataset[index] for index in range(len(dataset))])
    assert [item["prompt"] for item in items] == [row["prompt"] for row in rows]
    count = same_rewards(_rewards(material, items), material.stopped, unknown=0.0)
    return f"{len(rows)} rows, {count} rewards equal"


def _rewards(material: Material, items: list[dict[str, Any]]) -> list[float]:
    import skyrl_gym

    material.plugin()
    by_id = {item["env_extras"]["extra_info"]["question_id"]: item for item in items}
    found = []
    for reply in material.stopped:
        item = by_id[reply.question_id]
        environment = skyrl_gym.make(
            item["env_class"], env_config={}, extras=dict(item["env_extras"])
        )
        prompt, _ = environment.init(item["prompt"])
        assert prompt == item["prompt"]
        step = environment.step(reply.text)
        assert step["done"]
        found.append(step["reward"])
    return found


if __name__ == "__main__":
    prove("skyrl", ("skyrl", "skyrl-gym", "transformers", "datasets"), try_it)
