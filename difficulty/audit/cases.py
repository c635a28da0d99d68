"""Compare the grader with hand-labelled replies: agreement, false credits, false rejects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from difficulty.errors import InputError
from difficulty.grading.gold import clean_gold
from difficulty.grading.grade import grade
from difficulty.schema import KINDS, Choice, Completion, Kind, Outcome, Question, find_kind

_NEEDED = ("id", "kind", "gold", "completion", "expected")
_EXPECTED = ("correct", "wrong", "no_answer")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A case that the grader and the label see differently."""

    id: str
    expected: str
    got: Outcome
    reason: str


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often the grader and the labels agree."""

    cases: int
    agree: int
    false_credit: list[str]
    """Ids of cases graded correct that are not."""
    false_reject: list[str]
    """Ids of correct cases graded otherwise."""
    disagree: list[Difference]


def audit(cases: Iterable[dict[str, Any]]) -> Agreement:
    """Grade labelled cases and count where the grader and the label differ.

    Args:
        cases: rows with id, kind, choices (label -> text, or null), gold (as stored), completion,
            finish_reason, expected (correct, wrong or no_answer); ``truncated`` counts as
            no_answer. ``prompt`` and ``tolerance`` may be given.

    Raises:
        InputError: a row cannot be read; names the row.
    """
    total = agree = 0
    false_credit: list[str] = []
    false_reject: list[str] = []
    disagree: list[Difference] = []
    for number, case in enumerate(cases, start=1):
        question, completion, expected = read_case(case, number)
        found = grade(question, completion)
        got: Outcome = "no_answer" if found.outcome == "truncated" else found.outcome
        total += 1
        if got == expected:
            agree += 1
            continue
        disagree.append(
            Difference(id=question.question_id, expected=expected, got=got, reason=found.reason)
        )
        if got == "correct":
            false_credit.append(question.question_id)
        if expected == "correct":
            false_reject.append(question.question_id)
    return Agreement(
        cases=total,
        agree=agree,
        false_credit=false_credit,
        false_reject=false_reject,
        disagree=disagree,
    )


def read_case(case: dict[str, Any], number: int) -> tuple[Question, Completion, str]:
    """One labelled case as question, completion and expected outcome.

    Raises:
        InputError: a key is missing or its value cannot be used; names the row.
    """
    if not isinstance(case, dict):
        raise InputError(f"row {number}: found {type(case).__name__}. Give a JSON object")
    missing = [key for key in _NEEDED if key not in case]
    if missing:
        raise InputError(
            f"row {number}: no {', '.join(missing)}. Give every key of a labelled case"
        )
    kind = find_kind(case["kind"])
    if kind is None:
        raise InputError(
            f"row {number}: unknown kind {case['kind']!r}. Use one of {', '.join(KINDS)}"
        )
    if case["expected"] not in _EXPECTED:
        raise InputError(
            f"row {number}: expected is {case['expected']!r}. Use one of {', '.join(_EXPECTED)}"
        )
    return _question(case, kind, number), _completion(case, number), str(case["expected"])


def _question(case: dict[str, Any], kind: Kind, number: int) -> Question:
    stored = case.get("choices")
    if stored is not None and not isinstance(stored, dict):
        raise InputError(f"row {number}: choices is no object. Give label -> text, or null")
    choices = None
    if stored:
        choices = tuple(Choice(label=str(k), text=str(v)) for k, v in stored.items())
    try:
        answer, aliases = clean_gold(kind, choices, case["gold"])
    except InputError as error:
        raise InputError(f"row {number}: {error}") from error
    return Question(
        question_id=str(case["id"]), source="audit", kind=kind,
        prompt=str(case.get("prompt") or ""), choices=choices, answer=answer, aliases=aliases,
        tolerance=case.get("tolerance"), system_prompt=None, num_copies=1, metadata="{}",
    )  # fmt: skip


def _completion(case: dict[str, Any], number: int) -> Completion:
    text = case["completion"]
    if text is not None and not isinstance(text, str):
        raise InputError(f"row {number}: completion is no text. Give the reply as a string")
    return Completion(
        question_id=str(case["id"]), sample_index=0, text=text, reasoning=None, num_tokens=None,
        finish_reason=case.get("finish_reason") or "stop", attempt=1, max_tokens=0, server=None,
        error=None,
    )  # fmt: skip
