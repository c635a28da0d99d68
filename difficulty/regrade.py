"""What a newer grader changed: levels before and after, question by question."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from difficulty import store
from difficulty.store import RunFolder

MOVED = """
    SELECT question_id, before.level AS level_before, after.level AS level_after
    FROM rows_of($before) AS before JOIN rows_of($after) AS after USING (question_id)
    WHERE before.level IS DISTINCT FROM after.level ORDER BY question_id
"""
COUNTS = f"SELECT level_before, level_after, count(*) FROM ({MOVED}) GROUP BY ALL ORDER BY ALL"
VERDICTS = """
    SELECT count(*) FROM rows_of($before) AS before JOIN rows_of($after) AS after
    USING (question_id, sample_index) WHERE before.outcome IS DISTINCT FROM after.outcome
"""


@contextmanager
def comparing(run: RunFolder) -> Iterator[dict[str, Any]]:
    """Fill the dict it hands out with what the block changed: counts and question ids.

    Keys after the block: ``verdicts_changed``, ``levels_moved``, ``moves`` (before, after, count),
    ``questions`` (id, before, after). Empty where there was nothing to compare with.
    """
    found: dict[str, Any] = {}
    before = run.root / ".before-regrade"
    tables = [run.grades, run.profile]
    if not all(table.exists() for table in tables):
        yield found
        return
    before.mkdir(exist_ok=True)
    try:
        for table in tables:
            shutil.copy2(table, before / table.name)
        yield found
        found.update(_changes(run, before))
    finally:
        shutil.rmtree(before, ignore_errors=True)


def _changes(run: RunFolder, before: Path) -> dict[str, Any]:
    levels = {
        "before": store.sql_path(before / run.profile.name),
        "after": store.sql_path(run.profile),
    }
    verdicts = {
        "before": store.sql_path(before / run.grades.name),
        "after": store.sql_path(run.grades),
    }
    moved = store.connect(run).execute(MOVED, levels).fetchall()
    moves = store.connect(run).execute(COUNTS, levels).fetchall()
    return {
        "verdicts_changed": store.connect(run).execute(VERDICTS, verdicts).fetchall()[0][0],
        "levels_moved": len(moved),
        "moves": [{"before": old, "after": new, "questions": n} for old, new, n in moves],
        "questions": [
            {"question_id": question, "before": old, "after": new} for question, old, new in moved
        ],
    }
