"""Multiple-choice replies of 2 kB that one core grades a second: ``python -m bench.grading``."""

from __future__ import annotations

import random
import time

from difficulty.grading import grade
from difficulty.schema import Choice, Completion, Question

REPLIES = 3_000
SENTENCES = (
    "The history points to a slow process rather than an acute one. ",
    "Option A explains the fever but not the rash. ",
    "The laboratory values are within the normal range, apart from the calcium. ",
    "If the answer were B, one would expect a different age of onset. ",
    "It is worth going through each finding in turn before settling on anything. ",
)
QUESTION = Question(
    question_id="q", source="bench", kind="choice", prompt="Which?", answer="C", aliases=(),
    choices=tuple(Choice(label=label, text=f"finding number {label}") for label in "ABCDE"),
    tolerance=None, system_prompt=None, num_copies=1, metadata="{}",
)  # fmt: skip


def reply(chooser: random.Random) -> str:
    """About 2,000 characters of reasoning, then an answer line."""
    text = ""
    while len(text) < 2_000:
        text += chooser.choice(SENTENCES)
    return f"{text}\n\nAnswer: {chooser.choice('ABCDE')}"


def completion(text: str) -> Completion:
    """One finished answer."""
    return Completion(
        question_id="q", sample_index=0, text=text, reasoning=None, num_tokens=None,
        finish_reason="stop", attempt=1, max_tokens=1024, server=None, error=None,
    )  # fmt: skip


def main() -> None:
    """Grade distinct replies one after the other on one core."""
    chooser = random.Random(0)
    replies = [completion(reply(chooser)) for _ in range(REPLIES)]
    grade(QUESTION, replies[0])
    start = time.process_time()
    correct = sum(grade(QUESTION, each).outcome == "correct" for each in replies)
    seconds = time.process_time() - start
    print(f"grading: {REPLIES / seconds:,.0f} choice replies of 2 kB a second and core")
    print(f"         ({correct} of {REPLIES} correct)")


if __name__ == "__main__":
    main()
