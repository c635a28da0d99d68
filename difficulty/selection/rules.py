"""Choose and order questions, and say of each dropped one which rule dropped it.

The choice is SQL over profile.parquet, so that ten million questions need no memory to speak of.
Rules apply in the order of ``drop_rules``, then near duplicates, quotas and the maximum; the first
that drops a question names it. An order never drops any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from difficulty import levels
from difficulty.levels import beats_guessing
from difficulty.selection.orders import ORDERS, mixed_sql, sql_text
from difficulty.selection.orders import sql_name as sql_name
from difficulty.settings import run as run_spec
from difficulty.settings.run import SelectionSpec

NOT_ABOVE_CHANCE = "not_above_chance"
NEAR_DUPLICATE = "near_duplicate"


@dataclass(frozen=True, kw_only=True)
class DropRule:
    """A named condition under which a question is dropped."""

    reason: str
    setting: str
    """The option that asks for the rule, as a user would type it."""
    condition: str
    """SQL over the columns of ``judged`` (see ``chosen_sql``)."""


def drop_rules(selection: SelectionSpec) -> list[DropRule]:
    """The rules that look at one question alone, in the order in which they apply."""
    kept = ", ".join(f"'{level}'" for level in levels.parse_keep(selection.keep))
    keep = f"--keep {selection.keep}"
    return [
        *(
            DropRule(
                reason=reason,
                setting=f"--against {file}",
                condition=f"overlap = {sql_text(reason)}",
            )
            for file, reason in overlap_reasons(selection).items()
        ),
        DropRule(reason="too_few_graded", setting="--min-graded", condition="level IS NULL"),
        *(
            DropRule(
                reason=f"level_{level}",
                setting=keep,
                condition=f"level = '{level}' AND level NOT IN ({kept})",
            )
            for level in levels.LEVELS
        ),
        *_measured_rules(selection),
    ]


def _measured_rules(selection: SelectionSpec) -> list[DropRule]:
    rules = []
    if selection.pass_rate is not None:
        low, high = run_spec.parse_band(selection.pass_rate)
        rules.append(
            DropRule(
                reason="outside_pass_rate_band",
                setting=f"--pass-rate {selection.pass_rate}",
                condition=f"pass_rate NOT BETWEEN {low!r} AND {high!r}",
            )
        )
    if selection.above_chance is not None:
        rules.append(
            DropRule(
                reason=NOT_ABOVE_CHANCE,
                setting=f"--above-chance {selection.above_chance}",
                condition=f"above_chance < {selection.above_chance!r}",
            )
        )
    if selection.max_collapse is not None:
        rules.append(
            DropRule(
                reason="over_max_collapse",
                setting=f"--max-collapse {selection.max_collapse}",
                condition=f"collapse_probability > {selection.max_collapse!r}",
            )
        )
    return rules


def set_rules(selection: SelectionSpec) -> dict[str, str]:
    """Reason -> option of the rules that look at the set as a whole, in their order."""
    found = {}
    if selection.drop_near_duplicates:
        found[NEAR_DUPLICATE] = "--drop-near-duplicates"
    if selection.quotas:
        found["over_quota"] = " ".join(f"--quota {quota}" for quota in selection.quotas)
    if selection.max_questions is not None:
        found["over_max_questions"] = f"--max-questions {selection.max_questions}"
    return found


def rule_settings(selection: SelectionSpec) -> dict[str, str]:
    """Reason -> the option that asks for its rule, for all rules in the order they apply."""
    alone = {rule.reason: rule.setting for rule in drop_rules(selection)}
    return alone | set_rules(selection)


def why_empty(dropped: Counter[str], selection: SelectionSpec) -> str:
    """Which rule took the last questions, what the others took, and what to do.

    Args:
        dropped: questions by drop reason; all questions of the set.
        selection: the rules.
    """
    shown = ", ".join(f"{reason} {count:,}" for reason, count in dropped.most_common())
    order = rule_settings(selection)
    last = max((reason for reason in order if dropped[reason]), key=[*order].index)
    if last == "too_few_graded":
        return (
            f"no question has enough graded answers ({shown}). "
            "Look at the failures (difficulty report), or lower --min-graded (difficulty bucket)"
        )
    if last.startswith("level_"):
        return (
            f"{selection.keep} dropped all questions ({shown}). "
            "Choose other levels (--keep), another model or another dataset"
        )
    return (
        f"{order[last]} dropped the last {dropped[last]:,} questions ({shown}). "
        "Loosen that rule, or forget all with difficulty select RUN --reset"
    )


def overlap_reasons(selection: SelectionSpec) -> dict[str, str]:
    """Evaluation set -> drop reason, in the order in which they were given; no two are alike."""
    found: dict[str, str] = {}
    for file in selection.against or ():
        reason = f"overlaps_{Path(file).stem}"
        same = sum(Path(other).stem == Path(file).stem for other in found)
        found[file] = f"{reason}-{same + 1}" if same else reason
    return found


def counts_rule(
    selection: SelectionSpec,
    *,
    min_graded: int,
    collapse: Callable[[int, int], float] | None = None,
    guess: Fraction | None = None,
) -> Callable[[int, int], bool]:
    """``(num_graded, num_correct) ->`` do the rules beside the levels keep such a question?

    What the forecast needs to know of the choice. Quotas, caps, near duplicates and overlaps are
    taken to draw at random among equals.

    Args:
        selection: the rules.
        min_graded: graded answers that a level needs.
        collapse: ``(num_graded, num_correct) ->`` collapse probability, also of counts that no
            question has; for ``max_collapse``.
        guess: chance of a guess, for ``above_chance``; None for questions without options.
    """
    low, high = run_spec.parse_band(selection.pass_rate) if selection.pass_rate else (0.0, 1.0)
    most = selection.max_collapse
    sure = selection.above_chance if guess is not None else None

    def keeps(graded: int, correct: int) -> bool:
        return (
            graded >= min_graded
            and low <= correct / graded <= high
            and (most is None or collapse is None or collapse(graded, correct) <= most)
            and (sure is None or guess is None or beats_guessing(correct, graded, guess) >= sure)
        )

    return keeps


def selection_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet to Selection rows in one statement; not for the order ``gaussian``.

    Tables and parameters are those of ``chosen_sql``.
    """
    return f"WITH chosen AS ({chosen_sql(selection)}) {ordered_sql(selection)}"


