"""Choose and order questions, and say of each dropped one which rule dropped it.

The choice is one SQL statement over profile.parquet, so that ten million questions need no memory
to speak of. Rules apply in the order of ``DROP_RULES``; the first that drops a question names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from difficulty import levels, run_spec
from difficulty.run_spec import SelectionSpec

# Order name -> SQL sort key within the kept questions. ``question_id`` is a hash of the content: it
# breaks ties the same way on every machine, whatever the row order.
ORDERS: dict[str, str] = {
    "easy-to-hard": "pass_rate DESC, question_id",
    "hard-to-easy": "pass_rate ASC, question_id",
    "shuffled": "md5($seed || question_id), question_id",
}


@dataclass(frozen=True, kw_only=True)
class DropRule:
    """A named condition under which a question is dropped."""

    reason: str
    condition: str
    """SQL over the columns of profile.parquet."""


def drop_rules(selection: SelectionSpec) -> list[DropRule]:
    """The rules that these settings ask for, in the order in which they apply."""
    kept = ", ".join(f"'{level}'" for level in levels.parse_keep(selection.keep))
    rules = [
        DropRule(reason="too_few_graded", condition="level IS NULL"),
        *(
            DropRule(
                reason=f"level_{level}", condition=f"level = '{level}' AND level NOT IN ({kept})"
            )
            for level in levels.LEVELS
        ),
    ]
    if selection.pass_rate is not None:
        low, high = run_spec.parse_band(selection.pass_rate)
        rules.append(
            DropRule(
                reason="outside_pass_rate_band",
                condition=f"pass_rate NOT BETWEEN {low!r} AND {high!r}",
            )
        )
    return rules


def counts_rule(selection: SelectionSpec, *, min_graded: int) -> Callable[[int, int], bool]:
    """``(num_graded, num_correct) ->`` do the rules beside the levels keep such a question?

    What the forecast needs to know of the choice: quotas and caps draw at random among equals.
    """
    low, high = run_spec.parse_band(selection.pass_rate) if selection.pass_rate else (0.0, 1.0)
    return lambda graded, correct: graded >= min_graded and low <= correct / graded <= high


def selection_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet (``$profile``) and the table ``collapse`` to Selection rows.

    ``collapse`` holds num_graded, num_correct, collapse_probability. Parameters: ``$profile``,
    ``$seed`` (text).
    """
    cases = " ".join(
        f"WHEN {rule.condition} THEN '{rule.reason}'" for rule in drop_rules(selection)
    )
    return f"""
        WITH judged AS (
            SELECT profile.*, collapse_probability, $seed AS seed, CASE {cases} END AS dropped
            FROM rows_of($profile) AS profile
            LEFT JOIN collapse USING (num_graded, num_correct)),
        ranked AS (
            SELECT *, row_number() OVER (PARTITION BY source, dropped IS NULL
                                         ORDER BY md5($seed || question_id)) AS source_rank
            FROM judged),
        within_quota AS (
            SELECT * REPLACE (CASE WHEN dropped IS NULL AND {_over_quota(selection)}
                                   THEN 'over_quota' ELSE dropped END AS dropped)
            FROM ranked),
        numbered AS (
            SELECT *, row_number() OVER (PARTITION BY dropped IS NULL
                                         ORDER BY md5($seed || question_id)) AS pool_rank
            FROM within_quota),
        final AS (
            SELECT * REPLACE (CASE WHEN dropped IS NULL AND {_over_maximum(selection)}
                                   THEN 'over_max_questions' ELSE dropped END AS dropped)
            FROM numbered)
        SELECT question_id, source, level, collapse_probability,
               dropped IS NULL AS keep, dropped AS drop_reason,
               CASE WHEN dropped IS NULL THEN
                   row_number() OVER (PARTITION BY dropped IS NULL
                                      ORDER BY {ORDERS[selection.order]}) - 1 END AS position
        FROM final ORDER BY keep DESC, position, question_id
    """


def _over_quota(selection: SelectionSpec) -> str:
    quotas = [run_spec.parse_quota(quota) for quota in selection.quotas]
    tests = [f"(source = {sql_text(source)} AND source_rank > {most})" for source, most in quotas]
    return "(" + (" OR ".join(tests) or "false") + ")"


def _over_maximum(selection: SelectionSpec) -> str:
    most = selection.max_questions
    return "false" if most is None else f"pool_rank > {int(most)}"


def sql_text(value: str) -> str:
    """A SQL string literal; quotes inside are doubled."""
    return "'" + value.replace("'", "''") + "'"
