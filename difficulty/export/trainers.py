"""The trainers that exports exist for."""

from __future__ import annotations

from difficulty.errors import SettingsError
from difficulty.export import (
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
from difficulty.export.trainer import Trainer

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
