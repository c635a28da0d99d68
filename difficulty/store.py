"""The only module that reads or writes tables. A table is written whole or not at all.

Every Parquet file carries a *stamp*: the settings that it and the stages before it used, the
content hash of each input, and its own content hash. A stage is done when its file is there with
the stamp that the present settings and inputs would give; nothing else keeps state.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import hashlib
import json
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty import __version__
from difficulty.errors import DifficultyError, RunError
from difficulty.schema import arrow_schema
from difficulty.settings import toml
from difficulty.settings.run import RunSpec

if typing.TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

VERSION = __version__
STAMP_KEY = b"difficulty"
BATCH_ROWS = 2_000


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What a table was made from. ``version`` and ``date`` are recorded, not compared."""

    settings: dict[str, Any]
    inputs: dict[str, str]
    """Name of each input table -> its content hash."""
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Facts that go with the table, such as which model answered."""
    content: str = ""
    """SHA-256 over the rows; filled in when the table is closed."""
    version: str = VERSION
    date: str = ""

    def matches(self, settings: dict[str, Any], inputs: dict[str, str]) -> bool:
        """Would these settings and inputs give this very table?"""
        return self.settings == settings and self.inputs == inputs


class RunFolder:
    """Where the files of a run lie. Making one touches nothing on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spec_file = root / "run.toml"
        self.questions = root / "questions.parquet"
        self.set_aside = root / "set_aside.parquet"
        self.completions = root / "completions"
        self.grades = root / "grades.parquet"
        self.profile = root / "profile.parquet"
        self.near_duplicates = root / "near_duplicates.parquet"
        self.overlaps = root / "overlaps.parquet"
        self.selection = root / "selection.parquet"
        self.forecast = root / "forecast.json"
        self.report = root / "report.html"
        self.regrade = root / "regrade.json"
        self.audit = root / "audit.json"
        self.audit_sample = root / "audit-sample.json"
        self.audit_sheet = root / "audit.csv"
        self.audit_page = root / "audit.html"
        self.logs = root / "logs"
        self.exports = root / "exports"

    def __str__(self) -> str:
        return str(self.root)

    def completion_parts(self) -> list[Path]:
        """The finished Parquet parts of completions/, oldest first."""
        return sorted(self.completions.glob("part-*.parquet"))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A scratch name beside ``path`` that becomes ``path`` only if the block succeeds.

    Raises:
        RunError: the disk is full or the place cannot be written; the scratch file is removed.
    """
    scratch = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
        _sync(scratch)
        scratch.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)


def disk_error(path: Path, error: OSError) -> DifficultyError:
    """The one-line form of a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RunError(
            f"no disk space: writing {path} failed. Free some and run the same command again; "
            "everything finished is kept"
        )
    return RunError(
        f"cannot write {path}: {error.strerror or error}. Check the folder and its permissions"
    )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with writing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


class TableWriter:
    """Appends rows to one Parquet file that appears only when the block ends well.

    ``with TableWriter(path, schema, stamp) as table: table.write_rows(rows)``
    """

    def __init__(self, path: Path, schema: pa.Schema, stamp: Stamp | None) -> None:
        self.path = path
        self.schema = schema
        self.stamp = stamp
        self.num_rows = 0
        self._hash = hashlib.sha256()

    def __enter__(self) -> TableWriter:
        import pyarrow.parquet as pq

        self._writing = writing(self.path)
        scratch = self._writing.__enter__()
        try:
            self._parquet = pq.ParquetWriter(scratch, self.schema, compression="zstd")
        except OSError as error:
            self._writing.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def write_rows(self, rows: Iterable[Any]) -> None:
        """Append dataclass rows, a batch at a time."""
        for chunk in in_chunks(rows, BATCH_ROWS):
            self.write_batch(rows_to_batch(chunk, self.schema))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append one batch; its columns are cast to the table's schema."""
        batch = batch.cast(self.schema)
        self._hash.update(batch.serialize())
        self._parquet.write_batch(batch)
        self.num_rows += batch.num_rows

    def __exit__(self, *failure: Any) -> None:
        try:
            if failure[0] is None and self.stamp is not None:
                stamp = dataclasses.replace(self.stamp, content=self._hash.hexdigest(), date=_now())
                self._parquet.add_key_value_metadata(
                    {STAMP_KEY: json.dumps(dataclasses.asdict(stamp), sort_keys=True)}
                )
            self._parquet.close()
        except OSError as error:
            failure = (type(error), error, error.__traceback__)
            self._writing.__exit__(*failure)
            raise disk_error(self.path, error) from error
        self._writing.__exit__(*failure)


