import dataclasses
import json

import pytest

from difficulty import store
from difficulty.audit.checks import regrade_lines
from difficulty.audit.regrade import load_regrade
from difficulty.grading import GRADER_VERSION
from difficulty.report.page import render
from difficulty.report.summary import REGRADE_LISTED, summarize
from difficulty.run import stages
from difficulty.schema import Grade
from difficulty.settings.run import ServerSpec
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import QuietLive, make_spec


@pytest.fixture
def run(sums, tmp_path, live, serve):
    """A finished run over twelve sums, graded by this version."""
    url, _ = serve()
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(sums, server=ServerSpec(endpoints=(url,)))
    store.save_spec(run, spec)
    stages.profile(run, spec, live)
    return run


def refresh(run, stage="grade"):
    """What ``difficulty grade`` does, without its process; gives what was said."""
    live = QuietLive()
    stages.refresh(run, store.load_spec(run), live, stage)
    return live.lines


def test_a_regrade_tells_which_verdicts_and_levels_moved(run):
    found = json.loads(difficulty("grade", run.root, "--compare", "--json").stdout)
    assert (found["verdicts_changed"], found["levels_moved"]) == (0, 0)
    victim = pretend_an_older_grader_called_all_wrong(run)
    done = difficulty("grade", run.root, "--compare", "--json")
    found = json.loads(done.stdout)
    assert found["levels_moved"] == len(victim) > 0
    assert {row["question_id"] for row in found["questions"]} == victim
    assert {row["before"] for row in found["questions"]} == {"L6"}
    assert sum(move["questions"] for move in found["moves"]) == len(victim)
    assert [(move["before"], move["after"]) for move in found["verdicts"]] == [("wrong", "correct")]
    assert "is made again: grading.grader older" in done.stderr
    assert not (run.root / ".before-regrade").exists()


def pretend_an_older_grader_called_all_wrong(run):
    """Rewrite grades and profile as an older grader would have left them; the ids it got wrong."""
    grades = list(store.read_rows(run.grades, Grade))
    spec = store.load_spec(run)
    stamp = store.read_stamp(run.grades)
    older = {**stamp.settings, "grading.grader": "older"}
    with store.TableWriter(
        run.grades, store.table_schema(Grade),
        store.Stamp(settings=older, inputs=stamp.inputs),
    ) as table:  # fmt: skip
        table.write_rows(
            Grade(**{**vars(row), "outcome": "wrong", "reward": 0.0}) for row in grades
        )
    old_spec = dataclasses.replace(spec, grading=dataclasses.replace(spec.grading, grader="older"))
    stages.bucket(run, old_spec, QuietLive())
    return {row.question_id for row in grades if row.outcome == "correct"}


def test_what_a_regrade_changed_is_kept_and_reported_until_the_answers_change(run):
    assert load_regrade(run) is None
    victim = pretend_an_older_grader_called_all_wrong(run)
    assert any(f"{len(victim)} questions moved" in line for line in refresh(run))
    done = difficulty("report", run.root)
    assert f"grading.grader older -> {GRADER_VERSION}: " in done.stdout
    assert f"{min(victim)}: L6 -> " in done.stdout
    page = run.report.read_text()
    assert f"{len(victim)} questions moved to another level" in page
    assert all(question in page for question in victim)
    found = json.loads(difficulty("report", run.root, "--json").stdout)["regrade"]
    assert {row["question_id"] for row in found["questions"]} == victim
    spec = store.load_spec(run)
    pretend_the_answers_changed(run)
    assert load_regrade(run) is not None
    stages.grade(run, spec, QuietLive())
    assert load_regrade(run) is None
    assert not run.regrade.exists()
    assert summarize(run, spec).regrade is None


def pretend_the_answers_changed(run):
    """Leave grades of other answers, which the next grading replaces."""
    stamp = store.read_stamp(run.grades)
    rows = list(store.read_rows(run.grades, Grade))
    other = store.Stamp(settings=stamp.settings, inputs={**stamp.inputs, "completions": "other"})
    with store.TableWriter(run.grades, store.table_schema(Grade), other) as table:
        table.write_rows(rows)


def test_a_process_killed_between_grades_and_levels_loses_no_comparison(run):
    victim = pretend_an_older_grader_called_all_wrong(run)
    spec = store.load_spec(run)
    stages.grade(run, spec, QuietLive())
    assert load_regrade(run) is None
    live = QuietLive()
    stages.bucket(run, spec, live)
    assert load_regrade(run).levels_moved == len(victim)
    assert any(f"{len(victim)} questions moved" in line for line in live.lines)
    assert not (run.root / ".before-regrade").exists()


def test_levels_that_were_cut_anew_are_marked(run):
    pretend_an_older_grader_called_all_wrong(run)
    refresh(run)
    assert load_regrade(run).note is None
    text = run.regrade.read_text()
    run.regrade.write_text(text.replace(json.loads(text)["profile"], "0" * 64))
    assert "cut anew since" in load_regrade(run).note
    assert "cut anew since" in render(summarize(run, store.load_spec(run)))


def test_levels_are_not_compared_when_their_rule_changed_with_the_grader(run):
    pretend_an_older_grader_called_all_wrong(run)
    spec = store.load_spec(run)
    stages.grade(run, spec, QuietLive())
    looser = dataclasses.replace(spec, bucket=dataclasses.replace(spec.bucket, min_graded=3))
    stages.bucket(run, looser, QuietLive())
    found = load_regrade(run)
    assert found.verdicts_changed > 0
    assert found.levels_moved is None
    assert "not compared" in regrade_lines(found)[-1]


def test_long_lists_are_cut_and_the_rest_is_counted(run):
    pretend_an_older_grader_called_all_wrong(run)
    refresh(run)
    values = json.loads(run.regrade.read_text())
    row = values["questions"][0]
    values["questions"] = [{**row, "question_id": f"q{n}"} for n in range(REGRADE_LISTED + 50)]
    values["levels_moved"] = REGRADE_LISTED + 50
    run.regrade.write_text(json.dumps(values))
    summary = summarize(run, store.load_spec(run))
    assert len(summary.regrade.questions) == REGRADE_LISTED
    assert "and 50 more" in render(summary)
    lines = regrade_lines(summary.regrade, summary.regrade_not_listed, listed=10)
    assert lines[-1].strip().startswith(f"and {REGRADE_LISTED + 40} more")
    run.regrade.write_text("{}")
    assert "regrade.json cannot be read" in one_line(difficulty("report", run.root))
