"""Read the rows of a file one by one: JSON lines, JSON, CSV, Parquet, Arrow, also compressed.

A row that cannot be read (invalid UTF-8, broken JSON) is handed on with the problem named, so that
it can be set aside and counted; nothing is skipped here.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from difficulty.errors import InputError
from difficulty.sources.columns import Row

CSV_FIELD_LIMIT = 16 * 2**20
READ_ROWS = 2_000
UTF8 = "utf-8"
DELIMITERS = ",;\t"
SNIFFED_LINES = 50
"""Lines of a CSV file that say what separates its cells."""


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
class TextForm:
    """What a file does not say of itself."""

    encoding: str | None = None
    """Null: UTF-8, or what a byte-order mark says."""
    header: bool = True
    """Whether the first line of a CSV file names its columns; else they are 1, 2, and so on."""


AS_WRITTEN = TextForm()


def _zstd(path: Path) -> IO[bytes]:
    import pyarrow as pa

    return cast(IO[bytes], pa.input_stream(str(path), compression="zstd"))


def _xz(path: Path) -> IO[bytes]:
    return lzma.open(path)


COMPRESSED: dict[str, Callable[[Path], IO[bytes]]] = {
    ".gz": lambda path: cast(IO[bytes], gzip.GzipFile(path, "rb")),
    ".xz": _xz,
    ".zst": _zstd,
}


def reader_of(path: Path) -> Reader | None:
    """What reads a file of this name, whatever the case of its endings; None if nothing does."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        inner = endings[-2] if len(endings) > 1 else ""
        return READERS.get(inner) if inner not in (".parquet", ".arrow") else None
    return READERS.get(endings[-1]) if endings else None


@contextmanager
def _bytes_of(path: Path, form: TextForm) -> Iterator[IO[bytes]]:
    """The file's text as UTF-8, decompressed, without a byte-order mark.

    Raises:
        InputError: it is not compressed as its ending says, or not in the encoding that was named.
    """
    opener = COMPRESSED.get(path.suffix.lower())
    try:
        with path.open("rb") if opener is None else opener(path) as raw:
            buffered = io.BufferedReader(cast(io.RawIOBase, raw))
            mark = buffered.peek(3)[:3]
            encoding = form.encoding
            if encoding is None and mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                encoding = "utf-16"
            if encoding is None:
                buffered.read(3 if mark == codecs.BOM_UTF8 else 0)
                yield buffered
            else:
                yield cast(IO[bytes], io.BufferedReader(_AsUtf8(buffered, encoding)))
    except UnicodeError as error:
        raise InputError(
            f"{path} cannot be read as {form.encoding or 'utf-16'}: {_where(error)}. "
            "Name its encoding with --encoding, as cp932 or latin-1"
        ) from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if opener is None:
            raise
        detail = " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be decompressed: {detail}. Fetch it again") from error


def _where(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} is no text there"
    return str(error)


class _AsUtf8(io.RawIOBase):
    """Text of another encoding as bytes of UTF-8, a piece at a time."""

    def __init__(self, raw: IO[bytes], encoding: str) -> None:
        self._text = io.TextIOWrapper(raw, encoding=encoding, newline="")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = self._text.read(1 << 16).removeprefix("\ufeff").encode(UTF8)
        piece, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


def read_jsonl(path: Path, form: TextForm = AS_WRITTEN) -> Iterator[RawRow]:
    """One JSON object a line; blank lines do not count as rows."""
    with _bytes_of(path, form) as file:
        lines = (line for line in file if line.strip())
        for number, line in enumerate(lines):
            yield _json_row(number, line)


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


def read_json(path: Path, form: TextForm = AS_WRITTEN) -> Iterator[RawRow]:
    """A JSON array of objects, an object that holds one, or one object a line (all are ``.json``).

    Raises:
        InputError: it is no valid JSON, or an object in which no rows are found.
    """
    if _is_one_a_line(path, form):
        yield from read_jsonl(path, form)
        return
    try:
        with _bytes_of(path, form) as file:
            values = json.loads(file.read().decode(UTF8))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not valid JSON: {error}. Correct it, or write one object a line (.jsonl)"
        ) from error
    for number, row in enumerate(values if isinstance(values, list) else _rows_in(path, values)):
        yield _json_row(number, json.dumps(row).encode())


def _is_one_a_line(path: Path, form: TextForm) -> bool:
    """Whether a file holds one object a line, by its first two lines; a long one is not held."""
    with _bytes_of(path, form) as file:
        lines = (line for line in file if line.strip())
        first, second = next(lines, b""), next(lines, b"")
    if first.lstrip().startswith(b"["):
        return False
    try:
        values = json.loads(first)
    except (ValueError, RecursionError):
        return second.lstrip().startswith(b"{")  # a broken line among others, or one that goes on
    return bool(second) or not (_row_lists(values) or _holds_objects_alone(values))


def _row_lists(values: Any) -> list[str]:
    """The keys of an object under which it holds a list of objects."""
    if not isinstance(values, dict):
        return []
    return [
        key
        for key, value in values.items()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    ]


