"""The settings of a run: made new, or those on disk with what the user changed.

Other source or sampling settings on an existing run are refused; later ones are taken over, and the
tables after them are made again by their stages.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from difficulty import run_spec, store
from difficulty.errors import SettingsError
from difficulty.export.trainers import find_trainer
from difficulty.grading import GRADER_VERSION
from difficulty.run_spec import RunSpec, settings_through
from difficulty.sources.dataset import Dataset, find_dataset
from difficulty.store import RunFolder

Overrides = dict[str, dict[str, Any]]
"""Section -> key -> value, for what the user stated; everything else keeps its value."""


def find_run_dataset(run: RunFolder, dataset: str, overrides: Overrides) -> Dataset:
    """The dataset of a run by the name the user gave.

    Raises:
        InputError: it is not there.
    """
    old = store.load_spec(run).source.split if run.spec_file.exists() else None
    return find_dataset(dataset, split=overrides.get("source", {}).get("split", old))


def plan_run(
    run: RunFolder, dataset: str, found: Dataset, model: str, overrides: Overrides
) -> RunSpec:
    """The settings of a new run, or of the one that is there with what the user changed.

    Nothing is written: bad settings are refused before a folder is made for them.

    Raises:
        SettingsError: settings that cannot work, or a source or sampling setting that differs from
            the run's; names each key.
    """
    old = store.load_spec(run) if run.spec_file.exists() else None
    source = {"dataset": dataset, "sha256": found.sha256}
    stated = {
        **overrides,
        "source": {**overrides.get("source", {}), **source},
        "sampling": {**overrides.get("sampling", {}), "model": model},
    }
    if old is None:
        spec = RunSpec(
            source=run_spec.SourceSpec(**stated.pop("source")),
            sampling=run_spec.SamplingSpec(**stated.pop("sampling")),
            grading=run_spec.GradingSpec(grader=GRADER_VERSION),
        )
        return with_overrides(spec, stated)
    if Path(old.source.dataset).resolve() == Path(dataset).resolve():
        stated["source"]["dataset"] = old.source.dataset
    new = with_overrides(old, stated)
    _refuse_other_sampling(run, old, new)
    return new


def change_run(run: RunFolder, overrides: Overrides) -> RunSpec:
    """The settings of an existing run with what the user changed.

    Raises:
        RunError: no run there.
        SettingsError: a source or sampling setting would change.
    """
    old = store.load_spec(run)
    new = with_overrides(old, overrides)
    _refuse_other_sampling(run, old, new)
    save_run(run, new)
    return new


def save_run(run: RunFolder, spec: RunSpec) -> None:
    """Write run.toml if it does not say this already."""
    if not run.spec_file.exists() or store.load_spec(run) != spec:
        store.save_spec(run, spec)


def with_overrides(spec: RunSpec, overrides: Overrides) -> RunSpec:
    """``spec`` with the stated values, and with this code's grader.

    Raises:
        SettingsError: values that cannot work, such as a trainer that does not exist.
    """
    overrides = {**overrides, "grading": {"grader": GRADER_VERSION}}
    changed = {
        section: dataclasses.replace(getattr(spec, section), **values)
        for section, values in overrides.items()
    }
    for trainer in overrides.get("export", {}).get("trainers", ()):
        find_trainer(trainer)
    return dataclasses.replace(spec, **changed)


def _refuse_other_sampling(run: RunFolder, old: RunSpec, new: RunSpec) -> None:
    if not run.questions.exists():
        return
    before, after = settings_through(old, "sampling"), settings_through(new, "sampling")
    for key in run_spec.MAY_GROW:
        if _grew(before.get(key), after.get(key)):
            before[key] = after[key] = None
    if before != after:
        raise SettingsError(
            f"run {run} was made with other settings: "
            f"{run_spec.describe_differences(before, after)}. "
            "Give the old values, or start a new run with another --run"
        )


def _grew(before: int | None, after: int | None) -> bool:
    """Did a setting that may grow grow? No limit is more than any limit."""
    return before is not None and (after is None or after >= before)
