"""From the parts of a reward to a grade. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from difficulty.schema import Completion, Component, Grade, Outcome
from difficulty.settings.rewards import GradingSpec, is_builtin, passes, reward_names, threshold_of


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one function gave for one reply."""

    value: float | None
    """Null when it gave none."""
    more: tuple[tuple[str, float], ...] = ()
    """Other numbers of the dict that it returned."""
    fault: str | None = None
    """Why there is no value."""
    type: str | None = None
    """The type that it returned, null when it returned none."""
    ms: float | None = None
    """Milliseconds of the call."""


@dataclass(frozen=True, kw_only=True)
class Combined:
    """The reward of one reply, or why it is unknown."""

    reward: float | None
    components: tuple[Component, ...]
    fault: str | None


def combine(grading: GradingSpec, own: Sequence[Part], builtin: Part | None) -> Combined:
    """The weighted sum; one part that is unknown makes the whole unknown.

    Args:
        grading: the parts' names and weights.
        own: of each of the user's functions, in their order.
        builtin: of the built-in grader, if it has a part.
    """
    rewards = grading.rewards or ()
    functions = iter(own)
    terms, components = [], []
    fault = None
    for name, reward in zip(reward_names(rewards), rewards, strict=True):
        part = builtin if is_builtin(reward) else next(functions)
        if part is None or part.value is None:
            fault = fault or f"{name}: {'not graded' if part is None else part.fault}"
            continue
        terms.append(reward.weight * part.value)
        components.append(Component(name=name, value=part.value))
        components.extend(Component(name=f"{name}.{key}", value=more) for key, more in part.more)
    total = None if fault else math.fsum(terms)
    if total is not None and not math.isfinite(total):
        total, fault = None, "the weighted sum is not finite"
    return Combined(reward=total, components=tuple(components), fault=fault)


def grade_of(
    completion: Completion, grading: GradingSpec, found: Combined, builtin: Grade | None
) -> Grade:
    """The grade of a reply; the answer that it declares is known if the built-in grader read it."""
    return Grade(
        question_id=completion.question_id,
        sample_index=completion.sample_index,
        outcome=_outcome(completion, grading, found),
        reward=found.reward,
        components=found.components,
        extracted_answer=builtin.extracted_answer if builtin else None,
        span=builtin.span if builtin else None,
        reason=found.fault or f"reward {found.reward:g}, passes at {threshold_of(grading):g}",
    )


def _outcome(completion: Completion, grading: GradingSpec, found: Combined) -> Outcome:
    if found.reward is None:
        return "grader_error"
    if passes(found.reward, threshold_of(grading)):
        return "correct"
    if completion.finish_reason == "length":
        return "truncated"
    return "wrong" if (completion.text or "").strip() else "no_answer"


def grade_again(completion: Completion, grading: GradingSpec, before: Grade) -> Grade:
    """A grade under other weights or another threshold, from the parts that were kept."""
    values = {component.name: component.value for component in before.components}
    rewards = grading.rewards or ()
    terms = [
        reward.weight * values[name]
        for name, reward in zip(reward_names(rewards), rewards, strict=True)
    ]
    found = Combined(reward=math.fsum(terms), components=before.components, fault=None)
    return grade_of(completion, grading, found, before)


def failed(completion: Completion) -> Grade:
    """The grade of a request that brought no reply: no function is asked."""
    return Grade(
        question_id=completion.question_id,
        sample_index=completion.sample_index,
        outcome="failed",
        reward=None,
        components=(),
        extracted_answer=None,
        span=None,
        reason=f"no reply: {completion.error or 'neither text nor finish reason'}",
    )


def part_of(builtin: Grade) -> Part:
    """The built-in grader's verdict as a part of the reward."""
    unknown = builtin.reward is None
    return Part(value=builtin.reward, fault=builtin.reason if unknown else None, type="Grade")
