"""Runs of one spec over parts of a set (the jobs of an array) -> one run.

Questions that stand in several parts keep the samples of the first; golds that contradict each
other across parts are set aside, as they are within one run.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from difficulty import store
from difficulty.errors import RunError, SettingsError
from difficulty.sampling.journal import seal
from difficulty.sampling.owed import num_owed
from difficulty.schema import Completion, Question, SetAside
from difficulty.settings.run import RunSpec, ServerSpec, describe_differences, settings_through
from difficulty.store import RunFolder

MAY_DIFFER = ("source.shard", "source.limit")

QUESTIONS = """
    WITH grouped AS (
        SELECT question_id, min(run) AS run, sum(num_copies)::BIGINT AS num_copies,
               count(DISTINCT (kind, answer, aliases, tolerance)) AS num_golds
        FROM parts GROUP BY question_id)
    SELECT parts.* EXCLUDE (num_copies), grouped.num_copies, num_golds
    FROM parts JOIN grouped USING (question_id, run)
    WHERE num_golds = 1 ORDER BY run, question_id
"""
CONFLICTING = """
    SELECT parts.*, num_golds FROM parts JOIN (
        SELECT question_id, count(DISTINCT (kind, answer, aliases, tolerance)) AS num_golds
        FROM parts GROUP BY question_id) USING (question_id)
    WHERE num_golds > 1 ORDER BY run, question_id
"""
COMPLETIONS = """
    SELECT c.* FROM rows_of($completions) AS c
    SEMI JOIN rows_of($questions) USING (question_id)
    ANTI JOIN rows_of($earlier) USING (question_id)
"""


def merge_runs(runs: list[RunFolder], out: RunFolder) -> RunSpec:
    """Write the merged run's settings, questions and completions; stages make the rest.

    Raises:
        RunError: a part is no run or is not finished, or the target exists.
        SettingsError: the parts were made with other settings or by another model.
    """
    if out.spec_file.exists():
        raise RunError(f"{out} is a run already. Choose another --run")
    specs = [store.load_spec(run) for run in runs]
    for run, spec in zip(runs, specs, strict=True):
        _require_finished(run, spec)
    _require_alike(runs, specs)
    source = dataclasses.replace(specs[0].source, shard=None, limit=None)
    merged = dataclasses.replace(specs[0], source=source, server=ServerSpec())
    _merge_questions(runs, out, merged)
    _merge_completions(runs, out, merged)
    store.save_spec(out, merged)
    return merged


def _require_alike(runs: list[RunFolder], specs: list[RunSpec]) -> None:
    first = _comparable(specs[0])
    for run, spec in zip(runs, specs, strict=True):
        if _comparable(spec) != first:
            found = describe_differences(first, _comparable(spec))
            raise SettingsError(
                f"runs were made with other settings: {runs[0]} and {run} differ in {found}. "
                "Merge runs of one spec only"
            )
    models = {json.dumps(_model(run), sort_keys=True): run for run in runs}
    if len(models) > 1:
        one, two = list(models.values())[:2]
        raise SettingsError(
            f"runs were answered by other models: {one} and {two}. Merge runs of one model only"
        )


def _comparable(spec: RunSpec) -> dict[str, Any]:
    settings = settings_through(spec, "sampling")
    return {key: value for key, value in settings.items() if key not in MAY_DIFFER}


def _model(run: RunFolder) -> dict[str, Any]:
    """Name and fingerprint of the model that answered."""
    parts = run.completion_parts()
    stamp = store.read_stamp(parts[0]) if parts else None
    model = (stamp.extra if stamp else {}).get("model") or {}
    return {key: model.get(key) for key in ("name", "fingerprint")}


def _require_finished(run: RunFolder, spec: RunSpec) -> None:
    if not run.questions.exists():
        raise RunError(f"{run} has no questions yet. Finish it first: difficulty sample {run}")
    seal(run.completions)
    owed = num_owed(run, spec)
    if owed:
        raise RunError(
            f"{run} still lacks {owed:,} samples. Finish it first: difficulty sample {run}"
        )


def _merge_questions(runs: list[RunFolder], out: RunFolder, merged: RunSpec) -> None:
    stamp = store.Stamp(settings=settings_through(merged, "source"), inputs={})
    connection = store.connect()
    selects = [f"SELECT *, {number} AS run FROM rows_of($p{number})" for number in range(len(runs))]
    paths = {f"p{number}": store.sql_path(run.questions) for number, run in enumerate(runs)}
    connection.execute(f"CREATE TEMP TABLE parts AS {' UNION ALL '.join(selects)}", paths)
    schema = store.table_schema(Question)
    with store.TableWriter(out.questions, schema, stamp) as table:
        for batch in store.stream(connection, QUESTIONS):
            table.write_batch(batch.select(schema.names))
    with store.TableWriter(out.set_aside, store.table_schema(SetAside), stamp) as table:
        for run in runs:
            table.write_rows(store.read_rows(run.set_aside, SetAside))
        for batch in store.stream(connection, CONFLICTING):
            table.write_rows(map(_conflict, batch.to_pylist()))


def _conflict(row: dict[str, Any]) -> SetAside:
    return SetAside(
        source=row["source"],
        row=None,
        reason=f"conflicting_gold: {row['num_golds']} golds for one question across runs",
        raw=json.dumps(row, ensure_ascii=False, default=str),
    )


def _merge_completions(runs: list[RunFolder], out: RunFolder, merged: RunSpec) -> None:
    schema = store.table_schema(Completion)
    empty = store.rows_to_batch([], store.table_schema(Question))
    for number, run in enumerate(runs):
        connection = store.connect()
        connection.register("nothing", empty)
        stamp = store.Stamp(
            settings=settings_through(merged, "sampling"), inputs={}, extra={"model": _model(run)}
        )
        earlier = [store.sql_path(before.questions) for before in runs[:number]]
        sql = COMPLETIONS if earlier else COMPLETIONS.replace("rows_of($earlier)", "nothing")
        parameters: store.Parameters = {
            "completions": [store.sql_path(part) for part in run.completion_parts()],
            "questions": store.sql_path(out.questions),
            **({"earlier": earlier} if earlier else {}),
        }
        part = out.completions / f"part-{number + 1:06d}.parquet"
        with store.TableWriter(part, schema, stamp) as table:
            for batch in store.stream(connection, sql, parameters):
                table.write_batch(batch.select(schema.names))
