"""Every stage in running order: what it writes, one call.

A stage is done when its table is there with the stamp that the present settings and inputs give;
then it says so and does nothing. Otherwise it builds the table anew, whole or not at all.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty import levels, store
from difficulty.audit import regrade
from difficulty.errors import RunError, SettingsError
from difficulty.export.carried import NOTHING, find_carried, left_out_of
from difficulty.export.split import layout_settings
from difficulty.export.write import (
    CONTROL,
    export_file,
    is_written,
    remove_export,
    write_control,
    write_export,
)
from difficulty.report.live import Live, Update
from difficulty.run.change import refuse_other_sampling
from difficulty.run.forecast import forecast_run, read_collapse
from difficulty.schema import Completion, Grade, PassRate, Question, Selection
from difficulty.selection.choose import choose, require_sources, say_costs
from difficulty.selection.duplicates import evaluation_hashes, list_near_duplicates, list_overlaps
from difficulty.selection.rules import why_empty
from difficulty.settings.run import RunSpec, describe_differences, settings_through
from difficulty.store import RunFolder, Stamp
from difficulty.trainers.find import EXPORTERS, find_exporter, require_one_turn


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of the pipeline."""

    name: str
    output: Callable[[RunFolder], Path]
    """What it writes; a folder for completions and exports."""
    run: Callable[[RunFolder, RunSpec, Live], None]


