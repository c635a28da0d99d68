"""The trainer's part of a forecast as plain values: both sets, and what would make a run safe."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

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
from difficulty.errors import SettingsError
from difficulty.trainers.resampling import NEVER_FAILS

HEADLINE = (
    "p_step_fills", "p_all_steps_fill", "expected_batches", "expected_answers",
    "answers_per_useful_group",
)  # fmt: skip


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
    tested: Mapping[str, Estimate] | None = None,
    kept_questions: int | None = None,
) -> dict[str, Any]:
    """What ``plan`` comes to on the pool and on the kept set.

    Args:
        found: the forecast for right/wrong rewards.
        plan: the training run, of the forecast's group size.
        tested: ``pool`` and ``kept`` forecasts of the reward that the trainer tests, where it is
            not correctness alone.
        kept_questions: how many questions are really kept, where caps leave fewer than the rules.
    """
    sets = _candidates(found, tested or {}, kept_questions)
    outlooks = {name: outlook(candidate, plan) for name, candidate in sets.items()}
    outlooks.setdefault("kept", unknown(0, "no question is kept"))
    kept = outlooks["kept"]
    rule = plan.resampling
    unlimited = rule.kind == "rounds" and plan.max_rounds is None
    return {
        "name": rule.name,
        **{name: getattr(kept, name) for name in HEADLINE},
        "set": "kept",
        "at_limit": NEVER_FAILS if unlimited else rule.at_limit,
        "metric": f"{rule.metric}: {rule.metric_says}" if rule.metric else None,
        "metric_expected": kept.metric_expected,
        "train_groups": plan.train_groups,
        "gen_groups": plan.gen_groups,
        "max_rounds": plan.max_rounds,
        "steps": plan.steps,
        "redraw": plan.redraw if rule.kind == "rounds" else None,
        "tests": rule.tests,
        "reward": "sum" if tested else "accuracy",
        "defaults": list(plan.defaults),
        "pool": dataclasses.asdict(outlooks["pool"]),
        "kept": dataclasses.asdict(kept),
        "safe": _safe(found, plan, sets),
    }


def _candidates(
    found: Forecast, tested: Mapping[str, Estimate], kept_questions: int | None
) -> dict[str, Candidate]:
    sets = {"pool": candidate_of(found.work, every_question, found.pool)}
    if found.kept is not None:
        sets["kept"] = candidate_of(found.work, found.kept_rule, found.kept)
    for name, estimate in tested.items():
        if name in sets:
            sets[name] = sets[name].scaled(estimate)
    if kept_questions is not None and "kept" in sets:
        sets["kept"] = sets["kept"].of_size(kept_questions)
    return sets


def _safe(found: Forecast, plan: Plan, sets: dict[str, Candidate]) -> dict[str, Any]:
    """What would make all steps fill with a chance of at least ``SAFE``."""
    if plan.resampling.kind != "rounds" or plan.max_rounds is None:
        nothing = dict.fromkeys(("keep", "max_rounds", "group_size"))
        why = (
            "this trainer looks at one batch a step"
            if plan.resampling.kind == "once"
            else "this run has no limit on batches"
        )
        return {"target": SAFE, **nothing, "reason": why}
    ratios = {name: one.acr / max(_plain(found, name), 1e-9) for name, one in sets.items()}
    drawable = {
        name: one for name, one in sets.items() if one.questions.num_questions >= plan.gen_groups
    }
    rules = {"pool": every_question, "kept": found.kept_rule}
    widest = widest_keep(found.work, found.more_rule, plan, ratio=ratios["pool"])
    return {
        "target": SAFE,
        "keep": None if widest is None else dataclasses.asdict(widest),
        "max_rounds": {name: least_rounds(one, plan) for name, one in drawable.items()},
        "group_size": {
            name: least_group_size(found.work, rules[name], plan, ratio=ratios[name])
            for name in drawable
        },
        "reason": None,
    }


def _plain(found: Forecast, name: str) -> float:
    """The set's rate for correctness alone."""
    return found.kept.acr if name == "kept" and found.kept is not None else found.pool.acr
