"""OpenRLHF's PromptDataset: ``input`` as messages, one label column that reaches the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling
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
            ("datasource", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file. Only one column can be the label: our reward takes the grading key."""
    return {
        "input": item.messages if item.plain_prompt is None else item.plain_prompt,
        "label": item.question.answer,
        "datasource": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="openrlhf",
    release="OpenRLHF 0.11.2",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=None,
    reward="difficulty.rewards.make_openrlhf_reward",
    takes_text=True,
    reserved=("images",),
)

FORECAST = Resampling(
    name="openrlhf",
    kind="replace",
    switch="--algo.dynamic_filtering_enable",
    one_pass=True,
    tests="accuracy",
    own_batches=True,
    reading="passed",
    metric="dynamic_filtering_pass_rate",
    metric_says="100 x answers a group x share of usable groups: divide by the group size",
    at_limit="replaces each rejected question until the questions run out, then trains on "
    "a smaller batch; keeps groups whose mean score lies strictly inside the range",
)

TRAINERS = (Trainer(name="openrlhf", place=4, export=EXPORT, forecast=FORECAST),)
