"""Draw a random sample of a run's graded replies, some of every outcome, the same on every machine.

What was drawn is kept beside the sheet: the weights of an estimate come from it, and a row that a
person deleted or a grade that changed since is noticed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from difficulty import store
from difficulty.errors import RunError, SettingsError
from difficulty.schema import OUTCOMES, Completion, Grade, Outcome, Question
from difficulty.store import RunFolder

NOT_DRAWN = ("failed",)
"""There is no reply that a person could judge."""

SIZES = "SELECT outcome, count(*) FROM rows_of($grades) GROUP BY outcome"
DRAWN = """
    SELECT question_id, sample_index, md5($seed || ':' || question_id || ':' || sample_index)
    FROM rows_of($grades) WHERE outcome = $outcome
    ORDER BY 3, question_id, sample_index LIMIT $rows
"""
DETAILS = """
    SELECT g AS grade, q AS question, c AS completion
    FROM drawn JOIN rows_of($grades) AS g USING (question_id, sample_index)
    JOIN rows_of($questions) AS q USING (question_id)
    JOIN rows_of($completions) AS c USING (question_id, sample_index)
    ORDER BY drawn.position
"""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One reply of the sample. Key: question_id, sample_index."""

    question_id: str
    sample_index: int
    position: int
    """Row of the sheet, from 1; the outcomes stand in mixed order."""
    outcome: Outcome
    """As graded when the sample was drawn."""
    checksum: str
    """Of the reply's text: another reply under the same key is told apart."""


