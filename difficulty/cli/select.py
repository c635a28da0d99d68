"""``difficulty select``: choose, print the ledger, or tell one question's story."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from difficulty.cli.run import console, print_json, refresh_run, show_stage, stage_facts
from difficulty.settings.changes import Changes
from difficulty.settings.selection import ExportSpec, SelectionSpec
from difficulty.settings.stated import Stated, stating_all

if TYPE_CHECKING:
    from difficulty.store import RunFolder


ORDER_OF = {
    "mix": "mix", "batch_size": "mix", "gaussian_mean": "gaussian", "gaussian_width": "gaussian",
}  # fmt: skip
"""Settings that belong to an order ask for it."""


def order_implied(changes: Changes) -> Changes:
    """The changes with the order that a setting of them belongs to.

    Raises:
        typer.BadParameter: a setting of another order than the one that is stated.
    """
    stated = changes.selection
    implied = {order: key for key, order in reversed(ORDER_OF.items()) if stated.states(key)}
    if not implied:
        return changes
    order = next(reversed(implied))
    if len(implied) > 1 or (stated.states("order") and stated.values["order"] != order):
        keys = [key for key in ORDER_OF if stated.states(key) and ORDER_OF[key] == order]
        options = ", ".join(f"--{key.replace('_', '-')}" for key in keys)
        raise typer.BadParameter(f"{options} goes with --order {order}")
    return replace(changes, selection=Stated(SelectionSpec, {"order": order}).then(stated))


def all_forgotten(changes: Changes) -> Changes:
    """Every rule back to its default, but the group size and what is stated."""
    forgotten = stating_all(SelectionSpec()).without("group_size")
    return replace(changes, selection=forgotten.then(changes.selection))


def select_run(folder: Path, changes: Changes, *, as_json: bool) -> None:
    """Run the stage and print where every question went.

    Raises:
        SettingsError: nothing is kept; the tables are written all the same, for the report.
    """
    from difficulty.report.ledger import print_ledger, read_ledger
    from difficulty.run.stages import require_kept
    from difficulty.store import RunFolder, load_spec

    refuse_early(RunFolder(folder), changes)
    run = refresh_run("select", folder, changes)
    require_kept(run, load_spec(run))
    ledger = read_ledger(run)
    if as_json:
        facts = stage_facts("select", run)
        print_json({**facts, "kept": ledger.total("kept"), "sources": ledger.sources})
    else:
        show_stage("select", run)
        print_ledger(ledger, console())


def refuse_early(run: RunFolder, changes: Changes) -> None:
    """Refuse rules that this run's questions cannot meet before they become its settings.

    Raises:
        SettingsError: a quota or mix for a source that is not there.
        InputError: an evaluation set that cannot be read.
    """
    from difficulty.run.change import with_changes
    from difficulty.selection.choose import require_sources
    from difficulty.sources.wording import read_wordings
    from difficulty.store import load_spec

    selection = with_changes(load_spec(run), changes).selection
    if run.profile.exists():
        require_sources(run, selection)
    for file in changes.selection.over(SelectionSpec()).against or ():
        next(read_wordings(file), None)


def export_run(
    folder: Path, changes: Changes, *, push_to: str | None, public: bool, as_json: bool
) -> None:
    """Run the stage; with ``push_to`` upload the files of its one trainer.

    Raises:
        SettingsError: several trainers to upload under one name, or no token.
    """
    from difficulty.errors import SettingsError
    from difficulty.export.push import push_export, require_token
    from difficulty.export.write import export_file
    from difficulty.run.change import with_changes
    from difficulty.store import RunFolder, load_spec

    trainers = with_changes(load_spec(RunFolder(folder)), changes).export.trainers
    if push_to is not None:
        require_token()
        if len(trainers) != 1:
            raise SettingsError(
                f"one dataset holds the files of one trainer: found {', '.join(trainers)}. "
                "Choose with --to"
            )
    if changes.export.over(ExportSpec()).carry:
        _refuse_to_carry(RunFolder(folder), changes)
    run = refresh_run("export", folder, changes)
    facts = stage_facts("export", run)
    if push_to is not None:
        place = export_file(run, trainers[0]).parent
        facts["pushed"] = push_export(place, push_to, public=public)
    if as_json:
        print_json(facts)
        return
    show_stage("export", run)
    if push_to is not None:
        console().print(f"uploaded to {facts['pushed']}", markup=False)


def _refuse_to_carry(run: RunFolder, changes: Changes) -> None:
    """Refuse columns that cannot be carried before they become settings of the run.

    Raises:
        SettingsError: one is not there, or its values have no one type.
    """
    from difficulty.export.carried import find_carried
    from difficulty.run.change import with_changes
    from difficulty.store import load_spec

    if run.questions.exists():
        find_carried(run, with_changes(load_spec(run), changes))


def explain(folder: Path, prefix: str, *, as_json: bool) -> None:
    """Tell one question's story; nothing is written."""
    from difficulty.report.story import tell_story
    from difficulty.report.story_text import print_story
    from difficulty.store import RunFolder, load_spec

    run = RunFolder(folder)
    story = tell_story(run, load_spec(run), prefix)
    if as_json:
        print_json(dataclasses.asdict(story))
    else:
        print_story(story, console())
