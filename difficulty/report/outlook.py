"""A forecast in the terminal: rates, whether a trainer's steps fill, what would make them safe."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from difficulty.collapse.estimate import Estimate
from difficulty.collapse.length import SOFT_OVERLONG, LengthPenalty
from difficulty.collapse.outlook import Outlook
from difficulty.collapse.safety import SafeKeep
from difficulty.collapse.whole import Drifts, RewardRates, SetName, TrainerAnswer, WholeForecast
from difficulty.levels import format_keep
from difficulty.report.terminal import escape, forecast_table, rate, span

BAR_WIDTH = 12
SETS: tuple[tuple[SetName, str], ...] = (("pool", "all"), ("kept", "filtered"))
LABELS = ("all", "filtered")


def print_forecast(found: WholeForecast, console: Console) -> None:
    """Everything that ``difficulty forecast`` found."""
    console.print(forecast_table(found))
    if found.rewards is not None and found.rewards.sum is not None:
        console.print(rewards_table(found.rewards, found.rewards.sum))
        for line in reward_lines(found.rewards):
            console.print(escape(line))
    if found.trainer is not None:
        console.print(outlook_table(found.trainer))
        for line in outlook_lines(found.trainer):
            console.print(escape(line))
    for line in drift_lines(found.drift):
        console.print(escape(line))
    for text in found.warnings:
        console.print(f"! {escape(text)}")


def rewards_table(rewards: RewardRates, whole: Mapping[SetName, Estimate]) -> Table:
    """Collapse by correctness alone beside collapse by the whole reward, ``whole``."""
    table = Table(
        title="equal rewards instead of equal verdicts",
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("set")
    for name in ("correctness", "whole reward", "95 % interval", "plug-in"):
        table.add_column(name, justify="right", no_wrap=True)
    for key, label in SETS:
        if key in whole:
            part = whole[key]
            table.add_row(
                label,
                rate(rewards.correctness[key]),
                rate(part.acr),
                span(part.low, part.high),
                rate(part.plug_in),
            )
    return table


def reward_lines(rewards: RewardRates) -> list[str]:
    """The penalty, how many answers it meets, what the trainer tests, groups of small spread."""
    lines = []
    if rewards.penalty is not None and rewards.length_classes is not None:
        lines.append(_penalty_line(rewards.penalty, rewards.length_classes))
    if rewards.trainer_tests is not None:
        tested = {"sum": "the whole reward", "accuracy": "correctness alone"}
        lines.append(f"the trainer tests {tested[rewards.trainer_tests]}")
    spread = rewards.spread
    if spread is not None:
        shares = ", ".join(f"{label} {rate(spread.shares.get(key))}" for key, label in SETS)
        lines.append(f"groups with a standard deviation below {spread.threshold:g}: {shares}")
    return lines


def _penalty_line(penalty: LengthPenalty, classes: Mapping[str, int]) -> str:
    end = "-1 beyond" if penalty.floored else "on in the same line beyond"
    return (
        f"{SOFT_OVERLONG}, weight {penalty.weight:g}: 0 up to "
        f"{penalty.max_length - penalty.buffer:,} tokens, -1 at {penalty.max_length:,}, {end}; "
        f"answers: {classes['free']:,} free, {classes['ramp']:,} on the ramp, "
        f"{classes['cap']:,} at the cap"
    )


def drift_lines(drifts: Drifts) -> list[str]:
    """When to profile again, for the kept set."""
    drift = drifts.kept
    if drift is None:
        return []
    now = f"drift: accuracy of the filtered set now {drift.accuracy:.2f}"
    if drift.profile_again_at is None:
        return [f"{now}; no shift takes its collapse rate past {drift.limit:.2f}"]
    if drift.shift == 0:
        return [f"{now}; its collapse rate is past {drift.limit:.2f} already"]
    return [
        f"{now}; profile again at {drift.profile_again_at:.2f}: there its collapse rate passes "
        f"{drift.limit:.2f} ({drift.limit_says})"
    ]


def outlook_table(answer: TrainerAnswer) -> Table:
    """How often a step fills and what it costs, for the pool and the kept set."""
    table = Table(
        title=f"{answer.name}: {plan_text(answer)}",
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("")
    for label, part in zip(LABELS, answer.outlooks(), strict=True):
        table.add_column(f"{label}, {part.num_questions:,} questions", no_wrap=True)
    first, *others = outlook_rows(answer)
    bars = [_bar(part.p_step_fills) for part in answer.outlooks()]
    table.add_row(first[0], *(f"{text:<7}{bar}" for text, bar in zip(first[1], bars, strict=True)))
    for name, values in others:
        table.add_row(name, *values)
    return table


def outlook_rows(answer: TrainerAnswer) -> list[tuple[str, list[str]]]:
    """The table's rows: name, then a text for the pool and one for the kept set."""
    sets = answer.outlooks()
    rows = [
        ("a step fills", [chance(s.p_step_fills) for s in sets]),
        ("  over the interval", [_between(s) for s in sets]),
        (f"all {answer.steps:,} steps fill", [chance(s.p_all_steps_fill) for s in sets]),
        ("batches a step", [number(s.expected_batches, 1) for s in sets]),
        ("answers a step", [number(s.expected_answers, 0) for s in sets]),
        ("answers a useful group", [number(s.answers_per_useful_group, 1) for s in sets]),
    ]
    if answer.metric:
        name = answer.metric.partition(":")[0]
        rows.append((name, [number(s.metric_expected, 2) for s in sets]))
    safe = answer.safe
    if safe.max_rounds is not None and safe.group_size is not None:
        sure = f"{safe.target:.0%} sure from"
        rows += [
            (f"{sure} batches", _least(safe.max_rounds)),
            (f"{sure} group size", _least(safe.group_size)),
        ]
    return rows


