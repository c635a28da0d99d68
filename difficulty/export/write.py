"""Write one trainer's files from questions, profile and selection, in curriculum order."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty import prompts, store
from difficulty.export.card import Part, card, front_matter, shards_note
from difficulty.export.carried import NOTHING, Carried, full_row, full_schema
from difficulty.export.folder import remove_folder, write_folder
from difficulty.export.readme import KEPT, readme
from difficulty.export.shards import shard_path, shards_of, write_shards
from difficulty.export.split import Split, make_splits, placed_sql, splits_of
from difficulty.grading.key import grading_key
from difficulty.schema import Question
from difficulty.settings.run import RunSpec, SamplingSpec
from difficulty.settings.selection import SHARD_ROWS
from difficulty.trainers.exporter import Exporter
from difficulty.trainers.row import TrainingRow

if TYPE_CHECKING:
    import duckdb

ROWS = """
    SELECT q.*, p.level AS level, p.pass_rate, p.num_samples, p.num_correct, placed.position
    FROM ({placed}) AS placed
    JOIN rows_of($profile) AS p USING (question_id)
    JOIN rows_of($questions) AS q USING (question_id)
    ORDER BY placed.position
"""


def export_file(run: store.RunFolder, trainer: str, *, control: bool = False) -> Path:
    """Where a trainer's first training file lies; the control has a folder of its own."""
    return shard_path(run.exports / (f"{trainer}{CONTROL}" if control else trainer), "train")


CONTROL_HOLDS = "a control, drawn from everything profiled"
CONTROL = "-control"
"""Ends the name of a control's folder, so that a training run swaps one folder for another."""


def is_written(run: store.RunFolder, exporter: Exporter, *, control: bool = False) -> bool:
    """Whether all files of an export are there; whole, since the README comes last."""
    file = export_file(run, exporter.name, control=control)
    return file.exists() and _readme_of(file).exists()


def write_export(
    run: store.RunFolder,
    exporter: Exporter,
    spec: RunSpec,
    stamp: store.Stamp,
    carried: Carried = NOTHING,
) -> int:
    """Write the files of exports/TRAINER/, all or none; returns the number of training rows.

    train-00000.parquet and its following shards hold the rows, heldout-00000.parquet those held
    out, train/ the training rows as a folder where the trainer reads one, README.md the trainer's
    settings and the card of the set.

    Raises:
        SettingsError: a held-out share that cannot be met, or prompts that the trainer cannot take.
    """
    file = export_file(run, exporter.name)
    return _write(run, exporter, spec, stamp, carried, file=file, splits=splits_of(spec))


def write_control(
    run: store.RunFolder,
    exporter: Exporter,
    spec: RunSpec,
    stamp: store.Stamp,
    carried: Carried = NOTHING,
) -> int:
    """Write exports/TRAINER-control/ in the same way; returns its number of rows."""
    file = export_file(run, exporter.name, control=True)
    return _write(run, exporter, spec, stamp, carried, file=file, splits=["control"])


def _write(
    run: store.RunFolder,
    exporter: Exporter,
    spec: RunSpec,
    stamp: store.Stamp,
    carried: Carried,
    *,
    file: Path,
    splits: list[Split],
) -> int:
    remove_export(file)
    try:
        connection = store.connect(run)
        make_splits(connection, run, spec)
        parts = [
            _write_split(run, exporter, spec, stamp, carried, connection, file.parent, split)
            for split in splits
        ]
        if exporter.reads_folder:
            write_folder(file, _folder_of(file))
        rows = parts[0].rows
        holds = CONTROL_HOLDS if splits == ["control"] else KEPT
        text = readme(exporter, spec, file=file, folder=_folder_of(file), rows=rows, holds=holds)
        shards = shards_note(shards_of(file.parent, "train"))
        whole = f"{front_matter(parts)}{text}{shards}{card(run, spec, parts)}"
        store.write_text(_readme_of(file), whole)
    except BaseException:
        remove_export(file)
        raise
    return rows


def _write_split(
    run: store.RunFolder,
    exporter: Exporter,
    spec: RunSpec,
    stamp: store.Stamp,
    carried: Carried,
    connection: duckdb.DuckDBPyConnection,
    place: Path,
    split: Split,
) -> Part:
    counts: dict[str, Counter[str]] = {}

    def rows() -> Iterator[dict[str, Any]]:
        for row in training_rows(run, spec, connection, split):
            counts.setdefault(row.question.source, Counter())[row.level] += 1
            yield full_row(exporter, row, carried)

    write_shards(
        shard_path(place, "heldout" if split == "heldout" else "train"),
        rows(),
        full_schema(exporter, carried, plain=spec.sampling.prompt_style == "plain"),
        stamp,
        shard_rows=shard_rows(spec, exporter),
    )
    return Part(split=split, counts=dict(sorted(counts.items())))


def shard_rows(spec: RunSpec, exporter: Exporter) -> int:
    """Rows of a file; a trainer that reads a folder gets them all in one."""
    return sys.maxsize if exporter.reads_folder else spec.export.shard_rows or SHARD_ROWS


def remove_export(file: Path) -> None:
    """Remove an export by its first Parquet file, with all that was made with it.

    Raises:
        RunError: the place cannot be written.
    """
    try:
        _readme_of(file).unlink(missing_ok=True)
        remove_folder(_folder_of(file))
        for split in ("train", "heldout"):
            for shard in shards_of(file.parent, split):
                shard.unlink(missing_ok=True)
    except OSError as error:
        raise store.disk_error(file, error) from error


def _folder_of(file: Path) -> Path:
    return file.parent / "train"


def _readme_of(file: Path) -> Path:
    return file.parent / "README.md"


def training_rows(
    run: store.RunFolder, spec: RunSpec, connection: duckdb.DuckDBPyConnection, split: Split
) -> Iterator[TrainingRow]:
    """The questions of a split in their order, with the very messages that were sampled.

    ``connection`` holds the tables of ``make_splits``.
    """
    sampling = spec.sampling
    placed, parameters = placed_sql(run, spec, split)
    tables = {name: store.sql_path(getattr(run, name)) for name in ("profile", "questions")}
    few_shot = few_shot_messages(sampling)
    for batch in store.stream(connection, ROWS.format(placed=placed), {**parameters, **tables}):
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
                split="heldout" if split == "heldout" else "train",
            )


def few_shot_messages(sampling: SamplingSpec) -> tuple[prompts.Message, ...]:
    """The worked examples of a run as messages."""
    return tuple({"role": turn.role, "content": turn.content} for turn in sampling.few_shot)
