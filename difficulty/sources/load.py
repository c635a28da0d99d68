"""A dataset -> questions.parquet and set_aside.parquet, streamed; every row ends in one of the two.

Exact duplicates become one question with num_copies; the same question with another gold is set
aside, each of its rows, since nobody here can know which gold is right.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import difficulty.store as store
from difficulty.errors import InputError
from difficulty.grading import check_gold
from difficulty.schema import Question, SetAside
from difficulty.settings.run import RunSpec, SourceSpec, settings_through
from difficulty.settings.source import parse_shard
from difficulty.sources.columns import ColumnMap, Row, find_columns, with_late_columns
from difficulty.sources.dataset import Dataset, dataset_of
from difficulty.sources.families import family_of, rearrange
from difficulty.sources.formats import RawRow, RowProblem
from difficulty.sources.gold_index import IndexGold, settle_gold_index
from difficulty.sources.misreadings import refuse_misreadings, unread_options, unread_passages
from difficulty.sources.questions import read_index_gold, read_question

PEEK_ROWS = 100
"""Rows looked at to learn the columns: JSON lines may differ from row to row."""

DEDUPLICATE = """
    WITH copies AS (
        SELECT question_id, min(row) AS row, count(*) AS num_copies,
               count(DISTINCT gold) AS num_golds
        FROM rows_of($raw) GROUP BY question_id)
    SELECT raw.* EXCLUDE (num_copies), copies.num_copies
    FROM rows_of($raw) AS raw JOIN copies USING (question_id, row)
    WHERE num_golds = 1 ORDER BY row
"""
CONFLICTING = """
    SELECT source, row, raw,
           'conflicting_gold: ' || num_golds || ' golds for one question' AS reason
    FROM rows_of($raw) JOIN (
        SELECT question_id, count(DISTINCT gold) AS num_golds
        FROM rows_of($raw) GROUP BY question_id) USING (question_id)
    WHERE num_golds > 1 ORDER BY row
"""


def load_questions(
    run: store.RunFolder, spec: RunSpec, *, on_row: Callable[[int], None] = lambda _: None
) -> None:
    """Write questions.parquet and set_aside.parquet of a run; ``on_row`` sees the rows read so far.

    Raises:
        InputError: the dataset is missing or empty, a needed column is not there, or no row of it
            is a usable question.
    """
    dataset = dataset_of(spec.source)
    if dataset.sha256 != spec.source.sha256:
        raise InputError(
            f"dataset {spec.source.dataset} has changed since this run was made. "
            "Start a new run with another --run, or bring the old file back"
        )
    stamp = store.Stamp(settings=settings_through(spec, "source"), inputs={})
    staged = run.root / ".questions.staged.parquet"
    try:
        with store.TableWriter(run.set_aside, store.table_schema(SetAside), stamp) as aside:
            _stage_rows(dataset, spec.source, staged, aside, on_row)
            _write_questions(run, staged, aside, stamp)
    finally:
        staged.unlink(missing_ok=True)


def read_all(dataset: Dataset, source: SourceSpec) -> Iterator[tuple[RawRow, Question | SetAside]]:
    """Every row of the dataset that the run asks for, as a question or set aside.

    Raises:
        InputError: the dataset is empty, or a needed column is not there.
    """
    rows = _wanted(dataset.rows(), source)
    first = list(itertools.islice(rows, PEEK_ROWS))
    if not first:
        raise InputError(f"dataset {source.dataset} is empty: found no row. Check the file")
    if all(row.problem for row in first):
        raise InputError(
            f"dataset {source.dataset} cannot be read: its first {len(first)} rows are all broken, "
            f"the first one {first[0].problem}. Check its format and ending; text has to be UTF-8"
        )
    columns = _with_gold_index(columns_of(first, source), dataset, first, source)
    for row in itertools.chain(first, rows):
        columns = with_late_columns(columns, row.values)
        yield row, _read(row, columns, dataset.name, source)


def columns_of(rows: Sequence[RawRow], source: SourceSpec) -> ColumnMap:
    """Which column is what, from some rows of a dataset, and the family that it is of, if any.

    Raises:
        InputError: a needed column is not there, or what these rows hold would be misread.
    """
    ignored = frozenset(source.ignore_columns or ())
    present = dict.fromkeys(key for row in rows if not row.problem for key in row.values)
    for name in ignored:
        present.pop(name, None)
    family = family_of(set(present))
    if family is not None:
        present |= dict.fromkeys(("prompt", "choices", "answer"))
    columns = dataclasses.replace(
        find_columns(present, source.columns), family=family, ignored=ignored
    )
    good = [_general(row, columns) for row in rows if not row.problem]
    refuse_misreadings(good, columns, own_reward=bool(source.unchecked_gold))
    return columns


def _general(row: RawRow, columns: ColumnMap) -> Row:
    """A row's values in the general form, without the columns that are ignored."""
    values = row.values
    if columns.ignored:
        values = {key: value for key, value in values.items() if key not in columns.ignored}
    return rearrange(columns.family, values)