def _holds_objects_alone(values: Any) -> bool:
    return (
        isinstance(values, dict)
        and bool(values)
        and all(isinstance(row, dict) for row in values.values())
    )


def _rows_in(path: Path, values: dict[str, Any]) -> list[Any]:
    """The rows of ``{"data": [...]}`` or of ``{"id-1": {...}, "id-2": {...}}``."""
    keys = _row_lists(values)
    if len(keys) == 1:
        return cast(list[Any], values[keys[0]])
    if not keys and _holds_objects_alone(values):
        return list(values.values())
    found = f"lists of rows under {', '.join(keys)}" if keys else f"the keys {', '.join(values)}"
    raise InputError(
        f"{path} is one JSON object: found {found[:200]}. Write the rows as a list, or one object "
        "a line (.jsonl)"
    )


def read_csv(path: Path, form: TextForm = AS_WRITTEN) -> Iterator[RawRow]:
    """Separated by commas, semicolons or tabs, as the header shows; empty cells are missing.

    Raises:
        InputError: no valid CSV, two columns of one name, or a header that is not UTF-8.
    """
    csv.field_size_limit(CSV_FIELD_LIMIT)
    with _bytes_of(path, form) as file:
        text = io.TextIOWrapper(file, encoding=UTF8, errors="surrogateescape", newline="")
        first = list(itertools.islice(text, SNIFFED_LINES))
        delimiter = "\t" if _ending(path) == ".tsv" else _delimiter(first)
        rows = csv.reader(itertools.chain(first, text), delimiter=delimiter)
        try:
            names = _csv_header(path, next(rows, []))
            if not form.header:
                names, rows = [str(n + 1) for n in range(len(names))], _again(names, rows)
            _refuse_doubled(path, names)
            for number, cells in enumerate(row for row in rows if row):
                yield _csv_row(number, names, cells)
        except csv.Error as error:
            raise InputError(f"{path} is not valid CSV: {error}. Correct it") from error


def _delimiter(lines: list[str]) -> str:
    """What separates the cells: it gives every row as many as the first, and the most of them.

    Where none does, because rows are broken, the first row alone decides.
    """
    widths = {each: _widths(lines, each) for each in DELIMITERS}
    alike = [each for each, found in widths.items() if found[:1] != [1] and len(set(found)) == 1]
    return max(alike or DELIMITERS, key=lambda each: widths[each][:1])


def _widths(lines: list[str], delimiter: str) -> list[int]:
    try:
        rows = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(lines) == SNIFFED_LINES else rows  # the last may go on


def _again(first: list[str], rows: Any) -> Any:
    return itertools.chain([first], rows)


def _csv_header(path: Path, names: list[str]) -> list[str]:
    if any("\udc80" <= char <= "\udcff" for name in names for char in name):
        raise InputError(
            f"{path} is not UTF-8: its first line holds other bytes. Name its encoding with "
            "--encoding, as cp932 (Japanese Excel) or latin-1"
        )
    return names


def _ending(path: Path) -> str:
    """The ending that says what a file is, without that of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    return next((ending for ending in reversed(endings) if ending not in COMPRESSED), "")


def _refuse_doubled(path: Path, names: Sequence[str]) -> None:
    """Unnamed columns, as spreadsheets leave them, are nobody's and may be several."""
    doubled = next((name for name in names if name and list(names).count(name) > 1), None)
    if doubled is not None:
        raise InputError(f"{path} has two columns named {doubled!r}. Rename or remove one")


def _csv_row(number: int, names: list[str], cells: list[str]) -> RawRow:
    extra = len(cells) - len(names)
    filled = itertools.chain(cells, itertools.repeat(""))
    values = {name: cell or None for name, cell in zip(names, filled, strict=False)}
    text = json.dumps(values, ensure_ascii=False)
    if extra > 0:
        return RawRow(number=number, values=values, problem=f"too_many_cells: {extra} extra")
    if any("\udc80" <= char <= "\udcff" for char in text):
        raw = text.encode(UTF8, "surrogateescape")
        return _unreadable(number, raw, "invalid_utf8: in a cell of the row")
    return RawRow(number=number, values=values)


def read_parquet(path: Path, _: TextForm = AS_WRITTEN) -> Iterator[RawRow]:
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


def read_arrow(path: Path, _: TextForm = AS_WRITTEN) -> Iterator[RawRow]:
    """An Arrow file or stream, as the ``datasets`` library keeps its sets."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as file:
            try:
                table = pa.ipc.open_file(file)
                batches = (table.get_batch(at) for at in range(table.num_record_batches))
            except pa.ArrowInvalid:
                table = batches = pa.ipc.open_stream(file)
            _refuse_doubled(path, table.schema.names)
            numbers = itertools.count()
            for batch in batches:
                yield from (_arrow_row(next(numbers), batch, at) for at in range(batch.num_rows))
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is not an Arrow file: {detail}. Check it") from error


Reader = Callable[[Path, TextForm], Iterator[RawRow]]
READERS: dict[str, Reader] = {
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
}
