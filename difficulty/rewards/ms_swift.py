"""ms-swift's outcome reward: one call a batch, dataset columns as keyword arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from difficulty.rewards.reply import Reply, Rewards, reward, text_of


class GradeORM:
    """Reward for ms-swift: ``orms["difficulty"] = GradeORM`` in a file of ``--external_plugins``.

    ms-swift asks for no base class. It says how each reply ended. It takes None, but counts it as
    0 in the sum of the reward functions (except with ``--scale_rewards gdpo``).
    """

    def __init__(self, args: object = None, **_settings: Any) -> None:
        self.args = args

    def __call__(
        self,
        completions: Sequence[Reply],
        grading_key: Sequence[str],
        finish_reason: Sequence[str | None] | None = None,
        **_columns: Any,
    ) -> Rewards:
        """One reward a reply, null if unknown.

        Raises:
            InputError: not a grading key.
        """
        reasons = finish_reason or ["stop"] * len(completions)
        rows = zip(completions, grading_key, reasons, strict=True)
        return [reward(text_of(reply), key, finish_reason=end) for reply, key, end in rows]
