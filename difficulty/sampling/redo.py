"""Draw samples again: failed ones where they are missing, truncated questions whole.

Of a question with a truncated answer all k samples go: drawing only the bad ones again would raise
every pass rate. What goes is written down first (``redo.parquet``), so that a crash in the middle
is finished by the next run and no question is left with half of its old samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from difficulty import store

if TYPE_CHECKING:
    import pyarrow as pa

Redo = Literal["failed", "truncated"]

CHOSEN = {
    "failed": "SELECT question_id, sample_index FROM rows_of($parts) WHERE error IS NOT NULL",
    "truncated": """
        SELECT question_id, sample_index FROM rows_of($parts)
        WHERE question_id IN (
            SELECT question_id FROM rows_of($parts) WHERE finish_reason = 'length')
    """,
}
REST = """
    SELECT part.* FROM rows_of($part) AS part
    ANTI JOIN rows_of($redo) USING (question_id, sample_index)
"""


def start_redo(run: store.RunFolder, what: Redo) -> int:
    """Remove the samples that are to be drawn again; returns how many."""
    parts = [store.sql_path(part) for part in run.completion_parts()]
    if not parts:
        return 0
    plan = run.completions / "redo.parquet"
    batches = store.stream(store.connect(run), CHOSEN[what], {"parts": parts})
    with store.TableWriter(plan, _plan_schema(), None) as table:
        for batch in batches:
            table.write_batch(batch)
    finish_redo(run)
    return table.num_rows


def finish_redo(run: store.RunFolder) -> None:
    """Take what ``redo.parquet`` names out of every part; nothing to do without that file."""
    plan = run.completions / "redo.parquet"
    if not plan.exists():
        return
    for part in run.completion_parts():
        parameters = {"part": store.sql_path(part), "redo": store.sql_path(plan)}
        connection = store.connect(run)
        count = connection.execute(f"SELECT count(*) FROM ({REST})", parameters).fetchall()[0][0]
        if count == store.num_rows(part):
            continue
        if count == 0:
            part.unlink()
        else:
            store.rewrite(part, store.stream(connection, REST, parameters))
    plan.unlink()


def _plan_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([("question_id", pa.string()), ("sample_index", pa.int64())])
