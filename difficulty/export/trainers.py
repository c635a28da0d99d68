"""The trainers that exports exist for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from difficulty.errors import SettingsError
from difficulty.export import ms_swift, trl, verl
from difficulty.export.training_row import TrainingRow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """How one trainer wants its file."""

    name: str
    schema: Callable[..., pa.Schema]
    """``schema(plain=...)``: plain runs may need another type for the prompt."""
    row: Callable[[TrainingRow], dict[str, Any]]
    keep_order: str
    """The setting that turns the trainer's own shuffle off: row order is the curriculum."""


TRAINERS: dict[str, Trainer] = {
    name: Trainer(name=name, schema=module.schema, row=module.row, keep_order=module.KEEP_ORDER)
    for name, module in (("trl", trl), ("verl", verl), ("ms-swift", ms_swift))
}


def find_trainer(name: str) -> Trainer:
    """The trainer of that name.

    Raises:
        SettingsError: there is none; the message lists those there are.
    """
    if name not in TRAINERS:
        raise SettingsError(f"unknown trainer: {name!r}. Choose from {', '.join(TRAINERS)}")
    return TRAINERS[name]
