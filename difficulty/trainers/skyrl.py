"""SkyRL's PromptDataset: ``prompt``, the environment's name, and its extras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

ENVIRONMENT = "difficulty"
"""The id under which the environment below is registered."""
SETUP = """\
```python
# difficulty_env.py: import it where the trainer starts, in the Ray task that runs it
from skyrl_gym import register
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from difficulty.rewards import reward


class DifficultyEnv(BaseTextEnv):
    def __init__(self, env_config=None, extras=None):
        super().__init__()
        self.grading_key = extras["extra_info"]["grading_key"]

    def step(self, action):
        found = reward(action, self.grading_key)
        metadata = {"unknown": found is None}
        return BaseTextEnvStepOutput(
            observations=[], reward=found or 0.0, done=True, metadata=metadata
        )


register(id="difficulty", entry_point=DifficultyEnv)
```

```sh
data.train_data="['FILE']" environment.env_class=difficulty
```

SkyRL does not tell an environment whether a reply was cut. It drops prompts longer than
`trainer.max_prompt_length`, and its training loader always shuffles.
"""
OWN_SETUP = """\
```python
# own_reward.py: import it where the trainer starts, in the Ray task that runs it
OWN_REWARD


from skyrl_gym import register
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput


class OwnEnv(BaseTextEnv):
    def __init__(self, env_config=None, extras=None):
        super().__init__()
        self.gold = extras["reward_spec"]["ground_truth"]
        self.columns = {"source": extras["data_source"], **extras["extra_info"]}

    def step(self, action):
        found = own_reward(action, self.gold, self.columns)
        return BaseTextEnvStepOutput(observations=[], reward=found, done=True, metadata={})


register(id="difficulty", entry_point=OwnEnv)
```

```sh
data.train_data="['FILE']" environment.env_class=difficulty
```
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. All but prompt and env_class are the extras."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", messages_type()),
            ("env_class", text),
            ("reward_spec", pa.struct([("method", text), ("ground_truth", text)])),
            ("extra_info", pa.struct([("split", text), ("index", pa.int64()), *profile_types()])),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file."""
    return {
        "data_source": item.question.source,
        "prompt": item.messages,
        "env_class": ENVIRONMENT,
        "reward_spec": {"method": "rule", "ground_truth": item.question.answer},
        "extra_info": {"split": item.split, "index": item.position, **profile_fields(item)},
    }


TRAINER = Trainer(
    name="skyrl",
    release="SkyRL 0.3.0",
    loader_ran=True,
    schema=schema,
    row=row,
    keep_order=None,
    setup=SETUP,
    own_setup=OWN_SETUP,
    extras_in="extra_info",
)
