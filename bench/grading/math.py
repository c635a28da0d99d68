"""Mathematics graded against plain Math-Verify, both on one core: ``python -m bench.grading``.

Of the answers 80 in 100 equal the gold once both are in the common spelling, 10 have the gold's
value in another form, and 10 are wrong. No two questions are the same, so no cache helps.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.grading.replies import Spread, answer, question
from difficulty.grading.equal.latex import normalize_math, squeeze
from difficulty.grading.equal.verdict import evaluate
from difficulty.grading.grade import grade
from difficulty.schema import Completion, Question

ROUNDS = 5
PER_ROUND = 200
STEPS = (
    "We start from the definition and write down what is given. ",
    "Substituting $x = 2$ into $f(x) = x^2 - 3x + 1$ gives $f(2) = -1$. ",
    "The two terms cancel, so that only $\\frac{a+b}{2}$ is left. ",
    "By symmetry the same holds for the other side of the triangle. ",
    "This can be checked by putting the value back into the equation.\n\n",
    "Both sides are divided by $4$, which is not zero. ",
)
ENDINGS = (
    "Therefore the answer is $\\boxed{{{}}}$.",
    "So we get\n\\[\n\\boxed{{{}}}\n\\]",
    "**Final Answer**\n\n$\\boxed{{{}}}$",
)


@dataclass(frozen=True)
class Item:
    """A question, one reply to it, and what a careful person would say of the reply."""

    question: Question
    completion: Completion
    same_spelling: bool
    right: bool


Made = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""A gold, spellings of it, other forms of its value, wrong answers."""


def _integer(r: random.Random) -> Made:
    n = r.randint(1_000, 999_999_999)
    spelled = (f"{n}", f"{n}", f"{n:,}", f"{n:,}".replace(",", "{,}"))
    return f"{n}", spelled, (f"{n - 7}+7", f"x = {n}"), (f"{n + 1}", f"-{n}")


def _fraction(r: random.Random) -> Made:
    a, b = r.randint(1, 9_999), r.choice((8, 16, 125, 1_000, 3_125))
    a += a % 2 == 0 or a % 5 == 0
    gold = f"\\frac{{{a}}}{{{b}}}"
    spelled = (gold, f"\\dfrac{{{a}}}{{{b}}}", f"\\frac{{{a}}} {{{b}}}", f"\\tfrac{{{a}}}{{{b}}}")
    return (
        gold,
        spelled,
        (f"\\frac{{{3 * a}}}{{{3 * b}}}", f"{a / b:.10g}"),
        (f"\\frac{{{b}}}{{{a}}}",),
    )


def _root(r: random.Random) -> Made:
    a, b = r.randint(2, 9_999), r.choice((2, 3, 5, 6, 7, 10, 11, 13))
    gold = f"{a}\\sqrt{{{b}}}"
    spelled = (gold, f"{a} \\sqrt{{{b}}}", f"{a}\\sqrt{b}" if b < 10 else gold)
    return gold, spelled, (f"\\sqrt{{{a * a * b}}}",), (f"{a}\\sqrt{{{b + 1}}}", f"{a * b}")


def _polynomial(r: random.Random) -> Made:
    a, b = r.randint(2, 999), r.randint(2, 999)
    gold = f"x^2+{a + b}x+{a * b}"
    spelled = (gold, f"x^2 + {a + b}x + {a * b}", f"x^{{2}}+{a + b} x+{a * b}")
    return gold, spelled, (f"(x+{a})(x+{b})",), (f"(x-{a})(x+{b})", f"x^2+{a + b}x-{a * b}")


def _point(r: random.Random) -> Made:
    a, b = r.randint(-999, 999), r.randint(1, 9_999)
    gold = f"\\left({a},\\frac{{{b}}}{{7}}\\right)"
    spelled = (gold, f"({a}, \\frac{{{b}}}{{7}})", f"\\left( {a}, \\dfrac{{{b}}}{{7}} \\right)")
    return gold, spelled, (f"({a}, \\frac{{{2 * b}}}{{14}})",), (f"({b}, \\frac{{{a}}}{{7}})",)


def _interval(r: random.Random) -> Made:
    a = r.randint(-9_999, 9_999)
    gold = f"[{a},{a + r.randint(1, 9_999)})"
    left, right = gold[1:-1].split(",")
    spelled = (gold, f"[{left}, {right})", f"\\left[{left}, {right}\\right)")
    return gold, spelled, (f"{left} \\le x < {right}",), (f"({left}, {right})",)


def _angle(r: random.Random) -> Made:
    a = r.randint(2, 9_999)
    gold = f"\\frac{{{a}\\pi}}{{4}}"
    spelled = (gold, f"\\frac{{{a} \\pi}}{{4}}", f"\\dfrac{{{a}\\pi}}{{4}}")
    return gold, spelled, (f"{a / 4:g}\\pi",), (f"\\frac{{{a}\\pi}}{{3}}", f"{a * 3.14159 / 4:.5f}")


