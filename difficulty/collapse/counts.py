"""The table that every forecast starts from: how many questions got c of k answers right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.collapse import Floats, Ints
from difficulty.errors import InputError

MAX_CLASSES, MAX_K = 160, 100
"""Laws are fitted to at most about so many distinct (k, c), and to at most so many samples a
question: enough for every k from 1 to 16 mixed, or for k up to 100 alone."""
LADDER = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
"""The k that are kept, besides the most common one, where there are more classes."""
MOST_SAMPLES = 10**9
"""Of one question; more could not be told apart in 64 bits, (k, c) being one number there."""
MOST_EXACT = 2.0**53
"""Whole numbers above it are no longer exact in floating point."""

Column = Sequence[Any] | NDArray[Any]
"""Numbers, one a row; any sequence that numpy can read."""


@dataclass(frozen=True, kw_only=True)
class Classes:
    """The distinct (k, c) of a table, sorted, each with the number of its questions (at least 1).

    All work is done on these, so ten million questions cost no more than a thousand.
    """

    num_samples: Ints
    num_correct: Ints
    num_questions: Ints | Floats
    """Whole numbers, but in a simplified table."""

    @property
    def total(self) -> int:
        """Number of questions."""
        return round(float(self.num_questions.sum()))

    @property
    def fixed_k(self) -> int | None:
        """The number of samples if every question has the same, else None."""
        first = int(self.num_samples[0])
        return first if bool(np.all(self.num_samples == first)) else None

    @property
    def common_k(self) -> int:
        """The number of samples that most questions have (the larger one of equals)."""
        values, index = np.unique(self.num_samples, return_inverse=True)
        shares = np.bincount(index, weights=self.num_questions)
        return int(values[len(values) - 1 - int(np.argmax(shares[::-1]))])

    def chosen(self, rule: Callable[[int, int], bool]) -> NDArray[np.bool_]:
        """(C,) for each class: does ``rule(num_samples, num_correct)`` hold?"""
        pairs = zip(self.num_samples.tolist(), self.num_correct.tolist(), strict=True)
        return np.array([rule(samples, correct) for samples, correct in pairs], np.bool_)

    def where(self, mask: NDArray[np.bool_]) -> Classes:
        """The classes for which ``mask`` holds."""
        return Classes(
            num_samples=self.num_samples[mask],
            num_correct=self.num_correct[mask],
            num_questions=self.num_questions[mask],
        )

    def simplified(self) -> Classes:
        """The table for fitting laws, with fewer classes where there are too many.

        Answers are then left out: a question with k samples is shared among the (k', c') that
        a random k' < k of its samples would show (hypergeometric). This widens intervals, as
        fewer samples do, and moves no mean.
        """
        rungs = self._rungs()
        return self if rungs is None else self._thinned_to(rungs)

    def shares(self, mask: NDArray[np.bool_]) -> Floats:
        """(C',) how the questions under ``mask`` spread over the classes of ``simplified``."""
        rungs = self._rungs()
        whole, part = self.simplified(), self.where(mask)
        part = part if rungs is None else part._thinned_to(rungs)
        base = int(whole.num_samples.max()) + 1
        place = np.searchsorted(
            whole.num_samples * base + whole.num_correct, part.num_samples * base + part.num_correct
        )
        shares = np.zeros(len(whole.num_samples))
        shares[place] = part.num_questions / part.num_questions.sum()
        return shares

    def _rungs(self) -> Ints | None:
        """The k to thin to, rising; None where the table is small enough as it is."""
        if len(self.num_samples) <= MAX_CLASSES and int(self.num_samples.max()) <= MAX_K:
            return None
        common = min(self.common_k, MAX_K)
        return np.array([common] if self.fixed_k else sorted({*LADDER, common}))

    def _thinned_to(self, rungs: Ints) -> Classes:
        lower = rungs[np.searchsorted(rungs, self.num_samples, side="right") - 1]
        parts = [self._thinned(int(k), lower == k) for k in np.unique(lower)]
        return Classes(
            num_samples=np.concatenate([part.num_samples for part in parts]),
            num_correct=np.concatenate([part.num_correct for part in parts]),
            num_questions=np.hstack([np.asarray(part.num_questions, float) for part in parts]),
        )

    def _thinned(self, k: int, mask: NDArray[np.bool_]) -> Classes:
        from scipy.special import gammaln

        def log_choose(all_: Ints, some: Ints) -> Floats:
            fits = (some >= 0) & (some <= all_)
            some = np.where(fits, some, 0)
            logs = gammaln(all_ + 1.0) - gammaln(some + 1.0) - gammaln(all_ - some + 1.0)
            return np.where(fits, logs, -np.inf)

        part, correct = self.where(mask), np.arange(k + 1)
        right, samples = part.num_correct[:, None], part.num_samples[:, None]
        chance = np.exp(
            log_choose(right, correct[None, :])
            + log_choose(samples - right, k - correct[None, :])
            - log_choose(samples, np.array([[k]]))
        )
        expected = np.asarray(part.num_questions @ chance, dtype=np.float64)
        seen = expected > 0
        return Classes(
            num_samples=np.full(int(seen.sum()), k),
            num_correct=correct[seen],
            num_questions=expected[seen],
        )


@dataclass(frozen=True)
class Counts:
    """One row a (source, k, c), or a row a question; all columns have the same length.

    Raises:
        InputError: a value that is missing, negative or not whole, more right answers than
            samples, a row without samples, columns of unequal length, or no question at all.
            Rows without a graded answer are unknown, not wrong: leave them out and count them
            apart.
    """

    num_samples: Ints
    """Graded answers of a question, k (at least 1)."""
    num_correct: Ints
    """Right ones among them, c (0 to k)."""
    num_questions: Ints
    """How many questions the row stands for (0 or more)."""
    source: NDArray[np.str_]
    """Name of the set that the row's questions came from."""

    def __post_init__(self) -> None:
        for name in ("num_samples", "num_correct", "num_questions"):
            object.__setattr__(self, name, whole_numbers(name, getattr(self, name)))
        object.__setattr__(self, "source", np.asarray(self.source, dtype=np.str_))
        for name in ("num_correct", "num_questions", "source"):
            if len(getattr(self, name)) != len(self.num_samples):
                raise InputError(
                    f"columns of counts differ in length: num_samples has {len(self.num_samples)} "
                    f"rows and {name} {len(getattr(self, name))}. Give one value a row"
                )
        _refuse(self.num_samples < 1, "num_samples below 1", self.num_samples)
        _refuse(
            self.num_samples > MOST_SAMPLES, f"num_samples above {MOST_SAMPLES:,}", self.num_samples
        )
        excess = self.num_correct > self.num_samples
        _refuse(excess, "num_correct above num_samples", self.num_correct)
        total = self.num_questions.sum(dtype=np.float64)
        if total > MOST_EXACT:
            raise InputError(
                f"num_questions add up to more than can be counted: {total:.3g}. Correct the rows"
            )
        if not total:
            raise InputError("no question to forecast from: 0 found. Give at least one")

    @classmethod
    def of(
        cls,
        num_samples: Column,
        num_correct: Column,
        num_questions: Column | None = None,
        *,
        source: Sequence[str] | NDArray[np.str_] | None = None,
    ) -> Counts:
        """The table from plain columns; by default each row is one question of one source."""
        rows = len(num_samples)
        return cls(
            whole_numbers("num_samples", num_samples),
            whole_numbers("num_correct", num_correct),
            whole_numbers("num_questions", [1] * rows if num_questions is None else num_questions),
            np.asarray([""] * rows if source is None else source, dtype=np.str_),
        )

    def classes(self) -> Classes:
        """The table summed over sources: one entry a (k, c) that has questions."""
        return aggregate(self.num_samples, self.num_correct, self.num_questions)

    def by_source(self) -> dict[str, Classes]:
        """The classes of each source that has questions, in the order of their names."""
        some = np.flatnonzero(self.num_questions > 0)
        names, index = np.unique(self.source[some], return_inverse=True)
        order = some[np.argsort(index, kind="stable")]
        parts = np.split(order, np.cumsum(np.bincount(index))[:-1])
        return {
            str(name): aggregate(
                self.num_samples[rows], self.num_correct[rows], self.num_questions[rows]
            )
            for name, rows in zip(names, parts, strict=True)
        }


def aggregate(k: Ints, c: Ints, n: Ints) -> Classes:
    """Sum the questions ``n`` over equal (k, c), leaving out those with none."""
    some = n > 0
    base = int(k.max()) + 1
    keys, index = np.unique(k[some] * base + c[some], return_inverse=True)
    totals = np.zeros(len(keys), np.int64)
    np.add.at(totals, index, n[some])
    return Classes(num_samples=keys // base, num_correct=keys % base, num_questions=totals)


def whole_numbers(name: str, column: Column) -> Ints:
    """``column`` as integers of at least 0.

    Raises:
        InputError: a value that is missing, negative, not whole or no number; names the row.
    """
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} cannot be read as numbers: {_first_unreadable(column)}. Give whole numbers"
        ) from None
    if values.ndim != 1:
        raise InputError(f"{name} is no column: shape {values.shape} found. Give one value a row")
    _refuse(np.isnan(values), f"{name} missing", values)
    _refuse(np.isinf(values), f"{name} infinite", values)
    _refuse(values < 0, f"{name} negative", values)
    _refuse(values != np.floor(values), f"{name} not a whole number", values)
    _refuse(values > MOST_EXACT, f"{name} too large to be exact", values)
    return values.astype(np.int64)


def _first_unreadable(column: Column) -> str:
    for row, value in enumerate(column):
        try:
            np.float64(value)
        except (TypeError, ValueError):
            return f"row {row} (from 0) holds {value!r}"
    return "rows of unequal shape"


def _refuse(bad: NDArray[np.bool_], what: str, values: NDArray[Any]) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"counts cannot be used, {what}: row {row} (from 0) holds {values[row]}. "
            "Correct the row or leave it out"
        )
