"""The range of the forecast over what the answers without a verdict could have been."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from difficulty.collapse.collapse import check_group_size, collapse_probability
from difficulty.collapse.counts import Column, Counts, whole_numbers
from difficulty.collapse.mixture import fit_mixture
from difficulty.errors import InputError


@dataclass(frozen=True, kw_only=True)
class MissingRange:
    """Pool collapse rate if the answers without a verdict had one."""

    all_wrong: float
    all_right: float


def missing_range(
    num_graded: Column,
    num_missing: Column,
    num_correct: Column,
    num_questions: Column | None = None,
    *,
    group_size: int = 8,
) -> MissingRange:
    """The pool's rate with every missing answer counted wrong, then right.

    One entry a row in each column; ``num_graded + num_missing`` must be at least 1. Missing is
    not at random: time-outs go with hard questions.

    Raises:
        InputError: as ``Counts.of``, or ``group_size`` below 2.
    """
    check_group_size(group_size)
    graded = whole_numbers("num_graded", num_graded)
    missing = whole_numbers("num_missing", num_missing)
    correct = whole_numbers("num_correct", num_correct)
    if not len(graded) == len(missing) == len(correct):
        raise InputError(
            f"columns differ in length: {len(graded)}, {len(missing)} and {len(correct)} rows. "
            "Give one value a row"
        )
    if (over := correct > graded).any():
        row = int(np.argmax(over))
        raise InputError(
            f"more right than graded answers: row {row} (from 0) has {correct[row]} of "
            f"{graded[row]}. Correct the row or leave it out"
        )
    all_wrong, all_right = (
        _pool_rate(Counts.of(graded + missing, right, num_questions), group_size)
        for right in (correct, correct + missing)
    )
    return MissingRange(all_wrong=all_wrong, all_right=all_right)


def _pool_rate(counts: Counts, group_size: int) -> float:
    classes = counts.classes()
    law = fit_mixture(classes)
    values = collapse_probability(law.grid, group_size)
    posterior = law.mean(values, classes.num_samples, classes.num_correct)
    return float(np.average(posterior, weights=classes.num_questions))
