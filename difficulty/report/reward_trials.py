"""What the user's own reward gave when it was tried, as ``check --reward`` prints it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from difficulty.report.terminal import escape

FAULT_SHOWN = 40
TEXT_SHOWN = 32


def print_trials(found: dict[str, Any], console: Console) -> None:
    """What ``difficulty check --reward`` found."""
    console.print(f"\nreward (correct from {found['pass_threshold']:g} on):")
    for function in found["functions"]:
        console.print(escape(_function_line(function, found["completions"])))
        if function["note"]:
            console.print(f"[yellow]![/] {escape(function['note'])}")
    console.print(trial_table(found))
    for fault, count in _faults(found).items():
        console.print(escape(f"  {fault} ({count} of {len(found['trials'])} replies)"))


def _faults(found: dict[str, Any]) -> Counter[str]:
    parts = [part for trial in found["trials"] for part in trial["parts"]]
    return Counter(f"{part['name']}: {part['fault']}" for part in parts if part["fault"])


def _function_line(function: dict[str, Any], completions: str) -> str:
    line = f"  {function['weight']:g} × {function['name']}"
    if function["style"] == "builtin":
        return f"{line}: the built-in grader"
    style = {"trl": f"TRL's signature, completions as {completions}", "verl": "verl's signature"}
    kind = ", async" if function["is_async"] else ""
    return f"{line} ({Path(function['file']).name}): {style[function['style']]}{kind}"


def trial_table(found: dict[str, Any]) -> Table:
    """One row a call: what it returned, how long it took, or that it gave nothing."""
    table = Table(show_edge=False, pad_edge=False)
    for name in ("#", "reply", "text", "reward", "part", "value", "returned", "ms"):
        right = name in ("#", "value", "ms")
        justify: Literal["left", "right"] = "right" if right else "left"
        table.add_column(name, justify=justify, no_wrap=name != "returned")
    for trial in found["trials"]:
        text = escape(_short(trial["text"]))
        head = [str(trial["question"] + 1), trial["reply"], text, _reward(trial)]
        for part in trial["parts"]:
            table.add_row(*head, *map(escape, _cells(part)))
            head = [""] * len(head)
    return table


def _short(text: str) -> str:
    """A reply on one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_SHOWN else f"{line[: TEXT_SHOWN - 3]}..."


def _reward(trial: dict[str, Any]) -> str:
    if trial["reward"] is None:
        return "unknown"
    return f"{trial['reward']:g} {trial['outcome'].replace('_', ' ')}"


def _cells(part: dict[str, Any]) -> list[str]:
    more = "".join(f", {key} {value:g}" for key, value in part["more"].items())
    returned = part["fault"].partition(":")[0] if part["fault"] else f"{part['type']}{more}"
    milliseconds = "" if part["ms"] is None else f"{part['ms']:.1f}"
    return [part["name"], _number(part["value"]), returned[:FAULT_SHOWN], milliseconds]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
