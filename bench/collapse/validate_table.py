"""What the runs found, put beside the forecast: rates with standard errors, and two tables."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.collapse.estimators import exact_collapse
from difficulty.collapse import Counts, forecast
from difficulty.collapse.complete import of_counts
from difficulty.collapse.whole import SetRates, WholeForecast
from difficulty.levels import LEVELS, level_of

KEPT = ("L2", "L3", "L4", "L5")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One question: its profile, and answers that the profile has not seen."""

    question_id: str
    num_correct: int
    """Of the k answers of the profile."""
    fresh: tuple[bool, ...]
    """Which fresh answers were right, in the order drawn; whole groups."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Collapse among fresh groups of a set of questions."""

    rate: float
    """Share of the groups whose answers are all alike."""
    error: float
    """Its standard error as an estimate of these very questions' mean, clustered by question."""
    one_group: float
    """Standard error that a single group a question has, by the same variances."""
    unbiased: float
    """The mean from all fresh answers of a question at once, however they fall into groups."""


def truth(questions: Sequence[Measured], group_size: int) -> Truth:
    """Measure the collapse of fresh groups.

    Groups of a question are independent draws, so the variance among them is all that separates
    the rate from these questions' own mean.
    """
    drawn = np.array([one.fresh for one in questions]).reshape(len(questions), -1, group_size)
    alike = drawn.all(axis=2) | ~drawn.any(axis=2)
    within = float(alike.var(axis=1, ddof=1).sum())
    num_fresh = len(questions[0].fresh)
    correct = drawn.sum(axis=(1, 2))
    return Truth(
        rate=float(alike.mean()),
        error=math.sqrt(within / alike.shape[1]) / len(questions),
        one_group=math.sqrt(within) / len(questions),
        unbiased=float(exact_collapse(num_fresh, correct, group_size).mean()),
    )


def choose(
    questions: Sequence[Measured], k: int, number: int, batch: int, rng: random.Random
) -> list[Measured]:
    """About ``number`` questions, each level in proportion; those in L2 to L5 come first.

    Both parts are whole multiples of ``batch``, so that no training step mixes them.
    """
    by_level = in_levels(questions, k)
    kept = sum(len(by_level[level]) for level in KEPT)
    first = batch * round(number * kept / len(questions) / batch)
    chosen = []
    for levels, wanted in ((KEPT, first), (("L1", "L6"), number // batch * batch - first)):
        for level, share in _shares({name: len(by_level[name]) for name in levels}, wanted).items():
            chosen += rng.sample(by_level[level], share)
    return chosen


def in_levels(questions: Sequence[Measured], k: int) -> dict[str, list[Measured]]:
    """The questions by the level of their profile."""
    found: dict[str, list[Measured]] = {level: [] for level in LEVELS}
    for one in questions:
        found[level_of(one.num_correct, k)].append(one)
    return found


def _shares(sizes: Mapping[str, int], wanted: int) -> dict[str, int]:
    """``wanted`` split in proportion to the sizes, the largest remainders rounded up."""
    exact = {name: wanted * size / sum(sizes.values()) for name, size in sizes.items()}
    shares = {name: math.floor(share) for name, share in exact.items()}
    for name in sorted(exact, key=lambda name: shares[name] - exact[name]):
        if sum(shares.values()) < wanted:
            shares[name] += 1
    return shares


def tables(
    found: WholeForecast,
    questions: Sequence[Measured],
    chosen: Sequence[Measured],
    shares: Sequence[float],
    *,
    k: int,
    group_size: int,
) -> str:
    """Two Markdown tables: the whole set, and the questions that the trainer was given.

    Args:
        found: the profiled run's forecast.
        questions: of the run.
        chosen: what the trainer was given, in its order.
        shares: what it logged at each step: the share of the step's groups that are all alike.
        k: answers a question in the profile.
        group_size: answers a group.
    """
    by_level = in_levels(questions, k)
    sets = {"pool": questions, "L2–L5": [one for name in KEPT for one in by_level[name]]}
    sets |= {level: by_level[level] for level in LEVELS}
    figures = {"pool": found.pool, "L2–L5": found.kept, **found.levels}
    lines = [
        f"| set | questions | forecast | 95 % interval | left open by k = {k} | plug-in | "
        "fresh groups ± s.e. | unbiased from all fresh |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, part in sets.items():
        if len(part):
            real = truth(part, group_size)
            lines.append(
                f"| {name} | {len(part)} | {_forecast(figures[name])} | "
                f"{real.rate:.3f} ± {real.error:.3f} | {real.unbiased:.3f} |"
            )
    return "\n".join([*lines, "", *_trained(chosen, shares, k, group_size), ""])


def _trained(
    chosen: Sequence[Measured], shares: Sequence[float], k: int, group_size: int
) -> list[str]:
    counts = Counts.of([k] * len(chosen), [one.num_correct for one in chosen], [1] * len(chosen))
    own = of_counts(forecast(counts, group_size=group_size))
    first = sum(level_of(one.num_correct, k) in KEPT for one in chosen)
    steps = first * len(shares) // len(chosen)
    lines = [
        f"| set | questions | forecast | 95 % interval | left open by k = {k} | plug-in | "
        "fresh groups ± s.e. | TRL `frac_reward_zero_std` ± s.e. | difference / s.e. |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, figures, part, logged in (
        ("pool", own.pool, chosen, shares),
        ("L2–L5", own.kept, chosen[:first], shares[:steps]),
        ("L1, L6", None, chosen[first:], shares[steps:]),
    ):
        real, metric = truth(part, group_size), float(np.mean(logged))
        off = (metric - real.rate) / max(math.hypot(real.error, real.one_group), 1e-9)
        lines.append(
            f"| {name} | {len(part)} | {_forecast(figures)} | {real.rate:.3f} ± {real.error:.3f} "
            f"| {metric:.3f} ± {real.one_group:.3f} | {off:+.1f} |"
        )
    return lines


def _forecast(figures: SetRates | None) -> str:
    if figures is None:
        return "| | |"
    return (
        f"{figures.acr:.3f} | {figures.low:.3f} to {figures.high:.3f} | "
        f"{figures.identified_low:.3f} to {figures.identified_high:.3f} | "
        f"{figures.plug_in:.3f}"
    )
