"""How grading scales over cores, and the memory it takes for millions of replies."""

from __future__ import annotations

import os
import random
import resource
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.grading.choice import mixed
from bench.grading.math import items
from bench.grading.replies import Spread, answer, question
from difficulty.grading import GraderPool
from difficulty.schema import Choice, Completion, Question

ROUNDS = 5
REPLIES = 3_000
STREAM = 5_000_000
SHOWN = (100_000, 1_000_000, 5_000_000)

Pairs = list[tuple[Question, Completion]]


@dataclass(frozen=True)
class Cost:
    """What grading the same pairs took; seconds a reply."""

    wall: float
    workers: float
    """Processor time of all workers together."""
    parent: float


def cost(pairs: Pairs, workers: int) -> Cost:
    """Grade pairs with that many workers that are already warm."""
    with GraderPool(workers) as pool:
        for _ in pool.grade_all(pairs[: 300 * workers]):
            pass
        before = sum(_processor_s(pid) for pid in _workers(pool))
        own, start = time.process_time(), time.perf_counter()
        number = sum(1 for _ in pool.grade_all(pairs))
        wall, own = time.perf_counter() - start, time.process_time() - own
        used = sum(_processor_s(pid) for pid in _workers(pool)) - before
    return Cost(wall / number, used / number, own / number)


def _workers(pool: GraderPool) -> list[int]:
    return [slot.worker.process.pid for slot in pool._slots]


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scaling(title: str, pairs: Pairs) -> None:
    """One worker and two in turn; by the clock, and by the processor time they need."""
    clock, need, parent = Spread(), Spread(), Spread()
    for _ in range(ROUNDS):
        one, two = cost(pairs, 1), cost(pairs, 2)
        clock.add(one.wall / two.wall)
        need.add(2 * one.workers / (two.workers + two.parent))
        parent.add(1e6 * two.parent)
    print(f"pool: {title}: two workers on two cores grade {need:.2f} times what one does, by the")
    print(f"      processor time that they and their parent need; by the clock {clock:.2f},")
    print(f"      other work on the cores included; the parent takes {parent:.0f} µs a reply")


def stream(number: int) -> Iterator[tuple[Question, Completion]]:
    """Short replies, five to a question, every question new: choice, numeric and math in turn."""
    chooser = random.Random(0)
    for index in range(number):
        if index % 5 == 0:
            asked, texts = _asked(chooser, index // 5)
        yield asked, answer(texts[index % 5], question_id=asked.question_id, sample_index=index % 5)


def _asked(chooser: random.Random, number: int) -> tuple[Question, list[str]]:
    name, value = f"q{number}", chooser.randint(10, 10**9)
    if number % 3 == 0:
        choices = tuple(
            Choice(label=label, text=f"{chooser.choice('abcdef')}-{value + place}")
            for place, label in enumerate("ABCD")
        )
        asked = question("choice", "B", choices=choices, question_id=name)
        return asked, [f"It cannot be A.\n\nAnswer: {chooser.choice('ABCD')}" for _ in range(5)]
    if number % 3 == 1:
        asked = question("numeric", str(value), question_id=name)
        return asked, [f"So there are {value + chooser.randint(0, 1)} left." for _ in range(5)]
    gold = f"\\frac{{{value}}}{{7}}"
    others = (gold, f"\\frac{{{2 * value}}}{{14}}", f"\\dfrac{{{value}}}{{7}}", str(value), gold)
    asked = question("math", gold, question_id=name)
    return asked, [f"We get $\\boxed{{{text}}}$." for text in others]


def memory(number: int = STREAM, workers: int = 2) -> None:
    """Grade a stream and print the peak memory of the parent and of its workers on the way."""
    outcomes: Counter[str] = Counter()
    start = time.perf_counter()
    with GraderPool(workers) as pool:
        for count, found in enumerate(pool.grade_all(stream(number)), 1):
            outcomes[found.outcome] += 1
            if found.outcome == "grader_error":
                print(f"      {count:,}: {found.reason}", flush=True)
            if count in SHOWN or count == number:
                peaks = " + ".join(f"{_peak_mb(pid):.0f}" for pid in _workers(pool))
                own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(
                    f"pool: {count:,} grades in {time.perf_counter() - start:,.0f} s: "
                    f"peak {own:.0f} MB, workers {peaks} MB",
                    flush=True,
                )
    print("     ", ", ".join(f"{number:,} {name}" for name, number in sorted(outcomes.items())))


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    """Multiple choice of 2 kB, short multiple choice, and mathematics."""
    scaling("choice of 2 kB", mixed(REPLIES))
    short = [(asked, answer(f"Answer: {'ABCDE'[i % 5]}")) for i, (asked, _) in enumerate(mixed(60))]
    scaling("choice of 9 bytes", short * (3 * REPLIES // len(short)))
    chooser = random.Random(0)
    scaling("math", [(item.question, item.completion) for item in items(chooser, REPLIES)])


if __name__ == "__main__":
    main()
