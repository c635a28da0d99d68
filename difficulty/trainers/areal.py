"""AReaL: ``messages`` and ``answer`` in a folder as ``datasets`` saves it, extras to the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import NEVER_FAILS, Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns, plain run or not. prompt, completions and their ids are AReaL's own arguments."""
    import pyarrow as pa

    return pa.schema(
        [
            ("messages", messages_type()),
            ("answer", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "messages": item.messages,
        "answer": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="areal",
    release="AReaL 1.0.4",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order="train_dataset.shuffle=false",
    reward="difficulty.rewards.areal_reward",
    reads_folder=True,
    by_keyword=True,
    reserved=("prompt", "completions", "prompt_ids", "completion_ids", "images"),
)

FORECAST = Resampling(
    name="areal",
    kind="replace",
    switch="dynamic_filter_fn, an argument of its trainer's train()",
    at_limit=f"{NEVER_FAILS} with a filter of yours; with dynamic_bs=true it stops at the "
    "batch size and trains on fewer groups",
)

TRAINERS = (Trainer(name="areal", place=6, export=EXPORT, forecast=FORECAST),)
