"""The whole forecast as plain values: rates, other rewards, the trainer's answer, drift."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from difficulty.collapse.answer import require_a_batch, trainer_answer
from difficulty.collapse.drift import drift
from difficulty.collapse.estimate import Estimate, every_question
from difficulty.collapse.forecast import Forecast
from difficulty.collapse.length import LengthPenalty
from difficulty.collapse.rewards import RewardForecast, RewardTable, forecast_rewards
from difficulty.collapse.spread import narrow_chances
from difficulty.collapse.training import Plan, plan_run
from difficulty.errors import SettingsError
from difficulty.settings.forecast import PENALTY_KEYS, TRAINER_KEYS, ForecastSpec
from difficulty.settings.setting import check_section


def complete(
    found: Forecast,
    spec: ForecastSpec,
    *,
    kept_questions: int | None = None,
    rewards: RewardTable | None = None,
) -> dict[str, Any]:
    """``found`` as JSON, with what ``spec`` asks for besides.

    Args:
        found: the forecast for right/wrong rewards.
        spec: trainer and reward.
        kept_questions: how many questions are really kept, where caps leave fewer than the rules.
        rewards: the rewards of the same answers, where they are not just right and wrong.

    Raises:
        SettingsError: a trainer or a setting of it that is not there.
    """
    whole: dict[str, Any] = found.as_json()
    plan = plan_of(spec, group_size=found.group_size)
    tested: Mapping[str, Estimate] | None = None
    whole["rewards"] = None
    if rewards is not None:
        forecast = _of_rewards(found, rewards)
        whole["rewards"] = _rewards_json(found, spec, plan, rewards, forecast)
        if rewards.reason is not None:
            whole["warnings"] = [*found.warnings, f"whole reward: {rewards.reason}"]
        if plan is not None and plan.resampling.tests == "sum" and forecast is not None:
            tested = forecast.sets
    whole["drift"] = _drift_json(found, plan, tested or {})
    if plan is not None:
        whole["trainer"] = trainer_answer(found, plan, tested=tested, kept_questions=kept_questions)
    return whole


def _of_rewards(found: Forecast, rewards: RewardTable) -> RewardForecast | None:
    if rewards.outcomes is None:
        return None
    return forecast_rewards(found.work, rewards.outcomes, _sets(found), _rules(found))


def _sets(found: Forecast) -> dict[str, Estimate]:
    return {"pool": found.pool} | ({} if found.kept is None else {"kept": found.kept})


def _rules(found: Forecast) -> dict[str, Any]:
    return {"pool": every_question, "kept": found.kept_rule}


def _drift_json(
    found: Forecast, plan: Plan | None, tested: Mapping[str, Estimate]
) -> dict[str, Any]:
    drifts: dict[str, Any] = {"pool": None, "kept": None}
    for name, estimate in _sets(found).items():
        questions = found.work.questions(_rules(found)[name])
        if questions is not None:
            ratio = tested[name].acr / estimate.acr if name in tested and estimate.acr else 1.0
            one = drift(
                found.work.law.grid,
                questions,
                group_size=found.group_size,
                num_samples=found.work.classes.common_k,
                plan=plan,
                ratio=ratio,
            )
            drifts[name] = dataclasses.asdict(one)
    return drifts


def _rewards_json(
    found: Forecast,
    spec: ForecastSpec,
    plan: Plan | None,
    rewards: RewardTable,
    forecast: RewardForecast | None,
) -> dict[str, Any]:
    penalty = penalty_of(spec, floored=floored(plan))
    return {
        "penalty": None
        if penalty is None
        else {"name": spec.length_penalty, **dataclasses.asdict(penalty)},
        "num_answers": rewards.num_answers,
        "length_classes": rewards.length_classes,
        "num_values": None if forecast is None else forecast.num_values,
        "correctness": {name: one.acr for name, one in _sets(found).items()},
        "sum": None
        if forecast is None
        else {name: dataclasses.asdict(one) for name, one in forecast.sets.items()},
        "dirichlet": None if forecast is None else forecast.dirichlet,
        "trainer_tests": None if plan is None else plan.resampling.tests,
        "spread": _spread_json(found, spec, rewards, forecast),
        "reason": rewards.reason,
    }


def _spread_json(
    found: Forecast, spec: ForecastSpec, rewards: RewardTable, forecast: RewardForecast | None
) -> dict[str, Any] | None:
    """Share of groups with a spread below the threshold, drawn with a fixed seed."""
    if spec.spread is None or forecast is None or rewards.outcomes is None:
        return None
    outcomes = rewards.outcomes
    chances = narrow_chances(
        outcomes,
        forecast.chances,
        threshold=spec.spread,
        group_size=found.group_size,
        rng=np.random.default_rng(0),
    )
    there, right = outcomes.there.sum(axis=1), (outcomes.correct & outcomes.there).sum(axis=1)
    shares = {}
    for name in _sets(found):
        rule = _rules(found)[name]
        pairs = zip(there.tolist(), right.tolist(), strict=True)
        weights = outcomes.num_questions * [rule(k, c) for k, c in pairs]
        shares[name] = float(np.average(chances, weights=weights)) if weights.any() else None
    return {"threshold": spec.spread, **shares}


def check(
    spec: ForecastSpec, *, group_size: int, num_questions: int | None, counts_only: bool = False
) -> None:
    """Refuse settings that cannot work, before anything is written.

    Raises:
        SettingsError: as ``plan_of`` and ``penalty_of``, a batch of more groups than
            ``num_questions``, or a reward where only counts are known.
    """
    check_section(spec)
    _refuse_orphans(spec)
    plan = plan_of(spec, group_size=group_size)
    if plan is not None and num_questions is not None and _stated(spec):
        require_a_batch(plan, num_questions)
    penalty_of(spec, floored=True)
    if counts_only and (spec.length_penalty is not None or spec.spread is not None):
        raise SettingsError(
            "a length penalty or a spread needs the answers: found counts only. Give a run folder"
        )


def _refuse_orphans(spec: ForecastSpec) -> None:
    for owner, keys, value in (
        ("trainer", TRAINER_KEYS, "NAME"), ("length_penalty", PENALTY_KEYS, "soft_overlong")
    ):  # fmt: skip
        orphans = [key for key in keys if getattr(spec, key) is not None]
        if getattr(spec, owner) is None and orphans:
            option, needed = (name.replace("_", "-") for name in (orphans[0], owner))
            raise SettingsError(
                f"{option} alone says nothing: found {getattr(spec, orphans[0])}. "
                f"It goes with --{needed} {value}"
            )


def _stated(spec: ForecastSpec) -> bool:
    return spec.train_groups is not None or spec.gen_groups is not None


def plan_of(spec: ForecastSpec, *, group_size: int) -> Plan | None:
    """The training run that the settings describe; None without a trainer.

    Raises:
        SettingsError: a trainer or a setting of it that is not there.
    """
    if spec.trainer is None:
        return None
    stated = {key: getattr(spec, key) for key in TRAINER_KEYS}
    return plan_run(spec.trainer, group_size=group_size, **stated)


def floored(plan: Plan | None) -> bool:
    """Does the penalty end at -1, as DAPO has it, with this trainer?"""
    return plan is None or plan.resampling.floored


def penalty_of(spec: ForecastSpec, *, floored: bool) -> LengthPenalty | None:
    """The length penalty that the settings describe; None without one.

    Raises:
        SettingsError: lengths that are missing or make no line.
    """
    if spec.length_penalty is None:
        return None
    if spec.max_length is None or spec.buffer is None:
        missing = "--max-length L" if spec.max_length is None else "--buffer N"
        raise SettingsError(
            f"{spec.length_penalty} lacks a length: found no {missing.split()[0]}. Give {missing}, "
            "in tokens"
        )
    weight = 1.0 if spec.penalty_weight is None else spec.penalty_weight
    return LengthPenalty(
        max_length=spec.max_length, buffer=spec.buffer, weight=weight, floored=floored
    )
