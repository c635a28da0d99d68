"""forecast.json: the keys of the whole forecast, made and read here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from difficulty.collapse.drift import Drift, Shifted
from difficulty.collapse.estimate import Estimate
from difficulty.collapse.length import SOFT_OVERLONG, LengthPenalty
from difficulty.collapse.missing import MissingRange
from difficulty.collapse.mixture import Fit
from difficulty.collapse.outlook import Outlook
from difficulty.collapse.planner import SamplingPlan
from difficulty.collapse.safety import SafeKeep
from difficulty.collapse.whole import (
    Drifts,
    Law,
    OfRun,
    RewardRates,
    Safe,
    SetRates,
    Spread,
    TrainerAnswer,
    WholeForecast,
)
from difficulty.errors import RunError

Values = Mapping[str, Any]
"""A JSON object."""

HEADLINE = (
    "p_step_fills", "p_all_steps_fill", "expected_batches", "expected_answers",
    "answers_per_useful_group",
)  # fmt: skip
"""Figures of the kept set that a trainer's answer begins with."""


def to_json(found: WholeForecast) -> dict[str, Any]:
    """Plain JSON types; what is not known is null."""
    rates = {
        "group_size": found.group_size,
        "pool": _set_to_json(found, found.pool),
        "kept": _kept_to_json(found),
        "levels": {name: _set_to_json(found, part) for name, part in found.levels.items()},
    }
    besides = {
        "rewards": None if found.rewards is None else _rewards_to_json(found.rewards),
        "drift": asdict(found.drift),
    }
    warnings = {"warnings": list(found.warnings)}
    if found.law is None:
        whole = {**rates, **besides, **warnings}
    else:
        whole = {**rates, **_law_to_json(found.law), **warnings, **besides}
    if found.trainer is not None:
        whole["trainer"] = _trainer_to_json(found.trainer)
    if found.of_run is not None:
        missing = found.of_run.missing
        whole["missing"] = None if missing is None else asdict(missing)
    return {key: _plain(value) for key, value in whole.items()}


def _plain(value: Any) -> Any:
    """With lists for tuples, as a reader of the file gets them."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _set_to_json(found: WholeForecast, part: SetRates) -> dict[str, Any]:
    values = asdict(part)
    if found.law is None:
        del values["method"]
    return values


def _kept_to_json(found: WholeForecast) -> dict[str, Any]:
    values = {**_set_to_json(found, found.kept), "levels": list(found.keep)}
    if found.of_run is not None:
        values["num_by_rules"] = found.of_run.num_by_rules
    return values


def _law_to_json(law: Law) -> dict[str, Any]:
    return {
        "by_source": {name: asdict(part) for name, part in law.by_source.items()},
        "exact": {str(size): rate for size, rate in law.exact.items()},
        "beta": {"a": law.beta[0], "b": law.beta[1]},
        "goodness_of_fit": asdict(law.fit),
        "plans": [asdict(plan) for plan in law.plans],
    }


def _rewards_to_json(rewards: RewardRates) -> dict[str, Any]:
    values = asdict(rewards)
    if rewards.penalty is not None:
        values["penalty"] = {"name": SOFT_OVERLONG, **values["penalty"]}
    if rewards.spread is not None:
        values["spread"] = {"threshold": rewards.spread.threshold, **rewards.spread.shares}
    return values


def _trainer_to_json(answer: TrainerAnswer) -> dict[str, Any]:
    values = asdict(answer)
    return {
        "name": values.pop("name"),
        **{name: values["kept"][name] for name in HEADLINE},
        "set": "kept",
        "at_limit": values.pop("at_limit"),
        "metric": values.pop("metric"),
        "metric_expected": answer.kept.metric_expected,
        **values,
    }


def from_json(values: Values) -> WholeForecast:
    """What ``to_json`` made; other keys, such as the stamp, are left out.

    Raises:
        KeyError, TypeError: a key is missing, or holds something else.
    """
    trainer, rewards, drift = values.get("trainer"), values["rewards"], values["drift"]
    return WholeForecast(
        group_size=values["group_size"],
        keep=tuple(values["kept"]["levels"]),
        pool=_set_from_json(values["pool"]),
        kept=_set_from_json(values["kept"]),
        levels={name: _set_from_json(part) for name, part in values["levels"].items()},
        law=_law_from_json(values) if "goodness_of_fit" in values else None,
        rewards=None if rewards is None else _rewards_from_json(rewards),
        drift=Drifts(pool=_drift_from_json(drift["pool"]), kept=_drift_from_json(drift["kept"])),
        trainer=None if trainer is None else _trainer_from_json(trainer),
        of_run=_of_run_from_json(values) if "missing" in values else None,
        warnings=tuple(values["warnings"]),
    )


def _set_from_json(values: Values) -> SetRates:
    names = [name for name in SetRates.__annotations__ if name != "method"]
    return SetRates(**{name: values[name] for name in names}, method=values.get("method"))


def _law_from_json(values: Values) -> Law:
    fit = values["goodness_of_fit"]
    tuples = {name: tuple(fit[name]) for name in ("observed", "fitted", "beta_fitted")}
    return Law(
        by_source={name: Estimate(**part) for name, part in values["by_source"].items()},
        exact={int(size): rate for size, rate in values["exact"].items()},
        beta=(values["beta"]["a"], values["beta"]["b"]),
        fit=Fit(**{**fit, **tuples}),
        plans=tuple(SamplingPlan(**plan) for plan in values["plans"]),
    )


def _rewards_from_json(values: Values) -> RewardRates:
    penalty, spread, whole = values["penalty"], values["spread"], values["sum"]
    if penalty is not None:
        penalty = {name: value for name, value in penalty.items() if name != "name"}
    if spread is not None:
        shares = {name: value for name, value in spread.items() if name != "threshold"}
        spread = Spread(threshold=spread["threshold"], shares=shares)
    read = {
        "penalty": None if penalty is None else LengthPenalty(**penalty),
        "sum": None if whole is None else {name: Estimate(**one) for name, one in whole.items()},
        "spread": spread,
    }
    return RewardRates(**{**values, **read})


def _drift_from_json(values: Values | None) -> Drift | None:
    if values is None:
        return None
    return Drift(**{**values, "curve": tuple(Shifted(**one) for one in values["curve"])})


def _trainer_from_json(values: Values) -> TrainerAnswer:
    safe, keep = values["safe"], values["safe"]["keep"]
    if keep is not None:
        keep = SafeKeep(**{**keep, "levels": tuple(keep["levels"])})
    derived = {*HEADLINE, "set", "metric_expected"}
    read = {
        "defaults": tuple(values["defaults"]),
        "pool": Outlook(**values["pool"]),
        "kept": Outlook(**values["kept"]),
        "safe": Safe(**{**safe, "keep": keep}),
    }
    own = {name: value for name, value in values.items() if name not in derived}
    return TrainerAnswer(**{**own, **read})


def _of_run_from_json(values: Values) -> OfRun:
    missing = values["missing"]
    return OfRun(
        num_by_rules=values["kept"]["num_by_rules"],
        missing=None if missing is None else MissingRange(**missing),
    )


def read_forecast(path: Path) -> WholeForecast:
    """The forecast in a file.

    Raises:
        RunError: it cannot be read, or an earlier version wrote less into it.
    """
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RunError(
            f"{path} cannot be read: {error!r}. Delete it; it will be made again"
        ) from error


def is_whole(path: Path) -> bool:
    """Does the file hold all that this version forecasts?"""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found.keys() >= {"drift", "rewards"} and "num_by_rules" in found["kept"]
