"""No trainer's format but our own nouns, for a loop that you write yourself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.exporter import Exporter
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file. Of a plain run the prompt is a text."""
    import pyarrow as pa

    choice = pa.struct([("label", pa.string()), ("text", pa.string())])
    return pa.schema(
        [
            ("prompt", pa.string() if plain else messages_type()),
            ("kind", pa.string()),
            ("choices", pa.list_(choice)),
            ("answer", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    choices = item.question.choices
    return {
        "prompt": item.messages if item.plain_prompt is None else item.plain_prompt,
        "kind": item.question.kind,
        "choices": choices and [{"label": c.label, "text": c.text} for c in choices],
        "answer": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="plain",
    release=None,
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order="the order of the rows",
    reward="difficulty.rewards.reward",
    takes_text=True,
)

TRAINERS = (Trainer(name="plain", place=12, export=EXPORT),)
