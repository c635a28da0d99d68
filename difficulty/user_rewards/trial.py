"""Try the user's functions before any GPU time: do they load, and what do they return?"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from difficulty import prompts
from difficulty.errors import SettingsError
from difficulty.grading import GRADER_VERSION, grade
from difficulty.schema import Completion, Grade, Question
from difficulty.settings.rewards import (
    GradingSpec,
    check_grading,
    is_builtin,
    reward_names,
    settled,
    uses_builtin,
)
from difficulty.settings.run import RunSpec, SamplingSpec, ServerSpec, SourceSpec
from difficulty.settings.setting import check_section
from difficulty.settings.stated import Stated
from difficulty.sources.dataset import dataset_of
from difficulty.sources.load import read_all
from difficulty.user_rewards.request import request_of
from difficulty.user_rewards.reward_pool import RewardPool
from difficulty.user_rewards.score import Part, combine, grade_of, part_of
from difficulty.user_rewards.setup import setup_of, setup_of_run

QUESTIONS = 3
WRONG_REPLY = "I do not know."


def check_load(spec: RunSpec) -> None:
    """Load the functions of a run in a worker and end it again; nothing if it has none.

    Raises:
        SettingsError: a file or a name is missing, or cannot be loaded; says why.
    """
    setup = setup_of_run(spec)
    if setup.functions:
        with RewardPool(setup, log=Path(os.devnull)) as pool:
            pool.load()


def grading_for_trial(stated: Stated[GradingSpec], server: ServerSpec) -> GradingSpec | None:
    """The grading settings that a new run with these options would have; null without a reward.

    Raises:
        SettingsError: settings that cannot work, or a file that is missing or no Python.
    """
    grading = settled(stated, GradingSpec(grader=GRADER_VERSION))
    check_grading(grading)
    check_section(server)
    return None if grading.rewards is None else grading


def try_rewards(
    source: SourceSpec,
    grading: GradingSpec,
    *,
    template: str,
    concurrency: int | None,
) -> dict[str, Any]:
    """What the rewards give for three or four replies to each of the first questions.

    Returns:
        ``functions`` (name, file, weight, style, is_async, note), ``pass_threshold`` and
        ``trials``, one a question and reply: the reward, its outcome and its ``parts``.

    Raises:
        InputError: the dataset cannot be read.
        SettingsError: a function cannot be loaded.
    """
    found = dataset_of(source)
    questions = (item for _, item in read_all(found, source) if isinstance(item, Question))
    pairs = [
        (number, question, name, completion)
        for number, question in enumerate(itertools.islice(questions, QUESTIONS))
        for name, completion in _replies(question, template)
    ]
    setup = setup_of(grading, SamplingSpec(model="", template=template))
    with RewardPool(dataclasses.replace(setup, tracebacks=1), concurrency=concurrency) as pool:
        facts = pool.load()
        scores = pool.score_all(request_of(question, reply) for _, question, _, reply in pairs)
        trials = [
            {"question": number, "prompt": question.prompt, "reply": name}
            | _trial(grading, question, completion, parts or [])
            for (number, question, name, completion), parts in zip(pairs, scores, strict=True)
        ]
    return {
        "functions": list(_functions(grading, facts)),
        "pass_threshold": grading.pass_threshold,
        "completions": setup.completions,
        "trials": trials,
    }


def require_reward(found: dict[str, Any]) -> None:
    """Refuse a reward that gave nothing for any reply that was tried.

    Raises:
        SettingsError: names the first fault.
    """
    trials = found["trials"]
    if not trials or any(trial["reward"] is not None for trial in trials):
        return
    faults = [
        f"{part['name']}: {part['fault']}"
        for trial in trials
        for part in trial["parts"]
        if part["fault"]
    ]
    raise SettingsError(
        f"the reward gives nothing: all {len(trials)} replies that were tried got none, the first "
        f"because of {faults[0] if faults else 'an unknown fault'}. Correct the function"
    )


def _replies(question: Question, template: str) -> Iterator[tuple[str, Completion]]:
    """The gold bare, in the form that the prompt asks for if it does, in a box, and a wrong one."""
    texts = {
        "gold": question.answer,
        "as asked": prompts.asked_form(question, template=template),
        "boxed": f"\\boxed{{{question.answer}}}",
        "wrong": WRONG_REPLY,
    }
    if texts["as asked"] in (None, texts["boxed"]):
        del texts["as asked"]
    for name, text in texts.items():
        assert text is not None
        yield name, Completion(
            question_id=question.question_id, sample_index=0, text=text, reasoning=None,
            num_tokens=len(text.split()), finish_reason="stop", attempt=1, max_tokens=0,
            server=None, error=None,
        )  # fmt: skip


def _trial(
    grading: GradingSpec, question: Question, completion: Completion, own: list[Part]
) -> dict[str, Any]:
    verdict = grade(question, completion) if uses_builtin(grading) else None
    builtin = None if verdict is None else part_of(verdict)
    combined = combine(grading, own, builtin)
    found: Grade = grade_of(completion, grading, combined, verdict)
    functions = iter(own)
    rewards = grading.rewards or ()
    parts = {
        name: builtin if is_builtin(reward) else next(functions)
        for name, reward in zip(reward_names(rewards), rewards, strict=True)
    }
    return {
        "text": completion.text,
        "reward": found.reward,
        "outcome": found.outcome,
        "parts": [
            {"name": name, **dataclasses.asdict(part), "more": dict(part.more)}
            for name, part in parts.items()
            if part is not None
        ],
    }


def _functions(grading: GradingSpec, facts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    known = {fact["part"]: fact for fact in facts}
    rewards = grading.rewards or ()
    for name, reward in zip(reward_names(rewards), rewards, strict=True):
        fact = known.get(name, {})
        yield {
            "name": name,
            "file": reward.file,
            "weight": reward.weight,
            "style": fact.get("style", "builtin"),
            "is_async": fact.get("is_async", False),
            "note": fact.get("note"),
        }
