"""The wording of a dataset's questions alone, for sets whose golds do not matter here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from difficulty.errors import InputError
from difficulty.sources.columns import NAMES, ColumnMap
from difficulty.sources.dataset import find_dataset
from difficulty.sources.families import family_of, rearrange
from difficulty.sources.formats import RawRow, RowProblem
from difficulty.sources.questions import read_prompt_and_choices

PEEK_ROWS = 100


@dataclass(frozen=True, kw_only=True)
class Wording:
    """What a question asks."""

    prompt: str
    options: tuple[str, ...]
    """Texts of the options; empty without."""


def read_wordings(dataset: str) -> Iterator[tuple[int, Wording | None]]:
    """(row number, wording) of each row; None for a row that cannot be read as a question.

    Raises:
        InputError: the dataset is missing or empty, or has no column for the prompt.
    """
    rows = find_dataset(dataset).rows()
    first = list(itertools.islice(rows, PEEK_ROWS))
    if not first:
        raise InputError(f"dataset {dataset} is empty: found no row. Check the file")
    present = dict.fromkeys(key for row in first if not row.problem for key in row.values)
    family = family_of(set(present))
    if family is not None:
        present |= dict.fromkeys(("prompt", "choices"))
    columns = {
        role: next(name for name in NAMES[role] if name in present)
        for role in ("prompt", "choices")
        if any(name in present for name in NAMES[role])
    }
    if "prompt" not in columns:
        raise InputError(
            f"no column for the prompt in {dataset}: found {', '.join(list(present)[:12])}. "
            f"Name it one of {', '.join(NAMES['prompt'])}"
        )
    for row in itertools.chain(first, rows):
        yield row.number, _wording(row, ColumnMap(columns=columns), family)


def _wording(row: RawRow, columns: ColumnMap, family: str | None) -> Wording | None:
    if row.problem is not None:
        return None
    try:
        prompt, choices = read_prompt_and_choices(rearrange(family, row.values), columns)
    except RowProblem:
        return None
    return Wording(prompt=prompt, options=tuple(choice.text for choice in choices or ()))
