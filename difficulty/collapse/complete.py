"""The whole forecast: rates, other rewards, the trainer's answer, drift."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from difficulty.collapse.answer import require_a_batch, trainer_answer
from difficulty.collapse.bounds import Chosen
from difficulty.collapse.drift import Drift, drift
from difficulty.collapse.estimate import Estimate, every_question
from difficulty.collapse.forecast import Forecast
from difficulty.collapse.length import LengthPenalty
from difficulty.collapse.rewards import RewardForecast, RewardTable, forecast_rewards
from difficulty.collapse.spread import narrow_chances
from difficulty.collapse.training import Plan, plan_run
from difficulty.collapse.whole import (
    Drifts,
    Law,
    RewardRates,
    SetName,
    SetRates,
    Spread,
    WholeForecast,
)
from difficulty.errors import SettingsError
from difficulty.levels import LEVELS
from difficulty.settings.forecast import PENALTY_KEYS, TRAINER_KEYS, ForecastSpec
from difficulty.settings.setting import check_section


def complete(
    found: Forecast,
    spec: ForecastSpec,
    *,
    kept_questions: int | None = None,
    rewards: RewardTable | None = None,
) -> WholeForecast:
    """``found`` with what ``spec`` asks for besides.

    Args:
        found: the forecast for right/wrong rewards.
        spec: trainer and reward.
        kept_questions: how many questions are really kept, where caps leave fewer than the rules.
        rewards: the rewards of the same answers, where they are not just right and wrong.

    Raises:
        SettingsError: a trainer or a setting of it that is not there.
    """
    plan = plan_of(spec, group_size=found.group_size)
    by_reward = None if rewards is None else _of_rewards(found, rewards)
    tests_sum = plan is not None and plan.resampling.tests == "sum"
    tested = by_reward.sets if tests_sum and by_reward is not None else {}
    reason = None if rewards is None else rewards.reason
    return dataclasses.replace(
        of_counts(found),
        rewards=None if rewards is None else _rewards(found, spec, plan, rewards, by_reward),
        drift=_drifts(found, plan, tested),
        trainer=None
        if plan is None
        else trainer_answer(found, plan, tested=tested, kept_questions=kept_questions),
        warnings=found.warnings if reason is None else (*found.warnings, f"whole reward: {reason}"),
    )


def of_counts(found: Forecast) -> WholeForecast:
    """The part that follows from the counts alone."""
    return WholeForecast(
        group_size=found.group_size,
        keep=found.keep,
        pool=set_rates(found.pool),
        kept=set_rates(found.kept),
        levels={level: set_rates(found.levels.get(level)) for level in LEVELS},
        law=Law(
            by_source=found.by_source,
            exact=found.exact,
            beta=found.beta,
            fit=found.fit,
            plans=found.plans,
        ),
        rewards=None,
        drift=Drifts(pool=None, kept=None),
        trainer=None,
        of_run=None,
        warnings=found.warnings,
    )


def set_rates(estimate: Estimate | None) -> SetRates:
    """The estimate of a set, or that of one without questions."""
    if estimate is not None:
        return SetRates(**dataclasses.asdict(estimate))
    return SetRates(
        acr=None,
        low=None,
        high=None,
        identified_low=None,
        identified_high=None,
        plug_in=None,
        num_questions=0,
        method=None,
    )


def _of_rewards(found: Forecast, rewards: RewardTable) -> RewardForecast | None:
    if rewards.outcomes is None:
        return None
    return forecast_rewards(found.work, rewards.outcomes, _sets(found), _rules(found))


def _sets(found: Forecast) -> dict[SetName, Estimate]:
    sets: dict[SetName, Estimate] = {"pool": found.pool}
    return sets if found.kept is None else sets | {"kept": found.kept}


def _rules(found: Forecast) -> dict[SetName, Chosen]:
    return {"pool": every_question, "kept": found.kept_rule}


def _drifts(found: Forecast, plan: Plan | None, tested: Mapping[SetName, Estimate]) -> Drifts:
    drifts = {name: _drift(found, name, plan, tested) for name in _sets(found)}
    return Drifts(pool=drifts.get("pool"), kept=drifts.get("kept"))


def _drift(
    found: Forecast, name: SetName, plan: Plan | None, tested: Mapping[SetName, Estimate]
) -> Drift | None:
    questions, rate = found.work.questions(_rules(found)[name]), _sets(found)[name].acr
    if questions is None:
        return None
    return drift(
        found.work.law.grid,
        questions,
        group_size=found.group_size,
        num_samples=found.work.classes.common_k,
        plan=plan,
        ratio=tested[name].acr / rate if name in tested and rate else 1.0,
    )


def _rewards(
    found: Forecast,
    spec: ForecastSpec,
    plan: Plan | None,
    rewards: RewardTable,
    forecast: RewardForecast | None,
) -> RewardRates:
    return RewardRates(
        penalty=penalty_of(spec, floored=floored(plan)),
        num_answers=rewards.num_answers,
        length_classes=rewards.length_classes,
        num_values=None if forecast is None else forecast.num_values,
        correctness={name: one.acr for name, one in _sets(found).items()},
        sum=None if forecast is None else forecast.sets,
        dirichlet=None if forecast is None else forecast.dirichlet,
        trainer_tests=None if plan is None else plan.resampling.tests,
        spread=_spread(found, spec, rewards, forecast),
        reason=rewards.reason,
    )


def _spread(
    found: Forecast, spec: ForecastSpec, rewards: RewardTable, forecast: RewardForecast | None
) -> Spread | None:
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
    shares: dict[SetName, float | None] = {}
    for name in _sets(found):
        rule = _rules(found)[name]
        pairs = zip(there.tolist(), right.tolist(), strict=True)
        weights = outcomes.num_questions * [rule(k, c) for k, c in pairs]
        shares[name] = float(np.average(chances, weights=weights)) if weights.any() else None
    return Spread(threshold=spec.spread, shares=shares)


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
