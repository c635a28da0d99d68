"""TRL's GRPOTrainer: ``prompt`` as messages; every other column goes to the reward functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty.trainers import config_file
from difficulty.trainers.config_keys import ConfigKeys
from difficulty.trainers.exporter import Exporter, Native
from difficulty.trainers.resampling import Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file. None may be named prompts, completions or trainer_state.

    Of a plain run the prompt is a text, which TRL does not template.
    """
    import pyarrow as pa

    return pa.schema(
        [
            ("prompt", pa.string() if plain else messages_type()),
            ("solution", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "prompt": item.messages if item.plain_prompt is None else item.plain_prompt,
        "solution": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="trl",
    release="TRL 1.16.0",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order="GRPOConfig(shuffle_dataset=False)",
    reward="difficulty.rewards.make_trl_reward",
    native=Native(style="trl", several=True, classes=True, builtin="trl_reward"),
    takes_text=True,
    by_keyword=True,
    reserved=(
        "prompts",
        "completion",
        "completions",
        "completion_ids",
        "image",
        "images",
        "environments",
        "environment",
        "trainer_state",
        "log_extra",
        "log_metric",
    ),
)

FORECAST = Resampling(
    name="trl",
    kind="once",
    switch=None,
    reading="raw",
    floored=True,
    metric="frac_reward_zero_std",
    metric_says='the raw collapse rate with scale_rewards "group" or "none"; with "batch" '
    "it is 0 or 1",
    at_limit="has no dynamic sampling: trains on every group, and collapsed ones teach nothing",
)


def _unpacked(values: dict[str, Any], _path: Path) -> dict[str, Any]:
    """Its keyword arguments may be written as JSON in a string."""
    packed = {
        key: config_file.parse_value(values[key])
        for key in ("generation_kwargs", "chat_template_kwargs")
        if isinstance(values.get(key), str)
    }
    return {**values, **packed}


# trl/trainer/grpo_config.py (1.16.0); generation_kwargs override the fields of the same name
# (grpo_trainer.py). max_prompt_length is a field of older releases only; there is no limit now.
# system_prompt is no field of GRPOConfig: scripts built on it read it from the same file. A flat
# file with a group size and no mark is TRL's: GRPOConfig leaves the model to the script, while
# ms-swift does not train without model and rlhf_type.
LIKE = ConfigKeys(
    marks=frozenset({
        "model_name_or_path", "model_init_kwargs", "dataset_name", "dataset_config",
        "dataset_train_split", "chat_template_kwargs", "generation_kwargs", "max_prompt_length",
        "system_prompt", "use_peft", "lora_r", "lora_target_modules", "attn_implementation",
        "vllm_max_model_length", "mask_truncated_completions",
    }),
    last_marks=frozenset({"num_generations", "max_completion_length"}),
    translate=_unpacked,
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

TRAINERS = (Trainer(name="trl", place=1, export=EXPORT, forecast=FORECAST, like=LIKE),)
