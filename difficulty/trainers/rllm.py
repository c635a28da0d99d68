"""rLLM: ``question``, ``ground_truth`` and ``id``; flat, since it reads the file with pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import (
    TrainingRow,
    profile_fields,
    profile_types,
    the_one_user_turn,
)
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "data.shuffle=False"
SETUP = """\
```python
# difficulty_reward.py: the reward_function of your workflow or environment
from rllm.rewards.reward_types import RewardOutput

from difficulty.rewards import reward


def reward_fn(task_info, action):
    found = reward(action, task_info["grading_key"])
    return RewardOutput(
        reward=found or 0.0, is_correct=found == 1.0, metadata={"unknown": found is None}
    )
```

```python
from rllm.data.dataset import Dataset

train_dataset = Dataset.load_data("FILE")
```
"""
OWN_SETUP = """\
```python
# own_reward.py: the reward_function of your workflow or environment
OWN_REWARD


from rllm.rewards.reward_types import RewardOutput


def reward_fn(task_info, action):
    columns = {"source": task_info["data_source"], **task_info}
    found = own_reward(action, task_info["ground_truth"], columns)
    return RewardOutput(reward=found, is_correct=found >= OWN_THRESHOLD, metadata={})
```

```python
from rllm.data.dataset import Dataset

train_dataset = Dataset.load_data("FILE")
```
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. Nested ones would arrive as numpy arrays."""
    import pyarrow as pa

    return pa.schema(
        [
            ("id", pa.string()),
            ("question", pa.string()),
            ("ground_truth", pa.string()),
            ("data_source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file.

    Raises:
        SettingsError: a system prompt or worked examples stand before the question.
    """
    return {
        "id": item.question.question_id,
        "question": the_one_user_turn(item, "rllm"),
        "ground_truth": item.question.answer,
        "data_source": item.question.source,
        **profile_fields(item),
    }


TRAINER = Trainer(
    name="rllm",
    release="rLLM of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    one_turn=True,
    setup=SETUP,
    own_setup=OWN_SETUP,
    flat=True,
    reserved=("task_path", "instruction"),
)
