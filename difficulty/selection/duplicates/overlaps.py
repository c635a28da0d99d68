"""questions.parquet and evaluation sets -> overlaps.parquet: training questions not to train on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from difficulty import store
from difficulty.errors import InputError
from difficulty.schema import Overlap
from difficulty.selection.duplicates.near import question_items
from difficulty.selection.duplicates.signatures import SIMILAR, similarity
from difficulty.selection.duplicates.staged import Item, candidates, stage
from difficulty.selection.duplicates.texts import comparable
from difficulty.settings.run import RunSpec, settings_through
from difficulty.sources.dataset import find_dataset
from difficulty.sources.wording import read_wordings
from difficulty.store import RunFolder

SHOWN = 200
"""Characters of the evaluation set's question that the list of hits keeps."""


def evaluation_hashes(run: RunFolder, spec: RunSpec) -> dict[str, str]:
    """Evaluation set -> SHA-256 of its file; of one that is gone, the hash it was compared by.

    Raises:
        InputError: a file that is missing and was never compared.
    """
    return {file: _file_hash(run, file) for file in spec.selection.against or ()}


def _file_hash(run: RunFolder, file: str) -> str:
    if Path(file).is_file():
        return find_dataset(file).sha256
    stamp = store.read_stamp(run.overlaps)
    known = stamp.inputs.get(file) if stamp is not None else None
    if known is None:
        raise InputError(f"evaluation set is missing: {file}. Check the path given to --against")
    return known


def list_overlaps(
    run: RunFolder, spec: RunSpec, hashes: dict[str, str], say: Callable[[str], None]
) -> None:
    """Write overlaps.parquet unless it is there for these questions and evaluation sets.

    Raises:
        InputError: an evaluation set that cannot be read, or has no column for the prompt.
    """
    settings = settings_through(spec, "source")
    inputs = {"questions": store.content_hash(run.questions), **hashes}
    stamp = store.read_stamp(run.overlaps)
    if stamp is not None and stamp.matches(settings, inputs):
        return
    staged, others = (run.root / f".{name}.staged.parquet" for name in ("texts", "evaluation"))
    schema = store.table_schema(Overlap)
    made = store.Stamp(settings=settings, inputs=inputs)
    try:
        stage(staged, question_items(run))
        with store.TableWriter(run.overlaps, schema, made) as table:
            for file in hashes:
                rows = stage(others, _evaluation_items(file, say))
                before = table.num_rows
                table.write_rows(_hits(run, staged, others, file))
                say(f"{file}: {table.num_rows - before:,} questions overlap its {rows:,} rows")
    finally:
        staged.unlink(missing_ok=True)
        others.unlink(missing_ok=True)


def _evaluation_items(file: str, say: Callable[[str], None]) -> Iterator[Item]:
    skipped = 0
    for number, wording in read_wordings(file):
        if wording is None:
            skipped += 1
            continue
        text = comparable(wording.prompt, wording.options)
        key = json.dumps([number, wording.prompt[:SHOWN]])
        yield Item(key=key, text=text, gold="")
    if skipped:
        say(f"{file}: {skipped:,} rows cannot be read as a question and are compared with nothing")


def _hits(run: RunFolder, staged: Path, others: Path, file: str) -> Iterator[Overlap]:
    """The closest row of the evaluation set for each question that overlaps it."""
    best: Overlap | None = None
    for pair in candidates(store.connect(run), staged, others):
        alike = similarity(pair.text, pair.other_text)
        if best is not None and best.question_id != pair.key:
            yield best
            best = None
        if alike < SIMILAR or (best is not None and best.similarity >= alike):
            continue
        row, prompt = json.loads(pair.other_key)
        best = Overlap(
            question_id=pair.key,
            file=file,
            row=row,
            exact=pair.text == pair.other_text,
            similarity=alike,
            evaluation_prompt=prompt,
        )
    if best is not None:
        yield best
