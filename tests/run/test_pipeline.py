"""The whole pipeline against a scripted server: tables, stamps, rebuilds, kills."""

import dataclasses
import json
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from difficulty import store
from difficulty.errors import RunError, SettingsError
from difficulty.report.page import render
from difficulty.report.summary import summarize
from difficulty.run import stages
from difficulty.run.change import find_run_dataset, plan_run, save_run
from difficulty.schema import Completion, Grade, PassRate, Question, Selection
from difficulty.settings.run import SelectionSpec, ServerSpec
from tests.conftest import make_changes, make_spec, sum_answer, with_change

TABLES = ("questions", "grades", "profile", "selection")


@pytest.fixture
def finished(sums, tmp_path, live, serve):
    """A finished run over twelve sums, its server and script."""
    url, script = serve()
    run = store.RunFolder(tmp_path / "run")
    overrides = {
        "sampling": {"template": "bare-v1", "max_tokens": 64},
        "server": {"endpoints": (url,)},
    }
    spec = start_run(run, str(sums), "scripted", overrides)
    stages.profile(run, spec, live)
    return run, spec, script


def start_run(run, dataset, model, overrides):
    """The settings that ``difficulty profile`` would go on with."""
    changes = make_changes(overrides)
    spec = plan_run(run, dataset, find_run_dataset(run, dataset, changes), model, changes)
    save_run(run, spec)
    return spec


def rows(run, name, row_type):
    return list(store.read_rows(getattr(run, name), row_type))


def dates(run):
    return {name: store.read_stamp(getattr(run, name)).content for name in TABLES}


def test_the_row_counts_hold_after_every_stage(finished):
    run, spec, _ = finished
    questions = rows(run, "questions", Question)
    grades = rows(run, "grades", Grade)
    assert len(questions) == 12
    assert len(grades) == 12 * spec.sampling.k
    assert len({(g.question_id, g.sample_index) for g in grades}) == len(grades)
    for name, row_type in (("profile", PassRate), ("selection", Selection)):
        assert sorted(r.question_id for r in rows(run, name, row_type)) == sorted(
            q.question_id for q in questions
        )


def test_counts_of_the_profile_add_up_and_follow_the_grades(finished):
    run, _, _ = finished
    grades = rows(run, "grades", Grade)
    for row in rows(run, "profile", PassRate):
        mine = [g.outcome for g in grades if g.question_id == row.question_id]
        assert (
            row.num_samples == row.num_graded + row.num_failed + row.num_grader_error == len(mine)
        )
        assert row.num_correct == mine.count("correct")
        assert row.pass_rate == row.num_correct / row.num_graded


def test_running_the_same_again_asks_nothing_and_writes_nothing(finished, live, sums):
    run, _, script = finished
    before, asked = (
        {p: p.stat().st_mtime_ns for p in run.root.rglob("*.parquet")},
        len(script.requests),
    )
    spec = start_run(run, str(sums), "scripted", {})
    stages.profile(run, spec, live)
    assert len(script.requests) == asked
    assert {p: p.stat().st_mtime_ns for p in run.root.rglob("*.parquet")} == before


def test_other_sampling_settings_are_refused_and_named(finished, sums):
    run, _, _ = finished
    with pytest.raises(
        SettingsError,
        match=r"sampling.temperature 1.0 -> 0.7, sampling.seed none -> 3. Give the old",
    ):
        start_run(run, str(sums), "scripted", {"sampling": {"temperature": 0.7, "seed": 3}})
    assert store.load_spec(run).sampling.temperature == 1.0


def test_a_smaller_k_is_refused_and_a_larger_one_draws_the_rest(finished, sums, live):
    run, _, script = finished
    with pytest.raises(SettingsError, match="sampling.k 5 -> 3"):
        start_run(run, str(sums), "scripted", {"sampling": {"k": 3}})
    stages.profile(run, start_run(run, str(sums), "scripted", {"sampling": {"k": 7}}), live)
    assert script.num_sent == 12 * 7
    assert {row.num_samples for row in rows(run, "profile", PassRate)} == {7}