def chosen_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet to one row a question with ``dropped``: null, or the reason.

    Parameters: ``$profile``, ``$seed`` (text). Tables, as far as a rule asks for them:
    ``collapse`` (num_graded, num_correct, collapse_probability);
    ``chances`` (kind, num_options, num_golds, num_graded, num_correct, above_chance);
    ``overlapping`` (question_id, overlap), ``clusters`` (question_id, cluster).
    """
    cases = " ".join(
        f"WHEN {rule.condition} THEN {sql_text(rule.reason)}" for rule in drop_rules(selection)
    )
    steps = [f"judged AS ({judged_sql(selection)})", _decided(cases)]
    last = "decided"
    for name, step in _set_steps(selection).items():
        steps.append(f"{name} AS ({step.format(last=last)})")
        last = last if name in HELPERS else name
    return f"WITH {', '.join(steps)} SELECT * FROM {last}"


def judged_sql(selection: SelectionSpec) -> str:
    """SQL from profile.parquet to one row a question with all that the rules look at."""
    joins, extra = "", ""
    if selection.above_chance is not None:
        extra += ", above_chance"
        joins += """ LEFT JOIN chances USING
            (kind, num_options, num_golds, num_graded, num_correct)"""
    if selection.against:
        extra += ", overlap"
        joins += " LEFT JOIN overlapping USING (question_id)"
    if selection.drop_near_duplicates:
        extra += ", cluster"
        joins += " LEFT JOIN clusters USING (question_id)"
    return f"""
        SELECT question_id, source, level, pass_rate, num_graded, num_correct,
               collapse_probability, $seed AS seed{extra}
        FROM rows_of($profile) AS profile
        LEFT JOIN collapse USING (num_graded, num_correct){joins}
    """


def _decided(cases: str) -> str:
    return f"""decided AS (
        SELECT * EXCLUDE (seed), md5(seed || question_id) AS draw, CASE {cases} END AS dropped
        FROM judged)"""


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
        steps["within_quota"] = """
            SELECT * EXCLUDE (quota_end) REPLACE (
                CASE WHEN dropped IS NULL AND draw > quota_end THEN 'over_quota'
                     ELSE dropped END AS dropped)
            FROM {last} LEFT JOIN quota_ends USING (source)"""
    if selection.max_questions is not None:
        steps["maximum_end"] = f"SELECT {_last_draw('true', selection.max_questions)} AS end_draw"
        steps["within_maximum"] = """
            SELECT * EXCLUDE (end_draw) REPLACE (
                CASE WHEN dropped IS NULL AND draw > end_draw THEN 'over_max_questions'
                     ELSE dropped END AS dropped)
            FROM {last}, maximum_end"""
    return steps


def _quota_ends(selection: SelectionSpec) -> str:
    """Source and the last draw within its quota; the lesser of two quotas counts."""
    parts = []
    for source, most in map(run_spec.parse_quota, selection.quotas):
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
