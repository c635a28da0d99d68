"""Questions, replies and figures for the grading benchmarks."""

from __future__ import annotations

import statistics

from difficulty.schema import Choice, Completion, Question


def question(
    kind: str, gold: str, *, choices: tuple[Choice, ...] | None = None, question_id: str = "q"
) -> Question:
    """A question with its gold in canonical form."""
    return Question(
        question_id=question_id, source="bench", kind=kind, prompt="Which?", answer=gold,
        aliases=(), choices=choices, tolerance=None, system_prompt=None, num_copies=1,
        metadata="{}",
    )  # fmt: skip


def answer(text: str, *, question_id: str = "q", sample_index: int = 0) -> Completion:
    """One finished answer."""
    return Completion(
        question_id=question_id, sample_index=sample_index, text=text, reasoning=None,
        num_tokens=None, finish_reason="stop", attempt=1, max_tokens=1024, server=None, error=None,
    )  # fmt: skip


class Spread:
    """One figure, measured several times; ``f"{spread:.1f}"`` is its median and its range."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float) -> None:
        """One more measurement."""
        self.values.append(value)

    def __format__(self, form: str) -> str:
        low, high = format(min(self.values), form), format(max(self.values), form)
        return f"{statistics.median(self.values):{form}} ({low} to {high})"
