"""Grade long runs of one thing, for every thing, kind and place: ``python -m bench.grading.sweep``.

A regular expression that is worse than linear shows here as a reply that takes too long.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.grading.checks import TooSlowError, limit_s, timed
from bench.grading.mutations import FORMULAS, LETTERS, MARKERS, NUMBERS, RUNS, SOUP
from bench.grading.replies import answer, question
from difficulty.grading import grade
from difficulty.grading.serve import cached_evaluate
from difficulty.schema import Choice, Question

LENGTHS = (200, 1_900, 60_000)
"""Characters: within the limits of a line and of an answer, and far beyond them."""
PAIRS = 3_000
"""Runs of two things in turn, drawn at random, of each length but the longest."""
PLACES = (
    "{}", "{}.\n", "{}1", "Answer: {}", "Answer: {}\n\nB", "\\boxed{{{}}}", "So $x = {}$.",
    "The answer is {}.", "Therefore, {}", "<answer>{}", "答えは{}です。", "4 {} 5", "B\n{}",
    "Paris {}?", "\\boxed{{1{}1}}", "So it is $1{}1$.",
)  # fmt: skip
CHOICES = tuple(
    Choice(label=label, text=text)
    for label, text in zip("ABCD", ("Lisbon", "Paris", "5 mg of A", "(x) not B"), strict=True)
)
QUESTIONS = (
    question("choice", "B", choices=CHOICES), question("multi", "A,C", choices=CHOICES),
    question("numeric", "4"), question("text", "Paris"), question("math", "x+1"),
    question("math", "\\text{odd}"), question("math", "[-1,4)"), question("math", "y=2x+1"),
    question("math", "\\{1,2\\}"),
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One long reply to one question."""

    question: Question
    unit: str
    place: str
    length: int

    @property
    def text(self) -> str:
        """The reply."""
        body = self.unit * max(1, self.length // len(self.unit))
        return self.place.replace("{{", "{").replace("}}", "}").replace("{}", body, 1)


def runs(lengths: tuple[int, ...], seed: int) -> Iterator[Run]:
    """Every unit at every place and length, for every question; then pairs of units."""
    r = random.Random(seed)
    letters = tuple(chr(code) for code in range(33, 127))
    units = dict.fromkeys((*RUNS, *FORMULAS, *MARKERS, *SOUP, *NUMBERS, *letters, *LETTERS))
    for length in lengths:
        long = length > 10_000
        for unit in units:
            for asked in QUESTIONS:
                for place in r.sample(PLACES, 1) if long else PLACES:
                    yield Run(asked, unit, place, length)
        for _ in range(0 if long else PAIRS):
            unit = "".join(r.choices(tuple(units), k=2))
            yield Run(r.choice(QUESTIONS), unit, r.choice(PLACES), length)


def main() -> int:
    """Grade all runs; 1 if one takes too long or raises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, help="only so many of the runs, drawn at random")
    chosen = parser.parse_args()
    count, bad, slowest, started = 0, 0, (0.0, ""), time.perf_counter()
    drawn = list(runs(tuple(chosen.lengths), chosen.seed))
    if chosen.sample:
        drawn = random.Random(chosen.seed).sample(drawn, chosen.sample)
    for run in drawn:
        count += 1
        what = f"{run.question.kind} {run.place!r} of {run.unit!r} x {run.length}"
        seconds, fault = _graded(run)
        slowest = max(slowest, (seconds, what))
        if fault:
            bad += 1
            print(f"{fault}: {what}", flush=True)
    print(f"sweep: {count:,} runs in {time.perf_counter() - started:,.0f} s, {bad} with a fault")
    print(f"       slowest: {slowest[0]:.2f} s of processor time ({slowest[1]})")
    return 1 if bad else 0


def _graded(run: Run) -> tuple[float, str]:
    """Processor seconds, and what went wrong; empty if nothing did."""
    completion, limit = answer(run.text), limit_s(run.text)
    try:
        _, seconds = timed(
            limit, lambda: grade(run.question, completion, math_equal=cached_evaluate)
        )
    except TooSlowError as error:
        return limit, f"took more than {limit:.2f} s, {error}"
    except Exception as error:  # noqa: BLE001 the point is to find any
        return 0.0, f"raised {type(error).__name__}: {error}"
    return seconds, ""


if __name__ == "__main__":
    sys.exit(main())