def test_another_keep_rule_rebuilds_what_follows_and_leaves_the_samples(finished, live):
    run, _, script = finished
    asked, before = len(script.requests), dates(run)
    spec = with_change(run, {"selection": {"keep": "L1-L6"}})
    stages.refresh(run, spec, live, "select")
    assert len(script.requests) == asked
    assert {name for name, date in dates(run).items() if date != before[name]} == {"selection"}
    assert any(
        "selection.parquet is made again: selection.keep L2-L5 -> L1-L6" in line
        for line in live.lines
    )
    assert all(row.keep for row in rows(run, "selection", Selection))
    assert pq.read_metadata(run.exports / "trl" / "train-00000.parquet").num_rows == 12


def test_another_group_size_changes_the_forecast_and_the_collapse_column(finished, live):
    run, spec, _ = finished
    before = json.loads(run.forecast.read_text())["pool"]["acr"]
    spec = with_change(run, {"selection": {"group_size": 16}})
    stages.refresh(run, spec, live, "forecast")
    after = json.loads(run.forecast.read_text())
    assert after["group_size"] == 16
    assert after["pool"]["acr"] < before
    assert store.read_stamp(run.selection).settings["selection.group_size"] == 16


def test_the_forecast_of_the_kept_set_is_of_the_questions_that_are_kept(finished, live):
    run, _, _ = finished
    spec = with_change(run, {"selection": {"pass_rate": "0.4-0.6"}})
    stages.refresh(run, spec, live, "select")
    kept = [row for row in rows(run, "selection", Selection) if row.keep]
    found = json.loads(run.forecast.read_text())["kept"]
    assert 0 < len(kept) < 12
    assert found["num_questions"] == len(kept)


def test_a_newer_grader_rebuilds_the_grades_and_says_so(finished, live):
    run, spec, script = finished
    newer = dataclasses.replace(spec, grading=dataclasses.replace(spec.grading, grader="next"))
    asked = len(script.requests)
    stages.profile(run, newer, live)
    assert len(script.requests) == asked
    assert any("grades.parquet is made again: grading.grader" in line for line in live.lines)


def test_the_exported_prompt_is_what_was_sampled(finished):
    run, _, script = finished
    sent = {json.dumps(body["messages"]) for body in script.requests}
    exported = pq.read_table(run.exports / "verl" / "train-00000.parquet").to_pylist()
    assert exported
    assert all(json.dumps(row["prompt"]) in sent for row in exported)


def test_a_plain_run_exports_the_text_that_was_sampled(sums, tmp_path, live, serve):
    url, script = serve(answer=lambda messages, chooser: chooser.choice("48"))
    run = store.RunFolder(tmp_path / "run")
    overrides = {
        "sampling": {"template": "bare-v1", "prompt_style": "plain"},
        "selection": {"keep": "L1-L6"},
        "server": {"endpoints": (url,)},
    }
    stages.profile(run, start_run(run, str(sums), "scripted", overrides), live)
    sent = {body["prompt"] for body in script.requests}
    trl = pq.read_table(run.exports / "trl" / "train-00000.parquet").to_pylist()
    verl = pq.read_table(run.exports / "verl" / "train-00000.parquet").to_pylist()
    assert {row["prompt"] for row in trl} == sent
    assert {row["prompt"][0]["content"] for row in verl} == sent


def test_unknown_answers_are_null_and_in_no_denominator(sums, tmp_path, live, serve):
    url, _ = serve(faults=["400", "cut", "null_content"])
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(sums, server=ServerSpec(endpoints=(url,), concurrency=1))
    store.save_spec(run, spec)
    stages.profile(run, spec, live)
    profile = rows(run, "profile", PassRate)
    failed = next(row for row in profile if row.num_failed)
    assert (failed.num_failed, failed.num_graded, failed.pass_rate, failed.level) == (
        5,
        0,
        None,
        None,
    )
    assert all(g.reward is None for g in rows(run, "grades", Grade) if g.outcome == "failed")
    assert sum(row.num_no_answer for row in profile) == 5
    reasons = {row.question_id: row.drop_reason for row in rows(run, "selection", Selection)}
    assert reasons[failed.question_id] == "too_few_graded"
    summary = summarize(run, spec)
    assert any(
        "5 of 60 answers are unknown (5 failed, 0 grader errors)" in text
        for text in summary.warnings
    )
    missing = json.loads(run.forecast.read_text())["missing"]
    assert 0 <= missing["all_wrong"] <= 1


