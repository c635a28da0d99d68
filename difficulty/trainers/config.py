"""What a trainer will sample with, read from its own config: TRL, verl or ms-swift.

A setting is stated by the file, is the trainer's default, is a variable that the file leaves open,
or is unknown (null). Names, defaults and precedence were read in the sources of TRL 1.16.0, verl
0.9.1 and ms-swift 4.6.0; another release may differ, so a default alone never refuses a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from difficulty.errors import InputError
from difficulty.trainers import config_file

Origin = Literal["stated", "default", "variable", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Setting:
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
    settings: dict[str, Setting]
    """One for each of ``NAMES``."""


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Where a trainer keeps each setting, and what it does without."""

    marks: frozenset[str]
    """Top-level keys that the other trainers do not have."""
    keys: dict[str, tuple[str, ...]]
    """Setting -> dotted keys; the first one stated wins."""
    defaults: dict[str, Any]


NAMES = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "template_arguments",
    "system_prompt", "model", "max_tokens", "max_prompt_tokens", "group_size",
)  # fmt: skip

WHOLE = ("top_k", "max_tokens", "max_prompt_tokens", "group_size")

NULL_MEANS = {"top_k": -1, "top_p": 1.0, "min_p": 0.0, "template_arguments": {}}
"""What a stated null asks for; elsewhere it says nothing."""

# trl/trainer/grpo_config.py (1.16.0); generation_kwargs override the fields of the same name
# (grpo_trainer.py). max_prompt_length is a field of older releases only; there is no limit now.
# system_prompt is no field of GRPOConfig: scripts built on it read it from the same file.
TRL = Trainer(
    marks=frozenset({
        "model_name_or_path", "model_init_kwargs", "dataset_name", "dataset_config",
        "dataset_train_split", "chat_template_kwargs", "generation_kwargs", "max_prompt_length",
        "system_prompt", "use_peft", "lora_r", "lora_target_modules", "attn_implementation",
        "vllm_max_model_length", "mask_truncated_completions",
    }),
    keys={
        "temperature": ("generation_kwargs.temperature", "temperature"),
        "top_p": ("generation_kwargs.top_p", "top_p"),
        "top_k": ("generation_kwargs.top_k", "top_k"),
        "min_p": ("generation_kwargs.min_p", "min_p"),
        "repetition_penalty": ("generation_kwargs.repetition_penalty", "repetition_penalty"),
        "template_arguments": ("chat_template_kwargs",),
        "system_prompt": ("system_prompt",),
        "model": ("model_name_or_path",),
        "max_tokens": (
            "generation_kwargs.max_tokens", "generation_kwargs.max_new_tokens",
            "max_completion_length",
        ),
        "max_prompt_tokens": ("max_prompt_length",),
        "group_size": ("num_generations",),
    },
    defaults={
        "temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
        "template_arguments": {}, "max_tokens": 512, "group_size": 8,
    },
)  # fmt: skip

# verl/trainer/config/{rollout/rollout,data/legacy_data,model/hf_model}.yaml (0.9.1). The agent
# loop sends repetition_penalty 1.0 whatever the config holds (experimental/agent_loop/
# agent_loop.py, trainer/ppo/v1/agent_loop_tq.py) and never min_p, so neither can be stated. The
# rollout's lengths are those of data unless they are set.
VERL = Trainer(
    marks=frozenset({"actor_rollout_ref", "data", "algorithm"}),
    keys={
        "temperature": ("actor_rollout_ref.rollout.temperature",),
        "top_p": ("actor_rollout_ref.rollout.top_p",),
        "top_k": ("actor_rollout_ref.rollout.top_k",),
        "template_arguments": ("data.apply_chat_template_kwargs",),
        "model": ("actor_rollout_ref.model.path",),
        "max_tokens": ("actor_rollout_ref.rollout.response_length", "data.max_response_length"),
        "max_prompt_tokens": (
            "actor_rollout_ref.rollout.prompt_length", "data.max_prompt_length",
        ),
        "group_size": ("actor_rollout_ref.rollout.n",),
    },
    defaults={
        "temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
        "template_arguments": {}, "model": "~/models/deepseek-llm-7b-chat", "max_tokens": 512,
        "max_prompt_tokens": 512, "group_size": 1,
    },
)  # fmt: skip

