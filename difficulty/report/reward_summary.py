"""What the user's own reward gave in a run: means, and what the levels do not say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from difficulty.settings.rewards import (
    ROUNDING,
    GradingSpec,
    is_builtin,
    passes,
    reward_names,
    threshold_of,
)

Rows = Callable[[str], list[Any]]
"""Runs SQL over the tables of a run by name."""


@dataclass(frozen=True, kw_only=True)
class RewardPart:
    """One part of the reward."""

    name: str
    file: str
    """Path of its file, or ``builtin``."""
    sha256: str
    weight: float
    mean: float | None
    """Mean of its values before the weight; null if it gave none."""


@dataclass(frozen=True, kw_only=True)
class RewardSummary:
    """The user's own reward over all answers."""

    parts: list[RewardPart]
    pass_threshold: float
    """Reward from which on an answer is correct."""
    highest: float | None
    """The highest reward of any answer; null if none has one."""
    num_values: int
    """How many different rewards there were."""
    equal_share: float | None
    """Share of the questions whose answers all got one reward; null without a question with two."""


def summarize_reward(grading: GradingSpec, rows: Rows) -> RewardSummary | None:
    """Means and spread of the user's own reward; null for the built-in grader alone."""
    if grading.rewards is None:
        return None
    components = "SELECT unnest(components) AS c FROM grades"
    means = dict(rows(f"SELECT c.name, avg(c.value) FROM ({components}) GROUP BY 1"))
    highest, num_values = rows("SELECT max(reward), count(DISTINCT reward) FROM grades")[0]
    equal = rows(
        f"""SELECT avg((highest - lowest <= {ROUNDING})::INT) FROM (
            SELECT max(reward) AS highest, min(reward) AS lowest FROM grades
            GROUP BY question_id HAVING count(reward) > 1)"""
    )[0][0]
    names = reward_names(grading.rewards)
    return RewardSummary(
        parts=[
            RewardPart(
                name=name,
                file=reward.file,
                sha256=reward.sha256,
                weight=reward.weight,
                mean=means.get(name),
            )
            for name, reward in zip(names, grading.rewards, strict=True)
        ],
        pass_threshold=threshold_of(grading),
        highest=highest,
        num_values=num_values,
        equal_share=equal,
    )


def reward_warnings(found: RewardSummary | None) -> list[str]:
    """What a reader of the levels must know about the reward behind them."""
    if found is None or found.highest is None:
        return []
    texts = []
    if not passes(found.highest, found.pass_threshold):
        texts.append(
            f"no answer reached the pass threshold {found.pass_threshold:g}: the highest reward "
            f"was {found.highest:g}. Give difficulty grade another --pass-threshold"
        )
    if found.num_values > 2 and found.equal_share is not None:
        texts.append(
            f"the reward takes {found.num_values:,} values, and the forecast knows only whether it "
            f"reaches {found.pass_threshold:g}: rewards that differ on one side of it teach too. "
            f"All answers of a question got the same reward in {found.equal_share:.0%} of them"
        )
    return texts


def reward_settings(grading: GradingSpec) -> dict[str, str]:
    """The reward as rows of the report's table of settings."""
    if grading.rewards is None:
        return {}
    parts = [
        f"{reward.weight:g} × {name}" + ("" if is_builtin(reward) else f" ({reward.file})")
        for name, reward in zip(reward_names(grading.rewards), grading.rewards, strict=True)
    ]
    return {"reward": " + ".join(parts), "pass threshold": f"{threshold_of(grading):g}"}


def reward_line(found: RewardSummary, mean: float | None) -> str:
    """The reward in one line for the terminal."""
    parts = " + ".join(f"{part.weight:g} × {part.name}" for part in found.parts)
    line = f"reward {parts}, correct from {found.pass_threshold:g} on: mean {_number(mean)}"
    if len(found.parts) == 1:
        return line
    return f"{line} ({', '.join(f'{part.name} {_number(part.mean)}' for part in found.parts)})"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"