def test_a_lower_minimum_gives_levels_to_incomplete_questions(sums, tmp_path, live, serve):
    url, script = serve()
    run = store.RunFolder(tmp_path / "run")
    overrides = {"sampling": {"template": "bare-v1", "k": 3}, "server": {"endpoints": (url,)}}
    stages.profile(run, start_run(run, str(sums), "scripted", overrides), live)
    script.poisoned = "What is 7 +"  # its last two answers never come
    stages.profile(run, start_run(run, str(sums), "scripted", {"sampling": {"k": 5}}), live)
    levels = {row.num_graded: row.level for row in rows(run, "profile", PassRate)}
    assert levels[3] is None
    assert levels[5] is not None
    stages.refresh(run, with_change(run, {"bucket": {"min_graded": 3}}), live, "bucket")
    assert all(row.level for row in rows(run, "profile", PassRate))


def test_files_of_a_selection_that_is_no_more_are_removed(finished, live):
    run, _, _ = finished
    assert list(run.exports.glob("*/*.parquet"))
    page = run.report.read_text()
    spec = with_change(run, {"selection": {"pass_rate": "0.01-0.02"}})
    stages.refresh(run, spec, live, "select")
    assert list(run.exports.glob("*/*.parquet")) == []
    assert run.report.read_text() != page
    assert any("no training files: nothing to train on" in line for line in live.lines)


@pytest.mark.parametrize("alike", [True, False])
def test_long_answers_that_are_all_alike_raise_the_alarm(sums, tmp_path, live, serve, alike):
    text = "word " * 40
    url, _ = serve(answer=lambda messages, chooser: text if alike else text + str(chooser.random()))
    run = store.RunFolder(tmp_path / "run")
    overrides = {"sampling": {"template": "bare-v1"}, "server": {"endpoints": (url,)}}
    spec = start_run(run, str(sums), "scripted", overrides)
    stages.profile(run, spec, live)
    found = [text for text in summarize(run, spec).warnings if "not independent" in text]
    assert len(found) == alike


def test_a_run_folder_may_be_called_anything(sums, tmp_path, live, serve):
    url, _ = serve()
    for name in ("source=evil", "question_id=3", "run[1]", "run1", "a b*?", "日本", "it's"):
        run = store.RunFolder(tmp_path / name)
        overrides = {
            "sampling": {"template": "bare-v1", "k": 2},
            "selection": {"keep": "L1-L6"},
            "server": {"endpoints": (url,)},
        }
        stages.profile(run, start_run(run, str(sums), "scripted", overrides), live)
        assert {row.source for row in rows(run, "profile", PassRate)} == {"set"}
        assert store.num_rows(run.grades) == 24


def test_one_sample_with_only_l1_kept_is_a_run_like_any_other(sums, tmp_path, live, serve):
    url, _ = serve(answer=sum_answer(lambda n: 1.0))
    run = store.RunFolder(tmp_path / "run")
    overrides = {
        "sampling": {"template": "bare-v1", "k": 1, "temperature": 0.0},
        "selection": {"keep": "L1"},
        "server": {"endpoints": (url,)},
    }
    stages.profile(run, start_run(run, str(sums), "scripted", overrides), live)
    assert all(row.keep for row in rows(run, "selection", Selection))


def test_k_may_return_to_what_was_drawn(finished, sums):
    run, _, _ = finished
    start_run(run, str(sums), "scripted", {"sampling": {"k": 9}})  # asked for, never drawn
    assert start_run(run, str(sums), "scripted", {"sampling": {"k": 5}}).sampling.k == 5


def test_a_set_of_which_nothing_is_kept_is_still_forecast_and_reported(sums, tmp_path, live, serve):
    url, _ = serve(answer=sum_answer(lambda n: 0.0))
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(sums, server=ServerSpec(endpoints=(url,)))
    store.save_spec(run, spec)
    stages.profile(run, spec, live)
    assert any(
        "nothing to train on: L2-L5 dropped all questions (level_L6 12)" in line
        for line in live.lines
    )
    assert run.report.exists()
    assert not run.exports.exists()
    assert any(
        "100% of the questions are L6 (too hard" in text for text in summarize(run, spec).warnings
    )
    with pytest.raises(SettingsError, match="nothing to train on"):
        stages.export(run, spec, live)


