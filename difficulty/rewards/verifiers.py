"""A reward function for a Rubric of verifiers up to 0.3: one call a rollout, by argument names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from difficulty.errors import InputError
from difficulty.rewards.reply import Reply, grade_reply, text_of


def verifiers_reward(
    completion: Reply, info: Mapping[str, Any] | str, state: Mapping[str, Any] | None = None
) -> float:
    """Reward function for verifiers: ``vf.Rubric(funcs=[verifiers_reward])``.

    Args:
        completion: the messages that the model added.
        info: the row's own, with ``grading_key``; as an object or still as JSON.
        state: the rollout, which says whether a reply was cut.

    Returns:
        1.0 or 0.0. verifiers takes no None: an answer that cannot be judged counts as 0.0.

    Raises:
        InputError: no grading key, or not one. verifiers only logs what a reward function raises,
            and counts it as 0.
    """
    fields = json.loads(info) if isinstance(info, str) else info
    if "grading_key" not in fields:
        raise InputError(
            f"info has no grading_key: found {sorted(fields)}. "
            "Train on the file that `difficulty export --to verifiers` writes"
        )
    reason = "length" if _is_cut(state or {}) else "stop"
    return grade_reply(text_of(completion), fields["grading_key"], reason).reward or 0.0


def _is_cut(state: Mapping[str, Any]) -> bool:
    """Whether a step of the rollout met the token limit; the sum is made only after scoring."""
    steps = state.get("trajectory") or []
    return bool(state.get("is_truncated")) or any(step.get("is_truncated") for step in steps)
