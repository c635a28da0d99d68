"""The settings of a forecast beyond counts and group size: the training run that it is for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ForecastSpec:
    """For which trainer, and under which reward. Null: the trainer's default, or not asked for."""

    trainer: str | None = None
    train_groups: int | None = None
    """Usable groups that a step trains on."""
    gen_groups: int | None = None
    """Groups in a generation batch."""
    max_rounds: int | None = None
    """Generation batches that a step looks at."""
    steps: int | None = None
    redraw: str | None = None
    """Which batches of a step hold the same questions: ``fresh``, ``resamples`` or ``all``."""
    length_penalty: str | None = None
    """``soft_overlong``, or null for none."""
    max_length: int | None = None
    """Tokens of the longest answer, L."""
    buffer: int | None = None
    """Tokens before it over which the penalty rises, N."""
    penalty_weight: float | None = None
    """What the penalty is multiplied with in the sum."""
    spread: float | None = None
    """Standard deviation of a group's rewards below which it is said to teach nothing."""


TRAINER_KEYS = ("train_groups", "gen_groups", "max_rounds", "steps", "redraw")
"""What belongs to a trainer: another one starts with its own defaults."""
PENALTY_KEYS = ("max_length", "buffer", "penalty_weight")
"""What belongs to a length penalty."""
