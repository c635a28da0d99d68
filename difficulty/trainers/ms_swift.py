"""ms-swift: ``messages`` that end in the user's turn, ``solution`` as text, extras beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
KEEP_ORDER = "--dataset_shuffle false --train_dataloader_shuffle false"
SETUP = """\
```python
# difficulty_plugin.py
from swift.rewards import orms

from difficulty.rewards import GradeORM

orms["difficulty"] = GradeORM
```

```sh
swift rlhf --rlhf_type grpo --model your-model \\
    --dataset FILE --strict true \\
    --external_plugins difficulty_plugin.py --reward_funcs difficulty \\
    --dataset_shuffle false --train_dataloader_shuffle false
```

Without `--strict true` a row that cannot be read is skipped with a warning.
"""
OWN_SETUP = """\
```python
# own_reward.py
OWN_REWARD


from swift.rewards import ORM, orms


class OwnReward(ORM):
    def __call__(self, completions, solution, **columns):
        rows = [
            {name: values[i] for name, values in columns.items() if isinstance(values, list)}
            for i in range(len(completions))
        ]
        return [own_reward(*each) for each in zip(completions, solution, rows)]


orms["own_reward"] = OwnReward
```

```sh
swift rlhf --rlhf_type grpo --model your-model \\
    --dataset FILE --strict true \\
    --external_plugins own_reward.py --reward_funcs own_reward \\
    --dataset_shuffle false --train_dataloader_shuffle false
```
"""


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


TRAINER = Trainer(
    name="ms-swift",
    release="ms-swift 4.6.0",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    setup=SETUP,
    own_setup=OWN_SETUP,
    by_keyword=True,
    reserved=RESERVED,
)