def _integral(r: random.Random) -> Made:
    a, b = r.randint(2, 99), r.randint(2, 9)
    gold = f"\\int_0^{{{a}}} x^{b} dx"
    spelled = (f"\\int_0^{{{a}}} x^{{{b}}} dx", f"\\int_{{0}}^{{{a}}} x^{b} \\, dx")
    return gold, spelled, (f"\\frac{{{a ** (b + 1)}}}{{{b + 1}}}",), (f"{a}",)


def _sum(r: random.Random) -> Made:
    a, b = r.randint(2, 99), r.randint(2, 9)
    gold = f"\\sum_{{n=1}}^{{{a}}} n^{b}"
    spelled = (f"\\sum_{{n=1}}^{{{a}}} n^{{{b}}}", f"\\sum_{{n = 1}}^{{{a}}} n^{b}")
    return gold, spelled, (f"{sum(n**b for n in range(1, a + 1))}",), (f"{a}",)


Shapes = tuple[Callable[[random.Random], Made], ...]
SHAPES: Shapes = (
    _integer, _integer, _fraction, _root, _polynomial, _point, _interval, _angle,
)  # fmt: skip
LIBRARY_SHAPES: Shapes = (_integral, _sum)
"""Golds that our own grammar does not read, so that Math-Verify has to."""


def items(
    chooser: random.Random, number: int, *, steps: int = 4, shapes: Shapes = SHAPES
) -> list[Item]:
    """That many replies in the mix, each to a question of its own."""
    made = []
    for index in range(number):
        gold, spelled, other, wrong = chooser.choice(shapes)(chooser)
        which = index % 10
        text = chooser.choice(spelled if which < 8 else other if which == 8 else wrong)
        reasoning = "".join(chooser.choice(STEPS) for _ in range(steps))
        made.append(
            Item(
                question("math", gold),
                answer(reasoning + chooser.choice(ENDINGS).format(text)),
                squeeze(normalize_math(gold)) == squeeze(normalize_math(text)),
                which < 9,
            )
        )
    chooser.shuffle(made)
    return made


def ours(made: list[Item]) -> list[bool]:
    """The grader as it runs in a worker, from the raw reply, with nothing remembered."""
    return [
        grade(item.question, item.completion, math_equal=evaluate).outcome == "correct"
        for item in made
    ]


def plain(made: list[Item]) -> list[bool]:
    """Math-Verify as its documentation has it, gold first and boxed; its time-outs off."""
    return library(made, [read(f"\\boxed{{{item.question.answer}}}") for item in made])


def library(made: list[Item], golds: list[list[Any]]) -> list[bool]:
    """Math-Verify with golds that were parsed before."""
    from math_verify import verify

    return [
        verify(gold, read(item.completion.text or ""), timeout_seconds=None)
        for gold, item in zip(golds, made, strict=True)
    ]


def read(text: str) -> list[Any]:
    """Math-Verify's own parse with its own settings, but for the time-out."""
    from math_verify import parse

    return list(parse(text, parsing_timeout=None))


def timed(call: Callable[[], list[bool]], made: list[Item]) -> tuple[float, int]:
    """Processor seconds, and how many verdicts are right."""
    start = time.process_time()
    found = call()
    seconds = time.process_time() - start
    return seconds, sum(each == item.right for each, item in zip(found, made, strict=True))


def compare(title: str, per_round: int, *, steps: int = 4, shapes: Shapes = SHAPES) -> None:
    """All three on the same new replies in every round, in turn."""
    chooser = random.Random(0)
    rate, ratio, ratio_parsed = Spread(), Spread(), Spread()
    right, same = [0, 0], 0
    for _ in range(ROUNDS):
        made = items(chooser, per_round, steps=steps, shapes=shapes)
        same += sum(item.same_spelling for item in made)
        golds = [read(f"\\boxed{{{item.question.answer}}}") for item in made]
        own, right_own = timed(lambda made=made: ours(made), made)
        theirs, right_theirs = timed(lambda made=made: plain(made), made)
        parsed, _ = timed(lambda made=made, golds=golds: library(made, golds), made)
        rate.add(per_round / own)
        ratio.add(theirs / own)
        ratio_parsed.add(parsed / own)
        right = [right[0] + right_own, right[1] + right_theirs]
    total = ROUNDS * per_round
    print(f"math: {title}: {rate:,.0f} replies a second and core")
    print(f"      {ratio:.1f} times plain Math-Verify; {ratio_parsed:.1f} times with golds parsed")
    print(
        f"      equal after normalisation {same / total:.0%}; right verdicts: "
        f"ours {right[0]:,}, Math-Verify {right[1]:,} of {total:,}"
    )


def main() -> None:
    """Three mixes, 80 % of the answers equal to the gold after normalisation in each."""
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    warm = items(random.Random(1), 20) + items(random.Random(1), 10, shapes=LIBRARY_SHAPES)
    ours(warm)
    plain(warm)
    compare("replies of 300 characters", PER_ROUND)
    compare("replies of 1,500 characters", PER_ROUND, steps=24)
    compare("golds that only Math-Verify reads", PER_ROUND // 4, shapes=LIBRARY_SHAPES)


if __name__ == "__main__":
    main()
