"""From counts of right answers to a pass rate, a level L1-L6, and what guessing would earn.

Levels are AlphaMed's (arXiv 2505.17952). For k = 5 answers a question the bands are its table
exactly: 5 right -> L1, 4 -> L2, 3 -> L3, 2 -> L4, 1 -> L5, 0 -> L6. For another k the same bands
apply to the pass rate; not every k reaches every level (k = 4 has no L3), and a level means another
thing at another k.

DuckDB counts (``COUNT_GRADES``); what a count means is decided here, once for each distinct one, of
which there are few however many questions there are. Guessing is computed in exact fractions, so
that a rule decides the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from difficulty.errors import SettingsError
from difficulty.schema import UNKNOWN_OUTCOMES, Kind

LEVELS = ("L1", "L2", "L3", "L4", "L5", "L6")

# (level, the pass rate must be above this). L1 is "all correct" and L6 "none", whatever k is:
# a single miss or a single hit is what separates a group with signal from one without.
# The inner cuts lie half-way between the pass rates that k = 5 can show (0.8, 0.6, 0.4, 0.2),
# so no rounding of c/k can move a question across one.
INNER_CUTS: tuple[tuple[str, float], ...] = (("L2", 0.7), ("L3", 0.5), ("L4", 0.3), ("L5", 0.0))


def level_of(num_correct: int, num_graded: int) -> str:
    """Level of a question with ``num_correct`` right answers among ``num_graded``.

    Raises:
        ValueError: the counts are impossible (a fault of the caller).
    """
    if not 0 <= num_correct <= num_graded or num_graded < 1:
        raise ValueError(f"impossible counts: {num_correct} correct of {num_graded}")
    if num_correct == num_graded:
        return "L1"
    if num_correct == 0:
        return "L6"
    pass_rate = num_correct / num_graded
    return next(level for level, cut in INNER_CUTS if pass_rate > cut)


def reachable_levels(num_samples: int) -> tuple[str, ...]:
    """The levels that some count 0..num_samples falls into, easiest first."""
    seen = {level_of(correct, num_samples) for correct in range(num_samples + 1)}
    return tuple(level for level in LEVELS if level in seen)


def parse_keep(text: str) -> tuple[str, ...]:
    """``"L2-L5"`` or ``"L1,L3-L4"`` -> the levels it names, easiest first.

    Raises:
        SettingsError: a name that is not a level, or a range that runs backwards.
    """
    chosen: set[str] = set()
    for part in text.replace(" ", "").upper().split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if first not in LEVELS or last not in LEVELS or LEVELS.index(first) > LEVELS.index(last):
            raise SettingsError(
                f"keep rule cannot be read: {text!r}. Write levels such as L2-L5 or L1,L3,L4"
            )
        chosen.update(LEVELS[LEVELS.index(first) : LEVELS.index(last) + 1])
    return tuple(level for level in LEVELS if level in chosen)


def format_keep(levels: tuple[str, ...]) -> str:
    """The shortest text that ``parse_keep`` reads back to ``levels``."""
    runs: list[list[str]] = []
    for level in levels:
        if runs and LEVELS.index(level) == LEVELS.index(runs[-1][-1]) + 1:
            runs[-1].append(level)
        else:
            runs.append([level])
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


UNKNOWN = ", ".join(f"'{outcome}'" for outcome in UNKNOWN_OUTCOMES)
"""For SQL: outcomes that are in no denominator."""

COUNT_GRADES = f"""
    SELECT g.question_id, any_value(q.source) AS source, any_value(q.kind) AS kind,
           any_value(q.num_options) AS num_options, any_value(q.num_golds) AS num_golds,
           count(*) AS num_samples,
           count(*) FILTER (outcome NOT IN ({UNKNOWN})) AS num_graded,
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
class PassRateOfCounts:
    """What one triple of counts means; joined to the questions that have it."""

    num_correct: int
    num_graded: int
    num_truncated: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    level: str | None
    level_without_truncated: str | None


def pass_rate_of_counts(
    *, num_correct: int, num_graded: int, num_truncated: int, min_graded: int
) -> PassRateOfCounts:
    """Pass rate, 95 % interval and level for these counts.

    A question with fewer than ``min_graded`` graded answers has no level. The second level leaves
    truncated answers out of the count; it shows how much of a level is the token limit's doing.
    """
    low, high = clopper_pearson(num_correct, num_graded) if num_graded else (None, None)
    complete = num_graded - num_truncated
    return PassRateOfCounts(
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


def guess_chance(kind: Kind, num_options: int | None, num_golds: int) -> Fraction | None:
    """The pass rate of a pure guesser; None for questions that cannot be guessed.

    ``choice``: one of the options, each as likely. ``multi``: one of the 2^m - 1 sets of options,
    each as likely. ``num_golds`` answers count as right.
    """
    if kind not in ("choice", "multi") or not num_options:
        return None
    guesses = num_options if kind == "choice" else 2**num_options - 1
    return min(Fraction(num_golds, guesses), Fraction(1))


def beats_guessing(num_correct: int, num_graded: int, guess: Fraction) -> float:
    """P(p > guess | c of n right), with a uniform prior on the pass rate p.

    The posterior is Beta(c + 1, n - c + 1); its upper tail at ``guess`` is the chance that a
    Binomial(n + 1, guess) is at most c. The prior is uniform and not the law that the forecast
    fits: a handful of answers leaves open how that law divides just around the guess.
    """
    trials = num_graded + 1
    tail = sum(
        math.comb(trials, right) * guess**right * (1 - guess) ** (trials - right)
        for right in range(num_correct + 1)
    )
    return float(tail)