# swift/arguments/rlhf_args.py (temperature, lengths, group) and swift/rlhf_trainers/args_mixin.py
# (top_k, top_p, min_p, repetition_penalty) of 4.6.0. max_length bounds the prompt in GRPO
# (base_args/template_args.py). Its system prompt and thinking mode default by the model's
# template, so they stay unknown.
SWIFT = Trainer(
    marks=frozenset({
        "rlhf_type", "model", "dataset", "tuner_type", "train_type", "template", "system",
        "truncation_strategy", "enable_thinking", "split_dataset_ratio", "external_plugins",
        "attn_impl", "load_from_cache_file", "dynamic_sample", "max_resample_times", "lora_rank",
        "vllm_max_model_len", "overlong_filter",
    }),
    keys={
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "top_k": ("top_k",),
        "min_p": ("min_p",),
        "repetition_penalty": ("repetition_penalty",),
        "template_arguments": ("enable_thinking",),
        "system_prompt": ("system",),
        "model": ("model",),
        "max_tokens": ("response_length", "max_new_tokens", "max_completion_length"),
        "max_prompt_tokens": ("max_length",),
        "group_size": ("num_generations",),
    },
    defaults={
        "temperature": 0.9, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
        "max_tokens": 512, "group_size": 8,
    },
)  # fmt: skip

TRAINERS = {"trl": TRL, "verl": VERL, "ms-swift": SWIFT}


def read_trainer_config(path: Path, *, trainer: str | None = None) -> TrainerConfig:
    """What the trainer of that config samples with.

    Args:
        path: YAML, JSON or hydra override lines.
        trainer: ``trl``, ``verl`` or ``ms-swift``; null: told by the file's keys.

    Raises:
        InputError: not a config, of no trainer known here, or a value of another type.
    """
    values = config_file.read(path)
    name = trainer or detect_trainer(values, file=path.name)
    if name not in TRAINERS:
        raise InputError(f"unknown trainer: {name!r}. Choose one of {', '.join(TRAINERS)}")
    if name == "trl":
        values = _unpacked(values)
    if name == "ms-swift":
        values = _in_swifts_terms(values, beside=path)
    settings = {key: _setting(TRAINERS[name], key, values, path.name) for key in NAMES}
    return TrainerConfig(trainer=name, file=path.name, settings=settings)


def detect_trainer(values: dict[str, Any], *, file: str) -> str:
    """The trainer with the most keys of its own in the file.

    A flat file with a group size and no such key is TRL's: GRPOConfig leaves the model to the
    script, while ms-swift does not train without ``model`` and ``rlhf_type``.

    Raises:
        InputError: no trainer's keys, or as many of two.
    """
    counts = {name: len(each.marks.intersection(values)) for name, each in TRAINERS.items()}
    counts["verl"] = sum(isinstance(values.get(mark), dict) for mark in VERL.marks)
    most = max(counts.values())
    if most == 0 and {"num_generations", "max_completion_length"}.intersection(values):
        return "trl"
    found = [name for name, count in counts.items() if count == most > 0]
    if len(found) != 1:
        raise InputError(
            f"unknown trainer: {file} has the keys of {' and of '.join(found) or 'none'}. "
            f"Give the GRPO config of {', '.join(TRAINERS)}"
        )
    return found[0]


def _unpacked(values: dict[str, Any]) -> dict[str, Any]:
    """TRL's keyword arguments may be written as JSON in a string."""
    packed = {
        key: config_file.parse_value(values[key])
        for key in ("generation_kwargs", "chat_template_kwargs")
        if isinstance(values.get(key), str)
    }
    return {**values, **packed}


def _in_swifts_terms(values: dict[str, Any], *, beside: Path) -> dict[str, Any]:
    """ms-swift's thinking switch as a template argument; its system prompt may name a .txt file."""
    thinking, system = values.get("enable_thinking"), values.get("system")
    changed = dict(values)
    if thinking is None:
        changed.pop("enable_thinking", None)
    else:
        changed["enable_thinking"] = {"enable_thinking": thinking}
    if isinstance(system, str) and system.endswith(".txt"):
        here = Path(system)
        changed["system"] = config_file.read_text(here if here.exists() else beside.parent / here)
    elif isinstance(system, str):
        changed["system"] = system.replace("\\n", "\n")
    return changed


def _setting(trainer: Trainer, name: str, values: dict[str, Any], file: str) -> Setting:
    found = [config_file.find(values, key) for key in trainer.keys.get(name, ())]
    stated = [value for there, value in found if there]
    for value in stated:
        if (value is None and name not in NULL_MEANS) or _is_variable(name, value):
            continue
        return Setting(value=_typed(name, value, file), origin="stated")
    variables = [value for value in stated if value is not None]
    if variables:
        return Setting(value=variables[0], origin="variable")
    if stated or name not in trainer.defaults:
        return Setting()
    return Setting(value=trainer.defaults[name], origin="default")


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
