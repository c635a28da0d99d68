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
from difficulty.store import RunFolder

Overrides = dict[str, dict[str, Any]]
"""Section -> key -> value, for what the user stated; everything else keeps its value."""


def start_run(run: RunFolder, dataset: str, model: str, overrides: Overrides) -> RunSpec:
    """The settings of a new run, or of the one that is there with what the user changed.

    Raises:
        InputError: the dataset is not there.
        SettingsError: a source or sampling setting differs from the run's; names each key.
    """
    from difficulty.sources import find_dataset

    if run.spec_file.exists():
        old = store.load_spec(run)
        split = overrides.get("source", {}).get("split", old.source.split)
    else:
        old, split = None, overrides.get("source", {}).get("split")
    found = find_dataset(dataset, split=split)
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
        return _save(run, None, with_overrides(spec, stated))
    if Path(old.source.dataset).resolve() == Path(dataset).resolve():
        stated["source"]["dataset"] = old.source.dataset
    return _save(run, old, with_overrides(old, stated))


def change_run(run: RunFolder, overrides: Overrides) -> RunSpec:
    """The settings of an existing run with what the user changed.

    Raises:
        RunError: no run there.
        SettingsError: a source or sampling setting would change.
    """
    old = store.load_spec(run)
    return _save(run, old, with_overrides(old, overrides))


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


def _save(run: RunFolder, old: RunSpec | None, new: RunSpec) -> RunSpec:
    if old is not None and run.questions.exists():
        _refuse_other_sampling(run, old, new)
    if old != new:
        store.save_spec(run, new)
    return new


def _refuse_other_sampling(run: RunFolder, old: RunSpec, new: RunSpec) -> None:
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
