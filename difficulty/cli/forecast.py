"""What ``difficulty forecast`` does: a run's forecast or that of a table of counts, printed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty.cli.run import console, print_json, refresh_run
from difficulty.settings.forecast import PENALTY_KEYS, TRAINER_KEYS, ForecastSpec

if TYPE_CHECKING:
    from difficulty.collapse.whole import WholeForecast


def forecast_run_or_counts(
    path: Path, selection: dict[str, Any], wanted: dict[str, Any], *, as_json: bool
) -> None:
    """Forecast a run folder or a table of counts and print it.

    Args:
        path: run folder, or file with counts.
        selection: what the user said of group size and keep rule.
        wanted: what the user said of the trainer and the reward; keys of ``ForecastSpec``.
        as_json: one JSON object instead of tables.

    Raises:
        SettingsError: settings that cannot work; nothing is written then.
    """
    found = (
        _of_run(path, selection, wanted) if path.is_dir() else _of_counts(path, selection, wanted)
    )
    if as_json:
        from difficulty.collapse.forecast_json import to_json

        print_json(to_json(found))
        return
    from difficulty.report.outlook import print_forecast

    print_forecast(found, console())


def _of_run(path: Path, selection: dict[str, Any], wanted: dict[str, Any]) -> WholeForecast:
    from difficulty import store
    from difficulty.collapse.complete import check
    from difficulty.collapse.forecast_json import read_forecast

    run = store.RunFolder(path)
    spec = store.load_spec(run)
    changes = with_own_defaults(wanted)
    rows = store.num_rows(run.profile) if run.profile.exists() else None
    check(
        dataclasses.replace(spec.forecast, **changes),
        group_size=selection.get("group_size", spec.selection.group_size),
        num_questions=rows,
    )
    refresh_run("forecast", path, {"selection": selection, "forecast": changes})
    return read_forecast(run.forecast)


def with_own_defaults(wanted: dict[str, Any]) -> dict[str, Any]:
    """Another trainer starts with its own defaults; ``none`` takes trainer or penalty back."""
    changes = dict(wanted)
    if "trainer" in wanted:
        changes = dict.fromkeys(TRAINER_KEYS) | changes
    if changes.get("length_penalty") == "none":
        changes = dict.fromkeys(PENALTY_KEYS) | changes
    for key in ("trainer", "length_penalty"):
        if changes.get(key) == "none":
            changes[key] = None
    return changes


def _of_counts(path: Path, selection: dict[str, Any], wanted: dict[str, Any]) -> WholeForecast:
    from difficulty.collapse import forecast
    from difficulty.collapse.complete import check, complete
    from difficulty.levels import parse_keep
    from difficulty.sources.counts_table import read_counts_table

    spec = ForecastSpec(**with_own_defaults(wanted))
    group_size = selection.get("group_size", 8)
    kept = parse_keep(selection.get("keep", "L2-L5"))
    counts = read_counts_table(path)
    check(
        spec,
        group_size=group_size,
        num_questions=int(counts.num_questions.sum()),
        counts_only=True,
    )
    return complete(forecast(counts, group_size=group_size, keep=kept), spec)
