"""Which reward a run is graded with: functions of the user's own, each with a weight.

A function is named as ``FILE.py:NAME``; ``builtin`` is the built-in grader. Nothing of the file is
run here: its bytes, and those of the modules beside it that it imports, are hashed, so that changed
code is graded with anew.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from difficulty.errors import SettingsError
from difficulty.settings.reward_code import code_hash
from difficulty.settings.setting import Setting, check_section
from difficulty.settings.stated import Stated

BUILTIN = "builtin"
PASS_THRESHOLD = 1.0
"""The reward from which on an answer is correct, unless the user says otherwise."""
DEADLINE_S = 60.0
"""Seconds that one call of a reward function may take, unless the user says otherwise."""
ROUNDING = 1e-6
"""Trainers hold rewards in single precision: 0.7 of a tensor is a little less than 0.7."""


@dataclass(frozen=True, kw_only=True)
class RewardSpec:
    """One part of the reward: a user's function, or the built-in grader."""

    file: str
    """Absolute path of the Python file, or ``builtin``. Not compared: what it holds is."""
    name: str
    """Name of the function in it."""
    weight: Annotated[
        float, Setting("Weight of each --reward in turn.", option="--reward-weight", unset="1 each")
    ] = 1.0
    """What its value is multiplied with in the sum."""
    sha256: str = ""
    """Hash of its code; filled in when the settings of a run are made or read."""


@dataclass(frozen=True, kw_only=True)
class GradingSpec:
    """Which rules gave the verdicts."""

    grader: str
    """Version of the built-in grader."""
    rewards: Annotated[
        tuple[RewardSpec, ...] | None,
        Setting(
            "Your reward function, as for TRL or verl; builtin is ours. Repeat for a sum.",
            option="--reward",
            metavar="FILE.py:NAME",
        ),
    ] = None
    """The parts of the user's own reward; null: the built-in grader alone."""
    pass_threshold: Annotated[
        float | None, Setting("Reward that counts as correct.", unset=f"{PASS_THRESHOLD}")
    ] = None
    """Only with ``rewards``, as the next two."""
    reward_deadline: Annotated[
        float | None,
        Setting(
            "Seconds that a call may take.",
            unset=f"{DEADLINE_S:g}",
            above=0,
            below=math.inf,
            advice="Give seconds, as 60",
        ),
    ] = None
    reward_completions: Annotated[
        Literal["messages", "text"] | None,
        Setting("What functions of TRL's signature get.", unset="messages of a chat"),
    ] = None
    """Null: what TRL would give them, messages of a chat and text of a plain run."""


def parse_rewards(texts: Sequence[str], weights: Sequence[float]) -> tuple[RewardSpec, ...]:
    """``["a.py:fmt", "builtin"], [0.2, 1]`` -> one spec each; no weights means 1 each.

    Raises:
        SettingsError: a text that is not FILE.py:NAME, or another number of weights.
    """
    if weights and len(weights) != len(texts):
        raise SettingsError(
            f"reward weights do not match: found {len(weights)} for {len(texts)} rewards. "
            "Give one --reward-weight for each --reward, in the same order, or none"
        )
    pairs = zip(texts, weights or [1.0] * len(texts), strict=True)
    return tuple(_parse(text, weight) for text, weight in pairs)


def _parse(text: str, weight: float) -> RewardSpec:
    if text == BUILTIN:
        return RewardSpec(file=BUILTIN, name=BUILTIN, weight=weight)
    file, _, name = text.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise SettingsError(
            f"reward cannot be read: {text!r}. Write FILE.py:NAME, as in reward.py:compute_score, "
            f"or {BUILTIN}"
        )
    return RewardSpec(file=file, name=name, weight=weight)


def is_builtin(reward: RewardSpec) -> bool:
    """Whether this part is the built-in grader."""
    return reward.file == BUILTIN


