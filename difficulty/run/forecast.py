"""The forecast of a run: counts out of its profile, the posterior that selection joins."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from difficulty import levels, store
from difficulty.run.forecast_kept import forecast_kept, kept_questions, read_by_guess
from difficulty.run.reward_table import read_rewards, wants_rewards
from difficulty.settings.run import RunSpec
from difficulty.settings.selection import parse_quota
from difficulty.store import RunFolder

if TYPE_CHECKING:
    from difficulty.collapse import Counts, MissingRange
    from difficulty.collapse.rewards import RewardTable
    from difficulty.collapse.whole import WholeForecast

COUNTS = """
    SELECT num_graded, num_correct, count(*) AS num_questions, source
    FROM rows_of($profile) WHERE num_graded > 0 GROUP BY ALL ORDER BY ALL
"""
MISSING = """
    SELECT num_graded, num_failed + num_grader_error AS num_missing, num_correct,
           count(*) AS num_questions
    FROM rows_of($profile) GROUP BY ALL ORDER BY ALL
"""


def read_counts(run: RunFolder) -> Counts | None:
    """Counts of right answers by source; None when nothing was graded."""
    from difficulty.collapse import Counts

    rows = store.connect(run).execute(COUNTS, {"profile": store.sql_path(run.profile)}).fetchall()
    if not rows:
        return None
    graded, correct, questions, sources = zip(*rows, strict=True)
    return Counts.of(graded, correct, questions, source=sources)


def read_collapse(run: RunFolder, spec: RunSpec) -> dict[tuple[int, int], float]:
    """``(num_graded, num_correct) ->`` posterior collapse probability at the run's group size."""
    from difficulty.collapse import collapse_posterior

    counts = read_counts(run)
    return dict(collapse_posterior(counts, spec.selection.group_size)) if counts else {}


def forecast_run(run: RunFolder, spec: RunSpec) -> WholeForecast:
    """The forecast of a run with a profile; all figures are unknown where nothing was graded."""
    counts = read_counts(run)
    return empty_forecast(run, spec) if counts is None else _of_counts(run, counts, spec)


def _of_counts(run: RunFolder, counts: Counts, spec: RunSpec) -> WholeForecast:
    from difficulty.collapse.complete import complete

    found = forecast_kept(counts, read_by_guess(run), spec)
    selected = kept_questions(run, spec)
    rewards = _rewards(run, spec) if wants_rewards(run, spec) else None
    answer = complete(
        found,
        spec.forecast,
        kept_questions=selected or _capped(counts, spec, found.kept_rule),
        rewards=rewards,
    )
    return _with_kept(run, spec, answer, selected)


def _with_kept(
    run: RunFolder, spec: RunSpec, answer: WholeForecast, selected: int | None
) -> WholeForecast:
    """The kept set counted as the selection has it, beside what its rates rest on."""
    from difficulty.collapse.whole import OfRun

    by_rules = answer.kept.num_questions
    number = by_rules if selected is None else selected
    return dataclasses.replace(
        answer,
        kept=dataclasses.replace(answer.kept, num_questions=number),
        of_run=OfRun(num_by_rules=by_rules, missing=read_missing(run, spec)),
    )


def _rewards(run: RunFolder, spec: RunSpec) -> RewardTable:
    from difficulty.collapse.complete import floored, penalty_of, plan_of

    plan = plan_of(spec.forecast, group_size=spec.selection.group_size)
    return read_rewards(run, penalty_of(spec.forecast, floored=floored(plan)))


def _capped(counts: Counts, spec: RunSpec, kept_rule: Callable[[int, int], bool]) -> int | None:
    """How many questions quotas and the maximum leave of those that the rules keep; None if all."""
    quotas = dict(map(parse_quota, spec.selection.quotas))
    most = spec.selection.max_questions
    if not quotas and most is None:
        return None
    total = 0
    for source, classes in counts.by_source().items():
        kept = int(classes.num_questions[classes.chosen(kept_rule)].sum())
        total += min(kept, quotas.get(source, kept))
    return total if most is None else min(total, most)


def empty_forecast(run: RunFolder, spec: RunSpec) -> WholeForecast:
    """The forecast where nothing was graded: every figure is unknown."""
    from difficulty.collapse.complete import set_rates
    from difficulty.collapse.whole import Drifts, OfRun, WholeForecast

    nothing = set_rates(None)
    return WholeForecast(
        group_size=spec.selection.group_size,
        keep=levels.parse_keep(spec.selection.keep),
        pool=nothing,
        kept=nothing,
        levels=dict.fromkeys(levels.LEVELS, nothing),
        law=None,
        rewards=None,
        drift=Drifts(pool=None, kept=None),
        trainer=None,
        of_run=OfRun(num_by_rules=0, missing=read_missing(run, spec)),
        warnings=("no answer was graded: there is nothing to forecast from",),
    )


def read_missing(run: RunFolder, spec: RunSpec) -> MissingRange | None:
    """Pool rate if all unknown answers were wrong / right; None when none is unknown."""
    from difficulty.collapse import missing_range

    rows = store.connect(run).execute(MISSING, {"profile": store.sql_path(run.profile)}).fetchall()
    graded, missing, correct, questions = zip(*rows, strict=True)
    if not any(missing):
        return None
    return missing_range(graded, missing, correct, questions, group_size=spec.selection.group_size)