def test_a_stage_without_its_inputs_says_which_to_run(sums, tmp_path, live):
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(sums)
    store.save_spec(run, spec)
    with pytest.raises(RunError, match="has no questions yet. Run difficulty sample"):
        stages.grade(run, spec, live)
    stages.prepare(run, spec, live)
    with pytest.raises(RunError, match="still lacks 60 samples"):
        stages.grade(run, spec, live)
    with pytest.raises(RunError, match="grades.parquet is not there"):
        stages.bucket(run, spec, live)


def test_the_page_shows_hostile_text_as_text(write_rows, tmp_path, live, serve):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    path = write_rows([{"question": f"What is 1 + {evil}?", "answer": "2", "source": evil}])
    url, _ = serve(answer=lambda messages, chooser: evil)
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(path, server=ServerSpec(endpoints=(url,)), selection=SelectionSpec(keep="L6"))
    store.save_spec(run, spec)
    stages.profile(run, spec, live)
    page = run.report.read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page == render(summarize(run, spec))


COMMAND = (sys.executable, "-m", "difficulty.cli", "profile")


def profile_process(dataset, run, url, *more, **popen):
    return subprocess.Popen(
        [*COMMAND, str(dataset), "--model", "scripted", "--run", str(run), "--endpoint", url,
         "--template", "bare-v1", "--concurrency", "2", *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ending", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 130)]
)
def test_no_finished_sample_is_asked_for_again_after_a_kill(
    write_rows, tmp_path, serve, ending, code
):
    many = write_rows(
        [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(60)]
    )
    url, script = serve(answer=sum_answer(lambda n: n / 59), delay_s=0.05)
    run = store.RunFolder(tmp_path / "run")
    first = profile_process(many, run.root, url)
    wait_until(lambda: script.num_sent >= 40, first)
    first.send_signal(ending)
    _, errors = first.communicate()
    assert first.returncode == code
    assert "Traceback" not in errors
    finished = finished_samples(run)
    assert 0 < len(finished) < 300
    before = len(script.requests)
    second = profile_process(many, run.root, url)
    _, errors = second.communicate()
    assert second.returncode == 0, errors
    asked_again = [
        body for body in script.requests[before:] if body["messages"][0]["content"] in finished
    ]
    assert asked_again == []
    assert store.num_rows(run.grades) == 300
    assert script.num_sent <= 300 + 2 * 5  # at most what was in flight is drawn twice


def test_no_room_on_the_disk_is_one_line_and_the_next_run_goes_on(write_rows, tmp_path, serve):
    import resource

    many = write_rows(
        [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(60)]
    )
    url, script = serve(answer=sum_answer(lambda n: n / 59))
    run = store.RunFolder(tmp_path / "run")
    room = (30_000, 30_000)  # bytes a file: the journal needs more, the questions do not
    first = profile_process(
        many, run.root, url, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, room)
    )
    _, errors = first.communicate()
    assert first.returncode == 1
    assert "cannot write" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    finished = finished_samples(run)
    assert 10 < len(finished) < 60
    before = len(script.requests)
    second = profile_process(many, run.root, url)
    _, errors = second.communicate()
    assert second.returncode == 0, errors
    again = [body["messages"][0]["content"] for body in script.requests[before:]]
    assert len(set(again) & finished) <= 1  # the record that was torn
    assert store.num_rows(run.grades) == 300


def wait_until(condition, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def finished_samples(run):
    """Prompts whose samples were on disk after the kill, read without touching the run."""
    from difficulty.sampling import journal

    prompts = {q.question_id: q.prompt for q in store.read_rows(run.questions, Question)}
    found = [row for part in run.completion_parts() for row in store.read_rows(part, Completion)]
    for segment in run.completions.glob("journal-*.log"):
        found += [Completion(**json.loads(each)) for each in journal.payloads(segment)]
    return {prompts[row.question_id] for row in found}


def test_a_second_command_on_a_running_run_is_refused(sums, tmp_path, serve):
    url, script = serve(delay_s=1.0)
    first = profile_process(sums, tmp_path / "run", url)
    wait_until(lambda: script.requests, first)
    second = profile_process(sums, tmp_path / "run", url)
    _, errors = second.communicate()
    assert second.returncode == 1
    assert f"is in use by process {first.pid}" in errors
    first.kill()
    first.communicate()
    assert (tmp_path / "run" / "run.toml").exists()
