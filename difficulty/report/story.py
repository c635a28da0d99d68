"""One question's way through a run: samples, verdicts, level, collapse, rules, place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from difficulty import store
from difficulty.errors import InputError, RunError
from difficulty.levels import guess_chance
from difficulty.schema import Outcome, PassRate, Question, Selection
from difficulty.selection.rules import (
    QuestionFacts,
    drop_rules,
    first_overlap,
    overlap_reasons,
    set_rules,
    surely_above,
)
from difficulty.settings.run import RunSpec, settings_through
from difficulty.settings.selection import SelectionSpec
from difficulty.store import RunFolder

SAMPLES = """
    SELECT g.sample_index, g.outcome, g.reward, g.extracted_answer, g.reason, c.num_tokens, c.text
    FROM rows_of($grades) AS g
    LEFT JOIN rows_of($completions) AS c USING (question_id, sample_index)
    WHERE g.question_id = $id ORDER BY g.sample_index
"""
NEAR = """
    SELECT CASE WHEN question_id = $id THEN other_id ELSE question_id END AS question_id,
           similarity, same_gold
    FROM rows_of($table) WHERE $id IN (question_id, other_id) ORDER BY ALL
"""
OVERLAPS = """
    SELECT * EXCLUDE (question_id) FROM rows_of($table) WHERE question_id = $id
"""


OWN_IDS = ("id", "question_id", "problem_id", "example_id", "qid", "uid", "idx", "index")
"""Columns in which datasets keep an id of their own."""
NAMED_SO = f"""
    SELECT question_id, count(*) OVER () FROM rows_of($questions)
    WHERE $name IN ({", ".join(f"json_extract_string(metadata, '$.{name}')" for name in OWN_IDS)})
    ORDER BY 1 LIMIT 3
"""
STARTING_SO = """
    SELECT question_id, count(*) OVER () FROM rows_of($questions)
    WHERE starts_with(question_id, $name) ORDER BY 1 LIMIT 3
"""


@dataclass(frozen=True, kw_only=True)
class AnswerTold:
    """One answer to the question and what became of it."""

    sample_index: int
    outcome: Outcome
    reward: float | None
    extracted_answer: str | None
    reason: str
    num_tokens: int | None
    text: str | None


@dataclass(frozen=True, kw_only=True)
class TwinTold:
    """A question that asks almost the same."""

    question_id: str
    similarity: float
    same_gold: bool


@dataclass(frozen=True, kw_only=True)
class OverlapTold:
    """An evaluation set that asks the question; the columns of ``Overlap``."""

    file: str
    row: int
    exact: bool
    similarity: float
    evaluation_prompt: str


@dataclass(frozen=True, kw_only=True)
class RuleTold:
    """What one rule said of the question."""

    rule: str
    """As a user would type it."""
    verdict: Literal["passes", "drops", "not reached"]
    """``not reached``: another rule had dropped the question before."""
    found: str
    """What the rule looked at, in a few words; empty for rules that look at the whole set."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything that a run knows of one question."""

    question: Question
    samples: list[AnswerTold]
    profile: PassRate
    group_size: int
    collapse_probability: float | None
    near_duplicates: list[TwinTold]
    overlaps: list[OverlapTold]
    verdicts: list[RuleTold]
    keep: bool
    drop_reason: str | None
    position: int | None
    num_kept: int


def find_question(run: RunFolder, name: str) -> str:
    """The id of the one question whose id starts with ``name``, or that the dataset calls so.

    Raises:
        InputError: there is none, or more than one.
    """
    parameters = {"questions": store.sql_path(run.questions), "name": name.strip()}
    connection = store.connect(run)
    rows = connection.execute(NAMED_SO, parameters).fetchall()
    how = "the dataset's own id"
    if not rows:
        how = "an id that starts with"
        parameters["name"] = parameters["name"].lower()
        rows = connection.execute(STARTING_SO, parameters).fetchall()
    if not rows:
        raise InputError(
            f"no question has an id that starts with {name!r}, or this id in the dataset. Take one "
            "from a table of the run, such as the question_id column of an export"
        )
    if rows[0][1] > 1:
        some = ", ".join(row[0][: len(name) + 8] for row in rows)
        more = ", ..." if rows[0][1] > len(rows) else ""
        advice = "Give one of these" if how.startswith("the") else "Give more of it"
        raise InputError(f"{rows[0][1]:,} questions have {how} {name!r}: {some}{more}. {advice}")
    return str(rows[0][0])


def own_id(question: Question) -> str | None:
    """What the dataset itself calls a question, as ``id 7``; null if it has no such column."""
    columns = json.loads(question.metadata)
    for name in OWN_IDS:
        if isinstance(columns.get(name), str | int):
            return f"{name} {columns[name]}"
    return None


