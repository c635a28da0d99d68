"""Grade one reply by its grading key, whatever trainer it comes from."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from difficulty.errors import InputError
from difficulty.grading.grade import grade
from difficulty.grading.key import question_from_key
from difficulty.schema import Completion, Grade, Question

Reply = str | Sequence[Mapping[str, Any]]
"""A completion as trainers hand it over: its text, or the messages that the model added."""
Rewards = list[float | None]

_END = re.compile(r"(?:(?:<[|｜][^<>|｜\s]{1,40}[|｜]>|</s>|<eos>|<end_of_turn>)\s*)+\Z")
"""Special tokens that close a reply, in the spelling of the usual chat templates."""


def reward(
    text: str | None, grading_key: str, *, finish_reason: str | None = "stop"
) -> float | None:
    """The reward of one reply: 1.0, 0.0, or None if the grader cannot judge it.

    Args:
        text: the whole reply, thoughts included; None or empty is no answer.
        grading_key: the column of that name in the exported row.
        finish_reason: ``length`` for a reply that was cut at the token limit.

    Raises:
        InputError: not a grading key.
    """
    return grade_reply(text, grading_key, finish_reason).reward


def grade_reply(text: str | None, grading_key: str, finish_reason: str | None) -> Grade:
    """The whole verdict of which ``reward`` gives the number.

    Raises:
        InputError: not a grading key.
    """
    if not isinstance(grading_key, str):
        raise InputError(
            f"grading key is no text: found {type(grading_key).__name__}. "
            "Use the grading_key column of the export"
        )
    completion = Completion(
        question_id="",
        sample_index=0,
        text=text,
        reasoning=None,
        num_tokens=None,
        finish_reason=finish_reason,
        attempt=None,
        max_tokens=0,
        server=None,
        error=None,
    )
    return grade(_question(grading_key), completion)


def tokens_of(end_tokens: str | Iterable[str]) -> tuple[str, ...]:
    """End tokens as a tuple, whether one was given or several."""
    return (end_tokens,) if isinstance(end_tokens, str) else tuple(end_tokens)


def grade_decoded(text: str, grading_key: str, ends: tuple[str, ...] | None) -> Grade:
    """Grade a reply that still has its special tokens.

    Args:
        text: the reply, decoded with them.
        grading_key: the column of that name in the exported row.
        ends: tokens that end a reply, as text: one without them was cut. None takes all for whole.

    Raises:
        InputError: not a grading key.
    """
    shown = text.rstrip()
    cut = ends is not None and not shown.endswith(ends)
    for end in ends or ():
        if shown.endswith(end):  # the spaces of a cut reply tell whether its last line was whole
            text = shown = shown.removesuffix(end)
    return grade_reply(_END.sub("", text), grading_key, "length" if cut else "stop")


@functools.lru_cache(maxsize=4096)
def _question(grading_key: str) -> Question:
    """The question of a key, remembered: a group repeats it."""
    return question_from_key(grading_key)


def text_of(reply: Reply) -> str | None:
    """What the model said last: a conversational reply may hold tool calls before it."""
    if isinstance(reply, str):
        return reply
    said = [message for message in reply if message.get("role", "assistant") == "assistant"]
    content = said[-1].get("content") if said else None
    if content is None or isinstance(content, str):
        return content
    return "".join(block.get("text") or "" for block in content)
