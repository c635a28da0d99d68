"""A run, an interrupted one and exports that version 0.1 made go on as they would have then."""

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from difficulty import store
from difficulty.grading import GRADER_VERSION
from difficulty.schema import Completion, Grade, Question
from tests.cli.test_cli import difficulty
from tests.conftest import ROOT

OLD = ROOT / "tests" / "runs" / "version-0.1"
OLD_GRADER = "4"
"""Graded the run; the grader of today grades its replies alike."""
OLD_PLACE = "/home/user/difficulty/tests/runs/version-0.1/finished"
"""Where the exports' READMEs say that they lie."""


@pytest.fixture
def finished(tmp_path):
    """A copy of the finished run."""
    return store.RunFolder(shutil.copytree(OLD / "finished", tmp_path / "finished"))


def done(*arguments):
    """A command that ends well; what it printed as JSON."""
    ended = difficulty(*arguments, "--json", cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def table(path):
    return pq.read_table(path).to_pylist()


def right_answers():
    rows = map(json.loads, (OLD / "questions.jsonl").read_text().splitlines())
    return {row["question"]: row["answer"] for row in rows}


def answer(messages, chooser):
    """The gold of the question asked, as its instruction wants it."""
    text = messages[-1]["content"]
    gold = next(gold for question, gold in right_answers().items() if text.startswith(question))
    return f"\\boxed{{{gold.strip('$')}}}" if "$" in gold else f"Answer: {gold}"


def test_the_report_says_what_it_said(finished):
    before = json.loads((OLD / "report.json").read_text())
    now = done("report", finished.root)
    for key in ("outcomes", "levels", "num_kept", "dropped", "forecast", "sources", "warnings"):
        assert now[key] == before[key], key


def test_the_forecast_is_the_same_number_for_number(finished):
    before = json.loads((OLD / "forecast.json").read_text())
    (finished.root / "forecast.json").unlink()
    now = done("forecast", finished.root)
    assert now.keys() >= before.keys()
    assert alike({key: now[key] for key in before}, before)


def alike(new, old):
    """Equal but for the last digits of numbers."""
    if isinstance(old, dict):
        return new.keys() == old.keys() and all(alike(new[key], old[key]) for key in old)
    if isinstance(old, list):
        return len(new) == len(old) and all(map(alike, new, old))
    return new == (pytest.approx(old, rel=1e-9) if isinstance(old, float) else old)


def test_grades_profile_and_selection_are_made_again_alike(finished):
    before = {name: table(getattr(finished, name)) for name in ("grades", "profile", "selection")}
    for name in before:
        getattr(finished, name).unlink()
    for stage in ("grade", "bucket", "select"):
        done(stage, finished.root)
    for name, rows in before.items():
        assert table(getattr(finished, name)) == rows, name


@pytest.mark.parametrize("name", sorted(path.name for path in (OLD / "finished/exports").iterdir()))
def test_exports_are_made_again_alike(tmp_path_factory, name):
    """All of them by one command, once for the module."""
    again = _exported(tmp_path_factory) / "exports" / name
    before = OLD / "finished" / "exports" / name
    assert sorted(path.name for path in again.iterdir()) == sorted(p.name for p in before.iterdir())
    for path in before.glob("*.parquet"):
        assert table(again / path.name) == table(path)
        assert pq.read_schema(again / path.name).equals(pq.read_schema(path))
    text = (again / "README.md").read_text().replace(str(again.parents[1]), OLD_PLACE)
    told = (before / "README.md").read_text()
    told = told.replace(f"grader {OLD_GRADER}", f"grader {GRADER_VERSION}")
    assert _undated(text) == _undated(told)


def _undated(text):
    """A newer grader grades again, so that the time of that is another one too."""
    return re.sub(r"\d{4}-\d\d-\d\d(T[\d:.+]+)?", "DATE", text)


def _exported(factory, *, made=[]):  # noqa: B006 (one run for all cases)
    if not made:
        run = shutil.copytree(OLD / "finished", factory.mktemp("old") / "finished")
        shutil.rmtree(run / "exports")
        done("export", run)
        made.append(run)
    return made[0]


def test_a_larger_k_draws_only_what_is_missing(finished, serve):
    url, script = serve(answer)
    now = done(
        "profile", "tests/runs/version-0.1/questions.jsonl", "--model", "scripted",
        "--run", finished.root, "--endpoint", url, "--k", 6,
    )  # fmt: skip
    assert now["num_samples"] == 30 * 6
    assert script.num_sent == 30


def test_an_interrupted_run_goes_on_and_asks_for_nothing_twice(tmp_path, serve):
    run = store.RunFolder(shutil.copytree(OLD / "killed", tmp_path / "killed"))
    journal = (run.completions / "journal-000001.log").read_bytes()
    url, script = serve(answer)
    now = done(
        "profile", "tests/runs/version-0.1/questions.jsonl", "--model", "scripted",
        "--run", run.root, "--endpoint", url,
    )  # fmt: skip
    assert now["num_samples"] == 30 * 4
    assert 0 < script.num_sent < 30 * 4
    assert script.num_sent + journal.count(b'"sample_index"') >= 30 * 4
    rows = [row for part in run.completion_parts() for row in store.read_rows(part, Completion)]
    assert len({(row.question_id, row.sample_index) for row in rows}) == len(rows) == 30 * 4
    assert {row.outcome for row in store.read_rows(run.grades, Grade)} <= {
        "correct", "wrong", "no_answer",
    }  # fmt: skip
    assert len(list(store.read_rows(run.questions, Question))) == 30
    assert Path(run.root / "report.html").exists()
