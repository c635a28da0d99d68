"""What the rules say of each distinct ``QuestionFacts`` of a profile, as a table to join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from difficulty.levels import guess_chance
from difficulty.schema import Kind
from difficulty.selection.rules import (
    QuestionFacts,
    drop_rules,
    first_reason,
    overlap_reasons,
    surely_above,
)
from difficulty.settings.selection import SelectionSpec

if TYPE_CHECKING:
    import duckdb

COUNTS = ("num_graded", "num_correct")
GUESSES = ("kind", "num_options", "num_golds")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether questions with these values are dropped; null in a key that no rule looks at."""

    level: str | None
    num_graded: int
    num_correct: int
    kind: Kind | None
    num_options: int | None
    num_golds: int | None
    overlap: str | None
    collapse_probability: float | None
    dropped: str | None
    """Reason of the first rule that drops such a question; null if all keep it."""


def key_columns(selection: SelectionSpec) -> tuple[str, ...]:
    """The columns in which questions have to agree to be dropped or kept alike.

    The level is none of them: within a profile it follows from the counts.
    """
    guesses = () if selection.above_chance is None else GUESSES
    return (*COUNTS, *guesses, *(("overlap",) if selection.against else ()))


def decide(
    connection: duckdb.DuckDBPyConnection,
    profile: str,
    selection: SelectionSpec,
    collapse: Mapping[tuple[int, int], float],
) -> Iterator[Decision]:
    """A decision for everything that the profile's questions can show the rules.

    Args:
        connection: as ``store.connect`` gives it.
        profile: path of profile.parquet, as ``store.sql_path`` gives it.
        selection: the rules.
        collapse: ``(num_graded, num_correct) ->`` collapse probability at the run's group size.
    """
    guesses = ", ".join("NULL" if selection.above_chance is None else name for name in GUESSES)
    sql = f"SELECT DISTINCT level, {', '.join(COUNTS)}, {guesses} FROM rows_of($profile)"
    rules = drop_rules(selection)
    overlaps = (None, *overlap_reasons(selection).values())
    for level, graded, correct, kind, options, golds in connection.execute(
        sql, {"profile": profile}
    ).fetchall():
        guess = None if kind is None else guess_chance(kind, options, golds)
        chance = collapse.get((graded, correct))
        sure = surely_above(selection, correct, graded, guess)
        for overlap in overlaps:
            facts = QuestionFacts(
                num_graded=graded,
                num_correct=correct,
                level=level,
                collapse_probability=chance,
                above_chance=sure,
                overlap=overlap,
            )
            yield Decision(
                level=level,
                num_graded=graded,
                num_correct=correct,
                kind=kind,
                num_options=options,
                num_golds=golds,
                overlap=overlap,
                collapse_probability=chance,
                dropped=first_reason(rules, facts),
            )
