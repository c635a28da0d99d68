"""What a step of a trainer comes to, for a set of questions whose collapse rate is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from difficulty.collapse.collapse import Floats
from difficulty.collapse.fills import FAR, QuestionSet, draws_of, moments, usable_groups
from difficulty.collapse.training import Plan

NOTHING = 1e-15
"""A chance below it is rounding."""
ENOUGH = 1e-9
"""Where there is no limit on batches, the chance of needing one more that is left out."""
MOST_ROUNDS = 2000
"""Batches a step from which on it is taken never to fill."""
FEW_MORE = 12.0
"""Roots of the groups needed by which a set must be larger for its end to be out of reach."""
EXACT_ROUNDS = 64
"""Beyond so many batches their number is taken from a normal law."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Chances and means of one step."""

    fills: float
    """Chance that the step trains on a full batch of usable groups."""
    batches: float
    """Mean generation batches; infinite where no group is ever usable."""
    useful: float
    """Mean usable groups that are trained on."""
    reading: float | None
    """Mean of the trainer's own collapse metric; None where it has none that is known here."""


def step_of(questions: QuestionSet, plan: Plan) -> Step:
    """The step of ``plan`` with these questions (exact but for rounding; see ``usable_groups``)."""
    if plan.resampling.kind == "replace":
        return _replacing(questions, plan)
    if plan.resampling.kind == "once":
        return _once(questions, plan)
    return _in_rounds(questions, plan)


def fill_chance(questions: QuestionSet, plan: Plan) -> float:
    """``step_of(...).fills`` without the rest."""
    if plan.resampling.kind == "rounds" and plan.max_rounds is not None:
        return 1.0 - _failure(questions, plan, plan.max_rounds)
    return step_of(questions, plan).fills


def failures(questions: QuestionSet, plan: Plan, rounds: int) -> Floats:
    """(rounds,) chance that the first 1, 2, ... batches do not hold enough usable groups."""
    found = np.zeros(rounds)
    for number in range(rounds):
        found[number] = _failure(questions, plan, number + 1)
        # More batches never hold fewer usable groups.
        if found[number] < NOTHING:
            break
    return found


def _failure(questions: QuestionSet, plan: Plan, rounds: int) -> float:
    draws = draws_of(
        rounds,
        groups=plan.gen_groups,
        num_questions=questions.num_questions,
        redraw=plan.redraw,
    )
    mean, variance = moments(questions, draws)
    away = (mean - plan.train_groups) / max(np.sqrt(variance), 1e-6)
    if away > FAR or rounds * plan.gen_groups < plan.train_groups:
        return 0.0 if away > FAR else 1.0
    if away < -FAR:
        return 1.0
    return usable_groups(questions, draws).below(plan.train_groups)


def _in_rounds(questions: QuestionSet, plan: Plan) -> Step:
    after_sampling = plan.resampling.reading == "after_sampling"
    if plan.max_rounds is None:
        batches = _unlimited(questions, plan)
        return Step(
            fills=1.0 if np.isfinite(batches) else 0.0,
            batches=batches,
            useful=float(plan.train_groups),
            reading=0.0 if after_sampling else _reading(plan, questions, batches),
        )
    failing = failures(questions, plan, plan.max_rounds)
    fails = float(failing[-1])
    batches = 1.0 + float(failing[:-1].sum()) + plan.resampling.wasted * fails
    first = _first_batch_when_failing(questions, plan, fails)
    kept = 0.0 if plan.resampling.stops else first
    raw_when_failing = fails - first / plan.train_groups
    return Step(
        fills=1.0 - fails,
        batches=batches,
        useful=plan.train_groups * (1.0 - fails) + kept,
        reading=raw_when_failing if after_sampling else _reading(plan, questions, batches),
    )


