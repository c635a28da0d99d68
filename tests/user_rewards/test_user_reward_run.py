"""A run that is graded by the user's own reward, from the command line to the report."""

import json
import textwrap
import tomllib

import pytest

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.report.page import render
from difficulty.report.summary import summarize
from difficulty.report.terminal import print_summary
from difficulty.run import stages
from difficulty.run.change import find_run_dataset, plan_run, save_run
from difficulty.schema import Grade, PassRate, Question
from difficulty.settings.rewards import parse_rewards
from difficulty.user_rewards import try_errors_again
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_changes, sum_answer, with_change

REWARD = """
from pathlib import Path
def acc(prompts, completions, solution, **columns):
    with (Path(__file__).parent / "calls").open("a") as file:
        file.write(completions[0][0]["content"] + "\\n")
    print("a line that must harm nothing")
    return [{right} if c[0]["content"] == s else 0.0 for c, s in zip(completions, solution)]
def length(completions, **columns):
    return [len(c[0]["content"]) / 10 for c in completions]
"""


@pytest.fixture
def reward(tmp_path):
    """A reward file with ``acc`` and ``length``; ``calls`` beside it has a line a call of acc."""
    path = tmp_path / "my_reward.py"
    path.write_text(REWARD.replace("{right}", "1.0"))
    return path


@pytest.fixture
def begin(tmp_path, live, serve, sums):
    """Start a run with these rewards and run all stages; gives the run and its spec."""

    def start(*texts, dataset=sums, weights=(), server=None, **more):
        url, _ = server or serve(answer=sum_answer(lambda n: n / 11))
        run = store.RunFolder(tmp_path / "run")
        overrides = {
            "sampling": {"template": "bare-v1", "max_tokens": 64},
            "grading": {"rewards": parse_rewards(texts, weights), **more},
            "server": {"endpoints": (url,)},
        }
        found = find_run_dataset(run, str(dataset), make_changes(overrides))
        spec = plan_run(run, str(dataset), found, "scripted", make_changes(overrides))
        save_run(run, spec)
        stages.profile(run, spec, live)
        return run, spec

    return start


def rows(run, name, row_type):
    return list(store.read_rows(getattr(run, name), row_type))


def num_calls(path):
    calls = path.parent / "calls"
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def grade_with(run, live, **grading):
    spec = with_change(run, {"grading": grading})
    stages.refresh(run, spec, live, "grade")
    return spec


def test_the_levels_of_a_run_follow_the_users_reward(begin, reward):
    run, spec = begin(f"{reward}:acc")
    grades = rows(run, "grades", Grade)
    assert len(grades) == num_calls(reward) == 60
    assert {grade.outcome for grade in grades} == {"correct", "wrong"}
    assert all(grade.reward == (grade.outcome == "correct") for grade in grades)
    assert {part.name for grade in grades for part in grade.components} == {"acc"}
    for row in rows(run, "profile", PassRate):
        mine = [g.reward for g in grades if g.question_id == row.question_id]
        assert row.pass_rate == row.mean_reward == sum(mine) / 5
    assert store.read_stamp(run.grades).settings["grading.pass_threshold"] == 1.0
    saved = tomllib.loads(run.spec_file.read_text())["grading"]
    assert saved["rewards"][0] == {
        "file": str(reward), "name": "acc", "weight": 1.0,
        "sha256": spec.grading.rewards[0].sha256,
    }  # fmt: skip
    assert store.load_spec(run) == spec


def test_several_parts_are_weighed_and_the_builtin_grader_may_be_one(begin, reward):
    run, _ = begin(f"{reward}:length", "builtin", weights=[0.5, 1.0], pass_threshold=1.05)
    for grade in rows(run, "grades", Grade):
        parts = {part.name: part.value for part in grade.components}
        assert grade.reward == pytest.approx(0.5 * parts["length"] + parts["builtin"])
        assert grade.outcome == ("correct" if grade.reward >= 1.05 else "wrong")
        assert grade.extracted_answer is not None
    long = [g for g in rows(run, "grades", Grade) if g.reward == pytest.approx(1.1)]
    assert all(grade.outcome == "correct" for grade in long)