def reward_names(rewards: Sequence[RewardSpec]) -> list[str]:
    """What each part is called: the function's name, with its file where two share one."""
    counts = Counter(reward.name for reward in rewards)
    return [
        reward.name if counts[reward.name] == 1 else f"{Path(reward.file).stem}.{reward.name}"
        for reward in rewards
    ]


def check_rewards(rewards: Sequence[RewardSpec]) -> None:
    """Refuse parts that cannot be told apart or summed.

    Raises:
        SettingsError: a part given twice, or a weight that is no number.
    """
    names = reward_names(rewards)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SettingsError(
            f"reward is given twice: {twice[0]}. Give each once, from files of different names"
        )
    for name, reward in zip(names, rewards, strict=True):
        if not math.isfinite(reward.weight):
            raise SettingsError(f"reward weight is no number: {reward.weight} for {name}")
    if all(map(is_builtin, rewards)):
        raise SettingsError(
            f"the built-in grader alone takes no weight: found {rewards[0].weight:g}. "
            "Leave --reward-weight out"
        )


def uses_builtin(grading: GradingSpec) -> bool:
    """Whether the built-in grader has a part in the reward."""
    return grading.rewards is None or any(map(is_builtin, grading.rewards))


def check_grading(grading: GradingSpec) -> None:
    """Raise ``SettingsError`` for settings of a reward that cannot work or have no reward."""
    for key in ("pass_threshold", "reward_deadline", "reward_completions"):
        value = getattr(grading, key)
        if grading.rewards is None and value is not None:
            option = key.replace("_", "-")
            raise SettingsError(
                f"{option} without a reward: found {value}. It goes with --reward FILE.py:NAME"
            )
    if grading.rewards is not None:
        check_rewards(grading.rewards)
    if grading.pass_threshold is not None and not math.isfinite(grading.pass_threshold):
        raise SettingsError(f"pass-threshold is no number: {grading.pass_threshold}. Use 1.0, say")
    check_section(grading)


def threshold_of(grading: GradingSpec) -> float:
    """The reward from which on an answer is correct."""
    return PASS_THRESHOLD if grading.pass_threshold is None else grading.pass_threshold


def passes(reward: float, threshold: float) -> bool:
    """Whether a reward reaches the threshold, to single precision."""
    return reward >= threshold - ROUNDING * max(1.0, abs(threshold))


def compared(grading: GradingSpec) -> dict[str, Any]:
    """What tables are stamped with of a reward: names, code and weights, but not where it lies."""
    rewards = grading.rewards or ()
    return {
        "grading.rewards": [
            f"{name} {reward.sha256[:16]}".strip()
            for name, reward in zip(reward_names(rewards), rewards, strict=True)
        ],
        "grading.reward_weights": [reward.weight for reward in rewards],
    }


def settled(stated: Stated[GradingSpec], old: GradingSpec) -> GradingSpec:
    """``old`` with what was stated, the reward's code as it is now and nothing left to a default.

    The built-in grader alone, without a weight, is no reward of the user's own: it takes back what
    was stated of one before.

    Raises:
        SettingsError: a file that is missing or no Python.
    """
    grading = stated.over(old)
    if not grading.rewards or grading.rewards == (RewardSpec(file=BUILTIN, name=BUILTIN),):
        stated_alone = stated.over(GradingSpec(grader=old.grader))
        return dataclasses.replace(stated_alone, rewards=None)
    deadline = grading.reward_deadline
    return dataclasses.replace(
        grading,
        rewards=tuple(map(with_code, grading.rewards)),
        pass_threshold=threshold_of(grading),
        reward_deadline=DEADLINE_S if deadline is None else deadline,
    )


def with_code(reward: RewardSpec) -> RewardSpec:
    """The part with its file's absolute path and the hash of its code as it is now.

    A file that is gone after a run was made leaves the hash as it was: it has not changed.

    Raises:
        SettingsError: the file is missing, unreadable or no Python.
    """
    if is_builtin(reward):
        return reward
    path = Path(reward.file).expanduser().absolute()
    if reward.sha256 and not path.exists():
        return reward
    return dataclasses.replace(reward, file=str(path), sha256=code_hash(path))