def plan_text(answer: TrainerAnswer) -> str:
    """The run that was forecast, in a few words."""
    text = f"steps of {answer.train_groups:,} usable groups"
    if answer.gen_groups != answer.train_groups:
        text += f" out of batches of {answer.gen_groups:,}"
    if answer.max_rounds is not None:
        text += f", {answer.max_rounds} batches looked at"
    return text


def outlook_lines(answer: TrainerAnswer) -> list[str]:
    """What stands below the table: no figures and why, the limit, the metric, safety, defaults."""
    parts = zip(LABELS, answer.outlooks(), strict=True)
    lines = [f"{label}: {part.reason}" for label, part in parts if part.reason]
    lines.append(f"at its limit it {answer.at_limit}")
    if answer.metric:
        lines.append(answer.metric)
    safe = answer.safe
    if safe.reason is None:
        lines.append(f"{_widest(safe.keep)} {answer.steps:,} steps fill ({safe.target:.0%})")
    if answer.defaults:
        lines.append(f"taken where nothing was said: {', '.join(answer.defaults)}")
    return lines


def _widest(keep: SafeKeep | None) -> str:
    if keep is None:
        return "no range of levels is known to make all"
    name = format_keep(keep.levels)
    return f"widest keep rule: {name} ({keep.num_questions:,} questions) still makes all"


def _between(part: Outlook) -> str:
    if part.p_step_fills is None:
        return "-"
    low, high = chance(part.p_step_fills_low), chance(part.p_step_fills_high)
    return low if low == high else f"{low} to {high}"


def _least(found: Mapping[SetName, int | None]) -> list[str]:
    """A text for the pool and one for the kept set."""
    texts = {name: "above 64" if least is None else str(least) for name, least in found.items()}
    return [texts.get(name, "-") for name, _ in SETS]


def chance(value: float | None) -> str:
    """A probability; what is nearly sure is not rounded to sure."""
    if value is None:
        return "-"
    if value > 0.9999:
        return "always"
    if value < 0.0001:
        return "never"
    return f"{value:.4f}" if value < 0.01 or value > 0.99 else f"{value:.2f}"


def number(value: float | None, digits: int) -> str:
    """A mean, or a dash for what is unknown."""
    return "-" if value is None else f"{value:,.{digits}f}"


def _bar(value: float | None) -> str:
    if value is None:
        return ""
    width = round(value * BAR_WIDTH)
    return "█" * max(width, 1 if value >= 0.0001 else 0)
