"""The trainer's part of a forecast: both sets, and what would make a run safe."""

from __future__ import annotations

from collections.abc import Mapping

from difficulty.collapse.estimate import Estimate, every_question
from difficulty.collapse.forecast import Forecast
from difficulty.collapse.outlook import Candidate, outlook, unknown
from difficulty.collapse.safety import (
    SAFE,
    candidate_of,
    least_group_size,
    least_rounds,
    widest_keep,
)
from difficulty.collapse.training import Plan
from difficulty.collapse.whole import Safe, SetName, TrainerAnswer
from difficulty.errors import SettingsError
from difficulty.trainers.resampling import NEVER_FAILS


def require_a_batch(plan: Plan, num_questions: int) -> None:
    """Refuse a batch that cannot be drawn.

    Raises:
        SettingsError: a generation batch has more groups than there are questions.
    """
    if num_questions < plan.gen_groups:
        raise SettingsError(
            f"a generation batch of {plan.gen_groups:,} groups needs as many questions: found "
            f"{num_questions:,}. Give a smaller --train-groups"
        )


def trainer_answer(
    found: Forecast,
    plan: Plan,
    *,
    tested: Mapping[SetName, Estimate] | None = None,
    kept_questions: int | None = None,
) -> TrainerAnswer:
    """What ``plan`` comes to on the pool and on the kept set.

    Args:
        found: the forecast for right/wrong rewards.
        plan: the training run, of the forecast's group size.
        tested: ``pool`` and ``kept`` forecasts of the reward that the trainer tests, where it is
            not correctness alone.
        kept_questions: how many questions are really kept, where caps leave fewer than the rules.
    """
    sets = _candidates(found, tested or {}, kept_questions)
    none_kept = unknown(0, "no question is kept")
    rule = plan.resampling
    unlimited = rule.kind == "rounds" and plan.max_rounds is None
    return TrainerAnswer(
        name=rule.name,
        at_limit=NEVER_FAILS if unlimited else rule.at_limit,
        metric=f"{rule.metric}: {rule.metric_says}" if rule.metric else None,
        train_groups=plan.train_groups,
        gen_groups=plan.gen_groups,
        max_rounds=plan.max_rounds,
        steps=plan.steps,
        redraw=plan.redraw if rule.kind == "rounds" else None,
        tests=rule.tests,
        reward="sum" if tested else "accuracy",
        defaults=plan.defaults,
        pool=outlook(sets["pool"], plan),
        kept=outlook(sets["kept"], plan) if "kept" in sets else none_kept,
        safe=_safe(found, plan, sets),
    )


def _candidates(
    found: Forecast, tested: Mapping[SetName, Estimate], kept_questions: int | None
) -> dict[SetName, Candidate]:
    sets: dict[SetName, Candidate] = {"pool": candidate_of(found.work, every_question, found.pool)}
    if found.kept is not None:
        sets["kept"] = candidate_of(found.work, found.kept_rule, found.kept)
    for name, estimate in tested.items():
        if name in sets:
            sets[name] = sets[name].scaled(estimate)
    if kept_questions is not None and "kept" in sets:
        sets["kept"] = sets["kept"].of_size(kept_questions)
    return sets


def _safe(found: Forecast, plan: Plan, sets: dict[SetName, Candidate]) -> Safe:
    """What would make all steps fill with a chance of at least ``SAFE``."""
    if plan.resampling.kind != "rounds" or plan.max_rounds is None:
        why = (
            "this trainer looks at one batch a step"
            if plan.resampling.kind == "once"
            else "this run has no limit on batches"
        )
        return Safe(target=SAFE, keep=None, max_rounds=None, group_size=None, reason=why)
    ratios = {name: one.acr / max(_plain(found, name), 1e-9) for name, one in sets.items()}
    drawable = {
        name: one for name, one in sets.items() if one.questions.num_questions >= plan.gen_groups
    }
    rules = {"pool": every_question, "kept": found.kept_rule}
    return Safe(
        target=SAFE,
        keep=widest_keep(found.work, found.more_rule, plan, ratio=ratios["pool"]),
        max_rounds={name: least_rounds(one, plan) for name, one in drawable.items()},
        group_size={
            name: least_group_size(found.work, rules[name], plan, ratio=ratios[name])
            for name in drawable
        },
        reason=None,
    )


def _plain(found: Forecast, name: SetName) -> float:
    """The set's rate for correctness alone."""
    return found.kept.acr if name == "kept" and found.kept is not None else found.pool.acr
