"""ms-swift: ``messages`` that end in the user's turn, ``solution`` as text, extras beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty.trainers import config_file
from difficulty.trainers.config_keys import ConfigKeys
from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

RESERVED = (
    "system", "system_prompt", "tools", "objects", "images", "image", "videos", "video", "audios",
    "audio", "query", "response", "history", "prompt", "prompts", "completions", "completion_ids",
    "label", "channel", "margin", "chat_template_kwargs", "trainer_state",
)  # fmt: skip
"""Columns that change what it makes of a row; any other name is free beside ``messages``."""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not: without ``messages`` other columns become turns."""
    import pyarrow as pa

    return pa.schema(
        [
            ("messages", messages_type()),
            ("solution", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "messages": item.messages,
        "solution": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


EXPORT = Exporter(
    name="ms-swift",
    release="ms-swift 4.6.0",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order="--dataset_shuffle false --train_dataloader_shuffle false",
    reward="difficulty.rewards.GradeORM",
    by_keyword=True,
    reserved=RESERVED,
)

FORECAST = Resampling(
    name="ms-swift",
    kind="rounds",
    switch="--dynamic_sample true",
    max_rounds=3,
    rounds_name="max_resample_times",
    redraw="resamples",
    wasted=1,
    reading="after_sampling",
    metric="frac_reward_zero_std",
    metric_says="read after dynamic sampling: 0 in a step that filled, the first batch's "
    "raw collapse rate in one that did not; 0 does not say that nothing collapsed",
    at_limit="trains on the step's first batch as it is, collapsed groups included, after "
    "generating one more batch that is never looked at",
)
ON_RAY = Resampling(
    name="ms-swift-ray",
    kind="rounds",
    switch=FORECAST.switch,
    max_rounds=4,
    rounds_name="max_resample_times + 1",
    reading="after_sampling",
    metric=FORECAST.metric,
    metric_says=FORECAST.metric_says,
    at_limit="trains on the step's first batch as it is, collapsed groups included",
)
"""The trainer in ``swift/ray/megatron`` of that release."""


def _in_our_terms(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Its thinking switch as a template argument; its system prompt may name a .txt file."""
    thinking, system = values.get("enable_thinking"), values.get("system")
    changed = dict(values)
    if thinking is None:
        changed.pop("enable_thinking", None)
    else:
        changed["enable_thinking"] = {"enable_thinking": thinking}
    if isinstance(system, str) and system.endswith(".txt"):
        here = Path(system)
        changed["system"] = config_file.read_text(here if here.exists() else path.parent / here)
    elif isinstance(system, str):
        changed["system"] = system.replace("\\n", "\n")
    return changed


# swift/arguments/rlhf_args.py (temperature, lengths, group) and swift/rlhf_trainers/args_mixin.py
# (top_k, top_p, min_p, repetition_penalty) of 4.6.0. max_length bounds the prompt in GRPO
# (base_args/template_args.py). Its system prompt and thinking mode default by the model's
# template, so they stay unknown.
LIKE = ConfigKeys(
    marks=frozenset({
        "rlhf_type", "model", "dataset", "tuner_type", "train_type", "template", "system",
        "truncation_strategy", "enable_thinking", "split_dataset_ratio", "external_plugins",
        "attn_impl", "load_from_cache_file", "dynamic_sample", "max_resample_times", "lora_rank",
        "vllm_max_model_len", "overlong_filter",
    }),
    translate=_in_our_terms,
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

TRAINERS = (
    Trainer(name="ms-swift", place=3, export=EXPORT, forecast=FORECAST, like=LIKE),
    Trainer(name="ms-swift-ray", place=3, forecast=ON_RAY),
)
