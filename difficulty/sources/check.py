"""Pre-flight: read a dataset as a run would, and count what would become of each row."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from difficulty import prompts
from difficulty.errors import InputError
from difficulty.grading.normalize import plain
from difficulty.grading.read.options import option_key
from difficulty.schema import Question
from difficulty.settings.setting import check_section
from difficulty.settings.source import SourceSpec
from difficulty.sources.columns import ColumnMap
from difficulty.sources.dataset import RawRow, find_dataset
from difficulty.sources.families import columns_of_family
from difficulty.sources.load import PEEK_ROWS, columns_of, gold_key, read_all

ROWS_SHOWN = 20


def check_dataset(source: SourceSpec, *, template: str) -> dict[str, Any]:
    """Counts of questions by kind and source, rows set aside with reasons, and one prompt.

    ``questions`` is what a run would have: rows that ask the same are one, and all rows of the
    questions with ``conflicting_golds`` are set aside. ``duplicates`` counts the rows that ask what
    an earlier usable one asks: questions, duplicates and rows set aside are all the rows.
    ``alternative_golds`` are the questions with more than one right answer, ``equal_options`` those
    of which two options say the same.

    Raises:
        InputError: the dataset is missing or empty, or a needed column is not there.
    """
    check_section(source)
    found = find_dataset(source.dataset, split=source.split)
    reasons: Counter[str] = Counter()
    aside: list[dict[str, Any]] = []
    example: Question | None = None
    first: list[RawRow] = []
    asked: dict[str, _Asked] = {}
    rows = 0
    for row, item in read_all(found, source):
        rows += 1
        if rows <= PEEK_ROWS:
            first.append(row)
        if isinstance(item, Question):
            asked.setdefault(item.question_id, _Asked(item)).add(item, row.number)
            example = example or item
        else:
            reasons[item.reason.partition(":")[0]] += 1
            if len(aside) < ROWS_SHOWN:
                aside.append({"row": row.number, "reason": item.reason})
    conflicting = [each for each in asked.values() if len(each.golds) > 1]
    usable = [each for each in asked.values() if len(each.golds) == 1]
    if conflicting:
        reasons["conflicting_gold"] = sum(len(each.rows) for each in conflicting)
        aside += [
            {"row": row, "reason": f"conflicting_gold: {len(each.golds)} golds for one question"}
            for each in conflicting
            for row in each.rows
        ]
        aside = sorted(aside, key=lambda each: each["row"])[:ROWS_SHOWN]
    return {
        "dataset": source.dataset,
        "rows": rows,
        "questions": len(usable),
        "kinds": dict(Counter(each.kind for each in usable).most_common()),
        "duplicates": sum(len(each.rows) - 1 for each in usable),
        "conflicting_golds": len(conflicting),
        "alternative_golds": sum(each.alternatives for each in usable),
        "equal_options": sum(each.equal_options for each in usable),
        "sources": dict(Counter(each.source for each in usable).most_common()),
        "set_aside": dict(reasons.most_common()),
        "first_set_aside": aside,
        "example": example and _example(example, columns_of(first, source), template),
    }


def require_questions(found: dict[str, Any]) -> None:
    """Refuse a dataset of which a run would have nothing to ask.

    Raises:
        InputError: no row is a usable question; names the first reason.
    """
    if found["questions"] == 0:
        first = [row["reason"] for row in found["first_set_aside"]] or ["conflicting_gold"]
        raise InputError(
            f"no usable question: all {found['rows']:,} rows were set aside, the first one because "
            f"of {first[0].rstrip('.')}. Correct the rows, or name other columns with --column"
        )


class _Asked:
    """One question and the rows that ask it; a run takes the first."""

    __slots__ = ("alternatives", "equal_options", "golds", "kind", "rows", "source")

    def __init__(self, first: Question) -> None:
        self.kind, self.source = first.kind, first.source
        self.alternatives = bool(first.aliases)
        self.equal_options = _two_are_equal(first)
        self.golds: set[str] = set()
        self.rows: list[int] = []

    def add(self, question: Question, row: int) -> None:
        """Note a row that asks it."""
        self.rows.append(row)
        self.golds.add(gold_key(question))


def _two_are_equal(question: Question) -> bool:
    words = [option_key(plain(choice.text)) for choice in question.choices or ()]
    return len(set(words)) < len(words)


def _example(question: Question, columns: ColumnMap, template: str) -> dict[str, Any]:
    used = columns_of_family(columns.family).union(columns.columns.values())
    return {
        "messages": prompts.messages(question, template=template),
        "kind": question.kind,
        "gold": question.answer,
        "aliases": list(question.aliases),
        "unused_columns": [name for name in json.loads(question.metadata) if name not in used],
    }
