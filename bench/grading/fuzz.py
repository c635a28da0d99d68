"""Grade random and mutated replies and check what must hold of every grade.

``python -m bench.grading.fuzz --replies 100000 --seed 1``; ``--only 4711`` shows one of them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.grading.checks import TooSlowError, faults, limit_s, timed
from bench.grading.mutations import MAKERS, long_run
from difficulty.audit.cases import read_case
from difficulty.grading import GraderPool, grade
from difficulty.grading.equal.library import load_library
from difficulty.grading.serve import cached_evaluate
from difficulty.schema import Completion, Grade, Question

CASES = Path(__file__).parents[2] / "tests" / "cases"
LONG_EVERY = 1_000
"""One reply in so many is up to a megabyte long."""
CHUNK = 2_000
"""Replies graded in this process, and then again by the pool."""


@dataclass(frozen=True)
class Asked:
    """One reply to one question, and how it was made."""

    question: Question
    completion: Completion
    maker: str

    @property
    def text(self) -> str:
        """The reply."""
        return self.completion.text or ""


class Source:
    """Replies by number, the same for the same seed, to the questions of the labelled cases."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.questions: list[Question] = []
        self.texts: list[str] = []
        for path in sorted(CASES.glob("*.jsonl")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                question, completion, _ = read_case(json.loads(line), number)
                self.questions.append(question)
                self.texts.append(completion.text or "")
        self.kinds = sorted({question.kind for question in self.questions})

    def make(self, number: int) -> Asked:
        """The reply of that number."""
        r = random.Random(f"{self.seed} {number}")
        maker = long_run if number % LONG_EVERY == 0 else r.choice(MAKERS)
        kind = r.choice(self.kinds)
        place = r.choice([i for i, each in enumerate(self.questions) if each.kind == kind])
        question, own = self.questions[place], self.texts[place]
        texts = r.choice(([own], [own, *r.choices(self.texts, k=3)], self.texts))
        finish = r.choice(("stop", "stop", "stop", "length", "content_filter", None))
        completion = Completion(
            question_id=question.question_id, sample_index=number, text=maker(r, texts),
            reasoning=r.choice((None, None, "so")), num_tokens=None, finish_reason=finish,
            attempt=1, max_tokens=0, server=None, error=None,
        )  # fmt: skip
        return Asked(question, completion, maker.__name__.strip("_"))

    def other_gold(self, number: int, question: Question) -> Question:
        """The same question with another gold, for what must not depend on the gold."""
        r = random.Random(number)
        peers = [other for other in self.questions if other.kind == question.kind]
        if question.choices:
            peers = [other for other in peers if other.choices == question.choices]
        other = r.choice(peers)
        return replace(question, answer=other.answer, aliases=other.aliases)


def check(source: Source, number: int, asked: Asked) -> tuple[Grade | None, float, list[str]]:
    """The grade of a reply, the processor time it took, and what is wrong with it."""
    limit = limit_s(asked.text)
    try:
        first, seconds = timed(limit, lambda: _graded(asked.question, asked.completion))
        again, _ = timed(limit, lambda: _graded(asked.question, asked.completion))
        peer = source.other_gold(number, asked.question)
        other, _ = timed(limit, lambda: _graded(peer, asked.completion))
    except TooSlowError as error:
        return None, limit, [f"took more than {limit:.2f} s: {error}"]
    except Exception as error:  # noqa: BLE001 the point of the run is to find any
        return None, 0.0, [f"raised {type(error).__name__}: {error}"]
    found = faults(asked.question, asked.completion, first)
    if again != first:
        found.append("graded twice, it came out differently")
    if (other.extracted_answer, other.span) != (first.extracted_answer, first.span):
        found.append("what is extracted depends on the gold")
    return first, seconds, found


def _graded(question: Question, completion: Completion) -> Grade:
    return grade(question, completion, math_equal=cached_evaluate)


def run(
    source: Source, numbers: range, workers: int
) -> Iterator[tuple[int, Asked, Grade | None, float, list[str]]]:
    """Check replies one after the other; the pool must come to the same grades."""
    # Loading the algebra takes longer than a reply may; none is to pay for it.
    load_library()
    cached_evaluate(r"\int_0^1 x dx", r"\frac{1}{2}")
    with GraderPool(workers) as pool:
        for begin in range(numbers.start, numbers.stop, CHUNK):
            asked = [source.make(n) for n in range(begin, min(begin + CHUNK, numbers.stop))]
            pooled = pool.grade_all((each.question, each.completion) for each in asked)
            for number, (each, of_pool) in enumerate(zip(asked, pooled, strict=True), begin):
                first, seconds, found = check(source, number, each)
                if first is not None and of_pool != first:
                    found.append(f"the pool found {of_pool.outcome}: {of_pool.reason}")
                yield number, each, first, seconds, found


def main() -> int:
    """Check that many replies; 1 if anything is wrong with one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="show one reply by its number")
    chosen = parser.parse_args()
    source = Source(chosen.seed)
    if chosen.only is not None:
        return _show(source, chosen.only)
    outcomes: Counter[str] = Counter()
    slowest, bad, started = (0.0, -1, 0), 0, time.perf_counter()
    for number, asked, found, seconds, wrong in run(source, range(chosen.replies), 1):
        outcomes[f"{asked.question.kind} {found.outcome if found else 'raised'}"] += 1
        slowest = max(slowest, (seconds, number, len(asked.text)))
        bad += bool(wrong)
        for line in wrong[: 3 if bad <= 100 else 0]:
            print(f"reply {number} ({asked.maker}, {asked.question.kind}): {line}", flush=True)
    print(
        f"fuzz: {chosen.replies:,} replies of seed {chosen.seed} in "
        f"{time.perf_counter() - started:,.0f} s, {bad:,} with a fault"
    )
    print(
        f"      slowest: {slowest[0]:.2f} s of processor time (reply {slowest[1]}, "
        f"{slowest[2]:,} characters)"
    )
    for name, count in sorted(outcomes.items()):
        print(f"      {name:22}{count:9,}")
    return 1 if bad else 0


def _show(source: Source, number: int) -> int:
    asked = source.make(number)
    found, seconds, wrong = check(source, number, asked)
    print(asked.question, ascii(asked.text[:2_000]), found, f"{seconds:.2f} s", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
