"""OpenRLHF's PromptDataset: ``input`` as messages, one label column that reaches the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

SETUP = """\
```python
# difficulty_reward.py
from difficulty.rewards import make_openrlhf_reward

reward_func = make_openrlhf_reward(end_tokens="<|im_end|>")  # every token that ends a reply
```

```sh
python -m openrlhf.cli.train_ppo_ray \\
    --data.prompt_dataset FILE --data.input_key input --data.apply_chat_template \\
    --data.label_key grading_key --reward.remote_url difficulty_reward.py \\
    ...
```

Of a plain run leave out `--data.apply_chat_template`. OpenRLHF only logs what a reward function
raises, and goes on without the reward. Its loader of prompts is called with shuffle on, and no
option changes that.
"""
OWN_SETUP = """\
```python
# own_reward.py
OWN_REWARD


import torch


def reward_func(queries, prompts, labels, **more):
    texts = [query[len(prompt) :] for query, prompt in zip(queries, prompts)]
    scores = torch.tensor([own_reward(*each, {}) for each in zip(texts, labels)])
    return {"rewards": scores, "scores": scores.clone(), "extra_logs": {}}
```

```sh
python -m openrlhf.cli.train_ppo_ray \\
    --data.prompt_dataset FILE --data.input_key input --data.apply_chat_template \\
    --data.label_key label --reward.remote_url own_reward.py \\
    ...
```

OpenRLHF hands over the label alone: a function that needs other columns cannot have them. The reply
is decoded with its special tokens: cut off the one that ends it if your function minds.
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file. Of a plain run the input is a text."""
    import pyarrow as pa

    return pa.schema(
        [
            ("input", pa.string() if plain else messages_type()),
            ("label", pa.string()),
            ("datasource", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file. Only one column can be the label: our reward takes the grading key."""
    return {
        "input": item.messages if item.plain_prompt is None else item.plain_prompt,
        "label": item.question.answer,
        "datasource": item.question.source,
        **profile_fields(item),
    }


TRAINER = Trainer(
    name="openrlhf",
    release="OpenRLHF 0.11.2",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=None,
    setup=SETUP,
    own_setup=OWN_SETUP,
    takes_text=True,
    reserved=("images",),
)
