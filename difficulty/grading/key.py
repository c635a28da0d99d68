"""The grading key: what a reward function needs to grade as the profile did, as one JSON string.

It travels with every exported row, so that the training reward and the level agree.
"""

from __future__ import annotations

import json
from typing import Any

from difficulty.errors import InputError
from difficulty.schema import KINDS, Choice, Question


def grading_key(question: Question) -> str:
    """JSON with kind, answer, choices, tolerance, aliases, and the prompt where grading reads it.

    A reply that only restates the task's own expression is no answer: mathematics needs the prompt.
    """
    choices = question.choices
    key = {
        "kind": question.kind,
        "answer": question.answer,
        "choices": choices and [{"label": c.label, "text": c.text} for c in choices],
        "tolerance": question.tolerance,
        "aliases": list(question.aliases),
        "prompt": question.prompt if question.kind == "math" else None,
    }
    return json.dumps(key, ensure_ascii=False)


def question_from_key(key: str) -> Question:
    """A question that grades as the one the key was made from.

    Raises:
        InputError: not a grading key.
    """
    try:
        values: dict[str, Any] = json.loads(key)
        choices = values["choices"]
        if values["kind"] not in KINDS:
            raise ValueError(f"kind {values['kind']!r}")
        return Question(
            question_id="",
            source="",
            kind=values["kind"],
            prompt=values["prompt"] or "",
            choices=choices and tuple(Choice(label=c["label"], text=c["text"]) for c in choices),
            answer=values["answer"],
            aliases=tuple(values["aliases"]),
            tolerance=values["tolerance"],
            system_prompt=None,
            num_copies=1,
            metadata="{}",
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"grading key cannot be read: {error}. Use the grading_key column of the export"
        ) from error