def _with_gold_index(
    columns: ColumnMap, dataset: Dataset, first: list[RawRow], source: SourceSpec
) -> ColumnMap:
    """Settle what whole-number golds count from, over all rows also where a run reads a part."""
    base = source.gold_index
    if base is None and any(not gold.named for gold in _index_golds(first, columns)):
        complete = len(first) < PEEK_ROWS and source.limit is None and source.shard is None
        base = settle_gold_index(_index_golds(first if complete else dataset.rows(), columns))
    return dataclasses.replace(columns, gold_index=base)


def _index_golds(rows: Iterable[RawRow], columns: ColumnMap) -> Iterator[IndexGold]:
    golds = (read_index_gold(_general(row, columns), columns) for row in rows)
    return (gold for gold in golds if gold is not None)


def _wanted(rows: Iterator[RawRow], source: SourceSpec) -> Iterator[RawRow]:
    rows = itertools.islice(rows, source.limit)
    if source.shard is None:
        return rows
    index, count = parse_shard(source.shard)
    return (row for row in rows if row.number % count == index - 1)


def _read(row: RawRow, columns: ColumnMap, name: str, source: SourceSpec) -> Question | SetAside:
    try:
        if row.problem is not None:
            raise RowProblem(row.problem)
        values = _general(row, columns)
        if unread := unread_options(values, columns) or unread_passages(values, columns):
            raise RowProblem(
                f"column_unread: {', '.join(unread)} looks needed and is not read. If it is not "
                "needed, say so with --ignore-column"
            )
        question = read_question(
            values, columns, source=name, system_prompt=source.system_prompt,
            any_gold=bool(source.unchecked_gold), own=row.values,
        )  # fmt: skip
        fault = None if source.unchecked_gold else check_gold(question)
        if fault is not None:
            raise RowProblem(f"gold_fails_itself: {fault}")
    except RowProblem as problem:
        return SetAside(source=name, row=row.number, reason=str(problem), raw=_raw(row))
    return question


def _raw(row: RawRow) -> str:
    return json.dumps(row.values, ensure_ascii=False, default=str)


def _staged_schema() -> Any:
    import pyarrow as pa

    schema = store.table_schema(Question)
    for extra in (("row", pa.int64()), ("gold", pa.string()), ("raw", pa.string())):
        schema = schema.append(pa.field(*extra, nullable=False))
    return schema


def _stage_rows(
    dataset: Dataset,
    source: SourceSpec,
    staged: Path,
    aside: store.TableWriter,
    on_row: Callable[[int], None],
) -> None:
    import pyarrow as pa

    schema = _staged_schema()
    question_schema = store.table_schema(Question)
    count = 0
    with store.TableWriter(staged, schema, None) as table:
        for chunk in store.in_chunks(read_all(dataset, source), store.BATCH_ROWS):
            aside.write_rows(found for _, found in chunk if isinstance(found, SetAside))
            good = [(row, found) for row, found in chunk if isinstance(found, Question)]
            batch = store.rows_to_batch([found for _, found in good], question_schema)
            extras = [
                pa.array([row.number for row, _ in good], pa.int64()),
                pa.array([gold_key(found) for _, found in good], pa.string()),
                pa.array([_raw(row) for row, _ in good], pa.string()),
            ]
            table.write_batch(pa.RecordBatch.from_arrays([*batch.columns, *extras], schema=schema))
            count += len(chunk)
            on_row(count)


def gold_key(question: Question) -> str:
    """Equal for golds that are the same: two keys for one question are a conflict."""
    gold = [question.kind, question.answer, sorted(question.aliases), question.tolerance]
    return json.dumps(gold, ensure_ascii=False)


def _write_questions(
    run: store.RunFolder, staged: Path, aside: store.TableWriter, stamp: store.Stamp
) -> None:
    connection = store.connect(run)
    raw = {"raw": store.sql_path(staged)}
    schema = store.table_schema(Question)
    for batch in store.stream(connection, CONFLICTING, raw):
        aside.write_batch(batch.select(aside.schema.names))
    with store.TableWriter(run.questions, schema, stamp) as table:
        for batch in store.stream(connection, DEDUPLICATE, raw):
            table.write_batch(batch.select(schema.names))
        if table.num_rows == 0:
            raise InputError(
                f"no usable question: all {aside.num_rows} rows were set aside. "
                "See why with: difficulty check DATASET"
            )
