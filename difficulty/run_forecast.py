"""The forecast of a run: counts out of its profile, the posterior that selection joins."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from difficulty import curriculum, levels, store
from difficulty.run_spec import RunSpec
from difficulty.store import RunFolder

if TYPE_CHECKING:
    from difficulty.forecast import Counts

COUNTS = """
    SELECT num_graded, num_correct, count(*) AS num_questions, source
    FROM rows_of($profile) WHERE num_graded > 0 GROUP BY ALL ORDER BY ALL
"""
MISSING = """
    SELECT num_graded, num_failed + num_grader_error AS num_missing, num_correct,
           count(*) AS num_questions
    FROM rows_of($profile) GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True, kw_only=True)
class Collapse:
    """Posterior chance of collapse for one pair of counts; joined to the questions that have it."""

    num_graded: int
    num_correct: int
    collapse_probability: float


def read_counts(run: RunFolder) -> Counts | None:
    """Counts of right answers by source; None when nothing was graded."""
    from difficulty.forecast import Counts

    rows = store.connect(run).execute(COUNTS, {"profile": store.sql_path(run.profile)}).fetchall()
    if not rows:
        return None
    graded, correct, questions, sources = zip(*rows, strict=True)
    return Counts.of(graded, correct, questions, source=sources)


def read_collapse(run: RunFolder, spec: RunSpec) -> list[Collapse]:
    """Posterior collapse probability of each pair of counts, at the run's group size."""
    from difficulty.forecast import collapse_posterior

    counts = read_counts(run)
    posterior = collapse_posterior(counts, spec.selection.group_size) if counts else {}
    return [
        Collapse(num_graded=graded, num_correct=correct, collapse_probability=chance)
        for (graded, correct), chance in posterior.items()
    ]


def forecast_json(counts: Counts, spec: RunSpec) -> dict[str, Any]:
    """The forecast of a run's counts as the command line prints it."""
    from difficulty.forecast import forecast as forecast_counts

    min_graded = spec.bucket.min_graded or spec.sampling.k
    return forecast_counts(
        counts,
        group_size=spec.selection.group_size,
        keep=levels.parse_keep(spec.selection.keep),
        keep_rule=curriculum.counts_rule(spec.selection, min_graded=min_graded),
    ).as_json()


def empty_forecast(spec: RunSpec) -> dict[str, Any]:
    """The same keys where nothing was graded: every figure is unknown."""
    figures = ("acr", "low", "high", "identified_low", "identified_high", "plug_in")
    nothing = {**dict.fromkeys(figures), "num_questions": 0}
    kept = list(levels.parse_keep(spec.selection.keep))
    return {
        "group_size": spec.selection.group_size,
        "pool": nothing,
        "kept": {**nothing, "levels": kept},
        "levels": dict.fromkeys(levels.LEVELS, nothing),
        "warnings": ["no answer was graded: there is nothing to forecast from"],
    }


def read_missing(run: RunFolder, spec: RunSpec) -> dict[str, float] | None:
    """Pool rate if all unknown answers were wrong / right; None when none is unknown."""
    from difficulty.forecast import missing_range

    rows = store.connect(run).execute(MISSING, {"profile": store.sql_path(run.profile)}).fetchall()
    graded, missing, correct, questions = zip(*rows, strict=True)
    if not any(missing):
        return None
    found = missing_range(graded, missing, correct, questions, group_size=spec.selection.group_size)
    return dataclasses.asdict(found)
