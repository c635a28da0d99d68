"""profile.parquet -> Selection rows: the tables that the query joins, and what rules cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from difficulty import levels, store
from difficulty.errors import SettingsError
from difficulty.selection import orders
from difficulty.selection.decisions import Decision, decide
from difficulty.selection.query import chosen_sql, ordered_sql, selection_sql
from difficulty.selection.rules import NOT_ABOVE_CHANCE, first_overlap, overlap_reasons
from difficulty.settings.selection import (
    SelectionSpec,
    batch_places,
    batch_size,
    gaussian_width,
    mean_range,
    mix_is_by_level,
    parse_mix,
    parse_quota,
)
from difficulty.store import RunFolder

if TYPE_CHECKING:
    import duckdb

MEMORY = "3GB"
"""Sorting ten million rows by a hash spills below this; smaller sets never come near it."""

CLUSTERS = """
    CREATE TEMP TABLE clusters AS
    SELECT DISTINCT unnest([question_id, other_id]) AS question_id, cluster
    FROM rows_of($near_duplicates) WHERE same_gold
"""


@dataclass(frozen=True, kw_only=True)
class Overlapping:
    """The first evaluation set that a question overlaps, as a drop reason."""

    question_id: str
    overlap: str


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Where the question of a pass rate and rank stands in the order ``gaussian``."""

    pass_rate: float
    rate_rank: int
    turn: int


def choose(
    run: RunFolder,
    selection: SelectionSpec,
    connection: duckdb.DuckDBPyConnection,
    collapse: Mapping[tuple[int, int], float],
) -> Iterator[Any]:
    """Record batches of Selection rows, one row a question, kept ones first and in order.

    ``collapse``: ``(num_graded, num_correct) ->`` collapse probability at the run's group size.
    """
    _prepare(run, selection, connection, collapse)
    parameters = {"profile": store.sql_path(run.profile), "seed": str(selection.seed)}
    if selection.order != "gaussian":
        return store.stream(connection, selection_sql(selection), parameters)
    connection.execute(f"CREATE TEMP TABLE chosen AS {chosen_sql(selection)}", parameters)
    connection.register("turns", _turns(connection, selection))
    return store.stream(connection, ordered_sql(selection))


def _prepare(
    run: RunFolder,
    selection: SelectionSpec,
    connection: duckdb.DuckDBPyConnection,
    collapse: Mapping[tuple[int, int], float],
) -> None:
    """Make the tables that ``chosen_sql`` asks for."""
    connection.execute(f"SET memory_limit = '{MEMORY}'")
    decided = [*decide(connection, store.sql_path(run.profile), selection, collapse)]
    connection.register("decisions", store.rows_to_batch(decided, store.table_schema(Decision)))
    if selection.against:
        found = [*_overlapping(run, selection)]
        connection.register(
            "overlapping", store.rows_to_batch(found, store.table_schema(Overlapping))
        )
    if selection.drop_near_duplicates:
        connection.execute(CLUSTERS, {"near_duplicates": store.sql_path(run.near_duplicates)})


def _overlapping(run: RunFolder, selection: SelectionSpec) -> Iterator[Overlapping]:
    sql = "SELECT question_id, list(DISTINCT file) FROM rows_of($overlaps) GROUP BY 1 ORDER BY 1"
    rows = store.connect(run).execute(sql, {"overlaps": store.sql_path(run.overlaps)}).fetchall()
    reasons = overlap_reasons(selection)
    for question_id, files in rows:
        yield Overlapping(question_id=question_id, overlap=first_overlap(reasons, files))


