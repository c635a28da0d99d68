"""What a set's collapse rate becomes as the model learns, and when to measure it again.

A profile describes one checkpoint. Training is taken to shift the logit of every question's pass
rate by the same delta: crude, but enough to say how far a kept set is from being too easy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from difficulty.collapse.belief import with_rate
from difficulty.collapse.collapse import Floats, collapse_probability
from difficulty.collapse.fills import QuestionSet
from difficulty.collapse.steps import fill_chance
from difficulty.collapse.training import Plan

SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
FINE, FARTHEST = 0.01, 8.0
UNSEEN = 0.95
HALF = 0.5
"""Limit where the trainer has none of its own: half of the groups teach nothing."""
FILLS = 0.99


@dataclass(frozen=True, kw_only=True)
class Shifted:
    """A set after a shift of all logits."""

    shift: float
    accuracy: float
    """Mean pass rate."""
    acr: float
    """With pass rates of exactly 0 and 1 where they are."""
    acr_low: float
    """Least of this and of what it would be if such questions had a pass rate slightly inside."""
    acr_high: float


@dataclass(frozen=True, kw_only=True)
class Drift:
    """How a set's collapse rate moves with its accuracy."""

    accuracy: float
    """Mean pass rate now."""
    limit: float
    """Collapse rate that must not be passed."""
    limit_says: str
    edge: float
    """Pass rate that a question never right is given for ``acr_low`` and ``acr_high``: k answers
    would miss it in 95 of 100 cases."""
    profile_again_at: float | None
    """Accuracy at which the set passes the limit; null if it never does."""
    shift: float | None
    """Shift of the logits there; 0 if the limit is passed now."""
    curve: tuple[Shifted, ...]


def drift(
    grid: Floats,
    questions: QuestionSet,
    *,
    group_size: int,
    num_samples: int,
    plan: Plan | None,
    ratio: float = 1.0,
) -> Drift:
    """The drift of one set.

    Args:
        grid: (J,) pass rates that the set's weights are on.
        questions: the set.
        group_size: answers a group.
        num_samples: k; says how far from 0 a question that was never right may be.
        plan: the training run, for its limit.
        ratio: of the tested reward's collapse rate to that of correctness alone.
    """
    limit, says = limit_of(questions, plan)
    edge = 1.0 - UNSEEN ** (1.0 / num_samples)
    moves = np.arange(0.0, FARTHEST + FINE, FINE).tolist()
    rates = np.array([_rate(grid, questions.weights, move, group_size) for move in moves]) * ratio
    passed = np.flatnonzero(rates > limit)
    shift = moves[int(passed[0])] if len(passed) else None
    return Drift(
        accuracy=_accuracy(grid, questions.weights, 0.0),
        limit=limit,
        limit_says=says,
        edge=edge,
        profile_again_at=None if shift is None else _accuracy(grid, questions.weights, shift),
        shift=shift,
        curve=tuple(
            _shifted(grid, questions.weights, move, group_size, edge, ratio) for move in SHIFTS
        ),
    )


def limit_of(questions: QuestionSet, plan: Plan | None) -> tuple[float, str]:
    """The greatest collapse rate at which a step still fills 99 times in 100, and in words."""
    if plan is None or plan.resampling.kind != "rounds" or plan.max_rounds is None:
        return HALF, "half of the groups"
    if questions.num_questions < plan.gen_groups:
        return HALF, "half of the groups (the set makes no batch)"
    below, above = 0.0, 1.0
    for _ in range(30):
        middle = (below + above) / 2
        if fill_chance(with_rate(questions, middle), plan) >= FILLS:
            below = middle
        else:
            above = middle
    return below, f"a step of {plan.resampling.name} fills less than {FILLS:.0%} of the time"


def shifted(pass_rate: Floats, shift: float) -> Floats:
    """Pass rates after a shift of their logits; 0 and 1 stay."""
    odds = pass_rate * np.exp(shift)
    return np.asarray(odds / (odds + 1.0 - pass_rate))


def _rate(grid: Floats, weights: Floats, shift: float, group_size: int) -> float:
    return float(weights @ collapse_probability(shifted(grid, shift), group_size))


def _accuracy(grid: Floats, weights: Floats, shift: float) -> float:
    return float(weights @ shifted(grid, shift))


def _shifted(
    grid: Floats, weights: Floats, shift: float, group_size: int, edge: float, ratio: float
) -> Shifted:
    there = _rate(grid, weights, shift, group_size) * ratio
    inside = _rate(np.clip(grid, edge, 1.0 - edge), weights, shift, group_size) * ratio
    return Shifted(
        shift=shift,
        accuracy=_accuracy(grid, weights, shift),
        acr=there,
        acr_low=min(there, inside),
        acr_high=max(there, inside),
    )
