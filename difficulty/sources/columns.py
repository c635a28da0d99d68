"""Which column of a dataset is the prompt, the options, the gold and so on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from difficulty.errors import InputError

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
    """Role -> column, for the roles that the set has."""

    columns: dict[str, str]

    def get(self, role: str) -> str | None:
        """The column that plays ``role``, or None."""
        return self.columns.get(role)


def find_columns(present: Iterable[str], overrides: Iterable[str] = ()) -> ColumnMap:
    """Match the columns that are there with the roles; ``overrides`` are ``role=column``.

    A role may be called by any of the names that its column is looked for under.

    Raises:
        InputError: an override that cannot be read or names a column that is not there, or no
            column for the prompt or the gold.
    """
    present = list(present)
    columns = {
        role: next(name for name in names if name in present)
        for role, names in NAMES.items()
        if any(name in present for name in names)
    }
    for override in overrides:
        name, _, column = override.partition("=")
        role = next((role for role, names in NAMES.items() if name in (role, *names)), name)
        if role not in NAMES or not column:
            raise InputError(
                f"column option cannot be read: {override!r}. Write ROLE=COLUMN with a role of "
                f"{', '.join(NAMES)}"
            )
        if column not in present:
            raise InputError(
                f"no column {column!r} for the {role}: found {_listed(present)}. "
                f"Name another with --column {role}=COLUMN"
            )
        columns[role] = column
    for role in REQUIRED:
        if role not in columns:
            raise InputError(
                f"no column for the {role}: found {_listed(present)}, expected one of "
                f"{', '.join(NAMES[role])}. Name it with --column {role}=COLUMN"
            )
    return ColumnMap(columns=columns)


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") or "no columns"
