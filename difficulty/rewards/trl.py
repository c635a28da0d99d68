"""TRL's GRPOTrainer: one call a batch, dataset columns as keyword arguments, None is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from difficulty.errors import SettingsError
from difficulty.rewards.reply import Reply, Rewards, grade_reply, text_of

LogMetric = Callable[[str, float], None]


def trl_reward(
    completions: Sequence[Reply],
    grading_key: Sequence[str],
    completion_ids: Sequence[Sequence[int]] | None = None,
    log_metric: LogMetric | None = None,
    **_columns: Any,
) -> Rewards:
    """Reward function for TRL that takes every reply for finished: see ``make_trl_reward``.

    ``completion_ids`` do not say which token ends a reply, so they are not looked at here.

    Args:
        completions: texts, or for conversational prompts the messages added, one list a reply.
        grading_key: the dataset's column, one key a reply.
        completion_ids: token ids of each reply.
        log_metric: logs ``grading/unknown`` and ``grading/truncated``, shares of the batch.

    Returns:
        One reward a reply; TRL leaves None out of the group's mean and trains on the others.

    Raises:
        InputError: not a grading key.
    """
    return _trl_rewards(completions, grading_key, ["stop"] * len(completions), log_metric)


def make_trl_reward(
    *, eos_token_ids: int | Iterable[int] | None = None, max_completion_length: int | None = None
) -> Callable[..., Rewards]:
    """A reward function for TRL that knows cut replies by their token ids.

    Give both: a reply is cut if it is as long as the limit and does not end in an end token. With
    ``eos_token_ids`` alone, every reply without an end token at its end is cut, also one that a
    stop string ended; with the limit alone, every reply that reaches it is.

    Args:
        eos_token_ids: every id that ends a reply: ``model.generation_config.eos_token_id`` and
            the tokenizer's.
        max_completion_length: the same as in ``GRPOConfig``, tokens.

    Raises:
        SettingsError: neither is given.
    """
    if eos_token_ids is None and max_completion_length is None:
        raise SettingsError(
            "cut replies cannot be told: neither eos_token_ids nor max_completion_length. "
            "Give both as the trainer has them, or use trl_reward"
        )
    ends = frozenset([eos_token_ids] if isinstance(eos_token_ids, int) else eos_token_ids or ())

    def difficulty_reward(
        completions: Sequence[Reply],
        grading_key: Sequence[str],
        completion_ids: Sequence[Sequence[int]],
        log_metric: LogMetric | None = None,
        **_columns: Any,
    ) -> Rewards:
        """As ``trl_reward``, with cut replies graded as such."""
        reasons = [
            "length" if _is_cut(ids, ends, max_completion_length) else "stop"
            for ids in completion_ids
        ]
        return _trl_rewards(completions, grading_key, reasons, log_metric)

    return difficulty_reward


def _is_cut(ids: Sequence[int], ends: frozenset[int], limit: int | None) -> bool:
    """Whether a reply reached the limit (where known) without an end token (where known)."""
    ended = len(ids) > 0 and ids[-1] in ends
    return not ended and (limit is None or len(ids) >= limit)


def _trl_rewards(
    completions: Sequence[Reply],
    keys: Sequence[str],
    reasons: Sequence[str],
    log_metric: LogMetric | None,
) -> Rewards:
    rows = zip(completions, keys, reasons, strict=True)
    grades = [grade_reply(text_of(reply), key, end) for reply, key, end in rows]
    if log_metric is not None and grades:
        unknown = sum(found.reward is None for found in grades)
        truncated = sum(found.outcome == "truncated" for found in grades)
        log_metric("grading/unknown", unknown / len(grades))
        log_metric("grading/truncated", truncated / len(grades))
    return [found.reward for found in grades]
