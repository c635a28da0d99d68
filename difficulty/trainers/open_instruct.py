"""open-instruct: ``messages`` whose last turn it cuts off, ``ground_truth``, a verifier's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

VERIFIER = "difficulty"
"""The verifier in the template: ``dataset`` names the verifier of a row, not its source."""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. input_ids_prompt and labels are the trainer's."""
    import pyarrow as pa

    return pa.schema(
        [
            ("messages", messages_type()),
            ("ground_truth", pa.string()),
            ("dataset", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file. What the verifier gets as label is the grading key."""
    return {
        "messages": [*item.messages, {"role": "assistant", "content": item.question.answer}],
        "ground_truth": item.grading_key,
        "dataset": VERIFIER,
        "source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="open-instruct",
    release="open-instruct of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order=None,
    reward="difficulty.rewards.reward",
    reserved=("input_ids", "input_ids_prompt", "labels", "attention_mask"),
)

FORECAST = Resampling(
    name="open-instruct",
    kind="once",
    switch="--filter_zero_std_samples true, which is the default",
    reading="raw",
    metric="batch/filtered_prompts_pct",
    metric_says="share of groups dropped: the raw collapse rate",
    at_limit="drops collapsed groups and trains on a smaller batch (active_sampling "
    "refills it instead)",
)

TRAINERS = (Trainer(name="open-instruct", place=11, export=EXPORT, forecast=FORECAST),)
