"""``--like TRAINER_CONFIG``: is the model profiled the way it will be trained?

Pass rates hold for the sampling they were measured with: a profile at temperature 0.7 says little
about which groups collapse at 1.0. What changes the answers themselves refuses the run where the
config states it; lengths, the group size and a trainer's unstated defaults only warn.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from difficulty.errors import SettingsError
from difficulty.settings.run import RunSpec
from difficulty.settings.sampling import template_arguments
from difficulty.trainers import config_file
from difficulty.trainers.config import (
    NAMES,
    Origin,
    TrainerConfig,
    read_trainer_config,
)
from difficulty.trainers.find import CONFIGS

__all__ = ["Difference", "TrainerConfig", "check_like", "compare", "read_trainer_config"]

Severity = Literal["refuse", "warn"]

WARN_ONLY = ("max_tokens", "max_prompt_tokens", "group_size")
LABELS = {
    "repetition_penalty": "repetition penalty",
    "template_arguments": "template arguments",
    "system_prompt": "system prompt",
    "max_tokens": "answer length limit",
    "max_prompt_tokens": "prompt length limit",
    "group_size": "group size",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One setting that the profile and the training do not share."""

    setting: str
    """One of ``trainer_config.NAMES``."""
    profiled: Any
    trained: Any
    """Of a variable its text, since the file leaves its value open."""
    origin: Origin
    severity: Severity


def check_like(path: Path, spec: RunSpec, *, trainer: str | None = None) -> list[str]:
    """Warnings, one line each; none where profile and training agree.

    Raises:
        InputError: the file is no config of a trainer known here.
        SettingsError: the profile would be of another sampling; names every such setting.
    """
    config = read_trainer_config(path, trainer=trainer)
    found = compare(config, spec)
    refused = [each for each in found if each.severity == "refuse"]
    if refused:
        parts = [f"{_label(each)} {_both(each, config)}" for each in refused]
        raise SettingsError(
            f"profiled differently from how {config.trainer} trains: {'; '.join(parts)}. "
            "Give the trainer's values or drop --like"
        )
    return [_warning(each, config) for each in found]


def compare(config: TrainerConfig, spec: RunSpec) -> list[Difference]:
    """What differs, the settings that refuse first; what the config leaves unknown is left out."""
    here = profiled_settings(spec)
    return [
        Difference(
            setting=name,
            profiled=here[name],
            trained=setting.value,
            origin=setting.origin,
            severity=_severity(name, here[name], setting.value, setting.origin),
        )
        for name in NAMES
        if (setting := config.settings[name]).origin != "unknown"
        and not _same(name, here[name], setting.value)
    ]


def profiled_settings(spec: RunSpec) -> dict[str, Any]:
    """The same settings as the run has them, for each of ``NAMES``."""
    sampling = spec.sampling
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k if sampling.top_k > 0 else -1,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
        "template_arguments": template_arguments(sampling),
        "system_prompt": spec.source.system_prompt,
        "model": sampling.model,
        "max_tokens": sampling.max_tokens,
        "max_prompt_tokens": None,  # prompts are profiled whole
        "group_size": spec.selection.group_size,
    }


def _same(name: str, profiled: Any, trained: Any) -> bool:
    if name == "model":
        return _model_path(profiled) == _model_path(trained)
    if isinstance(profiled, float) and isinstance(trained, float):
        return math.isclose(profiled, trained)
    return bool(profiled == trained)


def _severity(name: str, profiled: Any, trained: Any, origin: Origin) -> Severity:
    """A Hub name and its local copy share the last part: likely one model, so only a warning."""
    if origin != "stated" or name in WARN_ONLY:
        return "warn"
    if name == "model" and _model_path(profiled).name == _model_path(trained).name:
        return "warn"
    return "refuse"


def _model_path(model: str) -> Path:
    return Path(model).expanduser() if model.startswith("~/") else Path(model)


def _warning(each: Difference, config: TrainerConfig) -> str:
    label = _label(each)
    if each.origin == "variable":
        return (
            f"{label} is not compared: {_shown(each, each.trained)} in {config.file} is a "
            f"variable. Check that it is {_shown(each, each.profiled)}"
        )
    if each.origin == "default":
        can_be_stated = each.setting in CONFIGS[config.trainer].keys
        return (
            f"{label} may differ in training: {_shown(each, each.profiled)} here, "
            f"{_shown(each, each.trained)} by {config.trainer}'s default. "
            + (f"State it in {config.file}" if can_be_stated else "It has no setting for it")
        )
    return f"{label} differs in training: {_both(each, config)}. {_advice(each)}"


def _advice(each: Difference) -> str:
    return {
        "max_tokens": "Profile with the trainer's limit (--max-tokens)",
        "max_prompt_tokens": "Longer prompts are profiled whole, but cut or dropped in training",
        "group_size": "Give the trainer's (--group-size)",
        "model": "Check that they are the same weights",
    }[each.setting]


def _label(each: Difference) -> str:
    return LABELS.get(each.setting, each.setting)


def _both(each: Difference, config: TrainerConfig) -> str:
    return f"{_shown(each, each.profiled)} here, {_shown(each, each.trained)} in {config.file}"


def _shown(each: Difference, value: Any) -> str:
    """A value on one line, cut; nested ones with bounded work."""
    if each.setting == "template_arguments" and isinstance(value, dict):
        return config_file.brief(value) if value else "none"
    if value is None or (each.setting == "top_k" and value == -1):
        return "none" if each.setting == "system_prompt" else "no limit"
    text = (
        json.dumps(value, ensure_ascii=False)
        if each.setting == "system_prompt"
        else " ".join(str(value).split())
    )
    return config_file.cut(text)
