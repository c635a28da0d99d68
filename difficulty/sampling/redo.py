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
            SELECT question_id FROM rows_of($parts)
            WHERE finish_reason = 'length' AND max_tokens < $limit)
    """,
}
"""An answer cut at the new limit is not drawn again: the same command twice is as once."""
REST = """
    SELECT part.* FROM rows_of($part) AS part
    ANTI JOIN rows_of($redo) USING (question_id, sample_index)
"""


def num_chosen(run: store.RunFolder, what: Redo, *, limit: int) -> int:
    """How many samples are to be drawn again under a limit of so many new tokens."""
    parameters = _parameters(run, what, limit)
    if not parameters["parts"]:
        return 0
    sql = f"SELECT count(*) FROM ({CHOSEN[what]})"
    return int(store.connect(run).execute(sql, parameters).fetchall()[0][0])


def start_redo(run: store.RunFolder, what: Redo, *, limit: int) -> int:
    """Remove the samples that are to be drawn again; returns how many."""
    parameters = _parameters(run, what, limit)
    if not parameters["parts"]:
        return 0
    plan = run.completions / "redo.parquet"
    batches = store.stream(store.connect(run), CHOSEN[what], parameters)
    with store.TableWriter(plan, _plan_schema(), None) as table:
        for batch in batches:
            table.write_batch(batch)
    finish_redo(run)
    return table.num_rows


def _parameters(run: store.RunFolder, what: Redo, limit: int) -> store.Parameters:
    parts = [store.sql_path(part) for part in run.completion_parts()]
    return {"parts": parts, "limit": limit} if what == "truncated" else {"parts": parts}


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
