"""What ``difficulty forecast`` does: a run's forecast or that of a table of counts, printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from difficulty.cli.run import console, print_json, refresh_run
from difficulty.settings.changes import Changes
from difficulty.settings.forecast import PENALTY_KEYS, TRAINER_KEYS, ForecastSpec
from difficulty.settings.selection import SelectionSpec
from difficulty.settings.stated import Stated, stating_all

if TYPE_CHECKING:
    from difficulty.collapse.whole import WholeForecast


def forecast_run_or_counts(path: Path, changes: Changes, *, as_json: bool) -> None:
    """Forecast a run folder or a table of counts and print it.

    Args:
        path: run folder, or file with counts.
        changes: what the user said of group size, keep rule, trainer and reward.
        as_json: one JSON object instead of tables.

    Raises:
        SettingsError: settings that cannot work; nothing is written then.
    """
    found = _of_run(path, changes) if path.is_dir() else _of_counts(path, changes)
    if as_json:
        from difficulty.collapse.forecast_json import to_json

        print_json(to_json(found))
        return
    from difficulty.report.outlook import print_forecast

    print_forecast(found, console())


def _of_run(path: Path, changes: Changes) -> WholeForecast:
    from difficulty import store
    from difficulty.collapse.complete import check
    from difficulty.collapse.forecast_json import read_forecast

    run = store.RunFolder(path)
    spec = store.load_spec(run)
    wanted = with_own_defaults(changes.forecast, spec.forecast)
    check(
        wanted,
        group_size=changes.selection.over(spec.selection).group_size,
        num_questions=store.num_rows(run.profile) if run.profile.exists() else None,
    )
    refresh_run("forecast", path, replace(changes, forecast=stating_all(wanted)))
    return read_forecast(run.forecast)


def with_own_defaults(stated: Stated[ForecastSpec], old: ForecastSpec) -> ForecastSpec:
    """``old`` with what was stated; another trainer or penalty starts with its own defaults."""
    own = ForecastSpec()
    if stated.states("trainer"):
        old = _as_in(own, TRAINER_KEYS, old)
    if stated.states("length_penalty") and stated.over(old).length_penalty is None:
        old = _as_in(own, PENALTY_KEYS, old)
    return stated.over(old)


def _as_in(source: ForecastSpec, keys: tuple[str, ...], spec: ForecastSpec) -> ForecastSpec:
    return replace(spec, **{key: getattr(source, key) for key in keys})


def _of_counts(path: Path, changes: Changes) -> WholeForecast:
    from difficulty.collapse import forecast
    from difficulty.collapse.complete import check, complete
    from difficulty.levels import parse_keep
    from difficulty.sources.counts_table import read_counts_table

    spec = with_own_defaults(changes.forecast, ForecastSpec())
    selection = changes.selection.over(SelectionSpec())
    kept = parse_keep(selection.keep)
    counts = read_counts_table(path)
    check(
        spec,
        group_size=selection.group_size,
        num_questions=int(counts.num_questions.sum()),
        counts_only=True,
    )
    return complete(forecast(counts, group_size=selection.group_size, keep=kept), spec)
