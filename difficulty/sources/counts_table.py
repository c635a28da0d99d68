"""A table of counts as ``difficulty forecast`` takes it beside a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from difficulty.collapse import Counts
from difficulty.errors import InputError
from difficulty.sources.formats import AS_WRITTEN, READERS

KEYS, SUM = ("num_samples", "num_correct", "source"), "num_questions"
BATCH = 1 << 17


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
    found = _summed(path)
    if found is not None:
        return found
    try:
        return _row_by_row(path)
    except InputError as error:
        text = str(error)
        raise InputError(text if str(path) in text else f"{path}: {text}") from error


def _summed(path: Path) -> Counts | None:
    """Equal rows summed while reading, a batch at a time: ten million rows in seconds.

    None where anything is out of the ordinary; reading row by row then says what and where.
    """
    import pyarrow as pa

    parts = []
    try:
        for batch in _batches(path):
            if len(set(batch.schema.names)) < len(batch.schema.names):
                return None
            names = [name for name in KEYS if name in batch.schema.names]
            plain = [batch.column(name) for name in names]
            whole = all(pa.types.is_integer(column.type) for column in plain[:2])
            if any(column.null_count for column in plain) or not whole or len(names) < 2:
                return None
            parts.append(_sums(pa.Table.from_batches([batch]), names))
        table = _sums(pa.concat_tables(parts), parts[0].column_names[:-1]) if parts else None
        if table is None:
            return None
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        source = columns.get("source")
        return Counts.of(
            columns["num_samples"],
            columns["num_correct"],
            columns["num_questions"],
            source=None if source is None else source.astype(str),
        )
    except (pa.ArrowException, OSError, KeyError, InputError):
        return None


def _batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as table:
            wanted = [name for name in (*KEYS, SUM) if name in table.schema_arrow.names]
            yield from table.iter_batches(BATCH, columns=wanted)
    else:
        types = pyarrow.csv.ConvertOptions(column_types={"source": pa.string()})
        with pyarrow.csv.open_csv(path, convert_options=types) as reader:
            yield from reader


def _sums(table: Any, keys: list[str]) -> Any:
    """``num_questions`` summed over equal keys, last column; each row one question without it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if SUM not in table.column_names:
        table = table.append_column(SUM, pa.array(np.ones(len(table), np.int64)))
    counts = table.column(SUM)
    if not pa.types.is_integer(counts.type) or counts.null_count or pc.min(counts).as_py() < 0:
        raise KeyError(SUM)
    summed = table.select([*keys, SUM]).group_by(keys).aggregate([(SUM, "sum")])
    return summed.rename_columns([*keys, SUM])


def _row_by_row(path: Path) -> Counts:
    found = list(READERS[path.suffix](path, AS_WRITTEN))
    broken = next((row for row in found if row.problem), None)
    if broken is not None:
        raise InputError(f"{path}, row {broken.number}: {broken.problem}. Correct it")
    if not found:
        raise InputError(f"{path} is empty: found no row. Check the file")
    rows = [row.values for row in found]
    present = rows[0].keys()
    missing = [name for name in ("num_samples", "num_correct") if name not in present]
    if missing:
        raise InputError(f"{path} lacks column {missing[0]}: found {', '.join(present)}. Add it")
    return Counts.of(
        [_whole(row["num_samples"]) for row in rows],
        [_whole(row["num_correct"]) for row in rows],
        [_whole(row["num_questions"]) for row in rows] if "num_questions" in present else None,
        source=[str(row["source"] or "") for row in rows] if "source" in present else None,
    )


def _whole(value: Any) -> Any:
    """Numbers from CSV text; what is no number is handed on as it is for ``Counts`` to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
