"""SQL of the selection: profile.parquet and the decisions of the rules -> Selection rows.

All of it is SQL over tables, so that ten million questions need no memory to speak of.
"""

from __future__ import annotations

from difficulty.selection.decisions import key_columns
from difficulty.selection.orders import ORDERS, mixed_sql, sql_text
from difficulty.selection.rules import NEAR_DUPLICATE, OVER_MAX_QUESTIONS, OVER_QUOTA
from difficulty.settings.selection import SelectionSpec, parse_quota


def selection_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet to Selection rows in one statement; not for the order ``gaussian``.

    Tables and parameters are those of ``chosen_sql``.
    """
    return f"WITH chosen AS ({chosen_sql(selection)}) {ordered_sql(selection)}"


def chosen_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet to one row a question with ``dropped``: null, or the reason.

    Parameters: ``$profile``, ``$seed`` (text). Tables: ``decisions`` (rows of ``Decision``) and, as
    far as a rule asks for them, ``overlapping`` (question_id, overlap) and ``clusters``
    (question_id, cluster).
    """
    steps = [f"decided AS ({decided_sql(selection)})"]
    last = "decided"
    for name, step in _set_steps(selection).items():
        steps.append(f"{name} AS ({step.format(last=last)})")
        last = last if name in HELPERS else name
    return f"WITH {', '.join(steps)} SELECT * FROM {last}"


def decided_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet to one row a question with what the rules say of its like.

    A question whose like is not among the decisions has no row: it is never kept unasked.
    """
    joins, cluster = "", ""
    if selection.against:
        joins += " LEFT JOIN overlapping USING (question_id)"
    if selection.drop_near_duplicates:
        joins, cluster = f"{joins} LEFT JOIN clusters USING (question_id)", ", cluster"
    alike = " AND ".join(
        f"judged.{name} IS NOT DISTINCT FROM decisions.{name}" for name in key_columns(selection)
    )
    return f"""
        SELECT question_id, source, judged.level, pass_rate, judged.num_graded, judged.num_correct,
               collapse_probability, md5($seed || question_id) AS draw, dropped{cluster}
        FROM (SELECT * FROM rows_of($profile){joins}) AS judged JOIN decisions ON {alike}
    """


HELPERS = ("firsts", "quota_ends", "maximum_end")
"""Steps that the next one looks at, and that are no table of questions themselves."""


def _set_steps(selection: SelectionSpec) -> dict[str, str]:
    """Name of a step -> its SQL, with ``{last}`` for the step before it."""
    steps = {}
    if selection.drop_near_duplicates:
        steps["firsts"] = """
            SELECT cluster, min_by(question_id, draw) AS first FROM {last}
            WHERE dropped IS NULL AND cluster IS NOT NULL GROUP BY cluster"""
        steps["distinct_ones"] = f"""
            SELECT * EXCLUDE (first) REPLACE (
                CASE WHEN dropped IS NULL AND question_id <> first THEN '{NEAR_DUPLICATE}'
                     ELSE dropped END AS dropped)
            FROM {{last}} LEFT JOIN firsts USING (cluster)"""
    if selection.quotas:
        steps["quota_ends"] = _quota_ends(selection)
        steps["within_quota"] = f"""
            SELECT * EXCLUDE (quota_end) REPLACE (
                CASE WHEN dropped IS NULL AND draw > quota_end THEN '{OVER_QUOTA}'
                     ELSE dropped END AS dropped)
            FROM {{last}} LEFT JOIN quota_ends USING (source)"""
    if selection.max_questions is not None:
        steps["maximum_end"] = f"SELECT {_last_draw('true', selection.max_questions)} AS end_draw"
        steps["within_maximum"] = f"""
            SELECT * EXCLUDE (end_draw) REPLACE (
                CASE WHEN dropped IS NULL AND draw > end_draw THEN '{OVER_MAX_QUESTIONS}'
                     ELSE dropped END AS dropped)
            FROM {{last}}, maximum_end"""
    return steps


def _quota_ends(selection: SelectionSpec) -> str:
    """Source and the last draw within its quota; the lesser of two quotas counts."""
    parts = []
    for source, most in map(parse_quota, selection.quotas):
        name = sql_text(source).replace("{", "{{").replace("}", "}}")
        parts.append(f"SELECT {name} AS source, {_last_draw(f'source = {name}', most)} AS end_draw")
    union = " UNION ALL ".join(parts)
    return f"SELECT source, min(end_draw) AS quota_end FROM ({union}) GROUP BY source"


def _last_draw(which: str, most: int) -> str:
    """The greatest of the first ``most`` draws of undropped rows; a rank of all would sort them."""
    return f"""coalesce((SELECT max(draw) FROM (
        SELECT draw FROM {{last}} WHERE dropped IS NULL AND {which}
        ORDER BY draw LIMIT {int(most)})), '')"""


def ordered_sql(selection: SelectionSpec) -> str:
    """SQL from the table ``chosen`` to Selection rows.

    The order ``gaussian`` needs the table ``turns`` (pass_rate, rate_rank, turn) besides.
    """
    kept = "SELECT * FROM chosen WHERE dropped IS NULL"
    if selection.order == "mix":
        kept = mixed_sql(selection)
    if selection.order == "gaussian":
        kept = """
            SELECT * FROM (
                SELECT *, row_number() OVER (PARTITION BY pass_rate
                                             ORDER BY draw, question_id) AS rate_rank
                FROM chosen WHERE dropped IS NULL)
            JOIN turns USING (pass_rate, rate_rank)"""
    shared = "question_id, source, level, collapse_probability"
    return f"""
        SELECT {shared}, true AS keep, NULL AS drop_reason,
               row_number() OVER (ORDER BY {ORDERS[selection.order]}) - 1 AS position
        FROM ({kept})
        UNION ALL
        SELECT {shared}, false, dropped, NULL FROM chosen WHERE dropped IS NOT NULL
        ORDER BY keep DESC, position, question_id
    """
