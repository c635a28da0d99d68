"""Which questions stand in which files of an export, and at which place.

``train`` and ``heldout`` share the kept questions; ``control`` is what a filter has to be compared
with: as many questions of each source as ``train``, drawn from everything profiled. All draws are
hashes of the run's seed and the question, so that they are the same on every machine.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.export.carried import wanted_columns
from difficulty.selection.rules import NEAR_DUPLICATE, overlap_reasons
from difficulty.settings.run import RunSpec

if TYPE_CHECKING:
    import duckdb

Split = Literal["train", "heldout", "control"]

# Near duplicates stay together, on the side that is trained on: a held-out question whose twin was
# trained on measures memory.
HELDOUT = """
    CREATE TEMP TABLE heldout AS
    SELECT question_id, position FROM (
        SELECT question_id, level, position, row_number() OVER (
            PARTITION BY level ORDER BY md5('heldout' || $seed || question_id)) AS place
        FROM rows_of($selection) WHERE keep AND question_id NOT IN (FROM twins))
    JOIN heldout_places USING (level) WHERE place <= places
"""
TWINS = """
    CREATE TEMP TABLE twins AS
    SELECT DISTINCT unnest([question_id, other_id]) AS question_id FROM rows_of($near_duplicates)
"""
TRAIN = """
    CREATE TEMP TABLE train AS
    SELECT question_id, source, position FROM rows_of($selection)
    WHERE keep AND question_id NOT IN (SELECT question_id FROM heldout)
"""
CONTROL = """
    SELECT question_id, {key} AS place FROM (
        SELECT s.question_id, s.source, p.pass_rate, row_number() OVER (
            PARTITION BY s.source ORDER BY md5('control' || $seed || s.question_id)) AS draw
        FROM rows_of($selection) AS s JOIN rows_of($profile) AS p USING (question_id)
        WHERE s.level IS NOT NULL AND NOT list_contains($excluded, coalesce(s.drop_reason, ''))
          AND s.question_id NOT IN (SELECT question_id FROM heldout))
    JOIN (SELECT source, count(*) AS wanted FROM train GROUP BY source) USING (source)
    WHERE draw <= wanted
"""
CONTROL_ORDERS = {
    "easy-to-hard": "row_number() OVER (ORDER BY pass_rate DESC, question_id)",
    "hard-to-easy": "row_number() OVER (ORDER BY pass_rate ASC, question_id)",
}
SHUFFLED = "row_number() OVER (ORDER BY md5($seed || question_id), question_id)"
"""Orders that need levels or pass rates which a control may not have are shuffled in it."""

PLACED = """
    SELECT question_id, row_number() OVER (ORDER BY place, copy) - 1 AS position FROM (
        SELECT question_id, place, unnest(range({copies})) AS copy
        FROM ({places}) JOIN rows_of($questions) USING (question_id))
"""
"""Positions run from 0 in each split, without the gaps of what went elsewhere."""


def make_splits(connection: duckdb.DuckDBPyConnection, run: store.RunFolder, spec: RunSpec) -> None:
    """Make the tables ``train``, ``heldout`` and ``control`` (question_id, position).

    Raises:
        SettingsError: the held-out share is not one question, or leaves none to train on.
    """
    import pyarrow as pa

    counts = dict(
        connection.execute(
            "SELECT level, count(*) FROM rows_of($selection) WHERE keep GROUP BY 1 ORDER BY 1",
            {"selection": store.sql_path(run.selection)},
        ).fetchall()
    )
    places = heldout_places(counts, spec.export.holdout)
    connection.register(
        "heldout_places",
        pa.table(
            {"level": pa.array([*places], pa.string()), "places": pa.array([*places.values()])}
            if places
            else {"level": pa.array([], pa.string()), "places": pa.array([], pa.int64())}
        ),
    )
    if run.near_duplicates.exists():
        connection.execute(TWINS, {"near_duplicates": store.sql_path(run.near_duplicates)})
    else:
        connection.execute("CREATE TEMP TABLE twins (question_id VARCHAR)")
    selection, seed = store.sql_path(run.selection), str(spec.selection.seed)
    connection.execute(HELDOUT, {"selection": selection, "seed": seed})
    connection.execute(TRAIN, {"selection": selection})


def heldout_places(counts: dict[str, int], share: float | None) -> dict[str, int]:
    """Held-out questions of each level: ``share`` of all, spread by largest remainders.

    Raises:
        SettingsError: that is no question at all, or every question.
    """
    if not share:
        return {}
    total = sum(counts.values())
    wanted = math.floor(Fraction(str(share)) * total + Fraction(1, 2))
    if not 0 < wanted < total:
        raise SettingsError(
            f"holdout {share} of {total:,} kept questions is {wanted:,}. "
            f"Use a share between {1 / total:.3g} and 1, or keep more questions"
        )
    exact = {level: Fraction(wanted * count, total) for level, count in counts.items()}
    places = {level: math.floor(value) for level, value in exact.items()}
    by_rest = sorted(exact, key=lambda level: places[level] - exact[level])
    for level in by_rest[: wanted - sum(places.values())]:
        places[level] += 1
    return places


def placed_sql(run: store.RunFolder, spec: RunSpec, split: Split) -> tuple[str, store.Parameters]:
    """SQL for (question_id, position) of a split, and its parameters; after ``make_splits``."""
    parameters = {"questions": store.sql_path(run.questions)}
    copies = "num_copies" if spec.export.copies and split != "heldout" else "1"
    if split != "control":
        places = f"SELECT question_id, position AS place FROM {split}"
        return PLACED.format(copies=copies, places=places), parameters
    reasons = [*overlap_reasons(spec.selection).values(), NEAR_DUPLICATE]
    places = CONTROL.format(key=CONTROL_ORDERS.get(spec.selection.order, SHUFFLED))
    more = {
        "selection": store.sql_path(run.selection),
        "profile": store.sql_path(run.profile),
        "seed": str(spec.selection.seed),
        "excluded": reasons,
    }
    return PLACED.format(copies=copies, places=places), {**parameters, **more}


def splits_of(spec: RunSpec) -> list[Split]:
    """The splits that lie in a trainer's own folder; the control has one of its own."""
    return ["train", "heldout"] if spec.export.holdout else ["train"]


def layout_settings(spec: RunSpec) -> dict[str, Any]:
    """What of the export's settings decides the rows of a file, for its stamp."""
    layout = {
        "export.holdout": spec.export.holdout,
        "export.copies": spec.export.copies,
        "export.shard_rows": spec.export.shard_rows,
        "export.carry": list(wanted_columns(spec)),
    }
    return {key: value for key, value in layout.items() if value}
