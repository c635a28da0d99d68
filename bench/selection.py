"""Time and memory of choosing among a million profiled questions: ``python -m bench.selection``."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from difficulty import curriculum, store
from difficulty.run_forecast import Collapse
from difficulty.run_spec import SelectionSpec

QUESTIONS = 1_000_000

PROFILE = f"""
    SELECT md5(i::VARCHAR) AS question_id, 'source-' || (i % 5) AS source, 'choice' AS kind,
           5 AS num_samples, 5 AS num_graded, (hash(i) % 6)::BIGINT AS num_correct,
           num_correct / 5.0 AS pass_rate,
           ['L6', 'L5', 'L4', 'L3', 'L2', 'L1'][num_correct + 1] AS level
    FROM range({QUESTIONS}) AS t(i)
"""


def main() -> None:
    """Write a profile, select from it, print time and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.parquet"
        connection = store.connect()
        connection.execute(f"COPY ({PROFILE}) TO '{profile}' (FORMAT parquet)")
        collapse = [
            Collapse(num_graded=5, num_correct=c, collapse_probability=0.5) for c in range(6)
        ]
        schema = store.table_schema(Collapse)
        connection.register("collapse", store.rows_to_batch(collapse, schema))
        spec = SelectionSpec(quotas=("source-1=1000",), max_questions=500_000)
        start = time.monotonic()
        sql = curriculum.selection_sql(spec)
        batches = store.stream(connection, sql, {"profile": str(profile), "seed": "0"})
        rows = sum(batch.num_rows for batch in batches)
        seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"selection: {rows:,} questions in {seconds:.1f} s, peak memory {peak:.1f} GiB")
    assert rows == QUESTIONS


if __name__ == "__main__":
    main()
