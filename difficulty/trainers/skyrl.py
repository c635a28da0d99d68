"""SkyRL's PromptDataset: ``prompt``, the environment's name, and its extras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

ENVIRONMENT = "difficulty"
"""The id under which the template registers its environment."""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. All but prompt and env_class are the extras."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", messages_type()),
            ("env_class", text),
            ("reward_spec", pa.struct([("method", text), ("ground_truth", text)])),
            ("extra_info", pa.struct([("split", text), ("index", pa.int64()), *profile_types()])),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "data_source": item.question.source,
        "prompt": item.messages,
        "env_class": ENVIRONMENT,
        "reward_spec": {"method": "rule", "ground_truth": item.question.answer},
        "extra_info": {"split": item.split, "index": item.position, **profile_fields(item)},
    }


EXPORT = Exporter(
    name="skyrl",
    release="SkyRL 0.3.0",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=None,
    reward="difficulty.rewards.reward",
    extras_in="extra_info",
)

FORECAST = Resampling(
    name="skyrl",
    kind="rounds",
    switch="trainer.algorithm.dynamic_sampling.type=filter",
    max_rounds=30,
    rounds_name="dynamic_sampling.max_sample_batches, with dynamic_sampling.type=filter",
    stops=True,
    at_limit="raises RuntimeError: the run ends",
)

TRAINERS = (Trainer(name="skyrl", place=7, export=EXPORT, forecast=FORECAST),)