def test_the_same_code_is_not_called_again_and_changed_code_is(begin, reward, live):
    run, spec = begin(f"{reward}:acc")
    stages.profile(run, with_change(run, {}), live)
    assert num_calls(reward) == 60
    reward.write_text(REWARD.replace("{right}", "0.5"))
    changed = with_change(run, {})
    stages.refresh(run, changed, live, "report")
    assert num_calls(reward) == 120
    assert changed.grading.rewards[0].sha256 != spec.grading.rewards[0].sha256
    assert any("grades.parquet is made again: grading.rewards" in line for line in live.lines)
    assert all(row.num_correct == 0 for row in rows(run, "profile", PassRate))
    assert any("no answer reached the pass threshold 1: the highest reward was 0.5" in text
               for text in summarize(run, changed).warnings)  # fmt: skip


def test_code_that_moved_is_the_same_code(begin, reward, live, tmp_path):
    run, _ = begin(f"{reward}:acc")
    moved = tmp_path / "elsewhere" / reward.name
    moved.parent.mkdir()
    reward.rename(moved)
    before = run.grades.stat().st_mtime_ns
    stages.profile(run, with_change(run, {}), live)
    grade_with(run, live, rewards=parse_rewards([f"{moved}:acc"], []))
    assert run.grades.stat().st_mtime_ns == before


def test_another_threshold_or_weight_calls_nothing_again(begin, reward, live):
    run, _ = begin(f"{reward}:acc", f"{reward}:length", pass_threshold=1.0)
    correct = sum(row.num_correct for row in rows(run, "profile", PassRate))
    grade_with(run, live, pass_threshold=0.05)
    assert all(row.num_correct == 5 for row in rows(run, "profile", PassRate))
    grade_with(run, live, pass_threshold=1.0)
    assert sum(row.num_correct for row in rows(run, "profile", PassRate)) == correct
    grade_with(run, live, rewards=parse_rewards([f"{reward}:acc", f"{reward}:length"], [2.0, 0.0]))
    assert {grade.reward for grade in rows(run, "grades", Grade)} == {0.0, 2.0}
    assert num_calls(reward) == 60


