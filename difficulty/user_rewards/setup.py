"""What a reward worker is told at its start, as plain values: it travels as JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from difficulty import prompts
from difficulty.export.write import few_shot_messages
from difficulty.settings.rewards import DEADLINE_S, GradingSpec, is_builtin, reward_names
from difficulty.settings.run import RunSpec, SamplingSpec


@dataclass(frozen=True, kw_only=True)
class Function:
    """A user's function and the name of its part of the reward."""

    file: str
    name: str
    part: str


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Which functions, and the form in which they get prompts and completions."""

    functions: tuple[Function, ...]
    deadline_s: float
    """Seconds that one call may take."""
    template: str
    few_shot: tuple[prompts.Message, ...]
    prompt_style: str
    """``chat``: functions get prompts as messages. ``plain``: as text."""
    completions: str
    """``messages`` or ``text``."""
    tracebacks: int = 20
    """Errors of the functions that a worker writes out in full."""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


def setup_of(grading: GradingSpec, sampling: SamplingSpec) -> Setup:
    """The set-up of the user's own parts of a reward; the built-in grader is none of them."""
    rewards = grading.rewards or ()
    parts = zip(rewards, reward_names(rewards), strict=True)
    form = "text" if sampling.prompt_style == "plain" else "messages"
    return Setup(
        functions=tuple(
            Function(file=reward.file, name=reward.name, part=part)
            for reward, part in parts
            if not is_builtin(reward)
        ),
        deadline_s=grading.reward_deadline or DEADLINE_S,
        template=sampling.template,
        few_shot=few_shot_messages(sampling),
        prompt_style=sampling.prompt_style,
        completions=grading.reward_completions or form,
    )


def setup_of_run(spec: RunSpec) -> Setup:
    """The set-up of a run."""
    return setup_of(spec.grading, spec.sampling)


def setup_from_json(values: dict[str, Any]) -> Setup:
    """A set-up from ``as_json``."""
    functions = tuple(Function(**function) for function in values["functions"])
    return Setup(**{**values, "functions": functions, "few_shot": tuple(values["few_shot"])})