def rewrite(path: Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Replace the rows of a table under the same settings, whole or not at all."""
    import pyarrow.parquet as pq

    stamp = read_stamp(path)
    schema = pq.read_schema(path).remove_metadata()
    with TableWriter(path, schema, stamp) as table:
        for batch in batches:
            table.write_batch(batch)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def in_chunks(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to ``size`` rows, in order."""
    chunk: list[Any] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def rows_to_batch(rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    """Dataclass rows -> one record batch of ``schema``."""
    import pyarrow as pa

    columns = [
        pa.array([_plain(getattr(row, field.name)) for row in rows], type=field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, float):
        return value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


def row_from_dict(row_type: Any, values: dict[str, Any]) -> Any:
    """A row of ``row_type`` from plain values as Arrow gives them.

    Raises:
        RunError: a name, such as an outcome, that is none of its column's.
    """
    return row_type(
        **{
            name: _build(hint, values[name]) if names is None else _name(name, names, values[name])
            for name, hint, names in _hints(row_type)
        }
    )


def _hints(row_type: Any) -> tuple[tuple[str, Any, tuple[Any, ...] | None], ...]:
    """Name and type of each field, and the names that it may hold if its type lists them."""
    found = _HINTS.get(row_type)
    if found is None:
        hints = typing.get_type_hints(row_type)
        found = _HINTS[row_type] = tuple(
            (name, hint, typing.get_args(hint) if _is_literal(hint) else None)
            for name, hint in hints.items()
        )
    return found


_HINTS: dict[Any, tuple[tuple[str, Any, tuple[Any, ...] | None], ...]] = {}


def _is_literal(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Literal


def _name(column: str, names: tuple[Any, ...], value: Any) -> Any:
    if value not in names:
        raise RunError(
            f"unknown {column}: found {value!r}, expected one of {', '.join(names)}. "
            "Another version may have written this table: use that one, or delete the table"
        )
    return value


def _build(hint: Any, value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    parts = typing.get_args(hint)
    if isinstance(value, list):
        inner = next(part for part in (hint, *parts) if typing.get_origin(part) is tuple)
        return tuple(_build(typing.get_args(inner)[0], item) for item in value)
    row_type = next(part for part in (hint, *parts) if dataclasses.is_dataclass(part))
    return row_from_dict(row_type, value)


def read_stamp(path: Path) -> Stamp | None:
    """The stamp of a Parquet table or of forecast.json; None if the file is missing.

    Raises:
        RunError: the file is there but is no table of this project.
    """
    if not path.exists():
        return None
    if path.suffix == ".json":
        return _json_stamp(path)
    metadata = _footer(path).metadata or {}
    if STAMP_KEY not in metadata:
        raise RunError(f"{path} carries no stamp: it is no table of this run. Move it away")
    return Stamp(**json.loads(metadata[STAMP_KEY]))


def _footer(path: Path) -> Any:
    """Metadata of a Parquet file.

    Raises:
        RunError: the file is damaged or no Parquet at all.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())[:200]
        raise RunError(
            f"{path} cannot be read: {detail}. Delete it; it will be made again"
        ) from error


def _json_stamp(path: Path) -> Stamp:
    try:
        return Stamp(**json.loads(path.read_text(encoding="utf-8"))["stamp"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RunError(
            f"{path} cannot be read: {error!r}. Delete it; it will be made again"
        ) from error


def completions_hash(run: RunFolder) -> str:
    """One hash over all finished parts of completions/."""
    parts = {part.name: _content(part) for part in run.completion_parts()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> str:
    stamp = read_stamp(path)
    return "" if stamp is None else stamp.content


MADE_BY = {
    "questions.parquet": "sample",
    "set_aside.parquet": "sample",
    "grades.parquet": "grade",
    "profile.parquet": "bucket",
    "selection.parquet": "select",
    "forecast.json": "forecast",
}
"""Table -> the stage that makes it."""


def content_hash(path: Path) -> str:
    """Content hash of a finished table.

    Raises:
        RunError: the table is not there; names the stage that makes it.
    """
    stamp = read_stamp(path)
    if stamp is None:
        stage = MADE_BY.get(path.name)
        advice = f"difficulty {stage} {path.parent}" if stage else "the stages before this one"
        raise RunError(f"{path} is not there. Run {advice}")
    return stamp.content


SQL_MEMORY = "512MB"
"""What a query may hold before it spills: a run over a million questions stays below 1 GB."""
SQL_THREADS = 4
"""Each thread needs its share of that memory; our queries wait for the disk, not for cores."""
ROWS_OF = """
    CREATE MACRO rows_of(paths) AS TABLE
    SELECT * FROM read_parquet(paths, hive_partitioning = false)
"""
"""How queries read our tables: a folder named ``source=x`` is a folder, not a column."""


def connect(run: RunFolder | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection that spills beside the run and never reaches for the network."""
    import duckdb

    connection = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "allow_community_extensions": "false"}
    )
    connection.execute(ROWS_OF)
    connection.execute(f"SET memory_limit = '{SQL_MEMORY}'")
    connection.execute(f"SET threads = {min(SQL_THREADS, os.cpu_count() or 1)}")
    if run is not None and run.root.is_dir():
        connection.execute("SET temp_directory = ?", [str(run.root / ".spill")])
    return connection


def sql_path(path: Path) -> str:
    """A path as DuckDB must get it: ``*``, ``?`` and ``[`` stand for themselves."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


Parameters = Mapping[str, object]
"""Values for the ``$names`` of a query."""


def stream(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None = None
) -> Iterator[pa.RecordBatch]:
    """Run a query and hand out its result batch by batch."""
    reader: Any = connection.sql(sql, params=parameters).to_arrow_reader(BATCH_ROWS)
    yield from reader


def read_rows(path: Path, row_type: Any) -> Iterator[Any]:
    """The rows of a table as dataclasses, streamed in file order."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as table:
        for batch in table.iter_batches(BATCH_ROWS):
            for values in batch.to_pylist():
                yield row_from_dict(row_type, values)


def num_rows(path: Path) -> int:
    """Rows of a Parquet file, from its footer."""
    return int(_footer(path).num_rows)


def has_columns(path: Path, row_type: type) -> bool:
    """Whether a table has every column of its row type; an earlier version may have had fewer."""
    import pyarrow.parquet as pq

    return set(table_schema(row_type).names) <= set(pq.read_schema(path).names)


def save_spec(run: RunFolder, spec: RunSpec) -> None:
    """Write run.toml."""
    write_text(run.spec_file, toml.to_toml(spec))


def load_spec(run: RunFolder) -> RunSpec:
    """Read run.toml.

    Raises:
        RunError: the folder is no run.
        SettingsError: run.toml was edited into something that cannot be read.
    """
    try:
        text = run.spec_file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise RunError(
            f"{run} is not a run folder: it has no run.toml. "
            "Start one with: difficulty profile DATASET --model M --run DIR"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{run.spec_file} cannot be read: {error}. Check the folder") from error
    return toml.from_toml(text, name=str(run.spec_file))


def table_schema(row_type: type) -> pa.Schema:
    """The Arrow schema that a table of these rows is written with."""
    return arrow_schema(row_type)
