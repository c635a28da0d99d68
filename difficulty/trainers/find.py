"""The trainers that are known, found by their files: one list of names, and what each offers."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from difficulty.errors import SettingsError
from difficulty.trainers import __path__ as folder
from difficulty.trainers.config_keys import ConfigKeys
from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    from difficulty.settings.run import RunSpec


SHARED = frozenset({
    "config", "config_file", "config_keys", "exporter", "find", "like", "resampling", "row",
    "setup_text", "trainer",
})  # fmt: skip
"""Files of this folder that all trainers share; each other one is a trainer's."""


def trainer_files() -> list[str]:
    """Names of the files of this folder that are a trainer's, without ``.py``."""
    return sorted({module.name for module in pkgutil.iter_modules(folder)} - SHARED)


def _found() -> list[Trainer]:
    """What the trainers' files call ``TRAINERS``, in the order in which names are listed."""
    trainers: list[Trainer] = []
    for name in trainer_files():
        trainers += importlib.import_module(f"difficulty.trainers.{name}").TRAINERS
    return sorted(trainers, key=lambda trainer: (trainer.place, trainer.name))


TRAINERS: dict[str, Trainer] = {trainer.name: trainer for trainer in _found()}
"""Name -> trainer: the one list of names; those below are its parts."""
EXPORTERS: dict[str, Exporter] = {
    name: trainer.export for name, trainer in TRAINERS.items() if trainer.export is not None
}
RESAMPLINGS: dict[str, Resampling] = {
    name: trainer.forecast for name, trainer in TRAINERS.items() if trainer.forecast is not None
}
CONFIGS: dict[str, ConfigKeys] = {
    name: trainer.like for name, trainer in TRAINERS.items() if trainer.like is not None
}


def find_exporter(name: str) -> Exporter:
    """What writes the files of the trainer of that name.

    Raises:
        SettingsError: there is none; the message lists those there are.
    """
    if name not in EXPORTERS:
        raise SettingsError(f"unknown trainer: {name!r}. Choose from {', '.join(EXPORTERS)}")
    return EXPORTERS[name]


def find_resampling(name: str) -> Resampling:
    """How the trainer of that name resamples.

    Raises:
        SettingsError: that is not known; lists the trainers of which it is.
    """
    if name not in RESAMPLINGS:
        raise SettingsError(
            f"no forecast for trainer {name!r}. Choose one of {', '.join(RESAMPLINGS)}"
        )
    return RESAMPLINGS[name]


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
    losing = [name for name in spec.export.trainers if find_exporter(name).one_turn]
    if found and losing:
        raise SettingsError(
            f"{losing[0]} takes one user turn a question: this run has {' and '.join(found)}. "
            "Leave them out, or choose another trainer"
        )