def prepare(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """Dataset -> questions.parquet, set_aside.parquet; each gold is graded against itself."""
    from difficulty.sources import load_questions

    wanted = settings_through(spec, "source")
    aside_current = _current(run.set_aside, wanted, {}, live)
    if aside_current and _current(run.questions, wanted, {}, live):
        return
    with live.bar("reading questions", 0) as update:
        load_questions(run, spec, on_row=lambda rows: update(rows, f"{rows:,} rows"))
    aside = store.num_rows(run.set_aside)
    live.say(
        f"{store.num_rows(run.questions):,} questions"
        + (
            f"; {aside:,} {'row' if aside == 1 else 'rows'} set aside (see set_aside.parquet)"
            if aside
            else ""
        )
    )


def sample(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """questions.parquet -> completions/: k answers a question, failures recorded as such."""
    from difficulty.sampling.draw import draw
    from difficulty.sampling.journal import seal
    from difficulty.sampling.owed import num_owed
    from difficulty.sampling.redo import finish_redo

    seal(run.completions)
    finish_redo(run)
    refuse_other_sampling(run, spec)
    prepare(run, spec, live)
    wanted = store.num_rows(run.questions) * spec.sampling.k
    owed = num_owed(run, spec)
    if owed and owed < wanted:
        live.say(f"{wanted - owed:,} of {wanted:,} samples are there; drawing the other {owed:,}")
    if owed:
        require_one_turn(spec, own_system=_has_system_prompts(run))
        draw(run, spec, owed=owed, say=live.say, bar=live.bar)
        owed = num_owed(run, spec)
    if owed:
        raise RunError(
            f"{owed:,} of {wanted:,} samples are missing after sampling. Run the same command again"
        )
    _say_failures(run, live)


def _has_system_prompts(run: RunFolder) -> bool:
    sql = "SELECT count(system_prompt) FROM rows_of($questions)"
    parameters = {"questions": store.sql_path(run.questions)}
    return bool(store.connect(run).execute(sql, parameters).fetchall()[0][0])


def _say_failures(run: RunFolder, live: Live) -> None:
    """Failed samples are unknown, and easy to overlook: name their number and the first reason."""
    sql = "SELECT count(*), min(error) FROM rows_of($parts) WHERE error IS NOT NULL"
    parts = [store.sql_path(part) for part in run.completion_parts()]
    count, reason = store.connect(run).execute(sql, {"parts": parts}).fetchall()[0]
    if count:
        live.say(
            f"{count:,} samples failed and are unknown, one of them: {reason[:200]}. "
            f"Ask again with difficulty sample {run} --redo failed"
        )


def grade(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """completions/ -> grades.parquet: one verdict a sample."""
    require_complete(run, spec)
    settings = settings_through(spec, "grading")
    inputs = {
        "questions": store.content_hash(run.questions),
        "completions": store.completions_hash(run),
    }
    if _current(run.grades, settings, inputs, live):
        return
    total = store.num_rows(run.questions) * spec.sampling.k
    stamp = Stamp(settings=settings, inputs=inputs)
    regrade.set_aside(run, stamp)
    with (
        store.TableWriter(run.grades, store.table_schema(Grade), stamp) as table,
        live.bar("grading", total) as update,
    ):
        made = _shown(_grades(run, spec, total, stamp), update)
        for grades in store.in_chunks(made, store.BATCH_ROWS):
            table.write_rows(grades)
        if table.num_rows != total:
            raise RunError(
                f"{table.num_rows:,} grades for {total:,} samples. Run difficulty sample {run}"
            )
    if spec.grading.rewards is not None:
        _say_unrewarded(run, live)


def _shown(grades: Iterable[Grade], update: Update) -> Iterator[Grade]:
    """The grades, with progress as they come: a judge may take seconds for each."""
    shown = time.monotonic()
    for number, grade in enumerate(grades, start=1):
        if time.monotonic() - shown > 0.2:
            update(number, "")
            shown = time.monotonic()
        yield grade


def _say_unrewarded(run: RunFolder, live: Live) -> None:
    """Remembered calls are in the grades now; replies without a reward are easy to overlook."""
    from difficulty.user_rewards import forget

    forget(run)
    sql = """
        SELECT reason, count(*), sum(count(*)) OVER () FROM rows_of($grades)
        WHERE outcome = 'grader_error' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1
    """
    found = store.connect(run).execute(sql, {"grades": store.sql_path(run.grades)}).fetchall()
    for reason, count, total in found:
        live.say(
            f"{int(total):,} answers have no reward and are unknown, {count:,} of them: {reason}. "
            f"See {run.logs}/rewards.log; try them again with difficulty grade {run} --redo-errors"
        )


SAMPLES = """
    SELECT c.*, q FROM rows_of($completions) AS c
    JOIN rows_of($questions) AS q USING (question_id)
    WHERE c.sample_index < $k
    ORDER BY question_id, sample_index
"""


def _grades(run: RunFolder, spec: RunSpec, total: int, stamp: Stamp) -> Iterator[Grade]:
    from difficulty.grading import GraderPool

    workers = max(
        1,
        min(
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1,
            total // 500,
        ),
    )
    if spec.grading.rewards is not None:
        from difficulty.user_rewards import reward_grades

        yield from reward_grades(run, spec, _samples(run, spec), stamp, workers=workers)
        return
    with GraderPool(workers) as pool:
        yield from pool.grade_all(_samples(run, spec))


def _samples(run: RunFolder, spec: RunSpec) -> Iterator[tuple[Question, Completion]]:
    parameters = {
        "completions": [store.sql_path(part) for part in run.completion_parts()],
        "questions": store.sql_path(run.questions),
        "k": spec.sampling.k,
    }
    for batch in store.stream(store.connect(run), SAMPLES, parameters):
        for values in batch.to_pylist():
            question: Question = store.row_from_dict(Question, values.pop("q"))
            yield question, store.row_from_dict(Completion, values)


def require_complete(run: RunFolder, spec: RunSpec) -> None:
    """Refuse to go on from a run whose samples are not all there.

    Raises:
        RunError: no questions yet, or samples are owed.
    """
    from difficulty.sampling.journal import seal
    from difficulty.sampling.owed import num_owed

    if not run.questions.exists():
        raise RunError(f"{run} has no questions yet. Run difficulty sample {run}")
    store.content_hash(run.questions)
    seal(run.completions)
    refuse_other_sampling(run, spec)
    owed = num_owed(run, spec)
    if owed:
        raise RunError(f"{run} still lacks {owed:,} samples. Run difficulty sample {run}")


def bucket(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """grades.parquet -> profile.parquet: pass rate, interval and level of each question."""
    settings = settings_through(spec, "bucket")
    inputs = {"grades": store.content_hash(run.grades)}
    if _current(run.profile, settings, inputs, live) and _has_columns(run.profile, PassRate, live):
        regrade.compare(run, live.say)
        return
    min_graded = spec.bucket.min_graded or spec.sampling.k
    connection = store.connect(run)
    connection.execute(
        f"CREATE TEMP TABLE counted AS {levels.COUNT_GRADES}",
        {
            "grades": store.sql_path(run.grades),
            "questions": store.sql_path(run.questions),
            "completions": [store.sql_path(part) for part in run.completion_parts()],
        },
    )
    verdicts = [
        levels.pass_rate_of_counts(
            num_correct=correct, num_graded=graded, num_truncated=truncated, min_graded=min_graded
        )
        for correct, graded, truncated in connection.execute(levels.DISTINCT_COUNTS).fetchall()
    ]
    connection.register(
        "verdicts", store.rows_to_batch(verdicts, store.table_schema(levels.PassRateOfCounts))
    )
    _write_query(
        run.profile,
        PassRate,
        Stamp(settings=settings, inputs=inputs),
        store.stream(connection, levels.PROFILE),
    )
    _require_a_row_a_question(run, run.profile)
    regrade.compare(run, live.say)


def select(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """profile.parquet -> selection.parquet: keep or drop, with the reason, and the order."""
    settings = settings_through(spec, "selection")
    hashes = evaluation_hashes(run, spec)
    inputs = {"profile": store.content_hash(run.profile), **hashes}
    if _current(run.selection, settings, inputs, live):
        return
    require_sources(run, spec.selection)
    _compare_questions(run, spec, hashes, live)
    chosen = choose(run, spec.selection, store.connect(run), read_collapse(run, spec))
    _write_query(run.selection, Selection, Stamp(settings=settings, inputs=inputs), chosen)
    _require_a_row_a_question(run, run.selection)
    say_costs(run, spec.selection, live.say)


def _compare_questions(run: RunFolder, spec: RunSpec, hashes: dict[str, str], live: Live) -> None:
    """questions.parquet -> near_duplicates.parquet, and overlaps.parquet if it is asked for."""
    if list_near_duplicates(run, spec):
        pairs = store.num_rows(run.near_duplicates)
        if pairs:
            live.say(
                f"{pairs:,} pairs of questions ask almost the same (see {run.near_duplicates.name})"
            )
    if hashes:
        list_overlaps(run, spec, hashes, live.say)


def forecast(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """profile.parquet -> forecast.json: pool, kept set and levels at the run's group size."""
    from difficulty.collapse.forecast_json import is_whole, to_json

    settings = settings_through(spec, "forecast")
    inputs = {"profile": store.content_hash(run.profile), **evaluation_hashes(run, spec)}
    if _current(run.forecast, settings, inputs, live) and is_whole(run.forecast):
        return
    found = forecast_run(run, spec)
    if found.law is None:
        live.say("no answer was graded: there is nothing to forecast from")
    stamp = dataclasses.asdict(Stamp(settings=settings, inputs=inputs))
    store.write_text(run.forecast, json.dumps({**to_json(found), "stamp": stamp}, indent=1))


def export(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """selection.parquet -> exports/TRAINER/train-00000.parquet for each trainer.

    Files of an earlier selection are made again, also those of trainers that are not asked for this
    time: a file that is there is a file of this selection.

    Raises:
        SettingsError: the keep rules left nothing; names what dropped the questions.
    """
    inputs = {
        "questions": store.content_hash(run.questions),
        "selection": store.content_hash(run.selection),
    }
    settings = settings_through(spec, "selection") | layout_settings(spec)
    stale = _stale_exports(run, settings, inputs)
    again = [name for name in stale if name in EXPORTERS and name not in spec.export.trainers]
    trainers = [find_exporter(name) for name in (*spec.export.trainers, *again)]
    complete = not stale and all(is_written(run, trainer) for trainer in trainers)
    carried = NOTHING if complete else find_carried(run, spec)
    _remove_stale_exports(run, spec, stale, live)
    require_kept(run, spec)
    chats = [trainer.name for trainer in trainers if not trainer.takes_text]
    if spec.sampling.prompt_style == "plain" and chats:
        live.say(
            f"plain run: {', '.join(chats)} get the prompt as one user message; give them a "
            "template that passes it through as it is"
        )
    stamp = Stamp(settings=settings, inputs=inputs)
    for trainer in trainers:
        if not is_written(run, trainer):
            rows = write_export(run, trainer, spec, stamp, carried)
            file = export_file(run, trainer.name)
            held_out = ", others held out beside them" if spec.export.holdout else ""
            live.say(f"{file}: {rows:,} questions{held_out}; {trainer.order_hint}")
            left_out = left_out_of(trainer, carried)
            if left_out:
                reasons = "; ".join(f"{name} ({why})" for name, why in left_out.items())
                live.say(f"{file}: without columns of the dataset: {reasons}")
        if spec.export.control == "random" and not is_written(run, trainer, control=True):
            made = Stamp(settings=settings | CONTROL_SETTINGS, inputs=inputs)
            rows = write_control(run, trainer, spec, made, carried)
            file = export_file(run, trainer.name, control=True)
            live.say(f"{file}: {rows:,} questions drawn from everything profiled, as a control")


CONTROL_SETTINGS = {"export.control": "random"}


def _stale_exports(
    run: RunFolder, settings: dict[str, Any], inputs: dict[str, str]
) -> dict[str, Path]:
    """Folders of exports/ that hold files of another selection, with one of these files."""
    found = {}
    for path in sorted(run.exports.glob("*/*.parquet")):
        stamp = store.read_stamp(path)
        control = CONTROL_SETTINGS if path.parent.name.endswith(CONTROL) else {}
        if stamp is not None and not stamp.matches(settings | control, inputs):
            found[path.parent.name] = path
    return found


def _remove_stale_exports(
    run: RunFolder, spec: RunSpec, stale: dict[str, Path], live: Live
) -> None:
    """Remove them, saying what becomes of each."""
    kept = store.num_rows(run.selection) > sum(dropped(run).values())
    controlled = spec.export.control == "random"
    for name, path in stale.items():
        remove_export(path)
        again = kept and (controlled if name.endswith(CONTROL) else name in EXPORTERS)
        live.say(
            f"{run.exports / name}: it was made by other settings and is "
            f"{'made again' if again else 'removed'}"
        )


def require_kept(run: RunFolder, spec: RunSpec) -> None:
    """Refuse an empty training set.

    Raises:
        SettingsError: nothing was kept; names the rule that emptied the set, the last one that
            dropped any, and counts what dropped how many.
    """
    reasons = dropped(run)
    if store.num_rows(run.selection) > sum(reasons.values()):
        return
    raise SettingsError(f"nothing to train on: {why_empty(reasons, spec.selection)}")


def dropped(run: RunFolder) -> Counter[str]:
    """Drop reason -> number of questions, in an order of its own: equal counts stand by name."""
    sql = (
        "SELECT drop_reason, count(*) FROM rows_of($selection) WHERE NOT keep GROUP BY 1 ORDER BY 1"
    )
    rows = store.connect(run).execute(sql, {"selection": store.sql_path(run.selection)}).fetchall()
    return Counter(dict(rows))


def report(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """All tables -> report.html."""
    from difficulty.report.page import write_page
    from difficulty.report.summary import summarize

    write_page(run, summarize(run, spec))


STAGES: tuple[Stage, ...] = (
    Stage(name="sample", output=lambda run: run.completions, run=sample),
    Stage(name="grade", output=lambda run: run.grades, run=grade),
    Stage(name="bucket", output=lambda run: run.profile, run=bucket),
    Stage(name="select", output=lambda run: run.selection, run=select),
    Stage(name="forecast", output=lambda run: run.forecast, run=forecast),
    Stage(name="export", output=lambda run: run.exports, run=export),
    Stage(name="report", output=lambda run: run.report, run=report),
)


def profile(run: RunFolder, spec: RunSpec, live: Live) -> None:
    """All stages in order. A set of which nothing is kept is still forecast and reported."""
    for stage in STAGES:
        _run_lenient(stage, run, spec, live)


def refresh(run: RunFolder, spec: RunSpec, live: Live, name: str) -> None:
    """Run the stage of that name, and every other one whose table is there but out of date.

    A later setting thus never leaves older tables behind. Stages behind a table that was never made
    are left alone, and samples are drawn only when ``sample`` itself is asked for.
    """
    unbroken = True
    for stage in STAGES:
        there = stage.output(run).exists()
        if stage.name == name:
            stage.run(run, spec, live)
        elif unbroken and there and stage.name != "sample":
            _run_lenient(stage, run, spec, live)
        elif not there and stage.name != "export":
            unbroken = False


def _run_lenient(stage: Stage, run: RunFolder, spec: RunSpec, live: Live) -> None:
    """Run a stage; that there is nothing to export is a finding, not a failure."""
    try:
        stage.run(run, spec, live)
    except SettingsError as error:
        if stage.name != "export":
            raise
        live.say(f"no training files: {error}")


def _current(path: Path, settings: dict[str, Any], inputs: dict[str, str], live: Live) -> bool:
    """Is the table there, made from these settings and inputs? Says in a line why if not."""
    stamp = store.read_stamp(path)
    if stamp is None:
        return False
    if stamp.matches(settings, inputs):
        return True
    why = describe_differences(stamp.settings, settings) or "an earlier table changed"
    live.say(f"{path.name} is made again: {why}")
    return False


def _has_columns(path: Path, row_type: type, live: Live) -> bool:
    if store.has_columns(path, row_type):
        return True
    live.say(f"{path.name} is made again: an earlier version wrote it with fewer columns")
    return False


def _write_query(path: Path, row_type: type, stamp: Stamp, batches: Iterable[Any]) -> None:
    schema = store.table_schema(row_type)
    with store.TableWriter(path, schema, stamp) as table:
        for batch in batches:
            table.write_batch(batch.select(schema.names))


def _require_a_row_a_question(run: RunFolder, table: Path) -> None:
    found, wanted = store.num_rows(table), store.num_rows(run.questions)
    if found != wanted:
        table.unlink()
        raise RunError(
            f"{table.name} has {found:,} rows for {wanted:,} questions. Run difficulty grade {run}"
        )
