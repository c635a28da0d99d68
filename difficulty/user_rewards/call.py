"""What a function is called with, and what its result says. In a worker process only.

The names are those of the exported training files, so that one function serves both.
"""

from __future__ import annotations

import functools
import json
import math
import numbers
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from difficulty import prompts
from difficulty.export.carried import GOLD_NAMES, OWN_RECORD
from difficulty.grading.key import grading_key
from difficulty.schema import Question
from difficulty.trainers.row import PROFILE_NAMES
from difficulty.user_rewards.function import Loaded
from difficulty.user_rewards.request import question_of
from difficulty.user_rewards.setup import Setup

NOT_COLUMNS = (
    "prompt", "prompts", "completion", "completions", "completion_ids", "trainer_state",
    "log_extra", "log_metric", *PROFILE_NAMES,
)  # fmt: skip
"""What TRL passes itself and what the training file has of its own: a column of the dataset with
that name reaches no function there either."""


class BadResult(Exception):
    """Why a result is no reward."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """What a function returned for one reply."""

    value: float
    more: dict[str, float] = field(default_factory=dict)
    """Other numbers of a returned dict."""


def arguments(function: Loaded, request: dict[str, Any], setup: Setup) -> dict[str, Any]:
    """Keyword arguments of one call: those that the function takes of those its trainer passes.

    Raises:
        BadResult: it needs one that there is none of.
    """
    given = _trl(request, setup) if function.style == "trl" else _verl(request)
    missing = [name for name in function.required if name not in given]
    if missing:
        raise BadResult(
            f"needs the argument {missing[0]}, there are {', '.join(sorted(given))}"[:300]
        )
    if function.takes_all:
        return given
    return {name: value for name, value in given.items() if name in function.named}


def _trl(request: dict[str, Any], setup: Setup) -> dict[str, Any]:
    """As TRL calls with a batch of one reply."""
    question, metadata = _question(request["question"])
    text, num_tokens = request["text"], request["num_tokens"]
    reply = [{"role": "assistant", "content": text}] if setup.completions == "messages" else text
    columns = {
        **dict.fromkeys(GOLD_NAMES, question.answer),
        **{name: value for name, value in metadata.items() if name not in NOT_COLUMNS},
        "solution": question.answer,
        "source": question.source,
        "question_id": question.question_id,
        "grading_key": grading_key(question),
    }
    return {
        **{name: [value] for name, value in columns.items()},
        "prompts": [_prompt(request["question"], setup)],
        "completions": [reply],
        # Their number is known, they themselves are not.
        "completion_ids": [None if num_tokens is None else [None] * num_tokens],
        "trainer_state": SimpleNamespace(global_step=0, epoch=0.0),
        "log_extra": _ignore,
        "log_metric": _ignore,
    }


def _ignore(*_: Any) -> None:
    """Trainers log what a function hands them; a profile does not."""


def _verl(request: dict[str, Any]) -> dict[str, Any]:
    """As verl calls with one reply; a set made for verl has its own extra_info, which counts."""
    question, metadata = _question(request["question"])
    own = metadata.get(OWN_RECORD)
    columns = {**metadata, **own} if isinstance(own, dict) else metadata
    return {
        "data_source": question.source,
        "solution_str": request["text"],
        "ground_truth": question.answer,
        "extra_info": {
            **{name: value for name, value in columns.items() if name not in PROFILE_NAMES},
            "question_id": question.question_id,
            "grading_key": grading_key(question),
        },
    }


@functools.lru_cache(maxsize=256)
def _read_question(text: str) -> Question:
    return question_of(text)


def _question(text: str) -> tuple[Question, dict[str, Any]]:
    """The question of a request and its metadata, which each call gets for itself."""
    question = _read_question(text)
    return question, json.loads(question.metadata)


def _prompt(text: str, setup: Setup) -> list[prompts.Message] | str:
    chat = prompts.messages(_read_question(text), template=setup.template, few_shot=setup.few_shot)
    return prompts.plain_text(chat) if setup.prompt_style == "plain" else chat


def read_result(result: Any, style: str) -> Value:
    """The reward that a function returned.

    Raises:
        BadResult: no list of one reward (TRL), None, not finite, no number, a dict without score.
    """
    return _read_value(_only(result) if style == "trl" else result)


def _only(result: Any) -> Any:
    """The one reward of a batch of one."""
    if not isinstance(result, list | tuple) and hasattr(result, "tolist"):
        result = result.tolist()
    if not isinstance(result, list | tuple):
        raise BadResult(f"returned {type_of(result)}, not a list of rewards")
    if len(result) != 1:
        raise BadResult(f"returned {len(result)} rewards for 1 completion")
    return result[0]


def _read_value(value: Any) -> Value:
    if not isinstance(value, dict):
        return Value(value=_number(value))
    if "score" not in value:
        raise BadResult(f"returned a dict without score: {', '.join(map(str, value))[:100]}")
    more = {}
    for key, part in value.items():
        number = _as_float(part)
        if key != "score" and isinstance(key, str) and number is not None and math.isfinite(number):
            more[key] = number
    return Value(value=_number(value["score"]), more=more)


def _number(value: Any) -> float:
    if value is None:
        raise BadResult("returned None")
    number = _as_float(value)
    if number is None:
        raise BadResult(f"returned {type_of(value)}, not a number")
    if not math.isfinite(number):
        raise BadResult(f"returned {number}")
    return number


def _as_float(value: Any) -> float | None:
    """A number of Python, numpy or torch; null for anything else."""
    if not isinstance(value, numbers.Real) and callable(getattr(value, "item", None)):
        try:
            value = value.item()
        except (RuntimeError, TypeError, ValueError):  # more than one number
            return None
    try:
        return float(value) if isinstance(value, numbers.Real) else None
    except OverflowError:
        return math.inf


def type_of(result: Any) -> str:
    """The type of a result in a word, as ``list[float]``."""
    name = type(result).__name__
    if isinstance(result, list | tuple) and result:
        return f"{name}[{type(result[0]).__name__}]"
    return name
