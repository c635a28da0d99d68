"""The settings of a run, one section a stage, as they stand in ``run.toml``.

A table's stamp holds the sections that its own stage and the stages before it used
(``settings_through``): a new level cut leaves costly completions valid, a new temperature does not.
No section ever holds a secret: API keys come from the environment and stay there.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any

from difficulty import levels
from difficulty.errors import SettingsError
from difficulty.settings.forecast import ForecastSpec as ForecastSpec
from difficulty.settings.rewards import GradingSpec as GradingSpec
from difficulty.settings.rewards import check_grading, compared, uses_builtin
from difficulty.settings.sampling import FewShotTurn as FewShotTurn
from difficulty.settings.sampling import SamplingSpec as SamplingSpec
from difficulty.settings.selection import ExportSpec as ExportSpec
from difficulty.settings.selection import SelectionSpec as SelectionSpec
from difficulty.settings.selection import check_export, check_selection
from difficulty.settings.server import ServerSpec as ServerSpec
from difficulty.settings.setting import Setting, check_section
from difficulty.settings.source import SourceSpec as SourceSpec


@dataclass(frozen=True, kw_only=True)
class BucketSpec:
    """How verdicts become a level."""

    min_graded: Annotated[
        int | None, Setting("Graded answers that a level needs.", unset="all k")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that changes a result, and how the answers were fetched."""

    source: SourceSpec
    sampling: SamplingSpec
    grading: GradingSpec
    bucket: BucketSpec = field(default_factory=BucketSpec)
    selection: SelectionSpec = field(default_factory=SelectionSpec)
    forecast: ForecastSpec = field(default_factory=ForecastSpec)
    export: ExportSpec = field(default_factory=ExportSpec)
    server: ServerSpec = field(default_factory=ServerSpec)

    def __post_init__(self) -> None:
        """Refuse, before anything starts, what cannot work."""
        check(self)


ORDER = ("source", "sampling", "grading", "bucket", "selection", "forecast", "export")
"""Sections in running order; ``server`` is outside: it is not compared."""

MAY_GROW = {"sampling.k", "source.limit"}


def check(spec: RunSpec) -> None:
    """Raise ``SettingsError`` for settings that cannot give a profile."""
    for section in (spec.source, spec.sampling, spec.bucket, spec.forecast, spec.server):
        check_section(section)
    if spec.sampling.temperature == 0 and spec.sampling.k > 1:
        raise SettingsError(
            f"temperature 0 with k = {spec.sampling.k}: all answers would be identical. "
            "Use the temperature you will train with, such as --temperature 1.0"
        )
    check_grading(spec.grading)
    if spec.source.unchecked_gold and uses_builtin(spec.grading):
        raise SettingsError(
            "the built-in grader cannot grade this run: it was made for your own reward alone, so "
            "its golds were not checked. Start a new run with another --run"
        )
    check_selection(spec.selection)
    check_export(spec.export)
    _check_levels(spec)


def _check_levels(spec: RunSpec) -> None:
    """Refuse a keep rule that no number of graded answers can meet."""
    k, keep = spec.sampling.k, spec.selection.keep
    min_graded = spec.bucket.min_graded
    if min_graded is not None and not 1 <= min_graded <= k:
        raise SettingsError(f"min-graded is out of range: {min_graded} of k = {k}. Use 1 to {k}")
    counts = range(min_graded or k, k + 1)
    reachable = {level for count in counts for level in levels.reachable_levels(count)}
    if not reachable.intersection(levels.parse_keep(keep)):
        raise SettingsError(
            f"keep rule {keep} can keep nothing: k = {k} reaches only "
            f"{levels.format_keep(tuple(sorted(reachable)))}. Choose other levels or a larger --k"
        )


def settings_through(spec: RunSpec, section: str) -> dict[str, Any]:
    """The settings, as ``section.key`` -> value, that ``section`` and all before it used."""
    used = ORDER[: ORDER.index(section) + 1]
    settings = {
        f"{name}.{key}": value
        for name in used
        for key, value in section_as_dict(getattr(spec, name)).items()
    }
    if "grading" in used and spec.grading.rewards is not None:
        settings |= compared(spec.grading)
        if not uses_builtin(spec.grading):
            del settings["grading.grader"]
    return settings


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Keys whose values differ, in the order of the new settings."""
    keys = [*new, *(key for key in old if key not in new)]
    return [key for key in keys if old.get(key) != new.get(key)]


def describe_differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """``temperature 1.0 -> 0.7, ...`` for a message; long values are cut."""
    parts = [
        f"{key} {_short(old.get(key))} -> {_short(new.get(key))}" for key in differences(old, new)
    ]
    return ", ".join(parts)


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def section_as_dict(section: Any) -> dict[str, Any]:
    """Plain values (lists, dicts) of one section; ``None`` is left out (TOML has no null)."""
    plain = dataclasses.asdict(section)
    return {key: _plain(value) for key, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
