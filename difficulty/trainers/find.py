"""The trainers that exports exist for."""

from __future__ import annotations

from difficulty.errors import SettingsError
from difficulty.settings.run import RunSpec
from difficulty.trainers import (
    areal,
    ms_swift,
    nemo_rl,
    open_instruct,
    openrlhf,
    plain,
    rllm,
    skyrl,
    slime,
    trl,
    verifiers,
    verl,
)
from difficulty.trainers.trainer import Trainer

MODULES = (
    trl, verl, ms_swift, openrlhf, verifiers, areal, skyrl,
    nemo_rl, rllm, slime, open_instruct, plain,
)  # fmt: skip
TRAINERS: dict[str, Trainer] = {module.TRAINER.name: module.TRAINER for module in MODULES}


def find_trainer(name: str) -> Trainer:
    """The trainer of that name.

    Raises:
        SettingsError: there is none; the message lists those there are.
    """
    if name not in TRAINERS:
        raise SettingsError(f"unknown trainer: {name!r}. Choose from {', '.join(TRAINERS)}")
    return TRAINERS[name]


def require_one_turn(spec: RunSpec, *, own_system: bool = False) -> None:
    """Refuse trainers that would lose turns before the question, before anything is drawn for them.

    Args:
        spec: the run's settings.
        own_system: whether questions bring system prompts of their own.

    Raises:
        SettingsError: names the trainer and the turns.
    """
    if spec.sampling.prompt_style == "plain":
        return
    turns = {
        "a system prompt": own_system or spec.source.system_prompt is not None,
        "worked examples": bool(spec.sampling.few_shot),
    }
    found = [name for name, there in turns.items() if there]
    losing = [name for name in spec.export.trainers if find_trainer(name).one_turn]
    if found and losing:
        raise SettingsError(
            f"{losing[0]} takes one user turn a question: this run has {' and '.join(found)}. "
            "Leave them out, or choose another trainer"
        )