@dataclass(frozen=True, kw_only=True)
class OutcomeCount:
    """Replies of the run with this outcome when the sample was drawn."""

    outcome: Outcome
    replies: int
    drawn: int


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What was drawn, from what."""

    seed: int
    date: str
    grader: str
    grades: str
    """Content hash of the grades."""
    completions: str
    """Content hash of the replies."""
    outcomes: tuple[OutcomeCount, ...]
    rows: tuple[Drawn, ...]


@dataclass(frozen=True, kw_only=True)
class Detail:
    """One row of the sheet with all that a person needs to judge it."""

    position: int
    question: Question
    completion: Completion
    grade: Grade


def allocate(sizes: dict[Outcome, int], rows: int) -> dict[Outcome, int]:
    """How many replies of each outcome to draw: half shared out equally, half by size.

    Every outcome that is there gets at least one row and at most all its replies.

    Raises:
        SettingsError: fewer rows than outcomes, or nothing to draw from.
    """
    there = {outcome: size for outcome, size in sizes.items() if size}
    if not there:
        raise SettingsError("nothing to check: no reply was graded. See the failures first")
    if rows < len(there):
        raise SettingsError(
            f"audit is too small: {rows} rows for {len(there)} outcomes ({', '.join(there)}). "
            f"Use --audit {len(there)} or more, such as --audit 100"
        )
    total = sum(there.values())
    target = {name: 0.5 / len(there) + 0.5 * size / total for name, size in there.items()}
    drawn = dict.fromkeys(there, 0)
    for _ in range(min(rows, total)):
        open_ = [name for name in there if drawn[name] < there[name]]
        drawn[min(open_, key=lambda name: drawn[name] / target[name])] += 1
    return drawn


def draw(run: RunFolder, *, rows: int, seed: int) -> Sample:
    """Draw ``rows`` graded replies; the same grades, rows and seed give the same sample.

    Raises:
        SettingsError: too few rows, or no graded reply.
    """
    connection = store.connect(run)
    parameters = {"grades": store.sql_path(run.grades)}
    found = outcome_sizes(run)
    sizes = {name: found.get(name, 0) for name in OUTCOMES if name not in NOT_DRAWN}
    drawn = allocate(sizes, rows)
    keys = []
    for outcome, wanted in drawn.items():
        more = {**parameters, "seed": str(seed), "outcome": outcome, "rows": wanted}
        keys += [
            (order, question, index, outcome)
            for question, index, order in connection.execute(DRAWN, more).fetchall()
        ]
    keys.sort()
    ordered = [
        Drawn(question_id=question, sample_index=index, position=at, outcome=outcome, checksum="")
        for at, (_, question, index, outcome) in enumerate(keys, start=1)
    ]
    stamp = store.read_stamp(run.grades)
    return Sample(
        seed=seed,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        grader=grader_of(stamp.settings if stamp else {}),
        grades=store.content_hash(run.grades),
        completions=store.completions_hash(run),
        outcomes=tuple(
            OutcomeCount(outcome=name, replies=size, drawn=drawn.get(name, 0))
            for name, size in sizes.items()
            if size
        ),
        rows=_with_checksums(run, ordered),
    )


def outcome_sizes(run: RunFolder) -> dict[Outcome, int]:
    """Outcome -> replies of the run, as graded now."""
    parameters = {"grades": store.sql_path(run.grades)}
    found = dict(store.connect(run).execute(SIZES, parameters).fetchall())
    return {outcome: found[outcome] for outcome in OUTCOMES if outcome in found}


def _with_checksums(run: RunFolder, rows: list[Drawn]) -> tuple[Drawn, ...]:
    sums = {
        (row.completion.question_id, row.completion.sample_index): checksum(row.completion.text)
        for row in details(run, rows)
    }
    return tuple(
        Drawn(**{**vars(row), "checksum": sums[row.question_id, row.sample_index]}) for row in rows
    )


def details(run: RunFolder, rows: list[Drawn]) -> Iterator[Detail]:
    """Question, reply and present grade of these rows, in the order of their positions."""
    connection = store.connect(run)
    connection.register("drawn", store.rows_to_batch(rows, store.table_schema(Drawn)))
    parameters = {
        "grades": store.sql_path(run.grades),
        "questions": store.sql_path(run.questions),
        "completions": [store.sql_path(part) for part in run.completion_parts()],
    }
    positions = {(row.question_id, row.sample_index): row.position for row in rows}
    for batch in store.stream(connection, DETAILS, parameters):
        for values in batch.to_pylist():
            grade: Grade = store.row_from_dict(Grade, values["grade"])
            yield Detail(
                position=positions[grade.question_id, grade.sample_index],
                question=store.row_from_dict(Question, values["question"]),
                completion=store.row_from_dict(Completion, values["completion"]),
                grade=grade,
            )


def checksum(text: str | None) -> str:
    """A short hash of a reply's text; null and empty are alike."""
    return hashlib.sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()[:16]


def grader_of(settings: dict[str, Any]) -> str:
    """Which rules gave the grades of a stamp: the grader's version, or the user's own rewards."""
    rewards = settings.get("grading.rewards") or ()  # each as "NAME HASH"
    names = ", ".join(str(part).partition(" ")[0] for part in rewards)
    return f"reward {names}" if names else str(settings.get("grading.grader", "unknown"))


def rules_of(grader: str) -> str:
    """What ``grader_of`` gives, in a sentence: ``grader 1.2`` or ``reward acc``."""
    return grader if grader.startswith("reward ") else f"grader {grader}"


def save_sample(run: RunFolder, sample: Sample) -> None:
    """Keep what was drawn."""
    import dataclasses

    text = json.dumps(dataclasses.asdict(sample), ensure_ascii=False, indent=1)
    store.write_text(run.audit_sample, text + "\n")


def load_sample(run: RunFolder) -> Sample | None:
    """What was drawn last; None if nothing was.

    Raises:
        RunError: the file was changed into something that cannot be read.
    """
    if not run.audit_sample.exists():
        return None
    try:
        values = json.loads(run.audit_sample.read_text(encoding="utf-8"))
        sample: Sample = store.row_from_dict(Sample, values)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RunError(
            f"{run.audit_sample} cannot be read: {error!r}. Draw a new sheet: "
            f"difficulty grade {run} --audit 100"
        ) from error
    return sample
