"""A table of counts as ``difficulty forecast`` takes it beside a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from difficulty.errors import InputError
from difficulty.forecast import Counts
from difficulty.sources.dataset import READERS


def read_counts_table(path: Path) -> Counts:
    """A table of counts: num_samples, num_correct and optionally num_questions, source.

    Raises:
        InputError: the file is missing, of another kind, or lacks a column.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(
            f"{path} is no run folder and no table of counts. Give a run, a .csv or a .parquet file"
        )
    if not path.is_file():
        raise InputError(f"table of counts is missing: {path}. Check the path")
    found = list(READERS[path.suffix](path))
    broken = next((row for row in found if row.problem), None)
    if broken is not None:
        raise InputError(f"{path}, row {broken.number}: {broken.problem}. Correct it")
    rows = [row.values for row in found]
    present = rows[0].keys() if rows else ()
    missing = [name for name in ("num_samples", "num_correct") if name not in present]
    if missing:
        raise InputError(
            f"{path} lacks column {missing[0]}: found {', '.join(present) or 'no row'}. Add it"
        )
    return Counts.of(
        [_whole(row["num_samples"]) for row in rows],
        [_whole(row["num_correct"]) for row in rows],
        [_whole(row["num_questions"]) for row in rows] if "num_questions" in present else None,
        source=[str(row["source"] or "") for row in rows] if "source" in present else None,
    )


def _whole(value: Any) -> Any:
    """Numbers from CSV text; what is no number is handed on for ``Counts`` to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return None
