"""verl's RLHFDataset: reward_model.ground_truth is always text; the rest travels in extra_info."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.export.training_row import TrainingRow, messages_type, profile_fields, profile_types

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "data.shuffle=False"


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. raw_prompt, index, uid are verl's."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", messages_type()),
            ("ability", text),
            ("reward_model", pa.struct([("style", text), ("ground_truth", text)])),
            ("extra_info", pa.struct([("split", text), ("index", pa.int64()), *profile_types()])),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "data_source": item.question.source,
        "prompt": item.messages,
        "ability": item.question.kind,
        "reward_model": {"style": "rule", "ground_truth": item.question.answer},
        "extra_info": {"split": "train", "index": item.position, **profile_fields(item)},
    }
