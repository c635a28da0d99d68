"""The settings of a run: made new, or those on disk with what the user changed.

Other source or sampling settings on an existing run are refused; later ones are taken over, and the
tables after them are made again by their stages.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.grading import GRADER_VERSION
from difficulty.settings.changes import Changes
from difficulty.settings.rewards import settled, uses_builtin
from difficulty.settings.run import (
    MAY_GROW,
    ExportSpec,
    GradingSpec,
    RunSpec,
    SamplingSpec,
    SourceSpec,
    describe_differences,
    settings_through,
)
from difficulty.settings.stated import stating
from difficulty.sources.dataset import Dataset, dataset_of
from difficulty.store import RunFolder
from difficulty.trainers.find import find_exporter, require_one_turn


def find_run_dataset(run: RunFolder, dataset: str, changes: Changes) -> Dataset:
    """The dataset of a run by the name the user gave.

    Raises:
        InputError: it is not there.
    """
    old = SourceSpec(dataset=dataset, sha256="")
    if run.spec_file.exists():
        old = dataclasses.replace(store.load_spec(run).source, dataset=dataset)
    return dataset_of(changes.source.over(old))


def plan_run(run: RunFolder, dataset: str, found: Dataset, model: str, changes: Changes) -> RunSpec:
    """The settings of a new run, or of the one that is there with what the user changed.

    Nothing is written: bad settings are refused before a folder is made for them.

    Raises:
        SettingsError: settings that cannot work, or a source or sampling setting that differs from
            the run's; names each key.
    """
    if not run.spec_file.exists():
        return new_spec(
            changes, SourceSpec(dataset=dataset, sha256=found.sha256), SamplingSpec(model=model)
        )
    old = store.load_spec(run)
    same_file = Path(old.source.dataset).resolve() == Path(dataset).resolve()
    source = dataclasses.replace(
        old.source, dataset=old.source.dataset if same_file else dataset, sha256=found.sha256
    )
    sampling = dataclasses.replace(old.sampling, model=model)
    wanted = changes.sampling.over(sampling)
    if wanted.max_tokens in sampling.earlier_max_tokens:  # the command from before a redo goes on
        changes = dataclasses.replace(changes, sampling=changes.sampling.without("max_tokens"))
    new = with_changes(dataclasses.replace(old, source=source, sampling=sampling), changes)
    refuse_other_sampling(run, new)
    return new


def new_spec(changes: Changes, source: SourceSpec, sampling: SamplingSpec) -> RunSpec:
    """Settings from what the user stated and the defaults for the rest.

    Raises:
        SettingsError: settings that cannot work.
    """
    grading = settled(changes.grading, GradingSpec(grader=GRADER_VERSION))
    if not uses_builtin(grading):
        source = dataclasses.replace(source, unchecked_gold=True)
    _require_trainers(changes)
    default = RunSpec(source=source, sampling=sampling, grading=grading)
    spec = changes.over(default, grading=grading)
    require_one_turn(spec)
    return spec


def change_run(run: RunFolder, changes: Changes) -> RunSpec:
    """The settings of an existing run with what the user changed.

    Raises:
        RunError: no run there.
        SettingsError: a source or sampling setting would change.
    """
    old = store.load_spec(run)
    new = with_changes(old, changes)
    refuse_other_sampling(run, new)
    save_run(run, new)
    return new


def _require_trainers(changes: Changes) -> None:
    for trainer in changes.export.over(ExportSpec(trainers=())).trainers:
        find_exporter(trainer)


def with_larger_limit(spec: RunSpec, max_tokens: int | None) -> Changes:
    """What changes for ``--redo truncated``: a larger limit, the old one kept on record.

    Nothing changes if the limit was raised to this one before: a redo goes on by the same command.

    Raises:
        SettingsError: no limit given, or none that is larger.
    """
    before = spec.sampling.max_tokens
    if max_tokens == before and spec.sampling.earlier_max_tokens:
        return Changes()
    if max_tokens is None or max_tokens <= before:
        raise SettingsError(
            f"redo truncated needs a larger limit: found {max_tokens}, the answers were cut at "
            f"{before}. Give --max-tokens {2 * before}, say"
        )
    earlier = tuple(dict.fromkeys((*spec.sampling.earlier_max_tokens, before)))
    return Changes(
        sampling=stating(
            SamplingSpec,
            model=spec.sampling.model,
            max_tokens=max_tokens,
            earlier_max_tokens=earlier,
        )
    )


def save_run(run: RunFolder, spec: RunSpec) -> None:
    """Write run.toml if it does not say this already."""
    if not run.spec_file.exists() or store.load_spec(run) != spec:
        store.save_spec(run, spec)


def with_changes(spec: RunSpec, changes: Changes) -> RunSpec:
    """``spec`` with the stated values, with this code's grader and the reward's code as it is now.

    Raises:
        SettingsError: values that cannot work, such as a trainer that does not exist.
    """
    old = dataclasses.replace(spec.grading, grader=GRADER_VERSION)
    grading = settled(changes.grading, old)
    _require_trainers(changes)
    new = changes.over(spec, grading=grading)
    if changes.export.states("trainers"):
        require_one_turn(new)
    return new


def refuse_other_sampling(run: RunFolder, spec: RunSpec) -> None:
    """Compare the settings with those that the samples on disk were drawn with.

    k and the row limit may grow beyond what was drawn; without samples anything may change.

    Raises:
        SettingsError: a source or sampling setting differs; names each key.
    """
    after = settings_through(spec, "sampling")
    for part in run.completion_parts():
        stamp = store.read_stamp(part)
        before = dict(stamp.settings) if stamp else {}
        now = dict(after)
        for key in MAY_GROW:
            if _grew(before.get(key), after.get(key)):
                before[key] = now[key] = None
        if before.get("sampling.max_tokens") in spec.sampling.earlier_max_tokens:
            before["sampling.max_tokens"] = now["sampling.max_tokens"]
        before["sampling.earlier_max_tokens"] = now["sampling.earlier_max_tokens"]
        if stamp is not None and before != now:
            raise SettingsError(
                f"run {run} was made with other settings: "
                f"{describe_differences(before, now)}. "
                "Give the old values, or start a new run with another --run"
            )


def _grew(before: int | None, after: int | None) -> bool:
    """Did a setting that may grow grow? No limit is more than any limit."""
    return after is None or (before is not None and after >= before)
