"""rLLM: ``question``, ``ground_truth`` and ``id``; flat, since it reads the file with pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.row import (
    TrainingRow,
    profile_fields,
    profile_types,
    the_one_user_turn,
)
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. Nested ones would arrive as numpy arrays."""
    import pyarrow as pa

    return pa.schema(
        [
            ("id", pa.string()),
            ("question", pa.string()),
            ("ground_truth", pa.string()),
            ("data_source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file.

    Raises:
        SettingsError: a system prompt or worked examples stand before the question.
    """
    return {
        "id": item.question.question_id,
        "question": the_one_user_turn(item, "rllm"),
        "ground_truth": item.question.answer,
        "data_source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="rllm",
    release="rLLM of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order="data.shuffle=False",
    reward="difficulty.rewards.reward",
    one_turn=True,
    flat=True,
    reserved=("task_path", "instruction"),
)

TRAINERS = (Trainer(name="rllm", place=9, export=EXPORT),)
