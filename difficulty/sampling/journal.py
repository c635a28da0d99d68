"""Crash-safe log of finished answers: at most what was in flight is lost, at any byte of a kill.

One record a line: length and CRC-32 of the payload as eight hex digits each, then the payload, a
JSON object without newlines. A record that is torn or damaged fails its checksum and its answer is
owed again; since payloads hold no newline, reading resumes at the next line.

A segment that has grown large is closed and sealed into a Parquet part while sampling goes on, so
that a resume has little to seal before its first request.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from difficulty import store
from difficulty.schema import Completion

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_BYTES = 16 * 2**20
SEGMENT_BYTES = 64 * 2**20
"""Sealing that much takes about a second."""
SYNC_EVERY_S = 2.0
"""A kill loses nothing that was written; only a power cut can lose what was not yet synced."""


class Journal:
    """Append-only segments of one sampling process. None is reopened: a resume starts a new one."""

    def __init__(self, folder: Path, *, header: dict[str, Any]) -> None:
        self._header = encode(header)
        self._sealer = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._sealing: Future[None] | None = None
        self._handle: int | None = None
        self._size = 0
        self._synced = time.monotonic()
        self._open(folder / f"journal-{_next_number(folder):06d}.log")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sealer.shutdown()
        self._close()

    def append(self, completions: list[Completion]) -> None:
        """Write the answers of one request at once.

        Raises:
            RunError: the disk is full or gone.
        """
        try:
            self._write(b"".join(encode(vars(completion)) for completion in completions))
            if time.monotonic() - self._synced > SYNC_EVERY_S:
                os.fsync(self._file())
                self._synced = time.monotonic()
        except OSError as error:
            raise store.disk_error(self.path, error) from error
        if self._size >= SEGMENT_BYTES:
            self._next_segment()

    def _next_segment(self) -> None:
        self._close()
        if self._sealing is not None:
            self._sealing.result()
        self._sealing = self._sealer.submit(_seal_segment, self.path)
        self._open(self.path.with_name(f"journal-{_number(self.path) + 1:06d}.log"))

    def _open(self, path: Path) -> None:
        self.path = path
        self._size = 0
        self._synced = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            self._handle = os.open(path, flags, 0o644)
            self._write(self._header)
        except OSError as error:
            raise store.disk_error(path, error) from error

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _write(self, lines: bytes) -> None:
        self._size += len(lines)
        handle = self._file()
        written = os.write(handle, lines)
        while written < len(lines):
            written += os.write(handle, lines[written:])

    def _file(self) -> int:
        if self._handle is None:
            raise OSError(errno.EBADF, "the journal is closed")
        return self._handle


def encode(record: dict[str, Any]) -> bytes:
    """One journal line."""
    payload = json.dumps(record, ensure_ascii=True).encode("ascii")
    return b"%08x %08x %s\n" % (len(payload), zlib.crc32(payload), payload)


def decode(line: bytes) -> dict[str, Any] | None:
    """The record of one line, or None if the line is torn or damaged."""
    payload = _payload(line)
    record = None if payload is None else json.loads(payload)
    return record if isinstance(record, dict) else None


def _read_header(path: Path) -> dict[str, Any] | None:
    with path.open("rb") as file:
        return decode(file.readline())


def payloads(path: Path) -> Iterator[bytes]:
    """The payload of every whole record after the header."""
    with path.open("rb") as file:
        file.readline()
        for line in file:
            payload = _payload(line)
            if payload is not None:
                yield payload


def _payload(line: bytes) -> bytes | None:
    payload = line[18:-1]
    if not line.endswith(b"\n") or line[:18] != b"%08x %08x " % (len(payload), zlib.crc32(payload)):
        return None
    return payload


def seal(folder: Path) -> None:
    """Turn every segment into a Parquet part of the same number, then delete the segment.

    A crash between the two steps leaves a segment whose part is already there: it is deleted
    without being read again, so no answer is ever counted twice.
    """
    for segment in sorted(folder.glob("journal-*.log")):
        _seal_segment(segment)


def _seal_segment(segment: Path) -> None:
    part = segment.with_name(f"part-{_number(segment):06d}.parquet")
    if not part.exists():
        _write_part(part, segment)
    segment.unlink()


def _write_part(part: Path, segment: Path) -> None:
    """Arrow reads the checked payloads itself: that costs a few microseconds a row."""
    records = payloads(segment)
    first = next(records, None)
    if first is None:
        return
    header = _read_header(segment) or {}
    stamp = store.Stamp(
        settings=header.get("settings", {}), inputs={}, extra=header.get("extra", {})
    )
    schema = store.table_schema(Completion)
    with store.TableWriter(part, schema, stamp) as table:
        for chunk in _chunks(itertools.chain([first], records)):
            for batch in _parse(chunk, schema):
                table.write_batch(batch)


def _chunks(payloads: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lists of payloads, bounded in number and in bytes: answers may be long."""
    chunk: list[bytes] = []
    size = 0
    for payload in payloads:
        chunk.append(payload)
        size += len(payload)
        if len(chunk) >= store.BATCH_ROWS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _parse(payloads: list[bytes], schema: pa.Schema) -> list[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.json

    text = b"\n".join(payloads)
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    table = pyarrow.json.read_json(
        io.BytesIO(text),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=nullable),
    )
    batches: list[pa.RecordBatch] = table.select(schema.names).combine_chunks().to_batches()
    return batches


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _next_number(folder: Path) -> int:
    taken = [
        _number(p) for pattern in ("journal-*.log", "part-*.parquet") for p in folder.glob(pattern)
    ]
    return max(taken, default=0) + 1