def tell_story(run: RunFolder, spec: RunSpec, prefix: str) -> Story:
    """The story of the question whose id starts with ``prefix``.

    Raises:
        InputError: no such question, or several.
        RunError: a table is missing, or the selection is not of the run's present rules.
    """
    for table in (run.questions, run.grades, run.profile, run.selection):
        store.content_hash(table)
    stamp = store.read_stamp(run.selection)
    if stamp is None or stamp.settings != settings_through(spec, "selection"):
        raise RunError(f"{run.selection} was made by other rules. Run difficulty select {run}")
    key = find_question(run, prefix)
    selection, selected = spec.selection, _row(run, run.selection, Selection, key)
    profile = _row(run, run.profile, PassRate, key)
    overlaps = _overlaps(run, key) if selection.against and run.overlaps.exists() else []
    facts = _facts(selection, profile, selected.collapse_probability, overlaps)
    return Story(
        question=_row(run, run.questions, Question, key),
        samples=_samples(run, key),
        profile=profile,
        group_size=selection.group_size,
        collapse_probability=selected.collapse_probability,
        near_duplicates=_twins(run, key),
        overlaps=overlaps,
        verdicts=[
            *_verdicts(selection, profile, facts),
            *_set_verdicts(selection, selected.drop_reason),
        ],
        keep=selected.keep,
        drop_reason=selected.drop_reason,
        position=selected.position,
        num_kept=_num_kept(run),
    )


Row = TypeVar("Row")


def _query(
    run: RunFolder, row_type: type[Row], sql: str, parameters: store.Parameters
) -> list[Row]:
    """Rows of a query whose columns are the fields of ``row_type``."""
    batches = store.stream(store.connect(run), sql, parameters)
    return [store.row_from_dict(row_type, row) for batch in batches for row in batch.to_pylist()]


def _row(run: RunFolder, table: Path, row_type: type[Row], key: str) -> Row:
    sql = "SELECT * FROM rows_of($table) WHERE question_id = $id"
    return _query(run, row_type, sql, {"table": store.sql_path(table), "id": key})[0]


def _num_kept(run: RunFolder) -> int:
    sql = "SELECT count(*) FROM rows_of($table) WHERE keep"
    parameters = {"table": store.sql_path(run.selection)}
    return int(store.connect(run).execute(sql, parameters).fetchall()[0][0])


def _twins(run: RunFolder, key: str) -> list[TwinTold]:
    if not run.near_duplicates.exists():
        return []
    parameters = {"table": store.sql_path(run.near_duplicates), "id": key}
    return _query(run, TwinTold, NEAR, parameters)


def _overlaps(run: RunFolder, key: str) -> list[OverlapTold]:
    parameters = {"table": store.sql_path(run.overlaps), "id": key}
    return _query(run, OverlapTold, OVERLAPS, parameters)


def _samples(run: RunFolder, key: str) -> list[AnswerTold]:
    parameters = {
        "grades": store.sql_path(run.grades),
        "completions": [store.sql_path(part) for part in run.completion_parts()],
        "id": key,
    }
    return _query(run, AnswerTold, SAMPLES, parameters)


def _verdicts(selection: SelectionSpec, profile: PassRate, facts: QuestionFacts) -> list[RuleTold]:
    """What each rule that looks at one question alone says, one verdict an option."""
    found: dict[str, RuleTold] = {}
    for rule in drop_rules(selection):
        drops = rule.drops(facts)
        if rule.setting not in found or drops:
            found[rule.setting] = RuleTold(
                rule=rule.setting,
                verdict="drops" if drops else "passes",
                found=rule.told(facts, profile),
            )
    return [*found.values()]


def _set_verdicts(selection: SelectionSpec, dropped: str | None) -> list[RuleTold]:
    """What the rules that look at the whole set said, as follows from the decision."""
    early = dropped in {rule.reason for rule in drop_rules(selection)}
    found = []
    for reason, setting in set_rules(selection).items():
        verdict: Literal["passes", "drops", "not reached"]
        verdict = "drops" if reason == dropped else "not reached" if early else "passes"
        early = early or reason == dropped
        found.append(RuleTold(rule=setting, verdict=verdict, found=""))
    return found


def _facts(
    selection: SelectionSpec,
    profile: PassRate,
    collapse_probability: float | None,
    overlaps: list[OverlapTold],
) -> QuestionFacts:
    correct, graded = profile.num_correct, profile.num_graded
    guess = guess_chance(profile.kind, profile.num_options, profile.num_golds)
    files = [hit.file for hit in overlaps]
    return QuestionFacts(
        num_graded=graded,
        num_correct=correct,
        level=profile.level,
        collapse_probability=collapse_probability,
        above_chance=surely_above(selection, correct, graded, guess),
        overlap=first_overlap(overlap_reasons(selection), files) if files else None,
    )
