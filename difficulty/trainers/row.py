"""One kept question as every exporter gets it, and the Arrow types they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from difficulty.errors import SettingsError
from difficulty.prompts import Message
from difficulty.schema import Question

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class TrainingRow:
    """A question with what the profile knows about it."""

    question: Question
    messages: list[Message]
    """Exactly the chat that was sampled: system prompt and worked examples included. Of a plain
    run, one user message that holds the whole text."""
    plain_prompt: str | None = None
    """The text that was sampled of a plain run; null for a chat."""
    grading_key: str
    level: str
    pass_rate: float
    num_samples: int
    num_correct: int
    position: int
    """Place in the curriculum, from 0."""
    split: str = "train"
    """``train`` or ``heldout``."""


PROFILE_NAMES = (
    "question_id", "level", "pass_rate", "num_samples", "num_correct", "position", "grading_key",
)  # fmt: skip
"""The names of ``profile_fields``: a column of the dataset that has one of them is not carried."""


def profile_fields(row: TrainingRow) -> dict[str, object]:
    """What every export carries along for curriculum samplers and reward functions."""
    return {
        "question_id": row.question.question_id,
        "level": row.level,
        "pass_rate": row.pass_rate,
        "num_samples": row.num_samples,
        "num_correct": row.num_correct,
        "position": row.position,
        "grading_key": row.grading_key,
    }


def the_one_user_turn(row: TrainingRow, trainer: str) -> str:
    """The prompt's text for a trainer that makes its chat from one user turn.

    Raises:
        SettingsError: other turns stand before the question, and would be lost.
    """
    if [turn["role"] for turn in row.messages] != ["user"]:
        roles = ", ".join(turn["role"] for turn in row.messages[:4])
        raise SettingsError(
            f"{trainer} takes one user turn a question: this run's prompts are {roles}"
            f"{', ...' if len(row.messages) > 4 else ''}. "
            "Profile without system prompt and worked examples, or export to another trainer"
        )
    return row.messages[0]["content"]


def messages_type() -> pa.DataType:
    """list<struct<role, content>> and nothing else: trainers merge struct keys with nulls."""
    import pyarrow as pa

    return pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def profile_types() -> list[tuple[str, pa.DataType]]:
    """Arrow types of ``profile_fields``."""
    import pyarrow as pa

    return [
        ("question_id", pa.string()),
        ("level", pa.string()),
        ("pass_rate", pa.float64()),
        ("num_samples", pa.int64()),
        ("num_correct", pa.int64()),
        ("position", pa.int64()),
        ("grading_key", pa.string()),
    ]
