"""verifiers up to 0.3: ``prompt`` as messages, ``answer``, and ``info`` as a JSON text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. ``task`` and ``env_id`` are the library's."""
    import pyarrow as pa

    return pa.schema(
        [
            ("prompt", messages_type()),
            ("answer", pa.string()),
            ("info", pa.string()),
            ("example_id", pa.int64()),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file. ``info`` reaches the reward functions, decoded."""
    info = {"source": item.question.source, **profile_fields(item)}
    return {
        "prompt": item.messages,
        "answer": item.question.answer,
        "info": json.dumps(info, ensure_ascii=False),
        "example_id": item.position,
    }


EXPORT = Exporter(
    name="verifiers",
    release="verifiers 0.3.1",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order="get_dataset() without a seed",
    reward="difficulty.rewards.verifiers_reward",
    extras_in="info",
    extras_as_json=True,
)

TRAINERS = (Trainer(name="verifiers", place=5, export=EXPORT),)
