"""Time and memory of choosing among profiled questions with every rule on.

``python -m bench.selection [QUESTIONS]``: a million by default. Processor time is printed too: on a
shared machine the wall clock says little.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from difficulty import store
from difficulty.selection.choose import choose
from difficulty.settings.selection import SelectionSpec

# The tables of a run, as far as the rules look at them: one question in a hundred has a near
# duplicate, one in a thousand stands in the evaluation set.
PROFILE = """
    SELECT sha256(i::VARCHAR) AS question_id, 'source-' || (i % 5) AS source, 'choice' AS kind,
           (3 + i % 3)::BIGINT AS num_options, 1::BIGINT AS num_golds,
           5::BIGINT AS num_samples, 5::BIGINT AS num_graded,
           (hash(i) % 6)::BIGINT AS num_correct, num_correct / 5.0 AS pass_rate,
           ['L6', 'L5', 'L4', 'L3', 'L2', 'L1'][num_correct + 1] AS level
    FROM range({questions}) AS t(i)
"""
NEAR = """
    SELECT sha256((100 * i)::VARCHAR) AS question_id, sha256((100 * i + 1)::VARCHAR) AS other_id,
           0.9 AS similarity, true AS same_gold, question_id AS cluster
    FROM range({questions} // 100) AS t(i)
"""
OVERLAPS = """
    SELECT sha256((1000 * i)::VARCHAR) AS question_id, 'test.jsonl' AS file, i AS row,
           true AS exact, 1.0 AS similarity, '' AS evaluation_prompt
    FROM range({questions} // 1000) AS t(i)
"""


def main() -> None:
    """Write the tables, select from them, print time and peak memory."""
    questions = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        run = store.RunFolder(Path(folder))
        writer = store.connect(run)
        for path, sql in (
            (run.profile, PROFILE),
            (run.near_duplicates, NEAR),
            (run.overlaps, OVERLAPS),
        ):
            writer.execute(f"COPY ({sql.format(questions=questions)}) TO '{path}' (FORMAT parquet)")
        writer.close()
        print(
            f"{store.num_rows(run.profile):,} profiled questions"
        )  # and what reads them is loaded
        for order in ("easy-to-hard", "mix", "gaussian"):
            _select(run, questions, order)


def _select(run: store.RunFolder, questions: int, order: str) -> None:
    selection = SelectionSpec(
        keep="L1-L5",
        pass_rate="0.2-1.0",
        above_chance=0.5,
        max_collapse=0.6,
        against=("test.jsonl",),
        drop_near_duplicates=True,
        quotas=(f"source-1={questions // 20}",),
        max_questions=questions // 2,
        order=order,
        mix="L2=0.4,L3=0.4,L4=0.2",
        batch_size=64,
    )
    collapse = {(5, correct): abs(2 * correct - 5) / 7 for correct in range(6)}
    connection = store.connect(run)
    start, before = time.monotonic(), os.times()
    found = kept = 0
    for batch in choose(run, selection, connection, collapse):
        found += batch.num_rows
        kept += batch.column("keep").true_count
    seconds, after = time.monotonic() - start, os.times()
    processor = after.user + after.system - before.user - before.system
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"selection, {order}: {kept:,} of {found:,} questions in {seconds:.1f} s, "
        f"{processor:.1f} s of processor time, peak memory so far {peak:.1f} GiB"
    )
    assert found == questions


if __name__ == "__main__":
    main()
