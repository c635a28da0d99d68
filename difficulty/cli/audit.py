"""``difficulty grade --audit``: draw replies for a person to check, and read the check back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difficulty.cli.run import console, live_display, print_json, refresh_run
from difficulty.settings.changes import Changes

if TYPE_CHECKING:
    from difficulty.audit.draw import Sample
    from difficulty.store import RunFolder


def draw_audit(folder: Path, rows: int, seed: int | None, *, as_json: bool) -> None:
    """Bring the grades up to date, draw ``rows`` replies and write audit.csv and audit.html.

    A sheet with verdicts in it is never overwritten.
    """
    from difficulty.audit.draw import draw
    from difficulty.run.lock import locked
    from difficulty.store import load_spec

    run = refresh_run("grade", folder, Changes())
    with locked(folder):
        chosen = load_spec(run).selection.seed if seed is None else seed
        sample = draw(run, rows=rows, seed=chosen)
        _write(run, sample)
    if as_json:
        print_json(_drawn_facts(run, sample))
        return
    from difficulty.audit.checks import drawn_table

    shown = console()
    shown.print(drawn_table(sample))
    shown.print(
        f"{len(sample.rows):,} replies: open {run.audit_page} in a browser or {run.audit_sheet} in "
        "a spreadsheet, write right, wrong or ? under human, then run\n"
        f"difficulty grade {run} --audit-read FILE.csv",
        markup=False,
    )


def _write(run: RunFolder, sample: Sample) -> None:
    """Write the sheet; one of the very same rows that is there already keeps its verdicts."""
    from difficulty.audit.draw import details, load_sample, save_sample
    from difficulty.audit.sheet import num_verdicts, write_sheet
    from difficulty.errors import RunError
    from difficulty.report.audit_page import write_audit_page

    verdicts = num_verdicts(run.audit_sheet)
    before = load_sample(run) if verdicts else None
    if verdicts and (
        before is None or before.rows != sample.rows or before.grades != sample.grades
    ):
        raise RunError(
            f"{run.audit_sheet} has {verdicts:,} verdicts of another sample. Read it back "
            f"(difficulty grade {run} --audit-read {run.audit_sheet}), then move it away"
        )
    save_sample(run, sample)
    rows = list(details(run, list(sample.rows)))
    if not verdicts:
        write_sheet(run.audit_sheet, rows)
    write_audit_page(run, sample, rows)


def _drawn_facts(run: RunFolder, sample: Sample) -> dict[str, Any]:
    return {
        "run": str(run),
        "sheet": str(run.audit_sheet),
        "page": str(run.audit_page),
        "seed": sample.seed,
        "grader": sample.grader,
        "drawn": len(sample.rows),
        "outcomes": [dataclasses.asdict(row) for row in sample.outcomes],
    }


def read_audit(folder: Path, sheet: Path, *, as_json: bool) -> None:
    """Read a filled-in sheet, keep and print what it says, and write the report anew."""
    from difficulty.audit.draw import load_sample
    from difficulty.audit.judge import judge
    from difficulty.audit.result import save_audit
    from difficulty.audit.sheet import read_sheet
    from difficulty.errors import RunError
    from difficulty.report.terminal import print_audit_result
    from difficulty.run.lock import locked
    from difficulty.store import RunFolder, load_spec

    run = RunFolder(folder)
    spec = load_spec(run)
    with locked(folder):
        sample = load_sample(run)
        if sample is None:
            raise RunError(
                f"{run} has no audit sheet. Draw one: difficulty grade {run} --audit 100"
            )
        audit = judge(run, sample, read_sheet(sheet), sheet)
        save_audit(run, audit)
        if run.report.exists():
            from difficulty.run import stages

            stages.report(run, spec, live_display())
    if as_json:
        print_json(dataclasses.asdict(audit))
    else:
        print_audit_result(audit, console())
