"""AReaL's reward function: one call a reply, in a process of a pool; columns as keywords."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from difficulty.rewards.reply import grade_decoded, tokens_of


def areal_reward(
    prompt: str,
    completions: str,
    prompt_ids: Sequence[int],
    completion_ids: Sequence[int],
    grading_key: str,
    *,
    end_tokens: str | Iterable[str] | None = None,
    **_columns: Any,
) -> float:
    """Reward function for AReaL: ``functools.partial(areal_reward, end_tokens="<|im_end|>")``.

    A partial of this function can be sent to the processes that AReaL grades in; a closure cannot.

    Args:
        prompt: not used.
        completions: one reply, decoded with its special tokens.
        prompt_ids: not used.
        completion_ids: not used; they do not say which token ends a reply.
        grading_key: the dataset's column.
        end_tokens: every token that ends a reply, as text: a reply without one was cut. None takes
            every reply for finished.

    Returns:
        1.0 or 0.0. AReaL takes no None: an answer that cannot be judged counts as 0.0.

    Raises:
        InputError: not a grading key. AReaL tries again, then fails.
    """
    ends = None if end_tokens is None else tokens_of(end_tokens)
    return grade_decoded(completions, grading_key, ends).reward or 0.0