def _first_batch_when_failing(questions: QuestionSet, plan: Plan, fails: float) -> float:
    """E[usable groups of the first batch; all batches together are too few]."""
    rounds = plan.max_rounds or 1
    if fails == 0.0:
        return 0.0
    if fails == 1.0:
        return plan.gen_groups * questions.mean
    draws = draws_of(
        rounds,
        groups=plan.gen_groups,
        num_questions=questions.num_questions,
        redraw=plan.redraw,
    )
    if plan.redraw != "resamples" or rounds == 1:
        # Each batch is as good as any other, so the first has its share of the sum.
        return usable_groups(questions, draws).mean_below(plan.train_groups) / rounds
    first, others = (usable_groups(questions, [draw]) for draw in draws)
    values = first.start + np.arange(len(first.chance))
    short = np.array([others.below(plan.train_groups - int(value)) for value in values])
    return float((first.chance * values) @ short)


def _unlimited(questions: QuestionSet, plan: Plan) -> float:
    """Mean number of batches where they go on until there are enough."""
    total, rounds = 1.0, 0
    while rounds < EXACT_ROUNDS:
        rounds += 1
        missing = _failure(questions, plan, rounds)
        total += missing
        if missing < ENOUGH:
            return total
    return total + _later_rounds(questions, plan)


def _later_rounds(questions: QuestionSet, plan: Plan) -> float:
    from scipy.special import ndtr

    mean, variance = moments(
        questions,
        draws_of(1, groups=plan.gen_groups, num_questions=questions.num_questions, redraw="fresh"),
    )
    rounds = np.arange(EXACT_ROUNDS + 1, MOST_ROUNDS)
    spread = np.sqrt(np.maximum(rounds * variance, 1e-9))
    missing = ndtr((plan.train_groups - 0.5 - rounds * mean) / spread)
    return float(missing.sum()) if missing[-1] < ENOUGH else float("inf")


def _replacing(questions: QuestionSet, plan: Plan) -> Step:
    share = questions.mean
    groups = plan.train_groups / max(share, 1e-300)
    if plan.resampling.one_pass and groups + FEW_MORE * groups**0.5 > questions.num_questions:
        return _one_pass(questions, plan)
    if groups > MOST_ROUNDS * plan.gen_groups:
        groups = float("inf")
    return Step(
        fills=1.0 if np.isfinite(groups) else 0.0,
        batches=groups / plan.gen_groups,
        useful=float(plan.train_groups),
        reading=_reading(plan, questions, groups / plan.gen_groups),
    )


def _one_pass(questions: QuestionSet, plan: Plan) -> Step:
    """A step that may come to the end of its set: all questions drawn once, or as many as it needs.

    The means take the number of groups needed for its mean, which is less than one group off.
    """
    number = questions.num_questions
    draws = draws_of(1, groups=number, num_questions=number, redraw="fresh")
    count = usable_groups(questions, draws)
    fails = count.below(plan.train_groups)
    short = count.mean_below(plan.train_groups)
    groups = fails * number + (1.0 - fails) * min(
        plan.train_groups / max(questions.mean, 1e-300), number
    )
    return Step(
        fills=1.0 - fails,
        batches=groups / plan.gen_groups,
        useful=short + plan.train_groups * (1.0 - fails),
        reading=_reading(plan, questions, groups / plan.gen_groups),
    )


def _once(questions: QuestionSet, plan: Plan) -> Step:
    return Step(
        fills=1.0 - _failure(questions, plan, 1),
        batches=1.0,
        useful=plan.train_groups * questions.mean,
        reading=_reading(plan, questions, 1.0),
    )


def _reading(plan: Plan, questions: QuestionSet, batches: float) -> float | None:
    """Mean of a metric that does not depend on whether the step fills."""
    groups = batches * plan.gen_groups
    means = {
        "raw": 1.0 - questions.mean,
        "batches": batches,
        "rejected": groups - plan.train_groups,
        "passed": 100.0 * plan.group_size * questions.mean,
    }
    return means.get(plan.resampling.reading)
