"""Which samples a run still lacks, streamed from its tables: neither set is ever held whole."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from difficulty import prompts, store
from difficulty.sampling.protocol import Owed
from difficulty.schema import Question
from difficulty.settings.run import RunSpec

OWED = """
    SELECT q.*, list_distinct(coalesce(drawn, [])) AS got
    FROM rows_of($questions) AS q
    LEFT JOIN (SELECT question_id, list(sample_index) AS drawn, avg(num_tokens) AS expected_tokens
               FROM rows_of($parts) WHERE sample_index < $k GROUP BY question_id)
        USING (question_id)
    WHERE len(list_distinct(coalesce(drawn, []))) < $k
    ORDER BY expected_tokens DESC NULLS FIRST
"""
"""Longest expected first: a long answer begun last would keep all other slots waiting."""
ALL_OWED = "SELECT *, []::BIGINT[] AS got FROM rows_of($questions) WHERE $k > 0"


def owed_questions(run: store.RunFolder, spec: RunSpec) -> Iterator[Owed]:
    """Questions with the samples they still lack, streamed from the tables."""
    few_shot = _few_shot(spec)
    for batch in _owed_batches(run, spec):
        for values in batch.to_pylist():
            got = set(values["got"])
            question: Question = store.row_from_dict(Question, values)
            yield Owed(
                question_id=question.question_id,
                messages=prompts.messages(
                    question, template=spec.sampling.template, few_shot=few_shot
                ),
                missing=tuple(i for i in range(spec.sampling.k) if i not in got),
            )


def first_prompts(run: store.RunFolder, spec: RunSpec, number: int) -> list[list[prompts.Message]]:
    """The messages of the first questions of the table, to learn how long prompts are."""
    few_shot = _few_shot(spec)
    return [
        prompts.messages(question, template=spec.sampling.template, few_shot=few_shot)
        for question in itertools.islice(store.read_rows(run.questions, Question), number)
    ]


def num_owed(run: store.RunFolder, spec: RunSpec) -> int:
    """How many samples are still to be drawn."""
    sql, parameters = _owed_query(run, spec)
    count = f"SELECT coalesce(sum($k - len(got)), 0)::BIGINT FROM ({sql})"
    found = store.connect(run).execute(count, parameters).fetchone()
    return int(found[0]) if found else 0


def _owed_batches(run: store.RunFolder, spec: RunSpec) -> Iterator[Any]:
    sql, parameters = _owed_query(run, spec)
    return store.stream(store.connect(run), sql, parameters)


def _owed_query(run: store.RunFolder, spec: RunSpec) -> tuple[str, store.Parameters]:
    parts = [store.sql_path(part) for part in run.completion_parts()]
    parameters = {
        "questions": store.sql_path(run.questions),
        "k": spec.sampling.k,
    }
    if not parts:
        return ALL_OWED, parameters
    return OWED, {**parameters, "parts": parts}


def _few_shot(spec: RunSpec) -> tuple[prompts.Message, ...]:
    return tuple({"role": turn.role, "content": turn.content} for turn in spec.sampling.few_shot)
