"""Find a dataset by the name a user types, and read its rows one by one.

A row that cannot be read (invalid UTF-8, broken JSON) is handed on with the problem named, so that
it can be set aside and counted; nothing is skipped here.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty.errors import InputError
from difficulty.sources import hub
from difficulty.sources.columns import Row

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
CSV_FIELD_LIMIT = 16 * 2**20
READ_ROWS = 2_000


class RowProblem(Exception):
    """Why a row is no question; becomes the ``reason`` of a SetAside."""


@dataclass(frozen=True, kw_only=True)
class RawRow:
    """One row as found: its values, or the problem and the raw text."""

    number: int
    """Row number in the dataset, from 0."""
    values: Row
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A dataset that was found: how to call it, what it is exactly, and its rows."""

    name: str
    """Short name, used as ``source`` where rows bring none."""
    sha256: str
    rows: Callable[[], Iterator[RawRow]]


def find_dataset(name: str, *, split: str | None = None) -> Dataset:
    """The dataset of that name: a file, a built-in sample, or a Hub set.

    Raises:
        InputError: no such file or set, or a file ending that cannot be read.
    """
    path = Path(name).expanduser()
    sample = SAMPLES / f"{name}.jsonl"
    if not path.exists() and "/" not in name and sample.exists():
        path = sample
    if path.is_file():
        return _file_dataset(path)
    if path.suffix in READERS:
        raise InputError(f"dataset file is missing: {name}. Check the path")
    return hub_dataset(name, split=split)


def hub_dataset(name: str, *, split: str | None) -> Dataset:
    """A set read by the ``datasets`` library: a Hub name, ``NAME:CONFIG``, or a local folder."""
    found = hub.load(name, split=split)
    return Dataset(name=found.name, sha256=found.fingerprint, rows=lambda: _numbered(found.rows()))


def _file_dataset(path: Path) -> Dataset:
    reader = READERS.get(path.suffix)
    if reader is None:
        raise InputError(
            f"dataset file has an unknown ending: {path.name}. Use one of {', '.join(READERS)}"
        )
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"dataset file cannot be read: {path} ({error.strerror}). Check it"
        ) from error
    return Dataset(name=path.stem, sha256=digest, rows=lambda: reader(path))


def _numbered(rows: Iterator[Row]) -> Iterator[RawRow]:
    return (RawRow(number=number, values=values) for number, values in enumerate(rows))


def read_jsonl(path: Path) -> Iterator[RawRow]:
    """One JSON object a line; blank lines do not count as rows."""
    with path.open("rb") as file:
        lines = (line for line in file if line.strip())
        for number, line in enumerate(lines):
            yield _json_row(number, line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line)


def _json_row(number: int, line: bytes) -> RawRow:
    try:
        values = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return _unreadable(number, line, f"invalid_utf8: byte {error.start} of the row")
    except (ValueError, RecursionError) as error:
        return _unreadable(number, line, f"invalid_json: {error}")
    if b"\\ud" in line.lower() and not _encodable(values):
        return _unreadable(number, line, "invalid_utf8: half of a surrogate pair")
    if not isinstance(values, dict):
        return _unreadable(number, line, f"not_an_object: found a JSON {type(values).__name__}")
    return RawRow(number=number, values=values)


def _encodable(values: Any) -> bool:
    try:
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(number: int, raw: bytes, problem: str) -> RawRow:
    text = raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
    return RawRow(number=number, values={"raw": text}, problem=problem)


def read_json(path: Path) -> Iterator[RawRow]:
    """A JSON array of objects, or one object a line (both go by ``.json``)."""
    with path.open("rb") as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start != b"[":
        yield from read_jsonl(path)
        return
    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not valid JSON: {error}. Correct it, or write one object a line (.jsonl)"
        ) from error
    for number, row in enumerate(values):
        yield _json_row(number, json.dumps(row).encode())


def read_csv(path: Path) -> Iterator[RawRow]:
    """Comma-separated with a header line; empty cells are missing values."""
    csv.field_size_limit(CSV_FIELD_LIMIT)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        try:
            rows = csv.DictReader(file)
            _refuse_doubled(path, rows.fieldnames or ())
            for number, row in enumerate(rows):
                yield _csv_row(number, row)
        except csv.Error as error:
            raise InputError(f"{path} is not valid CSV: {error}. Correct it") from error


def _refuse_doubled(path: Path, names: Sequence[str]) -> None:
    """Unnamed columns, as spreadsheets leave them, are nobody's and may be several."""
    doubled = next((name for name in names if name and list(names).count(name) > 1), None)
    if doubled is not None:
        raise InputError(f"{path} has two columns named {doubled!r}. Rename or remove one")


def _csv_row(number: int, row: dict[str | None, Any]) -> RawRow:
    extra = row.pop(None, None)
    values = {str(key): value or None for key, value in row.items()}
    text = json.dumps(values, ensure_ascii=False)
    if extra:
        return RawRow(number=number, values=values, problem=f"too_many_cells: {len(extra)} extra")
    if any("\udc80" <= char <= "\udcff" for char in text):
        raw = text.encode("utf-8", "surrogateescape")
        return _unreadable(number, raw, "invalid_utf8: in a cell of the row")
    return RawRow(number=number, values=values)


def read_parquet(path: Path) -> Iterator[RawRow]:
    """Any Parquet file, a batch of rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as table:
            _refuse_doubled(path, table.schema_arrow.names)
            numbers = itertools.count()
            for batch in table.iter_batches(READ_ROWS):
                yield from (_arrow_row(next(numbers), batch, at) for at in range(batch.num_rows))
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is not a Parquet file: {detail}. Check it") from error


def _arrow_row(number: int, batch: Any, at: int) -> RawRow:
    try:
        return RawRow(
            number=number,
            values={name: batch.column(name)[at].as_py() for name in batch.schema.names},
        )
    except UnicodeDecodeError as error:
        return RawRow(number=number, values={}, problem=f"invalid_utf8: {error.reason}")


READERS: dict[str, Callable[[Path], Iterator[RawRow]]] = {
    ".parquet": read_parquet,
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
}