def test_an_interrupted_grading_goes_on_where_it_stopped(begin, reward, live, monkeypatch):
    run, spec = begin(f"{reward}:acc")
    whole = rows(run, "grades", Grade)
    run.grades.unlink()
    (reward.parent / "calls").unlink()
    write, written = store.TableWriter.write_rows, []

    def interrupted(table, grades):
        written.extend(grades)
        if len(written) > 20:
            raise KeyboardInterrupt
        write(table, grades)

    monkeypatch.setattr(store, "BATCH_ROWS", 10)
    with monkeypatch.context() as patch:
        patch.setattr(store.TableWriter, "write_rows", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stages.grade(run, spec, live)
    first = num_calls(reward)
    stages.grade(run, spec, live)
    again = rows(run, "grades", Grade)
    assert again == whole
    assert num_calls(reward) - first <= 60 - len(written)
    assert not (run.root / ".rewards").exists()


FLAKY = """
from pathlib import Path
def acc(completions, solution, **columns):
    with (Path(__file__).parent / "calls").open("a") as file:
        file.write("x\\n")
    if "3" in solution[0] and not (Path(__file__).parent / "mended").exists():
        raise ConnectionError("judge is away")
    return [float(c[0]["content"] == s) for c, s in zip(completions, solution)]
"""


def test_answers_without_a_reward_are_unknown_and_can_be_tried_again(begin, reward, live):
    reward.write_text(FLAKY.replace('"3" in', '"2" in'))
    run, spec = begin(f"{reward}:acc")
    profile = rows(run, "profile", PassRate)
    errors = sum(row.num_grader_error for row in profile)
    assert 0 < errors < 60
    assert all(row.level is None for row in profile if row.num_grader_error)
    assert all(g.reward is None for g in rows(run, "grades", Grade) if g.outcome == "grader_error")
    said = next(line for line in live.lines if "have no reward and are unknown" in line)
    assert "acc: ConnectionError: judge is away" in said
    assert "--redo-errors" in said
    calls = num_calls(reward)
    (reward.parent / "mended").touch()
    try_errors_again(run)
    stages.profile(run, spec, live)
    assert num_calls(reward) == calls + errors
    assert all(row.num_graded == 5 for row in rows(run, "profile", PassRate))


def test_failed_samples_stay_failed_and_no_function_is_called_for_them(begin, reward, serve):
    run, _ = begin(f"{reward}:acc", server=serve(faults=["400"]))
    outcomes = [grade.outcome for grade in rows(run, "grades", Grade)]
    assert outcomes.count("failed") == 5
    assert num_calls(reward) == 55


def test_cut_answers_below_the_threshold_are_truncated_and_above_it_correct(begin, reward, serve):
    run, _ = begin(f"{reward}:acc", server=serve(faults=["cut"]))
    grades = rows(run, "grades", Grade)
    cut = [grade for grade in grades if grade.outcome == "truncated"]
    assert cut
    assert all(grade.reward == 0.0 for grade in cut)


GOLDS = [
    {"question": "Write a sorter", "answer": '{"tests": [[1, 2]]}', "extra": 1},
    {"question": "Which?", "choices": ["x", "y"], "answer": "z"},
    {"question": "Compute it", "answer": "\\frac{1}{", "kind": "math"},
    {"question": "No gold", "answer": ""},
]


def test_golds_that_only_the_builtin_grader_cannot_read_are_kept_without_it(
    begin, reward, write_rows, live, serve
):
    server = serve(answer=lambda messages, chooser: "x")
    reward.write_text("def f(solution_str, ground_truth): return float(len(ground_truth) > 0)")
    data = write_rows(GOLDS)
    run, _ = begin(f"{reward}:f", dataset=data, server=server)
    questions = rows(run, "questions", Question)
    assert [q.answer for q in questions] == [row["answer"] for row in GOLDS[:3]]
    assert [q.kind for q in questions] == ["text", "choice", "math"]
    assert {grade.reward for grade in rows(run, "grades", Grade)} == {1.0}
    with pytest.raises(SettingsError, match="its golds were not checked"):
        grade_with(run, live, rewards=parse_rewards(["builtin"], []))


def test_a_run_of_the_builtin_grader_may_be_graded_with_a_reward_and_back(begin, reward, live):
    run, spec = begin("builtin")
    assert spec.grading.rewards is None
    before = rows(run, "grades", Grade)
    assert "grading.rewards" not in store.read_stamp(run.grades).settings
    spec = grade_with(run, live, rewards=parse_rewards([f"{reward}:length"], []))
    assert spec.source.unchecked_gold is None
    assert {grade.outcome for grade in rows(run, "grades", Grade)} == {"wrong"}
    grade_with(run, live, rewards=parse_rewards(["builtin"], []))
    assert rows(run, "grades", Grade) == before


def test_the_summary_says_which_reward_it_was(begin, reward, capsys):
    from rich.console import Console

    run, spec = begin(f"{reward}:acc", f"{reward}:length", weights=[1.0, 0.5], pass_threshold=1.0)
    found = summarize(run, spec)
    grades = rows(run, "grades", Grade)
    assert found.mean_reward == pytest.approx(sum(g.reward for g in grades) / 60)
    assert [part.name for part in found.reward.parts] == ["acc", "length"]
    assert found.reward.parts[1].mean == pytest.approx(
        sum(g.components[1].value for g in grades) / 60
    )
    assert any("the reward takes 4 values" in text for text in found.warnings)
    assert found.settings["pass threshold"] == "1"
    page = render(found)
    assert f"1 × acc ({reward}) + 0.5 × length" in page
    assert "An answer is correct if its reward is at least 1. Mean reward 0." in page
    print_summary(found, Console(width=200))
    assert "reward 1 × acc + 0.5 × length, correct from 1 on: mean 0." in capsys.readouterr().out


def test_the_builtin_grader_alone_has_a_mean_but_no_reward_of_the_users(begin):
    run, spec = begin("builtin")
    found = summarize(run, spec)
    assert found.reward is None
    assert 0 < found.mean_reward < 1


def test_profile_with_a_reward_prints_one_json_object_whatever_the_function_prints(
    sums, tmp_path, serve, reward
):
    url, _ = serve()
    arguments = (
        "profile", sums, "--model", "scripted", "--endpoint", url, "--run", tmp_path / "run",
        "--template", "bare-v1", "--reward", f"{reward}:acc", "--reward", f"{reward}:length",
        "--reward-weight", "1", "--reward-weight", "0.1", "--pass-threshold", "1", "--json",
    )  # fmt: skip
    done = difficulty(*arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [part["weight"] for part in found["reward"]["parts"]] == [1.0, 0.1]
    assert "must harm nothing" in (tmp_path / "run" / "logs" / "rewards.log").read_text()
    done = difficulty("grade", tmp_path / "run", "--pass-threshold", "0.1", "--json")
    assert json.loads(done.stdout)["rows"] == 60
    assert num_calls(reward) == 60
    again = json.loads(difficulty(*arguments).stdout)
    assert {**again, "regrade": None} == found
    assert num_calls(reward) == 60


@pytest.mark.parametrize(
    ("text", "option", "message"),
    [
        ("nothing.py:f", (), "reward file is missing"),
        ("my_reward.py:nothing", (), "reward file has no 'nothing'"),
        ("my_reward.py:acc", ("--reward-weight", "1", "--reward-weight", "2"), "found 2 for 1"),
        ("my_reward.py:acc", ("--reward-deadline", "0"), "reward-deadline is out of range"),
        ("my_reward.py:acc", ("--reward-concurrency", "0"), "reward-concurrency is too small"),
        ("my_reward.py:acc", ("--reward-completions", "x"), "unknown reward-completions"),
        ("builtin", ("--pass-threshold", "1"), "pass-threshold without a reward"),
    ],
)
def test_a_reward_that_cannot_work_is_refused_before_anything_starts(
    sums, tmp_path, reward, text, option, message
):
    place = text if text == "builtin" else tmp_path / text
    nowhere = ("--model", "m", "--endpoint", "http://127.0.0.1:9", "--run", tmp_path / "run")
    line = one_line(difficulty("profile", sums, *nowhere, "--reward", place, *option))
    assert message in line
    assert not (tmp_path / "run").exists()


def test_check_shows_what_the_reward_returns(sums, tmp_path, reward):
    code = """
        async def judge(completions, solution, **columns):
            if completions[0][0]["content"].startswith("I do"):
                raise ValueError("no answer in it")
            return [0.5]
    """
    (tmp_path / "judge.py").write_text(textwrap.dedent(code))
    rewards = ("--reward", f"{reward}:acc", "--reward", tmp_path / "judge.py:judge")
    found = json.loads(difficulty("check", sums, *rewards, "--json").stdout)["reward"]
    assert [function["is_async"] for function in found["functions"]] == [False, True]
    assert len(found["trials"]) == 12
    gold, asked, boxed, wrong = found["trials"][:4]
    assert (asked["reply"], asked["text"], asked["reward"]) == ("as asked", "Answer: 0", 0.5)
    assert [part["value"] for part in gold["parts"]] == [1.0, 0.5]
    assert [part["type"] for part in gold["parts"]] == ["list[float]"] * 2
    assert all(part["ms"] >= 0 for part in gold["parts"])
    assert (gold["reward"], gold["outcome"]) == (1.5, "correct")
    assert (boxed["text"], boxed["reward"], boxed["outcome"]) == ("\\boxed{0}", 0.5, "wrong")
    assert (wrong["reward"], wrong["outcome"]) == (None, "grader_error")
    assert wrong["parts"][1]["fault"] == "ValueError: no answer in it"
    shown = difficulty("check", sums, *rewards).stdout
    assert "judge: ValueError: no answer in it (3 of 12 replies)" in shown
    assert "list[float]" in shown
    assert all(text in shown for text in ("Answer: 0", "boxed{2}", "I do not know."))


def test_check_fails_where_the_reward_gave_nothing_for_any_reply(sums, tmp_path):
    (tmp_path / "bad.py").write_text("def f(completions, **columns):\n    raise KeyError('x')\n")
    for options in ((), ("--json",)):
        done = difficulty("check", sums, "--reward", tmp_path / "bad.py:f", *options)
        assert done.returncode == 1
        assert "all 12 replies that were tried got none" in done.stderr
        assert "f: KeyError: 'x'" in done.stderr.splitlines()[-1]
    assert len(json.loads(done.stdout)["reward"]["trials"]) == 12


def test_a_template_that_asks_for_no_form_has_no_such_probe(sums, reward):
    rewards = ("--reward", f"{reward}:acc", "--template", "bare-v1")
    found = json.loads(difficulty("check", sums, *rewards, "--json").stdout)["reward"]
    assert [trial["reply"] for trial in found["trials"][:3]] == ["gold", "boxed", "wrong"]


def test_check_reads_golds_as_a_run_with_that_reward_would(write_rows, reward):
    data = write_rows(GOLDS)
    assert json.loads(difficulty("check", data, "--json").stdout)["questions"] == 0
    found = json.loads(difficulty("check", data, "--reward", f"{reward}:acc", "--json").stdout)
    assert found["questions"] == 3
    assert found["set_aside"] == {"no_gold": 1}
