"""NeMo-RL's ResponseDataset: ``input`` and ``output`` as texts, one user turn a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling
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
    """Columns of the file, plain run or not. A column ``messages`` would change how it is read."""
    import pyarrow as pa

    return pa.schema(
        [
            ("input", pa.string()),
            ("output", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file.

    Raises:
        SettingsError: a system prompt or worked examples stand before the question.
    """
    return {
        "input": the_one_user_turn(item, "nemo-rl"),
        "output": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="nemo-rl",
    release="NeMo-RL of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order="data.shuffle=false",
    reward="difficulty.rewards.reward",
    one_turn=True,
    reserved=("messages", "task_name"),
)

FORECAST = Resampling(
    name="nemo-rl",
    kind="rounds",
    switch="grpo.use_dynamic_sampling=true",
    max_rounds=11,
    rounds_name="dynamic_sampling_max_gen_batches + 1",
    own_batches=True,
    stops=True,
    tests="accuracy",
    at_limit="raises ValueError: the run ends",
)

TRAINERS = (Trainer(name="nemo-rl", place=8, export=EXPORT, forecast=FORECAST),)