def _turns(connection: duckdb.DuckDBPyConnection, selection: SelectionSpec) -> Any:
    """The order ``gaussian`` as a table, from how many questions of each pass rate are kept."""
    import pyarrow as pa

    sql = """SELECT num_correct, num_graded, count(*) FROM chosen WHERE dropped IS NULL
             GROUP BY 1, 2 ORDER BY 1, 2"""
    counts: dict[Fraction, int] = {}
    for correct, graded, questions in connection.execute(sql).fetchall():
        rate = Fraction(correct, graded)
        counts[rate] = counts.get(rate, 0) + questions
    rates = sorted(counts)
    turns = orders.gaussian_turns(
        rates,
        [counts[rate] for rate in rates],
        mean=mean_range(selection),
        width=gaussian_width(selection),
        seed=selection.seed,
    )
    schema = store.table_schema(Turn)
    parts = [
        pa.table(
            [
                pa.array([float(rate)] * len(of_rate), pa.float64()),
                pa.array(range(1, len(of_rate) + 1), pa.int64()),
                pa.array(of_rate, pa.int64()),
            ],
            schema=schema,
        )
        for rate, of_rate in zip(rates, turns, strict=True)
    ]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def require_sources(run: RunFolder, selection: SelectionSpec) -> None:
    """Refuse a quota or a mix for a source that no question has.

    Raises:
        SettingsError: names it and the sources that are there.
        RunError: the profile cannot be read.
    """
    store.content_hash(run.profile)
    sql = "SELECT DISTINCT source FROM rows_of($profile) ORDER BY 1"
    parameters = {"profile": store.sql_path(run.profile)}
    there = [row[0] for row in store.connect(run).execute(sql, parameters).fetchall()]
    wanted = [("quota", parse_quota(quota)[0]) for quota in selection.quotas]
    if selection.order == "mix" and not mix_is_by_level(selection):
        wanted += [("mix", name) for name in parse_mix(selection.mix or "")]
    for rule, source in wanted:
        if source not in there:
            raise SettingsError(
                f"{rule} for a source that is not there: {source!r}. The sources are "
                f"{', '.join(there[:10])}"
            )


def say_costs(run: RunFolder, selection: SelectionSpec, say: Callable[[str], None]) -> None:
    """What rules cost that are easily underestimated, and what could not be met, a line each."""
    if selection.above_chance is not None:
        say(_chance_cost(run, selection))
    by_source = _kept_by(run, "source")
    for quota in selection.quotas:
        source, most = parse_quota(quota)
        kept = by_source.get(source, 0)
        if kept < most and selection.max_questions is None:
            say(f"quota {quota} is not reached: the other rules leave {kept:,} of {source}")
    if selection.order == "mix":
        say(_mix_reach(run, selection))


def _chance_cost(run: RunFolder, selection: SelectionSpec) -> str:
    sql = """
        SELECT level, count(*) FILTER (drop_reason = $reason), count(*)
        FROM rows_of($selection) WHERE level IS NOT NULL GROUP BY 1 ORDER BY 1
    """
    parameters = {
        "selection": store.sql_path(run.selection),
        "reason": NOT_ABOVE_CHANCE,
    }
    rows = store.connect(run).execute(sql, parameters).fetchall()
    kept = levels.parse_keep(selection.keep)
    parts = [f"{dropped:,} of {total:,} {level}" for level, dropped, total in rows if level in kept]
    return f"above-chance {selection.above_chance} drops {', '.join(parts) or 'nothing'}"


def _mix_reach(run: RunFolder, selection: SelectionSpec) -> str:
    by_level = mix_is_by_level(selection)
    counts = _kept_by(run, "level" if by_level else "source")
    batches, scarcest = orders.mixed_batches(selection, counts)
    size = batch_size(selection)
    rest = sum(counts.values()) - batches * size
    places = ", ".join(f"{name} {count}" for name, count in batch_places(selection).items())
    return f"mix of {places} holds for {batches:,} batches of {size}" + (
        f"; then {scarcest} runs out: {rest:,} questions follow shuffled" if rest else ""
    )


def _kept_by(run: RunFolder, column: str) -> dict[str, int]:
    sql = f"SELECT {column}, count(*) FROM rows_of($selection) WHERE keep GROUP BY 1"
    parameters = {"selection": store.sql_path(run.selection)}
    return dict(store.connect(run).execute(sql, parameters).fetchall())
