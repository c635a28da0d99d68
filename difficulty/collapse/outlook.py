"""Will my run work: what a trainer makes of a set, averaged over what the counts leave open."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from difficulty.collapse.belief import Belief, belief_of, reachable, with_rate, with_rates
from difficulty.collapse.collapse import Floats
from difficulty.collapse.estimate import Estimate
from difficulty.collapse.fills import QuestionSet
from difficulty.collapse.steps import Step, step_of
from difficulty.collapse.training import Plan


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What a trainer's steps come to on one set. All means are over the forecast's uncertainty."""

    num_questions: int
    p_step_fills: float | None
    """Chance that a step trains on a full batch of usable groups; null with ``reason``."""
    p_step_fills_low: float | None
    """The same at the upper end of the collapse rate's 95 % interval, where fewer groups are
    usable."""
    p_step_fills_high: float | None
    p_all_steps_fill: float | None
    """Chance that every one of the plan's steps does. Steps share the set's unknown rate: it is far
    more than the product where that is wide."""
    expected_batches: float | None
    """Generation batches a step."""
    expected_answers: float | None
    """Answers generated a step."""
    answers_per_useful_group: float | None
    """Answers generated for each usable group that is trained on."""
    metric_expected: float | None
    """Mean reading of the trainer's collapse metric; null where it has none that is known here."""
    epochs: float | None
    """How often the plan's steps draw the whole set, on average."""
    reason: str | None
    """Why a figure is null; null if none is."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A set with its forecast."""

    questions: QuestionSet
    interval: Estimate
    acr: float

    @cached_property
    def belief(self) -> Belief:
        """The collapse rates that the set may have."""
        return belief_of(self.interval, limits=reachable(self.questions))

    @cached_property
    def versions(self) -> list[QuestionSet]:
        """The set at each of these rates."""
        return with_rates(self.questions, self.belief.rates)

    def scaled(self, estimate: Estimate) -> Candidate:
        """The set under another reward, of which ``estimate`` is the forecast.

        Each question's chance of collapse changes by the same factor.
        """
        factor = estimate.acr / self.acr if self.acr > 0 else 1.0
        usable = 1.0 - np.minimum(factor * (1.0 - self.questions.usable), 1.0)
        return Candidate(
            questions=dataclasses.replace(self.questions, usable=usable),
            interval=estimate,
            acr=estimate.acr,
        )

    def of_size(self, num_questions: int) -> Candidate:
        """So many questions of the set, picked at random."""
        return dataclasses.replace(
            self, questions=dataclasses.replace(self.questions, num_questions=num_questions)
        )


def outlook(candidate: Candidate, plan: Plan) -> Outlook:
    """The outlook of one set; nulls with the reason where it makes no batch."""
    number = candidate.questions.num_questions
    if number < plan.gen_groups:
        return unknown(number, f"{number:,} questions make no batch of {plan.gen_groups:,} groups")
    belief = candidate.belief
    steps = [step_of(version, plan) for version in candidate.versions]
    ends = [
        step_of(with_rate(candidate.questions, rate), plan).fills
        for rate in (candidate.interval.high, candidate.interval.low)
    ]
    fills = _column(steps, "fills")
    batches = belief.mean(_column(steps, "batches"))
    useful = belief.mean(_column(steps, "useful"))
    answers = batches * plan.gen_groups * plan.group_size
    reads = steps[0].reading is not None
    return Outlook(
        num_questions=number,
        p_step_fills=belief.mean(fills),
        p_step_fills_low=ends[0],
        p_step_fills_high=ends[1],
        p_all_steps_fill=belief.mean(fills**plan.steps),
        expected_batches=_finite(batches),
        expected_answers=_finite(answers),
        answers_per_useful_group=_finite(answers / useful) if useful > 0 else None,
        metric_expected=_finite(belief.mean(_column(steps, "reading"))) if reads else None,
        epochs=_finite(batches * plan.gen_groups * plan.steps / number),
        reason=_why_null(batches, useful),
    )


def _why_null(batches: float, useful: float) -> str | None:
    if not math.isfinite(batches):
        return "hardly any group may be usable: no finite mean"
    return None if useful > 0 else "no step trains on a usable group"


def unknown(num_questions: int, reason: str) -> Outlook:
    """An outlook without figures."""
    names = [field.name for field in dataclasses.fields(Outlook)]
    return Outlook(**dict.fromkeys(names) | {"num_questions": num_questions, "reason": reason})  # type: ignore[arg-type]


def _column(steps: list[Step], name: str) -> Floats:
    return np.array([getattr(step, name) for step in steps], dtype=np.float64)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
