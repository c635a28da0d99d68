"""The grades of a run by the user's own reward, as a stream in the order of the samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from difficulty.grading import GraderPool
from difficulty.grading.grading_process import Pair
from difficulty.schema import Grade
from difficulty.settings.rewards import GradingSpec, is_builtin
from difficulty.settings.run import RunSpec
from difficulty.store import RunFolder, Stamp
from difficulty.user_rewards.done import DoneRewards, with_known
from difficulty.user_rewards.request import has_reply, request_of
from difficulty.user_rewards.reward_pool import RewardPool
from difficulty.user_rewards.score import (
    Part,
    combine,
    failed,
    grade_again,
    grade_of,
    part_of,
)
from difficulty.user_rewards.setup import setup_of_run

Sample = tuple[Pair, Grade | None]
"""A question with a completion, and the grade of before if its reward is known."""


def reward_grades(
    run: RunFolder, spec: RunSpec, pairs: Iterable[Pair], stamp: Stamp, *, workers: int
) -> Iterator[Grade]:
    """Grade each completion with the run's rewards.

    Args:
        run: where finished calls are remembered, and where the functions' log lies.
        spec: with ``grading.rewards``.
        pairs: by question_id and sample_index, in order.
        stamp: settings and inputs of the grades.
        workers: processes for the built-in grader.

    Raises:
        SettingsError: the functions cannot be used.
        RunError: the workers do not start, or the disk is full.
    """
    pool = RewardPool(
        setup_of_run(spec),
        concurrency=spec.server.reward_concurrency,
        log=run.logs / "rewards.log",
    )
    with DoneRewards(run, stamp) as done, pool, GraderPool(workers) as grader:
        samples = with_known(pairs, done.known())
        for grade, is_new in _graded(samples, spec.grading, pool, grader):
            if is_new:
                done.add(grade)
            yield grade


def _graded(
    samples: Iterable[Sample], grading: GradingSpec, pool: RewardPool, grader: GraderPool
) -> Iterator[tuple[Grade, bool]]:
    """(grade, whether functions were called for it); what lies between the streams is bounded."""
    has_builtin = any(map(is_builtin, grading.rewards or ()))
    ours, theirs, *builtins = itertools.tee(samples, 3 if has_builtin else 2)
    scores = pool.score_all(
        request_of(*pair) if _is_open((pair, known)) else None for pair, known in theirs
    )
    verdicts = grader.grade_all(
        pair for stream in builtins for pair, known in stream if _is_open((pair, known))
    )
    for (pair, known), parts in zip(ours, scores, strict=True):
        if parts is not None:
            builtin = next(verdicts) if has_builtin else None
            yield _new(pair, grading, parts, builtin), True
        elif known is not None:
            yield grade_again(pair[1], grading, known), False
        else:
            yield failed(pair[1]), False


def _is_open(sample: Sample) -> bool:
    """Whether there is a reply whose reward is not known yet."""
    (_, completion), known = sample
    return known is None and has_reply(completion)


def _new(pair: Pair, grading: GradingSpec, parts: list[Part], builtin: Grade | None) -> Grade:
    found = combine(grading, parts, None if builtin is None else part_of(builtin))
    return grade_of(pair[1], grading, found, builtin)
