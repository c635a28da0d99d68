"""AReaL: ``messages`` and ``answer`` in a folder as ``datasets`` saves it, extras to the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "train_dataset.shuffle=false"
DATA = """\
```yaml
train_dataset:
  path: FOLDER
  type: rl
  shuffle: false
```
"""
SETUP = f"""{DATA}
```python
# difficulty_reward.py: give RLVRWorkflow reward_fn="difficulty_reward.reward_fn"
# and every token that ends a reply of your model
import functools

from difficulty.rewards import areal_reward

reward_fn = functools.partial(areal_reward, end_tokens="<|im_end|>")
```

AReaL has loaders of its own for paths that contain gsm8k, clevr_count_70k, geometry3k, virl39k,
hh-rlhf or torl_data: keep these out of the folder's path.
"""
OWN_SETUP = f"""{DATA}
```python
# own_reward.py: give RLVRWorkflow reward_fn="own_reward.reward_fn"
OWN_REWARD


def reward_fn(prompt, completions, prompt_ids, completion_ids, answer, **columns):
    return own_reward(completions, answer, columns, prompt)
```

The reply is decoded with its special tokens: cut off the one that ends it if your function minds.
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns, plain run or not. prompt, completions and their ids are AReaL's own arguments."""
    import pyarrow as pa

    return pa.schema(
        [
            ("messages", messages_type()),
            ("answer", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "messages": item.messages,
        "answer": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


TRAINER = Trainer(
    name="areal",
    release="AReaL 1.0.4",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    setup=SETUP,
    own_setup=OWN_SETUP,
    reads_folder=True,
    by_keyword=True,
    reserved=("prompt", "completions", "prompt_ids", "completion_ids", "images"),
)
