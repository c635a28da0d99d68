"""The Parquet files of one split: ``train-00000.parquet``, ``train-00001.parquet``, ..."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty import store

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_GROUP = 1_000
"""Row groups small enough that readers can take nested columns whole."""


def shard_path(place: Path, split: str, number: int = 0) -> Path:
    """Where a shard lies; ``split`` is ``train`` or ``heldout``."""
    return place / f"{split}-{number:05d}.parquet"


def shards_of(place: Path, split: str) -> list[Path]:
    """The shards of a split that are there, in the order of their rows."""
    return sorted(place.glob(f"{split}-*.parquet"))


def write_shards(
    first: Path,
    rows: Iterable[dict[str, Any]],
    schema: pa.Schema,
    stamp: store.Stamp,
    *,
    shard_rows: int,
) -> int:
    """Write rows as ``first`` and its following shards; returns how many rows there were.

    Types are those of ``schema`` and nothing of any library stands in the metadata.
    """
    import pyarrow as pa

    split, left, total = first.name.partition("-")[0], iter(rows), 0
    for number in itertools.count():
        start = [*itertools.islice(left, 1)]
        if number and not start:
            return total
        of_shard = itertools.islice(itertools.chain(start, left), shard_rows)
        with store.TableWriter(shard_path(first.parent, split, number), schema, stamp) as table:
            for group in store.in_chunks(of_shard, ROWS_A_GROUP):
                table.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))
        total += table.num_rows
    raise AssertionError("the count of shards ended")
