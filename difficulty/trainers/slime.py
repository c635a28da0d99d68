"""slime: ``input`` as messages, ``label`` as text, the rest in ``metadata``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import NEVER_FAILS, Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file. Of a plain run the input is a text."""
    import pyarrow as pa

    return pa.schema(
        [
            ("input", pa.string() if plain else messages_type()),
            ("label", pa.string()),
            ("metadata", pa.struct([("source", pa.string()), *profile_types()])),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "input": item.messages if item.plain_prompt is None else item.plain_prompt,
        "label": item.question.answer,
        "metadata": {"source": item.question.source, **profile_fields(item)},
    }


EXPORT = Exporter(
    name="slime",
    release="slime of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order="no --rollout-shuffle, which is the default",
    reward="difficulty.rewards.reward",
    takes_text=True,
    extras_in="metadata",
)

FORECAST = Resampling(
    name="slime",
    kind="replace",
    switch="--dynamic-sampling-filter-path "
    "slime.rollout.filter_hub.dynamic_sampling_filters.check_reward_nonzero_std",
    reading="rejected",
    metric="rollout/dynamic_filter/drop_zero_std_*",
    metric_says="groups dropped a step, one metric a reward value; add them up",
    at_limit=f"{NEVER_FAILS}; groups that finish early, with short answers, come first",
)

TRAINERS = (Trainer(name="slime", place=10, export=EXPORT, forecast=FORECAST),)
