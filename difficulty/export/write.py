"""Write one trainer's file from questions, profile and selection, in curriculum order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty import prompts, store
from difficulty.export.trainers import Trainer
from difficulty.export.training_row import TrainingRow
from difficulty.grading.key import grading_key
from difficulty.run_spec import SamplingSpec
from difficulty.schema import Question

if TYPE_CHECKING:
    import pyarrow as pa

KEPT = """
    SELECT q.*, p.level AS level, p.pass_rate, p.num_samples, p.num_correct, s.position
    FROM rows_of($selection) AS s
    JOIN rows_of($profile) AS p USING (question_id)
    JOIN rows_of($questions) AS q USING (question_id)
    WHERE s.keep ORDER BY s.position
"""
ROWS_A_GROUP = 1_000
"""Row groups small enough that readers can take nested columns whole."""


def export_file(run: store.RunFolder, trainer: str) -> Path:
    """Where a trainer's training file lies."""
    return run.exports / trainer / "train-00000.parquet"


def write_export(
    run: store.RunFolder, trainer: Trainer, sampling: SamplingSpec, stamp: store.Stamp
) -> int:
    """Write exports/TRAINER/train-00000.parquet whole or not at all; returns its number of rows."""
    schema = trainer.schema(plain=sampling.prompt_style == "plain")
    with store.TableWriter(export_file(run, trainer.name), schema, stamp) as table:
        for rows in store.in_chunks(training_rows(run, sampling), ROWS_A_GROUP):
            table.write_batch(_batch([trainer.row(row) for row in rows], schema))
    return table.num_rows


def _batch(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(rows, schema=schema)


def training_rows(run: store.RunFolder, sampling: SamplingSpec) -> Iterator[TrainingRow]:
    """The kept questions in curriculum order, with the very messages that were sampled."""
    tables = {
        name: store.sql_path(getattr(run, name)) for name in ("selection", "profile", "questions")
    }
    few_shot = few_shot_messages(sampling)
    for batch in store.stream(store.connect(run), KEPT, tables):
        for values in batch.to_pylist():
            question: Question = store.row_from_dict(Question, values)
            chat = prompts.messages(question, template=sampling.template, few_shot=few_shot)
            plain = prompts.plain_text(chat) if sampling.prompt_style == "plain" else None
            yield TrainingRow(
                question=question,
                messages=chat if plain is None else [{"role": "user", "content": plain}],
                plain_prompt=plain,
                grading_key=grading_key(question),
                level=values["level"],
                pass_rate=values["pass_rate"],
                num_samples=values["num_samples"],
                num_correct=values["num_correct"],
                position=values["position"],
            )


def few_shot_messages(sampling: SamplingSpec) -> tuple[prompts.Message, ...]:
    """The worked examples of a run as messages."""
    return tuple({"role": turn.role, "content": turn.content} for turn in sampling.few_shot)
