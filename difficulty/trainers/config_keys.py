"""Where a trainer's own configuration keeps each setting that a profile shares with training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def as_they_are(values: dict[str, Any], _path: Path) -> dict[str, Any]:
    """The settings unchanged: most trainers write them as they mean them."""
    return values


@dataclass(frozen=True, kw_only=True)
class ConfigKeys:
    """Where a trainer keeps each setting, and what it does without."""

    marks: frozenset[str]
    """Top-level keys that the other trainers do not have."""
    marks_are_sections: bool = False
    """A mark counts only where settings stand under it."""
    last_marks: frozenset[str] = frozenset()
    """Keys that others have too, by which it is told where the file has no trainer's marks."""
    keys: dict[str, tuple[str, ...]]
    """Setting -> dotted keys; the first one stated wins."""
    defaults: dict[str, Any]
    """Setting -> value that the trainer takes where none is stated."""
    translate: Callable[[dict[str, Any], Path], dict[str, Any]] = as_they_are
    """Settings of the file at a path -> the same with values as the keys above expect them."""

    def count_marks(self, values: dict[str, Any]) -> int:
        """How many of the trainer's marks the settings hold."""
        found = [values[mark] for mark in self.marks if mark in values]
        return sum(isinstance(value, dict) or not self.marks_are_sections for value in found)
