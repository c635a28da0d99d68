"""The forecast of a table of counts: pool, kept set, levels and sources, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from difficulty.collapse.bounds import Chosen
from difficulty.collapse.collapse import check_group_size
from difficulty.collapse.counts import Classes, Counts
from difficulty.collapse.estimate import Estimate, Fits, every_question
from difficulty.collapse.mixture import POOR_FIT, Fit, goodness_of_fit
from difficulty.collapse.planner import SamplingPlan
from difficulty.errors import InputError
from difficulty.levels import LEVELS, level_of

DEFAULT_KEEP = ("L2", "L3", "L4", "L5")
WIDE = 0.05
"""An identified set wider than this is warned of: no number of questions narrows it."""
SETTLED = 0.01
"""A number of samples settles a rate when it leaves less than this open."""
FEW_QUESTIONS = 30


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What ``forecast`` returns."""

    group_size: int
    keep: tuple[str, ...]
    pool: Estimate
    """All questions."""
    kept: Estimate | None
    """The questions in the levels ``keep``; None if there is none."""
    levels: dict[str, Estimate]
    """Levels that have questions."""
    by_source: dict[str, Estimate]
    """Pool of each source, from its own law; empty when there is only one source."""
    exact: dict[int, float]
    """Unbiased pool rate by group size, for each that k allows; empty when k is mixed."""
    beta: tuple[float, float]
    """(a, b) of the Beta law that the mixture is drawn towards."""
    fit: Fit
    plans: tuple[SamplingPlan, ...]
    """Identified width of the kept set at the present and at greater k; empty without one."""
    warnings: tuple[str, ...]
    work: Fits = field(compare=False, repr=False)
    """The fits behind the figures."""
    kept_rule: Chosen = field(compare=False, repr=False)
    """``(num_samples, num_correct) ->`` is such a question kept?"""
    more_rule: Chosen = field(compare=False, repr=False)
    """What a question must meet besides its level."""


def forecast(
    counts: Counts,
    *,
    group_size: int = 8,
    keep: Sequence[str] = DEFAULT_KEEP,
    keep_rule: Chosen | None = None,
    rng: np.random.Generator | None = None,
) -> Forecast:
    """Forecast the advantage collapse rate (ACR, arXiv 2605.21125) of right/wrong rewards.

    Args:
        counts: how many questions got c of k answers right.
        group_size: G, answers a question in training.
        keep: the levels that the filter keeps.
        keep_rule: what ``(num_samples, num_correct)`` must meet besides; none by default.
        rng: for the tables behind the p-value of the fit; a fixed seed by default. Nothing else
            is random.

    Raises:
        InputError: ``group_size`` below 2 or a name in ``keep`` that is not a level.
    """
    check_group_size(group_size)
    if unknown := [level for level in keep if level not in LEVELS]:
        raise InputError(f"no such level: {unknown[0]!r}. Choose from {', '.join(LEVELS)}")
    classes = counts.classes()
    work = Fits(classes, group_size)
    chosen = frozenset(keep)
    kept_rule = _kept_rule(chosen, keep_rule)
    wanted = {"pool": every_question, "kept": kept_rule}
    wanted |= {level: _in_levels(frozenset((level,))) for level in LEVELS}
    estimates = work.estimates(wanted)
    kept = estimates.get("kept")
    plans = work.plans(kept_rule) if kept else ()
    fit = goodness_of_fit(classes, rng or np.random.default_rng(0))
    return Forecast(
        group_size=int(group_size),
        keep=tuple(level for level in LEVELS if level in chosen),
        pool=estimates["pool"],
        kept=kept,
        levels={level: estimates[level] for level in LEVELS if level in estimates},
        by_source=_by_source(counts, group_size),
        exact=work.exact,
        beta=work.law.beta,
        fit=fit,
        plans=plans,
        warnings=_warnings(classes, kept, plans, fit),
        work=work,
        kept_rule=kept_rule,
        more_rule=keep_rule or every_question,
    )


def _in_levels(levels: frozenset[str]) -> Chosen:
    return lambda num_samples, num_correct: level_of(num_correct, num_samples) in levels


def _kept_rule(levels: frozenset[str], more: Chosen | None) -> Chosen:
    if more is None:
        return every_question if len(levels) == len(LEVELS) else _in_levels(levels)
    inside = _in_levels(levels)
    return lambda num_samples, num_correct: (
        inside(num_samples, num_correct) and more(num_samples, num_correct)
    )


def _by_source(counts: Counts, group_size: int) -> dict[str, Estimate]:
    sources = counts.by_source()
    if len(sources) == 1:
        return {}
    return {
        name: Fits(classes, group_size).estimates({"pool": every_question})["pool"]
        for name, classes in sources.items()
    }


def _warnings(
    classes: Classes, kept: Estimate | None, plans: tuple[SamplingPlan, ...], fit: Fit
) -> tuple[str, ...]:
    texts = []
    if kept is None:
        texts.append(_nothing_kept(classes))
    elif kept.identified_high - kept.identified_low > WIDE:
        texts.append(_wide_text(classes, kept, plans))
    if (classes.num_samples == 1).all():
        texts.append("one answer a question says next to nothing of collapse: draw k = 5 or more")
    if fit.p_value is not None and fit.p_value <= POOR_FIT:
        texts.append(
            f"poor fit of the counts with k = {fit.num_samples}: p = {fit.p_value:.2f}. Answers "
            "to one question may not be independent draws; check the seeds and the server's cache"
        )
    if classes.fixed_k is None:
        texts.append(
            f"questions have between {classes.num_samples.min()} and {classes.num_samples.max()} "
            "graded answers: levels mean another thing at another k, and no exact rate is given"
        )
    if classes.total < FEW_QUESTIONS:
        texts.append(f"few questions ({classes.total}): read the interval, not the point")
    return tuple(texts)


def _nothing_kept(classes: Classes) -> str:
    most = int(classes.num_samples.max())
    why = ": one answer cannot be both right and wrong" if most == 1 else ""
    return f"no question is kept{why}: there is no training set, and no forecast of one"


def _wide_text(classes: Classes, kept: Estimate, plans: tuple[SamplingPlan, ...]) -> str:
    width = kept.identified_high - kept.identified_low
    counts = "these counts leave"
    if classes.fixed_k is not None:
        counts = f"k = {plans[0].num_samples} leaves"
    text = (
        f"kept set: {counts} its collapse rate open between "
        f"{kept.identified_low:.2f} and {kept.identified_high:.2f} (width {width:.2f}), however "
        "many questions there are"
    )
    for plan in plans[1:]:
        if plan.identified_width < SETTLED:
            open_ = math.ceil(plan.identified_width * 1000) / 1000
            return (
                f"{text}. Exact counts at k = {plan.num_samples} would leave {open_:.3f} open for "
                f"the same questions: {plan.extra_answers:,} more answers"
            )
    return f"{text}. None of the greater k that were looked at leaves less than {SETTLED} open"
