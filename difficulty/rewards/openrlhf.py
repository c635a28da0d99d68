"""OpenRLHF's reward file: it sees prompt and reply as one text, and the label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from difficulty.errors import InputError, SettingsError
from difficulty.rewards.reply import grade_decoded, tokens_of

_TAIL = 40
"""Characters of a prompt, spaces aside, by which its end is found in a query."""


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str]
) -> dict[str, Any]:
    """Reward function for OpenRLHF that takes every reply for finished.

    ``make_openrlhf_reward`` tells cut replies. Train with ``--data.label_key grading_key``.

    Args:
        queries: prompt and reply, decoded with their special tokens.
        prompts: the prompts, after the chat template.
        labels: the grading keys.

    Returns:
        ``rewards`` and ``scores`` (tensors, 1.0 or 0.0; OpenRLHF takes no None) and
        ``extra_logs`` with ``unknown`` and ``truncated`` (tensors, 1.0 where it is so).

    Raises:
        InputError: not a grading key, or a query that does not hold its prompt. OpenRLHF only logs
            what a reward function raises, and goes on without the reward.
    """
    return _openrlhf_rewards(queries, prompts, labels, None)


def make_openrlhf_reward(*, end_tokens: str | Iterable[str]) -> Callable[..., dict[str, Any]]:
    """A ``reward_func`` for OpenRLHF that takes a reply without an end token for cut.

    Args:
        end_tokens: every token that ends a reply, as text: ``<|im_end|>``. A reply that a stop
            string ended counts as cut.

    Raises:
        SettingsError: no end token is given.
    """
    ends = tokens_of(end_tokens)
    if not ends:
        raise SettingsError(
            "cut replies cannot be told: no end_tokens. Give the tokenizer's, or use reward_func"
        )

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str]
    ) -> dict[str, Any]:
        """As ``difficulty.rewards.reward_func``, with cut replies graded as such."""
        return _openrlhf_rewards(queries, prompts, labels, ends)

    return reward_func


def _openrlhf_rewards(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[str],
    ends: tuple[str, ...] | None,
) -> dict[str, Any]:
    import torch

    grades = [
        grade_decoded(_after_prompt(query, prompt), label, ends)
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    scores = torch.tensor([found.reward or 0.0 for found in grades])
    unknown = torch.tensor([float(found.reward is None) for found in grades])
    truncated = torch.tensor([float(found.outcome == "truncated") for found in grades])
    logs = {"unknown": unknown, "truncated": truncated}
    return {"rewards": scores, "scores": scores.clone(), "extra_logs": logs}


def _after_prompt(query: str, prompt: str) -> str:
    """The reply in a query, whose prompt may be cut at its start or differ in spaces.

    Raises:
        InputError: the prompt does not stand at the query's start.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    squeezed = _squeeze(prompt)
    tail = r"\s*".join(re.escape(character) for character in squeezed[-_TAIL:])
    for found in re.finditer(tail, query):
        if squeezed.endswith(_squeeze(query[: found.end()]).lstrip("\ufffd")):
            return query[found.end() :]
    raise InputError(
        f"the query does not start with its prompt: it starts {query[:40]!r}. "
        "Check that the tokenizer gives back the text it was given"
    )


def _squeeze(text: str) -> str:
    return "".join(text.split())
