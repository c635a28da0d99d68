"""A question and a reply on their way to a reward worker, as plain values."""

from __future__ import annotations

import json
from typing import Any

from difficulty.schema import Choice, Completion, Question


def request_of(question: Question, completion: Completion) -> dict[str, Any]:
    """What a worker needs to call the functions for one reply."""
    return {
        "question": _question_text(question),
        "text": reply_text(completion),
        "num_tokens": completion.num_tokens,
    }


def has_reply(completion: Completion) -> bool:
    """Whether the model said anything; a request that failed has nothing to be judged."""
    return completion.error is None and not (
        completion.finish_reason is None
        and completion.text is None
        and completion.reasoning is None
    )


def reply_text(completion: Completion) -> str:
    """The whole reply as a trainer decodes it.

    Thoughts that the server took out of it stand in ``<think>`` tags again, the spelling of most
    templates; the very tags are not known.
    """
    if completion.reasoning is None:
        return completion.text or ""
    closing = "" if completion.text is None else "</think>"
    return f"<think>{completion.reasoning}{closing}{completion.text or ''}"


def _question_text(question: Question) -> str:
    fields = vars(question)
    choices = question.choices and [[choice.label, choice.text] for choice in question.choices]
    return json.dumps({**fields, "choices": choices})


def question_of(text: str) -> Question:
    """The question that ``request_of`` wrote."""
    values = json.loads(text)
    choices = values["choices"]
    return Question(
        **{
            **values,
            "choices": choices and tuple(Choice(label=label, text=own) for label, own in choices),
            "aliases": tuple(values["aliases"]),
        }
    )
