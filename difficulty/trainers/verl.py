"""verl's RLHFDataset: reward_model.ground_truth is always text; the rest travels in extra_info."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.config_keys import ConfigKeys
from difficulty.trainers.exporter import Exporter, Native
from difficulty.trainers.resampling import NEVER_FAILS, Resampling
from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. raw_prompt, index, uid are verl's."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", messages_type()),
            ("ability", text),
            ("reward_model", pa.struct([("style", text), ("ground_truth", text)])),
            ("extra_info", pa.struct([("split", text), ("index", pa.int64()), *profile_types()])),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "data_source": item.question.source,
        "prompt": item.messages,
        "ability": item.question.kind,
        "reward_model": {"style": "rule", "ground_truth": item.question.answer},
        "extra_info": {"split": item.split, "index": item.position, **profile_fields(item)},
    }


EXPORT = Exporter(
    name="verl",
    release="verl 0.9.1",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order="data.shuffle=False",
    reward="difficulty.rewards.compute_score",
    native=Native(style="verl"),
    extras_in="extra_info",
    reserved=(
        "tools_kwargs",
        "interaction_kwargs",
        "need_tools_kwargs",
        "num_turns",
        "rollout_reward_scores",
    ),
)

FORECAST = Resampling(
    name="verl",
    kind="rounds",
    switch="algorithm.filter_groups.enable=True",
    max_rounds=10,
    rounds_name="algorithm.filter_groups.max_num_gen_batches (0: no limit)",
    zero_is_no_limit=True,
    train_groups=512,
    batch_ratio=3,
    own_batches=True,
    stops=True,
    tests="accuracy",
    reading="batches",
    metric="train/num_gen_batches",
    metric_says="generation batches a step; rises as more groups collapse",
    at_limit="raises ValueError: the run ends (recipe of verl up to 0.7; verl-v1 has no limit)",
)
V1 = Resampling(
    name="verl-v1",
    kind="replace",
    switch="algorithm.filter_groups.enable=True, with algorithm.filter_groups.metric",
    reading="rejected",
    metric="training/filter_groups/evicted_samples",
    metric_says="groups thrown away a step for equal rewards",
    at_limit=f"{NEVER_FAILS}, two groups for each rejected one; those still running then "
    "are finished and thrown away (up to a batch more). Tests the reward's sum unless "
    "filter_groups.metric is acc",
)
"""The trainer in ``verl/trainer/ppo/v1`` of that release."""

# verl/trainer/config/{rollout/rollout,data/legacy_data,model/hf_model}.yaml (0.9.1). The agent
# loop sends repetition_penalty 1.0 whatever the config holds (experimental/agent_loop/
# agent_loop.py, trainer/ppo/v1/agent_loop_tq.py) and never min_p, so neither can be stated. The
# rollout's lengths are those of data unless they are set.
LIKE = ConfigKeys(
    marks=frozenset({"actor_rollout_ref", "data", "algorithm"}),
    marks_are_sections=True,
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

TRAINERS = (
    Trainer(name="verl", place=2, export=EXPORT, forecast=FORECAST, like=LIKE),
    Trainer(name="verl-v1", place=2, forecast=V1),
)
