"""Settings of a forecast beyond counts and group size: the training run that it is for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from difficulty.settings.setting import Setting

Redraw = Literal["fresh", "resamples", "all"]
LengthPenaltyName = Literal["soft_overlong"]


@dataclass(frozen=True, kw_only=True)
class ForecastSpec:
    """For which trainer, and under which reward. Null: the trainer's default, or not asked for."""

    trainer: Annotated[
        str | None,
        Setting(
            "Say whether this trainer's steps fill: {resamplings}; none takes it back.",
            metavar="NAME",
            takes_back="none",
        ),
    ] = None
    train_groups: Annotated[
        int | None, Setting("Usable groups a step trains on.", unset="96; verl 512", least=1)
    ] = None
    gen_groups: Annotated[
        int | None,
        Setting("Groups in a generation batch.", unset="as trained on; verl three times", least=1),
    ] = None
    max_rounds: Annotated[
        int | None,
        Setting("Generation batches that a step looks at.", unset="the trainer's own"),
    ] = None
    steps: Annotated[int | None, Setting("Steps of the run.", unset="100", least=1)] = None
    redraw: Annotated[
        Redraw | None,
        Setting(
            "Which batches of a step hold the same questions: none, all but the first, or all.",
            unset="ms-swift resamples, else fresh",
        ),
    ] = None
    length_penalty: Annotated[
        LengthPenaltyName | None,
        Setting(
            "On top of correctness, as the trainer has it; none takes it back.",
            label="length penalty",
            takes_back="none",
        ),
    ] = None
    max_length: Annotated[
        int | None, Setting("Tokens of the longest answer, for the length penalty.")
    ] = None
    buffer: Annotated[
        int | None, Setting("Tokens before --max-length over which the penalty grows.")
    ] = None
    penalty_weight: Annotated[
        float | None, Setting("Weight of the penalty in the reward.", unset="1.0")
    ] = None
    spread: Annotated[
        float | None,
        Setting(
            "Also say how many groups have rewards with a smaller deviation than this.",
            above=0,
            below=math.inf,
            advice="Use a number above 0",
        ),
    ] = None
    """Standard deviation of a group's rewards below which it is said to teach nothing."""


TRAINER_KEYS = ("train_groups", "gen_groups", "max_rounds", "steps", "redraw")
"""What belongs to a trainer: another one starts with its own defaults."""
PENALTY_KEYS = ("max_length", "buffer", "penalty_weight")
"""What belongs to a length penalty."""
