"""The whole forecast: what is computed, written to forecast.json and printed.

Null says that a figure is unknown or was not asked for; the reason stands beside it or among the
warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from difficulty.collapse.drift import Drift
from difficulty.collapse.estimate import Estimate
from difficulty.collapse.length import LengthPenalty
from difficulty.collapse.missing import MissingRange
from difficulty.collapse.mixture import Fit
from difficulty.collapse.outlook import Outlook
from difficulty.collapse.planner import SamplingPlan
from difficulty.collapse.safety import SafeKeep

SetName = Literal["pool", "kept"]
"""All profiled questions, and those that the filter keeps; a set without questions has no entry."""
Tested = Literal["sum", "accuracy"]
"""Whose spread decides about a group: the sum of all rewards, or correctness alone."""


@dataclass(frozen=True, kw_only=True)
class SetRates:
    """An ``Estimate`` of one set; every rate is null where nothing could be estimated."""

    acr: float | None
    low: float | None
    high: float | None
    identified_low: float | None
    identified_high: float | None
    plug_in: float | None
    num_questions: int
    """Of the kept set as many as the selection keeps, quotas and caps included."""
    method: str | None


@dataclass(frozen=True, kw_only=True)
class Law:
    """What else the fitted law of pass rates says."""

    by_source: Mapping[str, Estimate]
    """Pool of each source, from its own law; empty when there is only one source."""
    exact: Mapping[int, float]
    """Unbiased pool rate by group size, for each that k allows; empty when k is mixed."""
    beta: tuple[float, float]
    """(a, b) of the Beta law that the mixture is drawn towards."""
    fit: Fit
    plans: tuple[SamplingPlan, ...]
    """Identified width of the kept set at the present and at greater k; empty without one."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Groups whose rewards hardly differ."""

    threshold: float
    """Standard deviation of a group's rewards."""
    shares: Mapping[SetName, float | None]
    """Groups below it, 0 to 1; null for a set without such answers."""


@dataclass(frozen=True, kw_only=True)
class RewardRates:
    """Collapse by the whole reward beside collapse by correctness alone."""

    penalty: LengthPenalty | None
    num_answers: int
    length_classes: Mapping[str, int] | None
    """Answers that are ``free``, on the ``ramp`` or at the ``cap``; null without a penalty."""
    num_values: int | None
    """Values that answers share; null with ``reason``."""
    correctness: Mapping[SetName, float]
    """Collapse rate by correctness alone."""
    sum: Mapping[SetName, Estimate] | None
    """Collapse rate by the whole reward; null with ``reason``."""
    dirichlet: float | None
    """Pool rate under one Dirichlet law, for comparison."""
    trainer_tests: Tested | None
    """Null without a trainer."""
    spread: Spread | None
    """Null unless asked for."""
    reason: str | None
    """Why the rewards are not known; null if they are."""


@dataclass(frozen=True, kw_only=True)
class Drifts:
    """How each set's collapse rate moves as the model learns; null for a set without questions."""

    pool: Drift | None
    kept: Drift | None


@dataclass(frozen=True, kw_only=True)
class Safe:
    """What would make all steps fill."""

    target: float
    """Chance that they do from which on a run is called safe."""
    keep: SafeKeep | None
    """Widest range of levels; null if none does."""
    max_rounds: Mapping[SetName, int | None] | None
    """Fewest batches a step; null for a set if as many as were looked at do not suffice."""
    group_size: Mapping[SetName, int | None] | None
    """Fewest answers a group, likewise."""
    reason: str | None
    """Why the question does not arise with this trainer; null if it does."""


@dataclass(frozen=True, kw_only=True)
class TrainerAnswer:
    """What a trainer makes of both sets."""

    name: str
    at_limit: str
    """What it does when its batches are used up."""
    metric: str | None
    """Its collapse metric and how to read it; null where it has none that is known here."""
    train_groups: int
    gen_groups: int
    max_rounds: int | None
    """Batches a step; null: no limit."""
    steps: int
    redraw: str | None
    """Which batches of a step hold the same questions; null for trainers without whole batches."""
    tests: Tested
    reward: Tested
    """Which reward the figures are of."""
    defaults: tuple[str, ...]
    """What was taken where nothing was said."""
    pool: Outlook
    kept: Outlook
    safe: Safe

    def outlooks(self) -> tuple[Outlook, Outlook]:
        """Of the pool and of the kept set."""
        return self.pool, self.kept


@dataclass(frozen=True, kw_only=True)
class OfRun:
    """What a run knows besides its counts."""

    num_by_rules: int
    """Questions that levels and rates keep, before quotas, caps and duplicates; the kept set's
    rates rest on them."""
    missing: MissingRange | None
    """Pool rate if all unknown answers were wrong / right; null when none is unknown."""


@dataclass(frozen=True, kw_only=True)
class WholeForecast:
    """The forecast of a run or of a table of counts."""

    group_size: int
    keep: tuple[str, ...]
    """Levels that the filter keeps."""
    pool: SetRates
    kept: SetRates
    levels: Mapping[str, SetRates]
    """All levels, also those without questions."""
    law: Law | None
    """Null where nothing was graded."""
    rewards: RewardRates | None
    """Null where rewards are just right and wrong."""
    drift: Drifts
    trainer: TrainerAnswer | None
    """Null unless one was asked for."""
    of_run: OfRun | None
    """Null for counts alone."""
    warnings: tuple[str, ...]

    def sets(self) -> tuple[SetRates, SetRates]:
        """The pool and the kept set."""
        return self.pool, self.kept
