"""Pre-flight: read a dataset as a run would, and count what would become of each row."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from difficulty import prompts
from difficulty.run_spec import SourceSpec, check_source
from difficulty.schema import Question
from difficulty.sources.dataset import find_dataset
from difficulty.sources.load import gold_key, read_all

ROWS_SHOWN = 20


def check_dataset(dataset: str, source: dict[str, Any], *, template: str) -> dict[str, Any]:
    """Counts of questions by kind and source, rows set aside with reasons, and one prompt.

    ``questions`` counts rows: a run makes one question of its ``duplicates``, and sets aside every
    row of the questions with ``conflicting_golds``.

    Raises:
        InputError: the dataset is missing or empty, or a needed column is not there.
    """
    found = find_dataset(dataset, split=source.get("split"))
    spec = SourceSpec(dataset=dataset, sha256=found.sha256, **source)
    check_source(spec)
    kinds: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    aside: list[dict[str, Any]] = []
    example: dict[str, Any] | None = None
    golds: dict[str, set[str]] = {}
    duplicates = 0
    for row, item in read_all(found, spec):
        if isinstance(item, Question):
            kinds[item.kind] += 1
            sources[item.source] += 1
            duplicates += item.question_id in golds
            golds.setdefault(item.question_id, set()).add(gold_key(item))
            example = example or _example(item, template)
        else:
            reasons[item.reason.partition(":")[0]] += 1
            if len(aside) < ROWS_SHOWN:
                aside.append({"row": row.number, "reason": item.reason})
    return {
        "dataset": dataset,
        "rows": kinds.total() + reasons.total(),
        "questions": kinds.total(),
        "kinds": dict(kinds.most_common()),
        "duplicates": duplicates,
        "conflicting_golds": sum(len(found) > 1 for found in golds.values()),
        "sources": dict(sources.most_common()),
        "set_aside": dict(reasons.most_common()),
        "first_set_aside": aside,
        "example": example,
    }


def _example(question: Question, template: str) -> dict[str, Any]:
    return {
        "messages": prompts.messages(question, template=template),
        "kind": question.kind,
        "gold": question.answer,
        "aliases": list(question.aliases),
        "unused_columns": list(json.loads(question.metadata)),
    }
