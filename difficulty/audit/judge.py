"""Hold the grades of a sample against what a person says of the same replies."""

from __future__ import annotations

import datetime
from pathlib import Path

from difficulty import store
from difficulty.audit.draw import (
    Drawn,
    Sample,
    checksum,
    details,
    grader_of,
    outcome_sizes,
    rules_of,
)
from difficulty.audit.rates import Checked, Rates, false_credit, false_reject
from difficulty.audit.result import Audit, Disagreement, OutcomeCheck, Regraded
from difficulty.audit.sheet import Judged
from difficulty.errors import InputError, RunError
from difficulty.schema import OUTCOMES, Outcome
from difficulty.store import RunFolder

NAMED = 5
"""Ids that a warning spells out; the result lists all."""


def judge(run: RunFolder, sample: Sample, judged: list[Judged], sheet: Path) -> Audit:
    """The grader's error rates, from the person's verdicts on a sample.

    The strata are the outcomes as they were when the sample was drawn, with the number of replies
    that each had: that is how the sample came about, so the estimates stay right when the same
    replies were graded again since. When the replies themselves changed (a larger k, a redo), the
    strata are the present outcomes with their present numbers, which is an approximation and is
    said. ``grader_error`` has no verdict: such replies are in no rate.

    Raises:
        InputError: no row of the file was drawn.
        RunError: no grades.
    """
    if not run.grades.exists():
        raise RunError(f"{run} has no grades. Run difficulty grade {run}")
    verdicts = {(row.question_id, row.sample_index): row for row in judged}
    known = {(row.question_id, row.sample_index) for row in sample.rows}
    if not known & verdicts.keys():
        raise InputError(
            f"{sheet} is of another sheet: none of its {len(verdicts):,} rows was drawn from "
            f"{run}. Draw one with difficulty grade {run} --audit 100"
        )
    same_replies = store.completions_hash(run) == sample.completions
    stamp = store.read_stamp(run.grades)
    regraded = stamp is None or stamp.content != sample.grades
    checked = _checked(run, sample, verdicts, same_replies=same_replies)
    sizes = outcome_sizes(run)
    drawn_from = {row.outcome: row.replies for row in sample.outcomes} if same_replies else sizes
    rates = Rates(checked, drawn_from, sizes, crossed=regraded and same_replies)
    others = sorted(f"{key[0]}:{key[1]}" for key in verdicts.keys() - known)
    redrawn = tuple(_name(row.drawn) for row in checked if row.outcome is None)
    grader = grader_of(stamp.settings if stamp else {})
    warnings = _warnings(checked, others, redrawn, same_replies=same_replies)
    if grader != sample.grader:
        warnings.insert(
            0,
            f"the sheet was drawn from grades of {rules_of(sample.grader)}: what is compared here, "
            f"and called false credit or false reject, are those of {rules_of(grader)}",
        )
    return Audit(
        run=str(run),
        sheet=str(sheet),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        grader=grader,
        grades=stamp.content if stamp else "",
        seed=sample.seed,
        drawn=len(checked),
        checked=sum(row.usable for row in checked),
        unsure=sum(row.human == "?" and row.outcome is not None for row in checked),
        blank=sum(row.human == "" or row.outcome is None for row in checked),
        outcomes=_outcome_checks(checked, drawn_from),
        error=rates.error(),
        false_credit=rates.false_credit(),
        false_reject=rates.false_reject(),
        pass_rate=rates.num_correct / rates.num_graded if rates.num_graded else None,
        corrected=rates.corrected(),
        disagree=_disagreements(checked),
        regraded=_regraded(checked),
        redrawn=redrawn,
        not_in_sample=tuple(others),
        warnings=tuple(warnings),
    )


def _checked(
    run: RunFolder,
    sample: Sample,
    verdicts: dict[tuple[str, int], Judged],
    *,
    same_replies: bool,
) -> list[Checked]:
    """Every reply of the sample; one that the file lacks has no verdict."""
    now = {
        (row.grade.question_id, row.grade.sample_index): row
        for row in details(run, list(sample.rows))
    }
    found = []
    for drawn in sample.rows:
        key = drawn.question_id, drawn.sample_index
        verdict, detail = verdicts.get(key), now.get(key)
        if detail is not None and checksum(detail.completion.text) != drawn.checksum:
            detail = None
        outcome = None if detail is None else detail.grade.outcome
        found.append(
            Checked(
                drawn=drawn,
                stratum=drawn.outcome if same_replies or outcome is None else outcome,
                human="" if verdict is None else verdict.human,
                note="" if verdict is None else verdict.note,
                outcome=outcome,
                reason="" if detail is None else detail.grade.reason,
            )
        )
    return found


def _outcome_checks(
    checked: list[Checked], drawn_from: dict[Outcome, int]
) -> tuple[OutcomeCheck, ...]:
    found = []
    for outcome in OUTCOMES:
        rows = [row for row in checked if row.stratum == outcome]
        if not rows:
            continue
        there = [row.human for row in rows if row.outcome is not None]
        counts = {word: there.count(word) for word in ("right", "wrong", "?")}
        found.append(
            OutcomeCheck(
                outcome=outcome,
                replies=drawn_from.get(outcome, 0),
                drawn=len(rows),
                right=counts["right"],
                wrong=counts["wrong"],
                unsure=counts["?"],
                blank=len(rows) - sum(counts.values()),
            )
        )
    return tuple(found)


def _disagreements(checked: list[Checked]) -> tuple[Disagreement, ...]:
    return tuple(
        Disagreement(
            question_id=row.drawn.question_id, sample_index=row.drawn.sample_index,
            expected=row.human, got=str(row.outcome), reason=row.reason, note=row.note,
        )
        for row in checked
        if row.usable and (false_credit(row) or false_reject(row))
    )  # fmt: skip


def _regraded(checked: list[Checked]) -> tuple[Regraded, ...]:
    return tuple(
        Regraded(
            question_id=row.drawn.question_id, sample_index=row.drawn.sample_index,
            before=row.drawn.outcome, after=row.outcome,
        )
        for row in checked
        if row.outcome is not None and row.outcome != row.drawn.outcome
    )  # fmt: skip


def _name(drawn: Drawn) -> str:
    return f"{drawn.question_id}:{drawn.sample_index}"


def _warnings(
    checked: list[Checked], others: list[str], redrawn: tuple[str, ...], *, same_replies: bool
) -> list[str]:
    """What a reader of the rates must know, one line each."""
    texts = []
    without = sum(not row.usable for row in checked)
    if without:
        texts.append(
            f"{without:,} of {len(checked):,} replies have no verdict. The rates take the others "
            "for a random part of their outcome: they mislead if the hard ones were left out"
        )
    if redrawn:
        texts.append(
            f"{len(redrawn):,} replies of the sample are other ones now and count as without "
            f"verdict: {_some(redrawn)}"
        )
    changed = [_name(row.drawn) for row in checked if row.outcome not in (None, row.drawn.outcome)]
    if changed:
        texts.append(
            f"{len(changed):,} replies of the sample were graded otherwise since it was drawn; "
            f"the present grades are compared: {_some(changed)}"
        )
    if others:
        texts.append(
            f"{len(others):,} rows of the file were not drawn from this run and are left out: "
            f"{_some(others)}"
        )
    if not same_replies:
        texts.append(
            "the replies of the run changed since the sample was drawn (a larger k, more rows or a "
            "redo): the rates take it for a sample of the present ones. Draw a new one to be exact"
        )
    return texts


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
