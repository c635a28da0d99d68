"""TRL's GRPOTrainer: ``prompt`` as messages; every other column goes to the reward functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

KEEP_ORDER = "GRPOConfig(shuffle_dataset=False)"
SETUP = """\
(Without a GPU give `GRPOConfig` also `use_cpu=True, bf16=False`.)

```python
from datasets import load_dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from difficulty.rewards import make_trl_reward

model = "your-model"
config = GRPOConfig(
    num_generations=GROUP_SIZE,
    temperature=TEMPERATURE,
    max_completion_length=MAX_TOKENS,
    shuffle_dataset=False,
)
trainer = GRPOTrainer(
    model=model,
    args=config,
    train_dataset=load_dataset("parquet", data_files="FILE", split="train"),
    reward_funcs=make_trl_reward(
        eos_token_ids=AutoTokenizer.from_pretrained(model).eos_token_id,
        max_completion_length=config.max_completion_length,
    ),
)
trainer.train()
```
"""
OWN_SETUP = """\
```python
# own_reward.py
OWN_REWARD


def rewards(completions, solution, prompts, completion_ids, **columns):
    rows = [
        {name: values[i] for name, values in columns.items() if isinstance(values, list)}
        for i in range(len(completions))
    ]
    texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
    return [own_reward(*each) for each in zip(texts, solution, rows, prompts)]
```

```python
from datasets import load_dataset
from own_reward import rewards
from trl import GRPOConfig, GRPOTrainer

config = GRPOConfig(
    num_generations=GROUP_SIZE,
    temperature=TEMPERATURE,
    max_completion_length=MAX_TOKENS,
    shuffle_dataset=False,
)
trainer = GRPOTrainer(
    model="your-model",
    args=config,
    train_dataset=load_dataset("parquet", data_files="FILE", split="train"),
    reward_funcs=rewards,
)
trainer.train()
```
"""
NATIVE_SETUP = """\
```python
OWN_IMPORTS
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

config = GRPOConfig(
    num_generations=GROUP_SIZE,
    temperature=TEMPERATURE,
    max_completion_length=MAX_TOKENS,
    shuffle_dataset=False,
    reward_weights=[OWN_WEIGHTS],
)
trainer = GRPOTrainer(
    model="your-model",
    args=config,
    train_dataset=load_dataset("parquet", data_files="FILE", split="train"),
    reward_funcs=[OWN_NAMES],
)
trainer.train()
```
"""


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


TRAINER = Trainer(
    name="trl",
    release="TRL 1.16.0",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=KEEP_ORDER,
    setup=SETUP,
    own_setup=OWN_SETUP,
    native_setup=NATIVE_SETUP,
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
