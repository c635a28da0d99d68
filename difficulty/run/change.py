"""The settings of a run: made new, or those on disk with what the user changed.

Other source or sampling settings on an existing run are refused; later ones are taken over, and the
tables after them are made again by their stages.
"""

from __future__ import annotations

import dataclasses
import typing
from pathlib import Path
from typing import Any

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.grading import GRADER_VERSION
from difficulty.settings.rewards import GradingSpec, settled, uses_builtin
from difficulty.settings.run import MAY_GROW, RunSpec, describe_differences, settings_through
from difficulty.sources.dataset import Dataset, find_dataset
from difficulty.store import RunFolder
from difficulty.trainers.find import find_trainer, require_one_turn

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
        return new_spec(stated)
    if Path(old.source.dataset).resolve() == Path(dataset).resolve():
        stated["source"]["dataset"] = old.source.dataset
    if stated["sampling"].get("max_tokens") in old.sampling.earlier_max_tokens:
        del stated["sampling"]["max_tokens"]  # the command from before a redo goes on
    new = with_overrides(old, stated)
    refuse_other_sampling(run, new)
    return new


def new_spec(stated: Overrides) -> RunSpec:
    """Settings from what the user stated and the defaults for the rest.

    Raises:
        SettingsError: settings that cannot work.
    """
    hints = typing.get_type_hints(RunSpec)
    grading = settled(stated.get("grading", {}), None)
    stated = {**stated, "grading": {**grading, "grader": GRADER_VERSION}}
    if not uses_builtin(GradingSpec(**stated["grading"])):
        stated["source"] = {**stated["source"], "unchecked_gold": True}
    _require_trainers(stated)
    spec = RunSpec(**{name: hints[name](**values) for name, values in stated.items()})
    require_one_turn(spec)
    return spec


def change_run(run: RunFolder, overrides: Overrides) -> RunSpec:
    """The settings of an existing run with what the user changed.

    Raises:
        RunError: no run there.
        SettingsError: a source or sampling setting would change.
    """
    old = store.load_spec(run)
    new = with_overrides(old, overrides)
    refuse_other_sampling(run, new)
    save_run(run, new)
    return new


def _require_trainers(stated: Overrides) -> None:
    for trainer in stated.get("export", {}).get("trainers", ()):
        find_trainer(trainer)


def with_larger_limit(spec: RunSpec, max_tokens: int | None) -> Overrides:
    """What changes for ``--redo truncated``: a larger limit, the old one kept on record.

    Nothing changes if the limit was raised to this one before: a redo goes on by the same command.

    Raises:
        SettingsError: no limit given, or none that is larger.
    """
    before = spec.sampling.max_tokens
    if max_tokens == before and spec.sampling.earlier_max_tokens:
        return {}
    if max_tokens is None or max_tokens <= before:
        raise SettingsError(
            f"redo truncated needs a larger limit: found {max_tokens}, the answers were cut at "
            f"{before}. Give --max-tokens {2 * before}, say"
        )
    earlier = dict.fromkeys((*spec.sampling.earlier_max_tokens, before))
    return {"sampling": {"max_tokens": max_tokens, "earlier_max_tokens": tuple(earlier)}}


def save_run(run: RunFolder, spec: RunSpec) -> None:
    """Write run.toml if it does not say this already."""
    if not run.spec_file.exists() or store.load_spec(run) != spec:
        store.save_spec(run, spec)


def with_overrides(spec: RunSpec, overrides: Overrides) -> RunSpec:
    """``spec`` with the stated values, with this code's grader and the reward's code as it is now.

    Raises:
        SettingsError: values that cannot work, such as a trainer that does not exist.
    """
    grading = settled(overrides.get("grading", {}), spec.grading)
    overrides = {**overrides, "grading": {**grading, "grader": GRADER_VERSION}}
    changed = {
        section: dataclasses.replace(getattr(spec, section), **values)
        for section, values in overrides.items()
    }
    _require_trainers(overrides)
    changed_spec = dataclasses.replace(spec, **changed)
    if "trainers" in overrides.get("export", {}):
        require_one_turn(changed_spec)
    return changed_spec


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
