"""The training run that a forecast is for: what the user said, and the trainer's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from difficulty.errors import SettingsError
from difficulty.trainers.find import find_resampling
from difficulty.trainers.resampling import REDRAWS, Resampling

STEPS = 100
MOST_STATED_ROUNDS = 100
"""Batches a step that are forecast at most; no trainer's default is above 30."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training run to be forecast."""

    resampling: Resampling
    train_groups: int
    """Usable groups that a step trains on."""
    gen_groups: int
    """Groups in a generation batch."""
    max_rounds: int | None
    """Generation batches that a step looks at; None: no limit."""
    steps: int
    group_size: int
    """Answers a group."""
    redraw: str
    defaults: tuple[str, ...]
    """What the user did not say and what was taken for it."""


def plan_run(
    name: str,
    *,
    group_size: int = 8,
    train_groups: int | None = None,
    gen_groups: int | None = None,
    max_rounds: int | None = None,
    steps: int | None = None,
    redraw: str | None = None,
) -> Plan:
    """A run with what the user said and the trainer's defaults for the rest.

    Raises:
        SettingsError: an unknown trainer, a number below 1, or a setting the trainer does not have.
    """
    rule = find_resampling(name)
    for option, value in (
        ("train-groups", train_groups), ("gen-groups", gen_groups), ("steps", steps)
    ):  # fmt: skip
        if value is not None and value < 1:
            raise SettingsError(f"{option} is too small: {value}. Use --{option} 1 or more")
    if redraw is not None and redraw not in REDRAWS:
        raise SettingsError(f"unknown redraw: {redraw!r}. Choose one of {', '.join(REDRAWS)}")
    _refuse_foreign(rule, train_groups, gen_groups, max_rounds, redraw)
    needed = train_groups or rule.train_groups
    batch = gen_groups or needed * rule.batch_ratio
    rounds = rule.max_rounds if max_rounds is None else max_rounds
    taken = [
        ("train-groups", train_groups, needed),
        ("gen-groups", gen_groups, batch if rule.own_batches else None),
        (f"max-rounds ({rule.rounds_name})", max_rounds, rounds),
        ("redraw", redraw, rule.redraw if rule.kind == "rounds" else None),
        ("steps", steps, STEPS),
    ]
    return Plan(
        resampling=rule,
        train_groups=needed,
        gen_groups=batch,
        max_rounds=None if rounds is not None and rounds < 1 else rounds,
        steps=steps or STEPS,
        group_size=group_size,
        redraw=redraw or rule.redraw,
        defaults=_defaults(taken),
    )


def _defaults(taken: Sequence[tuple[str, object, object]]) -> tuple[str, ...]:
    return tuple(f"{option} {value}" for option, stated, value in taken if stated is None and value)


def _refuse_foreign(
    rule: Resampling,
    train_groups: int | None,
    gen_groups: int | None,
    max_rounds: int | None,
    redraw: str | None,
) -> None:
    if rule.kind != "rounds":
        for option, value in (("max-rounds", max_rounds), ("redraw", redraw)):
            if value is not None:
                how = (
                    "looks at one batch a step, whatever it holds"
                    if rule.kind == "once"
                    else "replaces single groups, not batches, without a limit"
                )
                raise SettingsError(f"{rule.name} {how}: found --{option} {value}. Leave it out")
    if max_rounds is not None and max_rounds > MOST_STATED_ROUNDS:
        raise SettingsError(
            f"max-rounds is too large: {max_rounds}. Use at most {MOST_STATED_ROUNDS}"
            + (", or 0 for no limit" if rule.zero_is_no_limit else "")
        )
    if max_rounds is not None and max_rounds < 1 and not rule.zero_is_no_limit:
        raise SettingsError(
            f"max-rounds is too small: {max_rounds}. {rule.name} looks at 1 batch or more"
        )
    same = train_groups or rule.train_groups
    if gen_groups is not None and not rule.own_batches and gen_groups != same:
        raise SettingsError(
            f"{rule.name} generates as many groups as it trains on: found --gen-groups "
            f"{gen_groups} for {same}. Leave --gen-groups out"
        )
