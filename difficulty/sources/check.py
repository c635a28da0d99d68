"""Pre-flight: read a dataset as a run would, and count what would become of each row."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from difficulty import prompts
from difficulty.errors import InputError
from difficulty.grading.normalize import plain
from difficulty.grading.read.options import option_key
from difficulty.schema import Kind, Question
from difficulty.settings.setting import check_section
from difficulty.settings.source import SourceSpec
from difficulty.sources.columns import ColumnMap
from difficulty.sources.dataset import dataset_of
from difficulty.sources.formats import RawRow
from difficulty.sources.load import PEEK_ROWS, columns_of, gold_key, read_all
from difficulty.sources.misreadings import used_columns

ROWS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class RowSetAside:
    """A row that would be no question, and why."""

    row: int
    """Row number in the dataset, from 0."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class FirstQuestion:
    """The first question as the model would see it."""

    messages: list[dict[str, str]]
    """``role`` and ``content`` of each turn."""
    kind: Kind
    gold: str
    aliases: list[str]
    unused_columns: list[str]
    """Columns that only a reward of the user's own would read."""


@dataclass(frozen=True, kw_only=True)
class CheckedSet:
    """What would become of each row: questions, duplicates and rows set aside are all of them."""

    dataset: str
    rows: int
    questions: int
    """What a run would have: rows that ask the same are one."""
    kinds: dict[Kind, int]
    duplicates: int
    """Rows that ask what an earlier usable one asks."""
    conflicting_golds: int
    """Questions whose rows contradict each other; all these rows are set aside."""
    alternative_golds: int
    """Questions with more than one right answer."""
    equal_options: int
    """Questions of which two options say the same."""
    sources: dict[str, int]
    set_aside: dict[str, int]
    """Reason -> rows."""
    first_set_aside: list[RowSetAside]
    """At most ``ROWS_SHOWN``."""
    example: FirstQuestion | None
    """Null without a question."""


def check_dataset(source: SourceSpec, *, template: str) -> CheckedSet:
    """Counts of questions by kind and source, rows set aside with reasons, and one prompt.

    Raises:
        InputError: the dataset is missing or empty, or a needed column is not there.
    """
    check_section(source)
    found = dataset_of(source)
    reasons: Counter[str] = Counter()
    aside: list[RowSetAside] = []
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
                aside.append(RowSetAside(row=row.number, reason=item.reason))
    conflicting = [each for each in asked.values() if len(each.golds) > 1]
    usable = [each for each in asked.values() if len(each.golds) == 1]
    if conflicting:
        reasons["conflicting_gold"] = sum(len(each.rows) for each in conflicting)
        aside += [
            RowSetAside(
                row=row, reason=f"conflicting_gold: {len(each.golds)} golds for one question"
            )
            for each in conflicting
            for row in each.rows
        ]
        aside = sorted(aside, key=lambda each: each.row)[:ROWS_SHOWN]
    return CheckedSet(
        dataset=source.dataset,
        rows=rows,
        questions=len(usable),
        kinds=dict(Counter(each.kind for each in usable).most_common()),
        duplicates=sum(len(each.rows) - 1 for each in usable),
        conflicting_golds=len(conflicting),
        alternative_golds=sum(each.alternatives for each in usable),
        equal_options=sum(each.equal_options for each in usable),
        sources=dict(Counter(each.source for each in usable).most_common()),
        set_aside=dict(reasons.most_common()),
        first_set_aside=aside,
        example=None if example is None else _example(example, columns_of(first, source), template),
    )


def require_questions(found: CheckedSet) -> None:
    """Refuse a dataset of which a run would have nothing to ask.

    Raises:
        InputError: no row is a usable question; names the first reason.
    """
    if found.questions == 0:
        first = [row.reason for row in found.first_set_aside] or ["conflicting_gold"]
        raise InputError(
            f"no usable question: all {found.rows:,} rows were set aside, the first one because "
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


def _example(question: Question, columns: ColumnMap, template: str) -> FirstQuestion:
    used = used_columns(columns)
    return FirstQuestion(
        messages=prompts.messages(question, template=template),
        kind=question.kind,
        gold=question.answer,
        aliases=list(question.aliases),
        unused_columns=[name for name in json.loads(question.metadata) if name not in used],
    )
