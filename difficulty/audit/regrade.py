"""What newer grading rules changed: verdicts and levels before and after, kept in the run.

Grades and profile are set aside before they are made again by other rules from the same replies.
Once the new profile is there the two are compared and the result is written to regrade.json; a
process that is killed in between leaves the old tables, and the next one finishes the comparison.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty import store
from difficulty.errors import RunError
from difficulty.settings.run import describe_differences, differences
from difficulty.store import RunFolder, Stamp

VERDICTS = """
    SELECT before.outcome, after.outcome, count(*)
    FROM rows_of($before) AS before JOIN rows_of($after) AS after
    USING (question_id, sample_index)
    WHERE before.outcome IS DISTINCT FROM after.outcome GROUP BY ALL ORDER BY 3 DESC, 1, 2
"""
MOVED = """
    SELECT question_id, before.level AS level_before, after.level AS level_after
    FROM rows_of($before) AS before JOIN rows_of($after) AS after USING (question_id)
    WHERE before.level IS DISTINCT FROM after.level ORDER BY question_id
"""
COUNTS = f"SELECT level_before, level_after, count(*) FROM ({MOVED}) GROUP BY ALL ORDER BY ALL"
LEVELS_NOT_COMPARED = "levels are not compared: the rule for levels changed too, or none were there"


@dataclass(frozen=True, kw_only=True)
class OutcomeMove:
    """Answers whose outcome changed from one to another."""

    before: str
    after: str
    answers: int


@dataclass(frozen=True, kw_only=True)
class LevelMove:
    """Questions whose level changed from one to another; null is no level."""

    before: str | None
    after: str | None
    questions: int


@dataclass(frozen=True, kw_only=True)
class MovedQuestion:
    """A question whose level changed."""

    question_id: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Regrade:
    """What the last change of the grading rules did to a run."""

    rules: str
    """What changed, as ``grading.grader 1 -> 2``."""
    date: str
    grades: str
    """Content hash of the grades that came out."""
    profile: str | None
    """Content hash of the profile that came out; null if levels were not compared."""
    verdicts_changed: int
    verdicts: tuple[OutcomeMove, ...]
    levels_moved: int | None
    """Null if levels were not compared."""
    moves: tuple[LevelMove, ...]
    questions: tuple[MovedQuestion, ...]
    note: str | None
    """What a reader must know, such as that levels were cut anew since."""


def set_aside(run: RunFolder, new: Stamp) -> None:
    """Before grades are made again: keep the old ones if only the grading rules differ.

    Otherwise (other replies, none there) there is nothing to compare, and an earlier comparison
    no longer holds. Links cost no space: a table is never changed in place.
    """
    before = _before(run)
    if _only_rules_differ(store.read_stamp(before / run.grades.name), new):
        return  # an earlier change of rules that is not compared yet: compare with its start
    shutil.rmtree(before, ignore_errors=True)
    old = store.read_stamp(run.grades)
    if old is None or not _only_rules_differ(old, new):
        run.regrade.unlink(missing_ok=True)
        return
    before.mkdir()
    profile = store.read_stamp(run.profile)
    if profile is not None and profile.inputs.get("grades") == old.content:
        _link(run.profile, before)
    _link(run.grades, before)  # last: with it the pair is whole


def _before(run: RunFolder) -> Path:
    return run.root / ".before-regrade"


def _link(table: Path, folder: Path) -> None:
    try:
        (folder / table.name).hardlink_to(table)
    except OSError:
        shutil.copy2(table, folder / table.name)


def _only_rules_differ(old: Stamp | None, new: Stamp) -> bool:
    if old is None or old.inputs != new.inputs:
        return False
    return _rules_only(old.settings, new.settings)


def _rules_only(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(key.startswith("grading.") for key in differences(old, new))


def compare(run: RunFolder, say: Callable[[str], None]) -> None:
    """Once the new profile is there: write regrade.json, if old tables were set aside."""
    before = _before(run)
    old = store.read_stamp(before / run.grades.name)
    if old is None:
        return
    new = store.read_stamp(run.grades)
    if new is not None and old.settings != new.settings:
        found = _compared(run, before, old, new)
        text = json.dumps(dataclasses.asdict(found), ensure_ascii=False, indent=1)
        store.write_text(run.regrade, text + "\n")
        say(describe(found))
    shutil.rmtree(before, ignore_errors=True)


def _compared(run: RunFolder, before: Path, old: Stamp, new: Stamp) -> Regrade:
    grades = _pair(before / run.grades.name, run.grades)
    rows = store.connect(run).execute(VERDICTS, grades).fetchall()
    verdicts = tuple(OutcomeMove(before=a, after=b, answers=n) for a, b, n in rows)
    levels = _levels(run, before / run.profile.name)
    return Regrade(
        rules=describe_differences(old.settings, new.settings),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        grades=new.content,
        profile=None if levels is None else store.content_hash(run.profile),
        verdicts_changed=sum(move.answers for move in verdicts),
        verdicts=verdicts,
        levels_moved=None if levels is None else len(levels[1]),
        moves=() if levels is None else levels[0],
        questions=() if levels is None else levels[1],
        note=LEVELS_NOT_COMPARED if levels is None else None,
    )


def _levels(
    run: RunFolder, old_profile: Path
) -> tuple[tuple[LevelMove, ...], tuple[MovedQuestion, ...]] | None:
    old, new = store.read_stamp(old_profile), store.read_stamp(run.profile)
    if old is None or new is None or not _rules_only(old.settings, new.settings):
        return None
    paths = _pair(old_profile, run.profile)
    moves = store.connect(run).execute(COUNTS, paths).fetchall()
    moved = store.connect(run).execute(MOVED, paths).fetchall()
    return (
        tuple(LevelMove(before=a, after=b, questions=n) for a, b, n in moves),
        tuple(MovedQuestion(question_id=q, before=a, after=b) for q, a, b in moved),
    )


def _pair(before: Path, after: Path) -> dict[str, str]:
    return {"before": store.sql_path(before), "after": store.sql_path(after)}


def describe(found: Regrade) -> str:
    """One line: which rules, and how much they changed."""
    moved = "" if found.levels_moved is None else f", {found.levels_moved:,} questions moved"
    what = f"{found.rules}: " if found.rules else ""
    return f"{what}{found.verdicts_changed:,} verdicts changed{moved}"


def load_regrade(run: RunFolder) -> Regrade | None:
    """What the last change of rules did; None if there was none, or the grades are others now.

    Raises:
        RunError: the file was changed into something that cannot be read.
    """
    if not run.regrade.exists():
        return None
    try:
        values = json.loads(run.regrade.read_text(encoding="utf-8"))
        found: Regrade = store.row_from_dict(Regrade, values)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, OSError) as error:
        raise RunError(f"{run.regrade} cannot be read: {error!r}. Delete it") from error
    stamp = store.read_stamp(run.grades)
    if stamp is None or stamp.content != found.grades:
        return None
    profile = store.read_stamp(run.profile)
    if found.profile is not None and (profile is None or profile.content != found.profile):
        since = "levels were cut anew since: the moves are those of the comparison"
        return dataclasses.replace(found, note=since)
    return found


@contextmanager
def comparing(run: RunFolder) -> Iterator[list[Regrade]]:
    """Put what the block changed, all zeros included, into the list that it hands out.

    Empty where there was nothing to compare with: no profile yet, or other replies than before.
    """
    found: list[Regrade] = []
    before = store.read_stamp(run.grades) if run.profile.exists() else None
    yield found
    after = store.read_stamp(run.grades)
    if before is None or after is None:
        return
    if before.settings == after.settings and before.inputs == after.inputs:
        found.append(_nothing_changed(run, after))
        return
    changed = load_regrade(run)
    if changed is not None:
        found.append(changed)


def _nothing_changed(run: RunFolder, grades: Stamp) -> Regrade:
    return Regrade(
        rules="", date=grades.date, grades=grades.content,
        profile=store.content_hash(run.profile), verdicts_changed=0, verdicts=(),
        levels_moved=0, moves=(), questions=(), note=None,
    )  # fmt: skip
