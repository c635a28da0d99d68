"""questions.parquet -> near_duplicates.parquet: pairs that ask almost the same, found by MinHash.

Exact duplicates are one question already. A pair with other golds is listed, but is no duplicate to
drop: one of the golds may be wrong, or one word may turn the question round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from difficulty import store
from difficulty.schema import NearDuplicate
from difficulty.selection.duplicates.signatures import SIMILAR, similarity
from difficulty.selection.duplicates.staged import Candidate, Item, candidates, stage
from difficulty.selection.duplicates.texts import comparable, plain
from difficulty.settings.run import RunSpec, settings_through
from difficulty.store import RunFolder

WORDING = "SELECT question_id, kind, prompt, choices, answer, tolerance FROM rows_of($questions)"


def list_near_duplicates(run: RunFolder, spec: RunSpec) -> bool:
    """Write near_duplicates.parquet unless it is there for these questions; says if it wrote."""
    settings = settings_through(spec, "source")
    inputs = {"questions": store.content_hash(run.questions)}
    stamp = store.read_stamp(run.near_duplicates)
    if stamp is not None and stamp.matches(settings, inputs):
        return False
    staged = run.root / ".texts.staged.parquet"
    try:
        stage(staged, question_items(run))
        connection = store.connect(run)
        pairs = [*_similar(candidates(connection, staged))]
    finally:
        staged.unlink(missing_ok=True)
    made = store.Stamp(settings=settings, inputs=inputs)
    schema = store.table_schema(NearDuplicate)
    with store.TableWriter(run.near_duplicates, schema, made) as table:
        table.write_rows(_clustered(pairs))
    return True


def question_items(run: RunFolder) -> Iterator[Item]:
    """What is compared of each question of a run."""
    parameters = {"questions": store.sql_path(run.questions)}
    for batch in store.stream(store.connect(run), WORDING, parameters):
        for row in batch.to_pylist():
            options = {choice["label"]: choice["text"] for choice in row["choices"] or ()}
            yield Item(
                key=row["question_id"],
                text=comparable(row["prompt"], [*options.values()]),
                gold=_gold(row["answer"], options, row["tolerance"]),
            )


def _gold(answer: str, options: dict[str, str], tolerance: str | None) -> str:
    """The gold in words, since the same option may stand under another label."""
    if not options:
        return f"{plain(answer)} {tolerance or ''}".strip()
    labels = [answer] if answer in options else [label.strip() for label in answer.split(",")]
    return "\n".join(sorted(plain(options.get(label, label)) for label in labels))


def _similar(found: Iterable[Candidate]) -> Iterator[NearDuplicate]:
    for pair in found:
        alike = similarity(pair.text, pair.other_text)
        if alike >= SIMILAR:
            yield NearDuplicate(
                question_id=pair.other_key,
                other_id=pair.key,
                similarity=alike,
                same_gold=pair.same_gold,
                cluster=None,
            )


def _clustered(pairs: list[NearDuplicate]) -> Iterator[NearDuplicate]:
    """The pairs with their cluster: questions that same-gold pairs link, named by the least id."""
    import dataclasses

    parents: dict[str, str] = {}

    def root(key: str) -> str:
        while parents.setdefault(key, key) != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    for pair in pairs:
        if pair.same_gold:
            one, other = sorted((root(pair.question_id), root(pair.other_id)))
            parents[other] = one
    for pair in pairs:
        cluster = root(pair.question_id) if pair.same_gold else None
        yield dataclasses.replace(pair, cluster=cluster)
