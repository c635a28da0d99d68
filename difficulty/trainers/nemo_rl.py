"""NeMo-RL's ResponseDataset: ``input`` and ``output`` as texts, one user turn a question."""

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

KEEP_ORDER = "data.shuffle=false"
SETUP = """\
```yaml
data:
  shuffle: false
  train:
    dataset_name: ResponseDataset
    data_path: FILE
    input_key: input
    output_key: grading_key
```

The key then reaches your environment as `ground_truth`: an `EnvironmentInterface` whose `step`
calls `difficulty.rewards.reward(reply, ground_truth)`. With `output_key: output` it is the gold as
text, and a grader of NeMo-RL's own decides, which is not the profile's.
"""
OWN_SETUP = """\
```python
# own_reward.py: call it in the step of your EnvironmentInterface, as own_reward(reply, gold, {})
OWN_REWARD
```

```yaml
data:
  shuffle: false
  train:
    dataset_name: ResponseDataset
    data_path: FILE
    input_key: input
    output_key: output
```

The gold reaches your environment as `ground_truth`, and no other column does.
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. A column ``messages`` would change how it is read."""
    import pyarrow as pa

    return pa.schema(
        [
            ("input", pa.string()),
            ("output", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file.

    Raises:
        SettingsError: a system prompt or worked examples stand before the question.
    """
    return {
        "input": the_one_user_turn(item, "nemo-rl"),
        "output": item.question.answer,
        "source": item.question.source,
        **profile_fields(item),
    }


TRAINER = Trainer(
    name="nemo-rl",
    release="NeMo-RL of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    one_turn=True,
    setup=SETUP,
    own_setup=OWN_SETUP,
    reserved=("messages", "task_name"),
)
