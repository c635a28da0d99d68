"""Find a dataset by the name a user types: a file, a built-in sample, a set of the Hub."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from difficulty.errors import InputError
from difficulty.settings.source import SourceSpec
from difficulty.sources import hub
from difficulty.sources.columns import Row
from difficulty.sources.formats import AS_WRITTEN, COMPRESSED, READERS, RawRow, TextForm, reader_of

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A dataset that was found: how to call it, what it is exactly, and its rows."""

    name: str
    """Short name, used as ``source`` where rows bring none."""
    sha256: str
    rows: Callable[[], Iterator[RawRow]]


def find_dataset(name: str, *, split: str | None = None, form: TextForm = AS_WRITTEN) -> Dataset:
    """The dataset of that name: a file, a built-in sample, or a Hub set.

    Raises:
        InputError: no such file or set, or a file ending that cannot be read.
    """
    path = Path(name).expanduser()
    sample = SAMPLES / f"{name}.jsonl"
    if not path.exists() and "/" not in name and sample.exists():
        path = sample
    if path.is_file():
        return _file_dataset(path, form)
    if reader_of(path) is not None:
        raise InputError(f"dataset file is missing: {name}. Check the path")
    return hub_dataset(name, split=split)


def dataset_of(source: SourceSpec) -> Dataset:
    """The dataset that the settings name, read as they say.

    Raises:
        InputError: as ``find_dataset``.
    """
    form = TextForm(encoding=source.encoding, header=not source.no_header)
    return find_dataset(source.dataset, split=source.split, form=form)


def hub_dataset(name: str, *, split: str | None) -> Dataset:
    """A set read by the ``datasets`` library: a Hub name, ``NAME:CONFIG``, or a local folder."""
    found = hub.load(name, split=split)
    return Dataset(name=found.name, sha256=found.fingerprint, rows=lambda: _numbered(found.rows()))


def _file_dataset(path: Path, form: TextForm) -> Dataset:
    reader = reader_of(path)
    if reader is None:
        raise InputError(
            f"dataset file has an unknown ending: {path.name}. Use one of {', '.join(READERS)}; "
            f"those of text may be compressed ({', '.join(COMPRESSED)})"
        )
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"dataset file cannot be read: {path} ({error.strerror}). Check it"
        ) from error
    return Dataset(
        name=path.name.partition(".")[0] or path.name,
        sha256=digest,
        rows=lambda: reader(path, form),
    )


def _numbered(rows: Iterator[Row]) -> Iterator[RawRow]:
    return (RawRow(number=number, values=values) for number, values in enumerate(rows))
