"""Which column of a dataset is the prompt, the options, the gold and so on."""

from __future__ import annotations

import dataclasses
import functools
import string
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from difficulty.errors import InputError

Row = dict[str, Any]
"""A row of a dataset: column -> whatever it holds."""

# Role -> names looked for, in order of preference. The first three roles are the contract of the
# command line; the others are taken where a set has them.
NAMES: dict[str, tuple[str, ...]] = {
    "prompt": ("prompt", "question", "problem", "messages"),
    "choices": ("choices", "options"),
    "answer": ("answer", "solution", "gold"),
    "kind": ("kind",),
    "tolerance": ("tolerance",),
    "aliases": ("aliases",),
    "system_prompt": ("system_prompt",),
    "source": ("source", "data_source"),
}
REQUIRED = ("prompt", "answer")


@dataclass(frozen=True, kw_only=True)
class ColumnMap:
    """How the rows of a set are read."""

    columns: dict[str, str]
    """Role -> column, for the roles that the set has."""
    choice_columns: tuple[str, ...] = ()
    """Columns of one option each, in the order of the options; then no column has them all."""
    family: str | None = None
    """The public family whose rows are rearranged first, if the set is of one."""
    ignored: frozenset[str] = frozenset()
    """Columns that are read as if they were not there."""
    gold_index: int | None = None
    """What whole-number golds beside options count from; null where nothing settles it."""

    def get(self, role: str) -> str | None:
        """The column that plays ``role``, or None."""
        return self.columns.get(role)

    def value(self, row: Row, role: str) -> Any:
        """What a row holds for ``role``, or None."""
        if role == "choices" and self.choice_columns:
            return _options_of(row, self.choice_columns)
        column = self.columns.get(role)
        return None if column is None else row.get(column)

    @functools.cached_property
    def awaited(self) -> frozenset[str]:
        """Names of roles that no column plays yet: JSON lines may differ from row to row."""
        names = (name for role in NAMES if role not in self.columns for name in NAMES[role])
        return frozenset(names) - self.ignored


def find_columns(present: Iterable[str], overrides: Iterable[str] = ()) -> ColumnMap:
    """Match the columns that are there with the roles; ``overrides`` are ``role=column``.

    A role may be called by any of the names that its column is looked for under.

    Raises:
        InputError: an override that cannot be read or names a column that is not there, or no
            column for the prompt or the gold.
    """
    present = list(present)
    columns = _by_name(present)
    choice_columns: tuple[str, ...] = ()
    for override in overrides:
        name, _, column = override.partition("=")
        role = next((role for role, names in NAMES.items() if name in (role, *names)), name)
        if role not in NAMES or not column:
            raise InputError(
                f"column option cannot be read: {override!r}. Write ROLE=COLUMN with a role of "
                f"{', '.join(NAMES)}"
            )
        if role == "choices" and column not in present and "," in column:
            choice_columns = tuple(part.strip() for part in column.split(","))
            columns.pop("choices", None)
        elif column not in present:
            raise InputError(
                f"no column {column!r} for the {role}: found {_listed(present)}. "
                f"Name another with --column {role}=COLUMN"
            )
        else:
            columns[role] = column
    _require_there(choice_columns, present)
    for role in REQUIRED:
        if role not in columns:
            raise InputError(
                f"no column for the {role}: found {_listed(present)}, expected one of "
                f"{', '.join(NAMES[role])}. Name it with --column {role}=COLUMN"
            )
    return ColumnMap(columns=columns, choice_columns=choice_columns)


def _require_there(choice_columns: tuple[str, ...], present: list[str]) -> None:
    missing = [name for name in choice_columns if name not in present]
    if missing:
        raise InputError(
            f"no column {missing[0]!r} for an option: found {_listed(present)}. "
            "Name the columns of the options with --column choices=A,B,C,D"
        )


def _options_of(row: Row, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Label -> text of the options in columns of their own; those left empty are no options."""
    filled = {
        label: str(row[name])
        for label, name in zip(string.ascii_uppercase, names, strict=False)
        if row.get(name) not in (None, "")
    }
    return filled or None


def with_late_columns(found: ColumnMap, row: Iterable[str]) -> ColumnMap:
    """The roles, also those whose column this row is the first to have."""
    late = found.awaited.intersection(row)
    return dataclasses.replace(found, columns=_by_name(late) | found.columns) if late else found


def _by_name(present: Container[str]) -> dict[str, str]:
    found = {role: [name for name in names if name in present] for role, names in NAMES.items()}
    return {role: names[0] for role, names in found.items() if names}


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") or "no columns"
