"""open-instruct: ``messages`` whose last turn it cuts off, ``ground_truth``, a verifier's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow, messages_type, profile_fields, profile_types
from difficulty.trainers.trainer import Trainer

if TYPE_CHECKING:
    import pyarrow as pa

VERIFIER = "difficulty"
"""The name of the verifier below: ``dataset`` names the verifier of a row, not its source."""
SETUP = """\
```python
# difficulty_verifier.py: import it before the trainer builds its verifiers
from difficulty.rewards import reward
from open_instruct.ground_truth_utils import VerificationResult, VerifierFunction


class DifficultyVerifier(VerifierFunction):
    def __init__(self, verifier_config=None):
        super().__init__("difficulty", weight=1.0, verifier_config=verifier_config)

    def __call__(self, tokenized_prediction, prediction, label, query=None, rollout_state=None):
        return VerificationResult(score=reward(prediction, label) or 0.0)
```

```sh
--dataset_mixer_list FILE 1.0 --dataset_mixer_list_splits train \\
--ground_truths_key ground_truth --apply_verifiable_reward true
```

The prompt is all of `messages` but the last turn, which is the gold: nothing learns from it. Its
loader shuffles with the run's seed, and an answer that cannot be judged counts as 0.
"""
OWN_SETUP = """\
```python
# own_reward.py: import it before the trainer builds its verifiers
OWN_REWARD


from difficulty.grading.key import question_from_key
from open_instruct.ground_truth_utils import VerificationResult, VerifierFunction


class OwnVerifier(VerifierFunction):
    def __init__(self, verifier_config=None):
        super().__init__("difficulty", weight=1.0, verifier_config=verifier_config)

    def __call__(self, tokenized_prediction, prediction, label, query=None, rollout_state=None):
        gold = question_from_key(label).answer
        return VerificationResult(score=own_reward(prediction, gold, {"grading_key": label}))
```

```sh
--dataset_mixer_list FILE 1.0 --dataset_mixer_list_splits train \\
--ground_truths_key ground_truth --apply_verifiable_reward true
```

The verifier gets the grading key alone: a function that needs other columns cannot have them.
"""


def schema(*, plain: bool = False) -> pa.Schema:
    """Columns of the file, plain run or not. input_ids_prompt and labels are the trainer's."""
    import pyarrow as pa

    return pa.schema(
        [
            ("messages", messages_type()),
            ("ground_truth", pa.string()),
            ("dataset", pa.string()),
            ("source", pa.string()),
            *profile_types(),
        ]
    )


def row(item: TrainingRow) -> dict[str, Any]:
    """One row of the file. What the verifier gets as label is the grading key."""
    return {
        "messages": [*item.messages, {"role": "assistant", "content": item.question.answer}],
        "ground_truth": item.grading_key,
        "dataset": VERIFIER,
        "source": item.question.source,
        **profile_fields(item),
    }


TRAINER = Trainer(
    name="open-instruct",
    release="open-instruct of August 2026",
    loader_ran=False,
    schema=schema,
    row=row,
    keep_order=None,
    setup=SETUP,
    own_setup=OWN_SETUP,
    reserved=("input_ids", "input_ids_prompt", "labels", "attention_mask"),
)
