"""A forecast in the terminal: rates, whether a trainer's steps fill, what would make them safe."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from difficulty.levels import format_keep
from difficulty.report.terminal import escape, forecast_table, rate, span

BAR_WIDTH = 12
SETS = (("pool", "all"), ("kept", "filtered"))


def print_forecast(found: dict[str, Any], console: Console) -> None:
    """Everything that ``difficulty forecast`` found."""
    console.print(forecast_table(found))
    if found.get("rewards") and found["rewards"]["sum"]:
        console.print(rewards_table(found["rewards"]))
        for line in reward_lines(found["rewards"]):
            console.print(escape(line))
    print_outlook(found, console)
    for line in drift_lines(found):
        console.print(escape(line))
    for text in found.get("warnings", []):
        console.print(f"! {escape(text)}")


def print_outlook(found: dict[str, Any], console: Console) -> None:
    """The trainer's answer, if one was asked for."""
    answer = found.get("trainer")
    if not answer:
        return
    console.print(outlook_table(answer))
    for line in outlook_lines(answer):
        console.print(escape(line))


def rewards_table(rewards: dict[str, Any]) -> Table:
    """Collapse by correctness alone beside collapse by the whole reward."""
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
        part = rewards["sum"].get(key)
        if part:
            table.add_row(
                label,
                rate(rewards["correctness"][key]),
                rate(part["acr"]),
                span(part["low"], part["high"]),
                rate(part["plug_in"]),
            )
    return table


def reward_lines(rewards: dict[str, Any]) -> list[str]:
    """The penalty, how many answers it meets, what the trainer tests, groups of small spread."""
    lines = []
    penalty, classes = rewards["penalty"], rewards["length_classes"]
    if penalty:
        end = "-1 beyond" if penalty["floored"] else "on in the same line beyond"
        lines.append(
            f"{penalty['name']}, weight {penalty['weight']:g}: 0 up to "
            f"{penalty['max_length'] - penalty['buffer']:,} tokens, -1 at "
            f"{penalty['max_length']:,}, {end}; answers: {classes['free']:,} free, "
            f"{classes['ramp']:,} on the ramp, {classes['cap']:,} at the cap"
        )
    if rewards["trainer_tests"]:
        tested = {"sum": "the whole reward", "accuracy": "correctness alone"}
        lines.append(f"the trainer tests {tested[rewards['trainer_tests']]}")
    spread = rewards["spread"]
    if spread:
        shares = ", ".join(f"{label} {rate(spread.get(key))}" for key, label in SETS)
        lines.append(f"groups with a standard deviation below {spread['threshold']:g}: {shares}")
    return lines


def drift_lines(found: dict[str, Any]) -> list[str]:
    """When to profile again, for the kept set."""
    drift = (found.get("drift") or {}).get("kept")
    if not drift:
        return []
    now = f"drift: accuracy of the filtered set now {drift['accuracy']:.2f}"
    if drift["profile_again_at"] is None:
        return [f"{now}; no shift takes its collapse rate past {drift['limit']:.2f}"]
    if drift["shift"] == 0:
        return [f"{now}; its collapse rate is past {drift['limit']:.2f} already"]
    return [
        f"{now}; profile again at {drift['profile_again_at']:.2f}: there its collapse rate passes "
        f"{drift['limit']:.2f} ({drift['limit_says']})"
    ]


def outlook_table(answer: dict[str, Any]) -> Table:
    """How often a step fills and what it costs, for the pool and the kept set."""
    table = Table(
        title=f"{answer['name']}: {plan_text(answer)}",
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("")
    for key, label in SETS:
        number_there = f"{answer[key]['num_questions']:,}"
        table.add_column(f"{label}, {number_there} questions", no_wrap=True)
    first, *others = outlook_rows(answer)
    bars = [_bar(answer[key]["p_step_fills"]) for key, _ in SETS]
    table.add_row(first[0], *(f"{text:<7}{bar}" for text, bar in zip(first[1], bars, strict=True)))
    for name, values in others:
        table.add_row(name, *values)
    return table


def outlook_rows(answer: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The table's rows: name, then a text for the pool and one for the kept set."""
    sets = [answer[key] for key, _ in SETS]
    rows = [
        ("a step fills", [chance(s["p_step_fills"]) for s in sets]),
        ("  over the interval", [_between(s) for s in sets]),
        (f"all {answer['steps']:,} steps fill", [chance(s["p_all_steps_fill"]) for s in sets]),
        ("batches a step", [number(s["expected_batches"], 1) for s in sets]),
        ("answers a step", [number(s["expected_answers"], 0) for s in sets]),
        ("answers a useful group", [number(s["answers_per_useful_group"], 1) for s in sets]),
    ]
    if answer["metric"]:
        name = answer["metric"].partition(":")[0]
        rows.append((name, [number(s["metric_expected"], 2) for s in sets]))
    safe = answer["safe"]
    if not safe["reason"]:
        sure = f"{safe['target']:.0%} sure from"
        rows += [
            (f"{sure} batches", [_least(safe["max_rounds"], key) for key, _ in SETS]),
            (f"{sure} group size", [_least(safe["group_size"], key) for key, _ in SETS]),
        ]
    return rows


def plan_text(answer: dict[str, Any]) -> str:
    """The run that was forecast, in a few words."""
    text = f"steps of {answer['train_groups']:,} usable groups"
    if answer["gen_groups"] != answer["train_groups"]:
        text += f" out of batches of {answer['gen_groups']:,}"
    if answer["max_rounds"] is not None:
        text += f", {answer['max_rounds']} batches looked at"
    return text


def outlook_lines(answer: dict[str, Any]) -> list[str]:
    """What stands below the table: no figures and why, the limit, the metric, safety, defaults."""
    lines = [f"{label}: {answer[key]['reason']}" for key, label in SETS if answer[key]["reason"]]
    lines.append(f"at its limit it {answer['at_limit']}")
    if answer["metric"]:
        lines.append(answer["metric"])
    safe = answer["safe"]
    if not safe["reason"]:
        lines.append(
            f"{_widest(safe['keep'])} {answer['steps']:,} steps fill ({safe['target']:.0%})"
        )
    if answer["defaults"]:
        lines.append(f"taken where nothing was said: {', '.join(answer['defaults'])}")
    return lines


def _widest(keep: dict[str, Any] | None) -> str:
    if keep is None:
        return "no range of levels is known to make all"
    name = format_keep(tuple(keep["levels"]))
    return f"widest keep rule: {name} ({keep['num_questions']:,} questions) still makes all"


def _between(part: dict[str, Any]) -> str:
    if part["p_step_fills"] is None:
        return "-"
    low, high = chance(part["p_step_fills_low"]), chance(part["p_step_fills_high"])
    return low if low == high else f"{low} to {high}"


def _least(found: dict[str, int | None], key: str) -> str:
    if key not in found:
        return "-"
    return "above 64" if found[key] is None else str(found[key])


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
