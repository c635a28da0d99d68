"""verifiers up to 0.3: ``prompt`` as messages, ``answer``, and ``info`` as a JSON text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "get_dataset() without a seed"
SETUP = """\
```python
# difficulty_env.py: an environment of verifiers 0.3, as prime-rl loads it
import verifiers as vf
from datasets import load_dataset

from difficulty.rewards import verifiers_reward


def load_environment() -> vf.Environment:
    rows = load_dataset("parquet", data_files="FILE", split="train")
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[verifiers_reward]))
```

verifiers only logs what a reward function raises, and counts it as 0. Releases from 0.4 have no
dataset environments: pin `verifiers<0.4`.
"""
OWN_SETUP = """\
```python
# own_reward.py
OWN_REWARD


import verifiers as vf
from datasets import load_dataset


def own(completion, answer, info, **more):
    return own_reward(completion[-1]["content"], answer, info)


def load_environment() -> vf.Environment:
    rows = load_dataset("parquet", data_files="FILE", split="train")
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[own]))
```
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. ``task`` and ``env_id`` are the library's."""
    import pyarrow as pa

    return pa.schema(
        [
            ("prompt", messages_type()),
            ("answer", pa.string()),
            ("info", pa.string()),
            ("example_id", pa.int64()),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file. ``info`` reaches the reward functions, decoded."""
    info = {"source": item.question.source, **profile_fields(item)}
    return {
        "prompt": item.messages,
        "answer": item.question.answer,
        "info": json.dumps(info, ensure_ascii=False),
        "example_id": item.position,
    }


TRAINER = Trainer(
    name="verifiers",
    release="verifiers 0.3.1",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    setup=SETUP,
    own_setup=OWN_SETUP,
    extras_in="info",
    extras_as_json=True,
)
