"""slime: ``input`` as messages, ``label`` as text, the rest in ``metadata``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "no --rollout-shuffle, which is the default"
SETUP = """\
```python
# difficulty_reward.py
from difficulty.rewards import reward


async def reward_func(args, sample, **kwargs):
    end = "length" if sample.status == sample.Status.TRUNCATED else "stop"
    return reward(sample.response, sample.metadata["grading_key"], finish_reason=end) or 0.0
```

```sh
--prompt-data FILE --input-key input --label-key label --metadata-key metadata \\
--apply-chat-template --custom-rm-path difficulty_reward.reward_func
```

Of a plain run leave out `--apply-chat-template`. An answer that cannot be judged counts as 0 here.
"""
OWN_SETUP = """\
```python
# own_reward.py
OWN_REWARD


async def reward_func(args, sample, **kwargs):
    return own_reward(sample.response, sample.label, sample.metadata)
```

```sh
--prompt-data FILE --input-key input --label-key label --metadata-key metadata \\
--apply-chat-template --custom-rm-path own_reward.reward_func
```
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file. Of a plain run the input is a text."""
    import pyarrow as pa

    return pa.schema(
        [
            ("input", pa.string() if plain else messages_type()),
            ("label", pa.string()),
            ("metadata", pa.struct([("source", pa.string()), *profile_types()])),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "input": item.messages if item.plain_prompt is None else item.plain_prompt,
        "label": item.question.answer,
        "metadata": {"source": item.question.source, **profile_fields(item)},
    }


TRAINER = Trainer(
    name="slime",
    release="slime of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    setup=SETUP,
    own_setup=OWN_SETUP,
    takes_text=True,
    extras_in="metadata",
)
