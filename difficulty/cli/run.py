"""What commands do with a run: take its lock, run stages, print what came out."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from difficulty.errors import DifficultyError
from difficulty.settings.changes import Changes
from difficulty.settings.rewards import uses_builtin
from difficulty.settings.run import SamplingSpec, ServerSpec, SourceSpec
from difficulty.settings.stated import stating

if TYPE_CHECKING:
    from rich.console import Console

    from difficulty.report.live import Live
    from difficulty.report.summary import Summary
    from difficulty.settings.run import RunSpec
    from difficulty.store import RunFolder

INTERRUPTED = 130


def profile_run(
    folder: Path,
    dataset: str,
    model: str,
    changes: Changes,
    *,
    as_json: bool,
    like: Path | None = None,
) -> None:
    """Run all stages in ``folder`` and print the summary."""
    from difficulty.report.summary import summarize
    from difficulty.report.terminal import print_summary
    from difficulty.run import stages
    from difficulty.store import RunFolder

    run = RunFolder(folder)
    with starting_run(run, dataset, model, changes, like=like) as spec:
        stages.profile(run, spec, live_display())
        summary = summarize(run, spec)
    if as_json:
        print_json(summary_json(run, summary))
    else:
        print_summary(summary, console())


def default_run(dataset: str, model: str) -> Path:
    """``data/runs/DATASET--MODEL`` with the last part of each name."""
    parts = [Path(dataset).stem if Path(dataset).suffix else Path(dataset).name, Path(model).name]
    return Path("data/runs") / "--".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)


def without_endpoints(changes: Changes) -> Changes:
    """Asking for servers here takes back an endpoint of earlier."""
    server = changes.server
    if server.states("endpoints") or not (server.states("servers") or server.states("ray")):
        return changes
    return replace(changes, server=server.then(stating(ServerSpec, endpoints=())))


def check_set(dataset: str, changes: Changes, *, as_json: bool) -> None:
    """Read a dataset as a run would, try the rewards on it if any, and print what came out."""
    import dataclasses

    from difficulty.report.reward_trials import print_trials
    from difficulty.report.terminal import print_check
    from difficulty.sources.check import check_dataset, require_questions
    from difficulty.user_rewards import grading_for_trial, require_reward, try_rewards

    source = changes.source.over(SourceSpec(dataset=dataset, sha256=""))
    template = changes.sampling.over(SamplingSpec(model="")).template
    server = changes.server.over(ServerSpec())
    rewards = grading_for_trial(changes.grading, server)
    if rewards is not None and not uses_builtin(rewards):
        source = replace(source, unchecked_gold=True)
    found = check_dataset(source, template=template)
    tried = None
    if rewards is not None:
        tried = try_rewards(
            source, rewards, template=template, concurrency=server.reward_concurrency
        )
    if as_json:
        reward = {} if tried is None else {"reward": tried}
        print_json({**dataclasses.asdict(found), **reward})
    else:
        print_check(found, console())
    if tried is not None:
        if not as_json:
            print_trials(tried, console())
        require_reward(tried)
    require_questions(found)


def compare_grades(folder: Path, changes: Changes, *, as_json: bool) -> None:
    """Grade again and say what became of verdicts and levels."""
    import dataclasses

    from difficulty.audit.regrade import comparing
    from difficulty.report.terminal import print_regrade
    from difficulty.store import RunFolder, load_spec

    run = RunFolder(folder)
    load_spec(run)
    with comparing(run) as regrades:
        refresh_run("grade", folder, changes)
    found = regrades[0] if regrades else None
    if as_json:
        print_json({} if found is None else dataclasses.asdict(found))
    else:
        print_regrade(found, console())


def merge_into(folders: list[Path], target: Path, *, as_json: bool) -> None:
    """Merge finished runs into a new one, run the stages after sampling, print the summary."""
    from difficulty.report.summary import summarize
    from difficulty.report.terminal import print_summary
    from difficulty.run import stages
    from difficulty.run.lock import locked
    from difficulty.run.merge import merge_runs
    from difficulty.store import RunFolder, load_spec

    parts, run = [RunFolder(folder) for folder in folders], RunFolder(target)
    for part in parts:
        load_spec(part)
    with locked(target):
        spec = merge_runs(parts, run)
        stages.profile(run, spec, live_display())
        summary = summarize(run, spec)
    if as_json:
        print_json(summary_json(run, summary))
    else:
        print_summary(summary, console())


def redo_run(folder: Path, what: str, max_tokens: int | None) -> None:
    """Take failed or truncated samples out of a run, so that ``sample`` draws them again."""
    from difficulty.errors import SettingsError
    from difficulty.run.change import change_run, with_larger_limit
    from difficulty.run.lock import locked
    from difficulty.sampling.journal import seal
    from difficulty.sampling.redo import Redo, finish_redo, num_chosen, start_redo
    from difficulty.store import RunFolder, load_spec

    run = RunFolder(folder)
    spec = load_spec(run)
    if what not in ("failed", "truncated"):
        raise SettingsError(f"cannot redo {what!r}. Choose failed or truncated")
    redo: Redo = "failed" if what == "failed" else "truncated"
    with locked(folder):
        seal(run.completions)
        finish_redo(run)
        limit = spec.sampling.max_tokens
        if redo == "truncated":
            larger = with_larger_limit(spec, max_tokens)
            limit = max_tokens or limit
            if num_chosen(run, redo, limit=limit):
                change_run(run, larger)
        count = start_redo(run, redo, limit=limit)
        live_display().say(f"{count:,} samples will be drawn again ({what})")


def redo_errors_of(folder: Path) -> None:
    """Take the grades of a run away, so that answers without one are tried again."""
    from difficulty.run.lock import locked
    from difficulty.store import RunFolder, load_spec
    from difficulty.user_rewards import try_errors_again

    run = RunFolder(folder)
    load_spec(run)
    with locked(folder):
        try_errors_again(run)


def _check_rewards_load(run: RunFolder, spec: RunSpec) -> None:
    """Load the user's functions once, unless the grades that they would give are there.

    Raises:
        SettingsError: one cannot be loaded.
    """
    from difficulty import store
    from difficulty.settings.run import settings_through
    from difficulty.user_rewards import check_load

    stamp = store.read_stamp(run.grades)
    if stamp is None or stamp.settings != settings_through(spec, "grading"):
        check_load(spec)


@contextmanager
def starting_run(
    run: RunFolder, dataset: str, model: str, changes: Changes, *, like: Path | None = None
) -> Iterator[RunSpec]:
    """Hold a run's lock with its settings on disk; bad input is refused before a folder is made.

    ``like`` is a trainer's config that the settings must agree with.

    Raises:
        InputError: the dataset is not there.
        SettingsError: settings that cannot work, or other ones than the run was made with.
        RunError: another process works on the run.
    """
    from difficulty.run.change import find_run_dataset, plan_run, save_run
    from difficulty.run.lock import locked
    from difficulty.trainers.like import check_like

    found = find_run_dataset(run, dataset, changes)
    plan = plan_run(run, dataset, found, model, changes)
    if plan.grading.rewards is not None:
        _check_rewards_load(run, plan)
    if like is not None:
        for warning in check_like(like, plan):
            live_display().say(f"! {warning}")
    with locked(run.root):
        spec = plan_run(run, dataset, found, model, changes)
        save_run(run, spec)
        yield spec


def run_stage(name: str, folder: Path, changes: Changes, *, as_json: bool) -> None:
    """Run one stage of an existing run and say what it wrote."""
    run = refresh_run(name, folder, changes)
    if as_json:
        print_json(stage_facts(name, run))
    else:
        show_stage(name, run)


def refresh_run(name: str, folder: Path, changes: Changes) -> RunFolder:
    """Run one stage, and every other one whose table is there but out of date."""
    from difficulty.run import stages
    from difficulty.run.change import change_run, with_changes
    from difficulty.run.lock import locked
    from difficulty.store import RunFolder, load_spec

    run = RunFolder(folder)
    spec = load_spec(run)
    if changes.grading or (name == "sample" and spec.grading.rewards is not None):
        _check_rewards_load(run, with_changes(spec, changes))
    with locked(folder):
        spec = change_run(run, changes)
        stages.refresh(run, spec, live_display(), name)
    return run


def show_stage(name: str, run: RunFolder) -> None:
    """Say where the table of a finished stage lies, and how many rows it has."""
    facts = stage_facts(name, run)
    rows = "" if facts["rows"] is None else f"{facts['rows']:,} rows in "
    console().print(f"{name}: {rows}{facts['table']}", markup=False)


def stage_facts(name: str, run: RunFolder) -> dict[str, Any]:
    """Where the table of a stage lies, and its rows (None for what has no rows)."""
    from difficulty import store
    from difficulty.run.stages import STAGES

    place = next(stage.output(run) for stage in STAGES if stage.name == name)
    tables = _tables(place)
    countable = all(table.suffix == ".parquet" for table in tables)
    return {
        "stage": name,
        "run": str(run),
        "table": str(place),
        "rows": sum(store.num_rows(table) for table in tables) if countable else None,
    }


def _tables(place: Path) -> list[Path]:
    """The Parquet files of a stage; of several exports of one selection, any stands for all."""
    if not place.is_dir():
        return [place]
    found = sorted(place.glob("*.parquet"))
    if found:
        return found
    shards = sorted(place.glob("*/train-*.parquet"))
    return [shard for shard in shards if shard.parent == shards[0].parent]


def summary_json(run: RunFolder, summary: Summary) -> dict[str, Any]:
    """The summary as one JSON object."""
    import dataclasses

    from difficulty.collapse.forecast_json import to_json

    found = dataclasses.asdict(summary)
    return {**found, "forecast": to_json(summary.forecast), "report": str(run.report)}


def live_display() -> Live:
    """Progress on standard error."""
    from difficulty.report.live import Live

    return Live()


def console() -> Console:
    """Results on standard output."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


@contextmanager
def end_on_error() -> Iterator[None]:
    """Print our errors in one line and exit 1; SIGTERM counts as Ctrl-C, which exits 130."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    interrupted = _note_interrupts()
    try:
        yield
    except DifficultyError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except (KeyboardInterrupt, SystemExit) as end:
        code = end.code if isinstance(end, SystemExit) else INTERRUPTED
        if code == INTERRUPTED:
            typer.echo("stopped; everything finished is kept", err=True)
        sys.exit(code)
    except RuntimeError:
        if not interrupted.is_set():
            raise
        typer.echo("stopped; everything finished is kept", err=True)  # DuckDB's word for Ctrl-C
        sys.exit(INTERRUPTED)


def _note_interrupts() -> threading.Event:
    """Remember Ctrl-C: a library that is busy may turn it into an error of its own."""
    seen = threading.Event()

    def handler(number: int, frame: FrameType | None) -> None:
        seen.set()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, handler)
    return seen
