"""The forecast of a run: counts out of its profile, the posterior that selection joins."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty import levels, store
from difficulty.run.forecast_kept import forecast_kept, kept_questions, read_by_guess
from difficulty.run.reward_table import read_rewards, wants_rewards
from difficulty.settings.run import RunSpec, parse_quota
from difficulty.store import RunFolder

if TYPE_CHECKING:
    from difficulty.collapse import Counts
    from difficulty.collapse.rewards import RewardTable

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


def forecast_json(run: RunFolder, counts: Counts, spec: RunSpec) -> dict[str, Any]:
    """The forecast of a run's counts as the command line prints it."""
    from difficulty.collapse.complete import complete

    found = forecast_kept(counts, read_by_guess(run), spec)
    kept = kept_questions(run, spec)
    if not kept:
        kept = _capped(counts, spec, found.kept_rule)
    rewards = _rewards(run, spec) if wants_rewards(run, spec) else None
    answer = complete(found, spec.forecast, kept_questions=kept, rewards=rewards)
    return _with_kept(answer, kept_questions(run, spec))


def _with_kept(answer: dict[str, Any], kept: int | None) -> dict[str, Any]:
    """The kept set counted as the selection has it; ``num_by_rules`` is what its rates rest on."""
    figures = answer["kept"]
    by_rules = figures["num_questions"]
    count = by_rules if kept is None else kept
    return {**answer, "kept": {**figures, "num_questions": count, "num_by_rules": by_rules}}


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


def empty_forecast(spec: RunSpec) -> dict[str, Any]:
    """The same keys where nothing was graded: every figure is unknown."""
    figures = ("acr", "low", "high", "identified_low", "identified_high", "plug_in")
    nothing = {**dict.fromkeys(figures), "num_questions": 0}
    kept = list(levels.parse_keep(spec.selection.keep))
    return {
        "group_size": spec.selection.group_size,
        "pool": nothing,
        "kept": {**nothing, "levels": kept, "num_by_rules": 0},
        "levels": dict.fromkeys(levels.LEVELS, nothing),
        "rewards": None,
        "drift": {"pool": None, "kept": None},
        "warnings": ["no answer was graded: there is nothing to forecast from"],
    }


def is_whole(path: Path) -> bool:
    """Does the file hold all that this version forecasts?"""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found.keys() >= {"drift", "rewards"} and "num_by_rules" in found["kept"]


def read_missing(run: RunFolder, spec: RunSpec) -> dict[str, float] | None:
    """Pool rate if all unknown answers were wrong / right; None when none is unknown."""
    from difficulty.collapse import missing_range

    rows = store.connect(run).execute(MISSING, {"profile": store.sql_path(run.profile)}).fetchall()
    graded, missing, correct, questions = zip(*rows, strict=True)
    if not any(missing):
        return None
    found = missing_range(graded, missing, correct, questions, group_size=spec.selection.group_size)
    return dataclasses.asdict(found)
