"""What a trainer will sample with, read from its own config by the keys in that trainer's file.

A setting is stated by the file, is the trainer's default, is a variable that the file leaves open,
or is unknown (null). Names, defaults and precedence were read in the sources of one release;
another may differ, so a default alone never refuses a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from difficulty.errors import InputError
from difficulty.trainers import config_file
from difficulty.trainers.config_keys import ConfigKeys
from difficulty.trainers.find import CONFIGS

Origin = Literal["stated", "default", "variable", "unknown"]


@dataclass(frozen=True, kw_only=True)
class ConfigValue:
    """One value and why it would apply."""

    value: Any = None
    """In the run spec's notation (top_k -1: no limit); null: unknown; of a variable its text."""
    origin: Origin = "unknown"


@dataclass(frozen=True, kw_only=True)
class TrainerConfig:
    """What can be compared with a profile."""

    trainer: str
    file: str
    """Name of the file, for messages."""
    settings: dict[str, ConfigValue]
    """One for each of ``NAMES``."""


NAMES = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "template_arguments",
    "system_prompt", "model", "max_tokens", "max_prompt_tokens", "group_size",
)  # fmt: skip

WHOLE = ("top_k", "max_tokens", "max_prompt_tokens", "group_size")

NULL_MEANS = {"top_k": -1, "top_p": 1.0, "min_p": 0.0, "template_arguments": {}}
"""What a stated null asks for; elsewhere it says nothing."""


def read_trainer_config(path: Path, *, trainer: str | None = None) -> TrainerConfig:
    """What the trainer of that config samples with.

    Args:
        path: YAML, JSON or hydra override lines.
        trainer: its name, one of ``CONFIGS``; null: told by the file's keys.

    Raises:
        InputError: not a config, of no trainer known here, or a value of another type.
    """
    values = config_file.read(path)
    name = trainer or detect_trainer(values, file=path.name)
    if name not in CONFIGS:
        raise InputError(f"unknown trainer: {name!r}. Choose one of {', '.join(CONFIGS)}")
    keys = CONFIGS[name]
    values = keys.translate(values, path)
    settings = {setting: _setting(keys, setting, values, path.name) for setting in NAMES}
    return TrainerConfig(trainer=name, file=path.name, settings=settings)


def detect_trainer(values: dict[str, Any], *, file: str) -> str:
    """The trainer with the most marks in the file; without any, one with a last mark in it.

    Raises:
        InputError: no trainer's keys, or as many of two.
    """
    counts = {name: keys.count_marks(values) for name, keys in CONFIGS.items()}
    most = max(counts.values())
    found = [name for name, count in counts.items() if count == most > 0]
    if most == 0:
        found = [name for name, keys in CONFIGS.items() if keys.last_marks.intersection(values)]
    if len(found) != 1:
        raise InputError(
            f"unknown trainer: {file} has the keys of {' and of '.join(found) or 'none'}. "
            f"Give the GRPO config of {', '.join(CONFIGS)}"
        )
    return found[0]


def _setting(trainer: ConfigKeys, name: str, values: dict[str, Any], file: str) -> ConfigValue:
    found = [config_file.find(values, key) for key in trainer.keys.get(name, ())]
    stated = [value for there, value in found if there]
    for value in stated:
        if (value is None and name not in NULL_MEANS) or _is_variable(name, value):
            continue
        return ConfigValue(value=_typed(name, value, file), origin="stated")
    variables = [value for value in stated if value is not None]
    if variables:
        return ConfigValue(value=variables[0], origin="variable")
    if stated or name not in trainer.defaults:
        return ConfigValue()
    return ConfigValue(value=trainer.defaults[name], origin="default")


def _is_variable(name: str, value: Any) -> bool:
    """Shell and OmegaConf write variables with a dollar, and OmegaConf ??? for a missing value."""
    return (
        isinstance(value, str)
        and name != "system_prompt"
        and (value == "???" or value.startswith("$"))
    )


def _typed(name: str, value: Any, file: str) -> Any:
    if value is None:
        return NULL_MEANS[name]
    if name in ("model", "system_prompt", "template_arguments"):
        kind = dict if name == "template_arguments" else str
        if not isinstance(value, kind):
            wanted = "mapping" if kind is dict else "text"
            raise InputError(
                f"{name} in {file} is no {wanted}: {config_file.brief(value)}. Correct the file"
            )
        return value
    number = _number(name, value, file)
    if name == "top_k" and number <= 0:
        return -1
    return int(number) if name in WHOLE and number.is_integer() else number


def _number(name: str, value: Any, file: str) -> float:
    """YAML 1.1 reads 1e-1 as text, and so may a shell's quotes."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{name} in {file} is no number: {config_file.brief(value)}. Correct the file"
        )
    return number
