import json

from test_cli import difficulty

from difficulty import store
from difficulty.schema import Grade


def test_a_regrade_tells_which_verdicts_and_levels_moved(sums, tmp_path, serve):
    url, _ = serve()
    run = store.RunFolder(tmp_path / "run")
    options = ("--endpoint", url, "--run", run.root, "--template", "bare-v1")
    assert difficulty("profile", sums, "--model", "scripted", *options).returncode == 0
    found = json.loads(difficulty("grade", run.root, "--compare", "--json").stdout)
    assert (found["verdicts_changed"], found["levels_moved"]) == (0, 0)
    victim = pretend_an_older_grader_called_all_wrong(run)
    done = difficulty("grade", run.root, "--compare", "--json")
    found = json.loads(done.stdout)
    assert found["levels_moved"] == len(victim) > 0
    assert {row["question_id"] for row in found["questions"]} == victim
    assert {row["before"] for row in found["questions"]} == {"L6"}
    assert sum(move["questions"] for move in found["moves"]) == len(victim)
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
    from conftest import QuietLive

    from difficulty import stages

    stages.bucket(run, spec, QuietLive())
    return {row.question_id for row in grades if row.outcome == "correct"}
