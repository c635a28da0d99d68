"""Sets read by the ``datasets`` library: Hub names and folders written by ``save_to_disk``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty.errors import InputError
from difficulty.sources.columns import Row


@dataclass(frozen=True, kw_only=True)
class HubSet:
    """A loaded set."""

    name: str
    fingerprint: str
    """The library's own hash of the set and everything done to it."""
    rows: Callable[[], Iterator[Row]]


def load(name: str, *, split: str | None) -> HubSet:
    """Load ``NAME``, ``NAME:CONFIG`` or a folder; code of the set itself is never run.

    Raises:
        InputError: no such set, no such split, or several splits and none chosen.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import datasets

    wanted, _, config = name.partition(":")
    try:
        if Path(wanted).is_dir():
            found = _from_folder(Path(wanted), split)
        else:
            found = datasets.load_dataset(wanted, config or None, split=split)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"dataset is not a file, and loading {name!r} as a Hub set failed: {first_line}. "
            "Check the name, the network and --split"
        ) from error
    if isinstance(found, dict):
        found = _only_split(name, found)
    return HubSet(
        name=Path(wanted).name, fingerprint=str(found._fingerprint), rows=lambda: iter(found)
    )


def _from_folder(folder: Path, split: str | None) -> Any:
    import datasets

    if not (folder / "dataset_info.json").exists() and not (folder / "dataset_dict.json").exists():
        return datasets.load_dataset(str(folder), split=split)
    found = datasets.load_from_disk(str(folder))
    if split is None or not isinstance(found, dict):
        return found
    if split not in found:
        raise ValueError(f"no split {split!r} among {', '.join(found)}")
    return found[split]


def _only_split(name: str, splits: dict[str, Any]) -> Any:
    if len(splits) > 1:
        raise InputError(
            f"dataset {name!r} has several splits: {', '.join(splits)}. Choose one with --split"
        )
    return next(iter(splits.values()))
