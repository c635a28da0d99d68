"""The rewards of a run's answers, with a length penalty if one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from difficulty import store
from difficulty.levels import UNKNOWN
from difficulty.settings.run import RunSpec
from difficulty.store import RunFolder

if TYPE_CHECKING:
    import numpy as np

    from difficulty.collapse.length import LengthPenalty
    from difficulty.collapse.rewards import Outcomes, RewardTable

MOST_QUESTIONS = 50_000
"""So many questions tell as much as all; their ids are hashes, so the first are like any."""
ANSWERS = f"""
    WITH chosen AS (
        SELECT question_id, row_number() OVER (ORDER BY question_id) - 1 AS number
        FROM rows_of($profile) WHERE num_graded > 0 ORDER BY question_id LIMIT $most)
    SELECT number, g.outcome = 'correct' AS correct, g.reward,
           coalesce(t.finish_reason = 'length', false) AS cut,
           CAST(coalesce(t.num_tokens,
                         CASE WHEN t.finish_reason = 'length' THEN t.max_tokens END) AS DOUBLE)
               AS length
    FROM chosen JOIN rows_of($grades) AS g USING (question_id)
    JOIN rows_of($completions) AS t USING (question_id, sample_index)
    WHERE g.outcome NOT IN ({UNKNOWN}) AND g.reward IS NOT NULL
    ORDER BY number, sample_index
"""
OTHER_REWARDS = f"""
    SELECT count(*) FROM rows_of($grades)
    WHERE outcome NOT IN ({UNKNOWN})
      AND reward IS DISTINCT FROM CAST(outcome = 'correct' AS DOUBLE)
"""


def wants_rewards(run: RunFolder, spec: RunSpec) -> bool:
    """Is there more to the reward than right and wrong, or does the user ask for it?"""
    asked = spec.forecast
    if asked.length_penalty is not None or asked.spread is not None:
        return True
    parameters = {"grades": store.sql_path(run.grades)}
    return bool(store.connect(run).execute(OTHER_REWARDS, parameters).fetchall()[0][0])


def read_rewards(run: RunFolder, penalty: LengthPenalty | None) -> RewardTable:
    """The rewards of a run's graded answers, or why they are not known."""
    parameters = {
        "profile": store.sql_path(run.profile),
        "grades": store.sql_path(run.grades),
        "completions": [store.sql_path(part) for part in run.completion_parts()],
        "most": MOST_QUESTIONS,
    }
    columns: Any = store.connect(run).execute(ANSWERS, parameters).fetchnumpy()
    return reward_table(columns, penalty)


class AnswerColumns(TypedDict):
    """Columns of ``ANSWERS``, an entry a graded answer; masked where a value is unknown."""

    number: np.ma.MaskedArray[Any, Any]
    """Which question it answers."""
    correct: np.ma.MaskedArray[Any, Any]
    reward: np.ma.MaskedArray[Any, Any]
    cut: np.ma.MaskedArray[Any, Any]
    """Was it cut at the token limit?"""
    length: np.ma.MaskedArray[Any, Any]
    """Tokens."""


def reward_table(columns: AnswerColumns, penalty: LengthPenalty | None) -> RewardTable:
    """The rewards of the answers, or why they are not known."""
    import numpy as np

    from difficulty.collapse.rewards import RewardTable

    number, correct = columns["number"], np.asarray(columns["correct"], dtype=np.bool_)
    reward = np.asarray(columns["reward"], dtype=np.float64)
    ties = np.ones(len(reward), np.bool_)
    classes = None
    if penalty is not None:
        length = np.ma.filled(columns["length"].astype(np.float64), np.nan)
        cut = np.asarray(columns["cut"], dtype=np.bool_)
        reason = _unknown_length(length, cut, penalty)
        if reason is not None:
            return RewardTable(
                outcomes=None, length_classes=None, num_answers=len(reward), reason=reason
            )
        kinds = penalty.classes(length, cut)
        classes = {kind: int((kinds == kind).sum()) for kind in ("free", "ramp", "cap")}
        reward, ties = reward + penalty.reward(length), kinds != "ramp"
    return RewardTable(
        outcomes=_outcomes(np.asarray(number), correct, reward, ties),
        length_classes=classes,
        num_answers=len(reward),
        reason=None,
    )


def _unknown_length(
    length: np.ndarray[Any, Any], cut: np.ndarray[Any, Any], penalty: LengthPenalty
) -> str | None:
    import numpy as np

    missing = int(np.isnan(length).sum())
    if missing:
        return f"{missing:,} answers have no length: the server did not count their tokens"
    early = cut & (length < penalty.max_length)
    if early.any():
        limit = int(length[early].max())
        return (
            f"{int(early.sum()):,} answers were cut at {limit:,} tokens, before --max-length "
            f"{penalty.max_length:,}: how long they would be is unknown"
        )
    return None


def _outcomes(
    number: np.ndarray[Any, Any],
    correct: np.ndarray[Any, Any],
    reward: np.ndarray[Any, Any],
    ties: np.ndarray[Any, Any],
) -> Outcomes:
    """A row a question, padded to the most answers that one has."""
    import numpy as np

    from difficulty.collapse.rewards import Outcomes

    _, row, counts = np.unique(number, return_inverse=True, return_counts=True)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(counts), int(counts.max()))
    found = {name: np.zeros(shape, np.bool_) for name in ("correct", "ties")}
    rewards = np.full(shape, np.nan)
    found["correct"][row, place], found["ties"][row, place] = correct, ties
    rewards[row, place] = reward
    return Outcomes(reward=rewards, num_questions=np.ones(len(counts), np.int64), **found)
