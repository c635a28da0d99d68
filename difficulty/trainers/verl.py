"""verl's RLHFDataset: reward_model.ground_truth is always text; the rest travels in extra_info."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "data.shuffle=False"
SETUP = """\
```sh
python -m verl.trainer.main_ppo \\
    data.train_files=FILE data.shuffle=False \\
    reward.custom_reward_function.path=pkg://difficulty.rewards \\
    reward.custom_reward_function.name=compute_score \\
    ...
```

Over-long prompts are dropped without a word where `data.filter_overlong_prompts` is on: set
`data.max_prompt_length` to what the longest prompt needs. verl does not say whether a reply was
cut.
"""
OWN_SETUP = """\
```python
# own_reward.py
OWN_REWARD


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **more):
    columns = {"source": data_source, **(extra_info or {})}
    return own_reward(solution_str, ground_truth, columns)
```

```sh
python -m verl.trainer.main_ppo \\
    data.train_files=FILE data.shuffle=False \\
    reward.custom_reward_function.path=own_reward.py \\
    reward.custom_reward_function.name=compute_score \\
    ...
```
"""
NATIVE_SETUP = """\
```sh
python -m verl.trainer.main_ppo \\
    data.train_files=FILE data.shuffle=False \\
    reward.custom_reward_function.path=OWN_PATH \\
    reward.custom_reward_function.name=OWN_NAMES \\
    ...
```
"""


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


TRAINER = Trainer(
    name="verl",
    release="verl 0.9.1",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    setup=SETUP,
    own_setup=OWN_SETUP,
    native_setup=NATIVE_SETUP,
    extras_in="extra_info",
    reserved=(
        "tools_kwargs",
        "interaction_kwargs",
        "need_tools_kwargs",
        "num_turns",
        "rollout_reward_scores",
    ),
)
