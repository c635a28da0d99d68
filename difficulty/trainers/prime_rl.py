"""prime-rl, which trains in environments of verifiers: its files are those of that trainer."""

from __future__ import annotations

from difficulty.trainers.resampling import NEVER_FAILS, Resampling
from difficulty.trainers.trainer import Trainer

FORECAST = Resampling(
    name="prime-rl",
    kind="replace",
    switch='pre_batch_filters with type = "zero_advantage", enforce = true',
    at_limit=f"{NEVER_FAILS}; 10 batches in a row without one usable group end the run",
)

TRAINERS = (Trainer(name="prime-rl", place=5, forecast=FORECAST),)
