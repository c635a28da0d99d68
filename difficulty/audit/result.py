"""What a person's check says about the grader, as it is kept in the run and shown by the report."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from difficulty import store
from difficulty.audit.estimate import Share
from difficulty.errors import RunError
from difficulty.schema import Outcome
from difficulty.store import RunFolder


@dataclass(frozen=True, kw_only=True)
class OutcomeCheck:
    """One outcome, as graded when the sample was drawn."""

    outcome: Outcome
    replies: int
    """Of the whole run."""
    drawn: int
    right: int
    """The person says: the reply is right."""
    wrong: int
    unsure: int
    """Marked ``?``."""
    blank: int
    """Not looked at: an empty cell, a row that is gone from the file, or a reply drawn anew."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A reply on which grader and person differ."""

    question_id: str
    sample_index: int
    expected: str
    """What the person says: ``right`` or ``wrong``."""
    got: str
    """The outcome as graded now."""
    reason: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Regraded:
    """A reply of the sample whose outcome is another one now."""

    question_id: str
    sample_index: int
    before: Outcome
    after: Outcome


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The grader held against a person, on a sample of the run's own replies."""

    run: str
    sheet: str
    date: str
    grader: str
    """The rules that gave the grades."""
    grades: str
    """Content hash of the grades that were compared."""
    seed: int
    drawn: int
    checked: int
    """Verdicts right or wrong."""
    unsure: int
    blank: int
    outcomes: tuple[OutcomeCheck, ...]
    error: Share
    """Replies on which grader and person differ, of all graded ones."""
    false_credit: Share
    """Graded correct though wrong, of those graded correct."""
    false_reject: Share
    """Graded otherwise though right, of those graded otherwise."""
    pass_rate: float | None
    """Replies graded correct, of all graded ones; null when none was graded."""
    corrected: Share
    """Replies that are right, of all graded ones."""
    disagree: tuple[Disagreement, ...]
    regraded: tuple[Regraded, ...]
    redrawn: tuple[str, ...]
    """``question_id:sample_index`` of sampled replies that are other ones now, or gone."""
    not_in_sample: tuple[str, ...]
    """Rows of the file that were never drawn."""
    warnings: tuple[str, ...]
    stale: str | None = None
    """Why this no longer holds for the run as it is; filled in when the result is read."""


def save_audit(run: RunFolder, audit: Audit) -> None:
    """Keep the result in the run."""
    text = json.dumps(dataclasses.asdict(audit), ensure_ascii=False, indent=1)
    store.write_text(run.audit, text + "\n")


def load_audit(run: RunFolder) -> Audit | None:
    """The kept result, marked where it no longer holds; None if nobody checked this run.

    Raises:
        RunError: the file was changed into something that cannot be read.
    """
    if not run.audit.exists():
        return None
    try:
        values = json.loads(run.audit.read_text(encoding="utf-8"))
        audit: Audit = store.row_from_dict(Audit, values)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, OSError) as error:
        raise RunError(
            f"{run.audit} cannot be read: {error!r}. Delete it, or read the sheet again: "
            f"difficulty grade {run} --audit-read FILE.csv"
        ) from error
    return dataclasses.replace(audit, stale=_why_stale(run, audit))


def _why_stale(run: RunFolder, audit: Audit) -> str | None:
    stamp = store.read_stamp(run.grades)
    if stamp is not None and stamp.content == audit.grades:
        return None
    return (
        "the grades changed since this check. Read the sheet again "
        "(difficulty grade RUN --audit-read FILE.csv) or draw a new one (--audit N)"
    )
