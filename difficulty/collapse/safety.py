"""The other way round: the keep rule, the rounds or the group size that make a run safe."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from difficulty.collapse.bounds import Chosen
from difficulty.collapse.estimate import Estimate, Fits
from difficulty.collapse.outlook import Candidate
from difficulty.collapse.steps import fill_chance
from difficulty.collapse.training import Plan
from difficulty.levels import LEVELS, level_of

SAFE = 0.99
"""Chance that all steps fill from which on a run is called safe."""
MOST_ROUNDS = 64
GROUP_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)


@dataclass(frozen=True, kw_only=True)
class SafeKeep:
    """A range of levels under which all steps fill."""

    levels: tuple[str, ...]
    num_questions: int
    p_all_steps_fill: float


def p_all_steps(candidate: Candidate, plan: Plan) -> float:
    """Chance that all steps fill, averaged over the forecast's uncertainty; 0 without a batch."""
    if candidate.questions.num_questions < plan.gen_groups:
        return 0.0
    fills = [fill_chance(version, plan) for version in candidate.versions]
    return candidate.belief.mean(np.array(fills) ** plan.steps)


def least_rounds(candidate: Candidate, plan: Plan) -> int | None:
    """Fewest batches a step with which all steps fill; None if ``MOST_ROUNDS`` do not suffice."""
    return _least(
        range(1, MOST_ROUNDS + 1),
        lambda rounds: p_all_steps(candidate, dataclasses.replace(plan, max_rounds=rounds)),
    )


def least_group_size(work: Fits, rule: Chosen, plan: Plan, *, ratio: float = 1.0) -> int | None:
    """Fewest answers a group with which all steps fill, as many groups a batch; None if 64 do not.

    The set is the same, its collapse rate is forecast anew for each size and multiplied by
    ``ratio``, that of the tested reward's rate to the rate of correctness alone.
    """

    def chance(size: int) -> float:
        there = candidates(work.at(size), {"set": rule}, ratio=ratio)
        wanted = dataclasses.replace(plan, group_size=size)
        return p_all_steps(there["set"], wanted) if there else 0.0

    return _least(GROUP_SIZES, chance)


def _least(choices: Sequence[int], chance: Callable[[int], float]) -> int | None:
    """First of the rising choices that is safe; chance and cost rise with them."""
    below, above, last = -1, 0, len(choices) - 1
    while chance(choices[above]) < SAFE:
        if above == last:
            return None
        below, above = above, min(2 * above + 1, last)
    while above - below > 1:
        middle = (below + above) // 2
        if chance(choices[middle]) >= SAFE:
            above = middle
        else:
            below = middle
    return choices[above]


def widest_keep(work: Fits, more: Chosen, plan: Plan, *, ratio: float = 1.0) -> SafeKeep | None:
    """The range of levels with the most questions under which all steps fill; None if none does.

    Args:
        work: the fitted counts.
        more: what questions must meet besides being in the range.
        plan: the training run.
        ratio: of the tested reward's collapse rate to that of correctness alone.
    """
    for ranges in _in_chunks(_by_size(work, more), 4):
        rules = {levels: _in_range(levels, more) for levels in ranges}
        named = {"-".join(levels): rule for levels, rule in rules.items()}
        found = candidates(work, named, ratio=ratio)
        for levels in ranges:
            candidate = found["-".join(levels)]
            chance = p_all_steps(candidate, plan)
            if chance >= SAFE:
                return SafeKeep(
                    levels=levels,
                    num_questions=candidate.questions.num_questions,
                    p_all_steps_fill=chance,
                )
    return None


def candidates(work: Fits, rules: dict[str, Chosen], *, ratio: float = 1.0) -> dict[str, Candidate]:
    """Each set that has questions, with its forecast, collapse multiplied by ``ratio``."""
    found = {}
    for name, estimate in work.estimates(rules).items():
        found[name] = candidate_of(work, rules[name], estimate)
        if ratio != 1.0:
            found[name] = found[name].scaled(multiplied(estimate, ratio))
    return found


def multiplied(estimate: Estimate, ratio: float) -> Estimate:
    """The forecast of a rate that is ``ratio`` times this one, at most 1."""
    names = ("acr", "low", "high", "identified_low", "identified_high")
    scaled = {name: min(ratio * getattr(estimate, name), 1.0) for name in names}
    return dataclasses.replace(estimate, **scaled)


def candidate_of(work: Fits, rule: Chosen, estimate: Estimate) -> Candidate:
    """The questions of a set beside their forecast.

    Raises:
        ValueError: no question of that rule (a fault of the caller).
    """
    questions = work.questions(rule)
    if questions is None:
        raise ValueError("an empty set has no outlook")
    return Candidate(questions=questions, interval=estimate, acr=estimate.acr)


def _by_size(work: Fits, more: Chosen) -> list[tuple[str, ...]]:
    """All ranges of neighbouring levels that have questions, the largest first."""
    ranges: dict[bytes, tuple[float, tuple[str, ...]]] = {}
    for first in range(len(LEVELS)):
        for last in range(first, len(LEVELS)):
            levels = LEVELS[first : last + 1]
            mask = work.classes.chosen(_in_range(levels, more))
            if mask.any():
                number = float(work.classes.num_questions[mask].sum())
                # Of ranges with the same questions the shortest says it.
                ranges.setdefault(mask.tobytes(), (number, levels))
    return [levels for _, levels in sorted(ranges.values(), key=lambda entry: -entry[0])]


def _in_range(levels: tuple[str, ...], more: Chosen) -> Chosen:
    return lambda num_samples, num_correct: (
        level_of(num_correct, num_samples) in levels and more(num_samples, num_correct)
    )


def _in_chunks(items: list[tuple[str, ...]], size: int) -> Iterator[list[tuple[str, ...]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
