"""Texts with their bands in a scratch table, from which DuckDB reads the candidates.

Memory stays that of a batch, whatever the number of texts: one band is looked at at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty import store
from difficulty.selection.duplicates.signatures import BANDS, bands

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, kw_only=True)
class Item:
    """A text to be compared."""

    key: str
    text: str
    """As ``comparable`` makes it."""
    gold: str
    """Equal for equal answers; empty where answers are not compared."""


def stage(path: Path, items: Iterable[Item]) -> int:
    """Write items with their bands; returns how many there were."""
    import pyarrow as pa

    texts = [pa.field(name, pa.string()) for name in ("key", "text", "gold")]
    hashes = [pa.field(f"band_{number}", pa.uint64()) for number in range(BANDS)]
    schema = pa.schema([*texts, *hashes])
    with store.TableWriter(path, schema, None) as table:
        for chunk in store.in_chunks(items, store.BATCH_ROWS):
            found = bands([item.text for item in chunk])
            columns: list[Any] = [
                pa.array([getattr(item, field.name) for item in chunk], field.type)
                for field in texts
            ]
            columns += [pa.array(found[:, number]) for number in range(BANDS)]
            table.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    return table.num_rows


# Of the texts in one bucket each is compared with the first and with the one before it: as many
# comparisons as texts, where all pairs would be their square.
WITHIN = """
    INSERT INTO pairs
    SELECT key, other FROM (
        SELECT key, unnest([first_value(key) OVER bucket, lag(key) OVER bucket]) AS other
        FROM rows_of($staged) WINDOW bucket AS (PARTITION BY {band} ORDER BY key))
    WHERE other < key
"""
BETWEEN = """
    INSERT INTO pairs
    SELECT mine.key, other.key FROM rows_of($staged) AS mine
    JOIN (SELECT {band}, min(key) AS key FROM rows_of($others) GROUP BY {band}) AS other
    USING ({band})
"""
BOTH_TEXTS = """
    SELECT mine.key, other.key AS other_key, mine.text, other.text AS other_text,
           mine.gold = other.gold AS same_gold
    FROM (SELECT DISTINCT * FROM pairs) AS pair
    JOIN rows_of($staged) AS mine ON mine.key = pair.key
    JOIN rows_of($others) AS other ON other.key = pair.other
    ORDER BY mine.key, other_key
"""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Two texts that share a band."""

    key: str
    other_key: str
    text: str
    other_text: str
    same_gold: bool


def candidates(
    connection: duckdb.DuckDBPyConnection, staged: Path, others: Path | None = None
) -> Iterator[Candidate]:
    """Pairs within a scratch table, or between two, that share a band and the same numbers."""
    connection.execute("CREATE OR REPLACE TEMP TABLE pairs (key VARCHAR, other VARCHAR)")
    paths = {"staged": store.sql_path(staged), "others": store.sql_path(others or staged)}
    for number in range(BANDS):
        sql = (WITHIN if others is None else BETWEEN).format(band=f"band_{number}")
        used = {name: path for name, path in paths.items() if f"${name}" in sql}
        connection.execute(sql, used)
    batches = store.stream(connection, BOTH_TEXTS, paths)
    rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    return (Candidate(**row) for row in rows)
