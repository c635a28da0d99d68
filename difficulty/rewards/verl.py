"""verl's custom reward function: one call a reply, in a thread; no None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from difficulty.errors import InputError
from difficulty.rewards.reply import grade_reply


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_settings: Any,
) -> dict[str, float | str]:
    """Reward function for verl: ``custom_reward_function.path=pkg://difficulty.rewards``.

    verl does not say whether a reply was cut. An agent loop that puts ``finish_reason`` into its
    ``extra_fields`` is heard; without one the reply is taken for finished.

    Args:
        data_source: not used.
        solution_str: the reply, without special tokens.
        ground_truth: not used; the key holds the gold.
        extra_info: the row's own, with ``grading_key``.

    Returns:
        ``score`` and ``acc`` (1.0 or 0.0), ``outcome`` (one of ``OUTCOMES``) and ``unknown`` (1.0
        if the grader could not judge the reply, whose score is then 0.0: verl takes no None).

    Raises:
        InputError: no grading key, or not one.
    """
    fields = extra_info or {}
    if "grading_key" not in fields:
        raise InputError(
            f"extra_info has no grading_key: found {sorted(fields)}. "
            "Train on the file that `difficulty export --to verl` writes"
        )
    found = grade_reply(solution_str, fields["grading_key"], fields.get("finish_reason", "stop"))
    score = found.reward or 0.0
    unknown = float(found.reward is None)
    return {"score": score, "acc": score, "outcome": found.outcome, "unknown": unknown}
