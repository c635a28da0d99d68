"""The rows of a Parquet file as a folder that ``datasets.load_from_disk`` reads.

Written with pyarrow alone: the library itself would add type names that its older releases, which
trainers pin, cannot read.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from difficulty import store

ROWS_FILE = "data-00000-of-00001.arrow"


def write_folder(parquet: Path, folder: Path) -> None:
    """Write the rows of ``parquet`` as ``folder``, whole or not at all.

    Raises:
        RunError: the disk is full or the place cannot be written.
    """
    scratch = folder.with_name(f".{folder.name}.writing-{os.getpid()}")
    try:
        scratch.mkdir(parents=True)
        _write_rows(parquet, scratch / ROWS_FILE)
        state: dict[str, object] = {
            "_data_files": [{"filename": ROWS_FILE}],
            "_fingerprint": store.content_hash(parquet)[:16],
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": "train",
        }
        (scratch / "state.json").write_text(json.dumps(state, indent=1), encoding="utf-8")
        (scratch / "dataset_info.json").write_text("{}", encoding="utf-8")
        remove_folder(folder)
        scratch.replace(folder)
    except OSError as error:
        raise store.disk_error(folder, error) from error
    finally:
        remove_folder(scratch)


def _write_rows(parquet: Path, target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(parquet) as table:
        schema = table.schema_arrow.remove_metadata()
        with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
            for batch in table.iter_batches(store.BATCH_ROWS):
                stream.write_batch(batch.replace_schema_metadata(None))


def remove_folder(folder: Path) -> None:
    """Remove a folder that this module wrote; nothing if it is not there."""
    shutil.rmtree(folder, ignore_errors=True)
