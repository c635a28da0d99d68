"""Grades -> one PassRate row a question, with interval and level.

DuckDB counts (``COUNT_GRADES``); what a count means is decided here, once for each distinct pair
(num_correct, num_graded), of which there are few however many questions there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from difficulty.levels import level_of

COUNT_GRADES = """
    SELECT g.question_id, any_value(q.source) AS source, any_value(q.kind) AS kind,
           any_value(q.num_options) AS num_options, any_value(q.num_golds) AS num_golds,
           count(*) AS num_samples,
           count(*) FILTER (outcome NOT IN ('failed', 'grader_error')) AS num_graded,
           count(*) FILTER (outcome = 'correct') AS num_correct,
           count(*) FILTER (outcome = 'no_answer') AS num_no_answer,
           count(*) FILTER (outcome = 'truncated') AS num_truncated,
           count(*) FILTER (outcome = 'failed') AS num_failed,
           count(*) FILTER (outcome = 'grader_error') AS num_grader_error,
           avg(g.reward) AS mean_reward,
           any_value(t.mean_tokens) AS mean_tokens
    FROM rows_of($grades) AS g
    JOIN (SELECT question_id, source, kind, len(choices) AS num_options,
                 len(list_distinct(list_append(aliases, answer))) AS num_golds
          FROM rows_of($questions)) AS q USING (question_id)
    LEFT JOIN (SELECT question_id, avg(num_tokens) AS mean_tokens
               FROM rows_of($completions) GROUP BY question_id) AS t USING (question_id)
    GROUP BY g.question_id
"""
"""One row a question. ``truncated`` and ``no_answer`` are graded answers that earn 0, as in
training; ``failed`` and ``grader_error`` are unknown and in no denominator."""

DISTINCT_COUNTS = "SELECT DISTINCT num_correct, num_graded, num_truncated FROM counted ORDER BY ALL"

PROFILE = """
    SELECT * FROM counted JOIN verdicts USING (num_correct, num_graded, num_truncated)
    ORDER BY question_id
"""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What one triple of counts means; joined to the questions that have it."""

    num_correct: int
    num_graded: int
    num_truncated: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    level: str | None
    level_without_truncated: str | None


def verdict(*, num_correct: int, num_graded: int, num_truncated: int, min_graded: int) -> Verdict:
    """Pass rate, 95 % interval and level for these counts.

    A question with fewer than ``min_graded`` graded answers has no level. The second level leaves
    truncated answers out of the count; it shows how much of a level is the token limit's doing.
    """
    low, high = clopper_pearson(num_correct, num_graded) if num_graded else (None, None)
    complete = num_graded - num_truncated
    return Verdict(
        num_correct=num_correct,
        num_graded=num_graded,
        num_truncated=num_truncated,
        pass_rate=num_correct / num_graded if num_graded else None,
        pass_rate_low=low,
        pass_rate_high=high,
        level=level_of(num_correct, num_graded) if num_graded >= max(1, min_graded) else None,
        level_without_truncated=level_of(num_correct, complete) if complete else None,
    )


def clopper_pearson(num_correct: int, num_graded: int) -> tuple[float, float]:
    """The exact 95 % interval of a pass rate (Clopper and Pearson 1934): covers at least 95 %."""
    from scipy.special import betaincinv

    wrong = num_graded - num_correct
    low = betaincinv(num_correct, wrong + 1, 0.025) if num_correct else 0.0
    high = betaincinv(num_correct + 1, wrong, 0.975) if wrong else 1.0
    return float(low), float(high)
