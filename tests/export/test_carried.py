"""The dataset's own columns in the training files, for a reward of the user's own."""

import json
import textwrap

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.export import EXPORTERS
from difficulty.export.carried import Carried, find_carried, full_row, full_schema, left_out_of
from difficulty.run import stages
from difficulty.run.change import find_run_dataset, plan_run, save_run
from difficulty.schema import Grade
from difficulty.settings.rewards import parse_rewards
from difficulty.user_rewards.call import arguments
from difficulty.user_rewards.function import Loaded
from difficulty.user_rewards.request import request_of
from difficulty.user_rewards.setup import Setup
from tests.conftest import make_changes, make_question, sum_answer, with_change

REWARDS = """
def as_trl(completions, answer, tests, weight, level_of, **columns):
    return [w * (c[0]["content"] == a["right"]) + 0 * len(t[0]["in"])
            for c, a, t, w in zip(completions, answer, tests, weight)]
def as_verl(data_source, solution_str, ground_truth, extra_info=None):
    right = extra_info["answer"]["right"]
    return {"score": extra_info["weight"] * (solution_str == right), "first": extra_info["index"]}
"""
OWN = ("answer", "tests", "weight", "level_of", "extra_info")


def dataset_rows():
    return [
        {
            "question": f"What is {n} + {n}?", "gold": str(2 * n), "answer": {"right": str(2 * n)},
            "tests": [{"in": str(n)}], "weight": 2 if n % 2 else 2.0, "level_of": None,
            "level": "Level 5", "extra_info": {"index": 100 + n}, "odd": "text" if n % 2 else n,
        }
        for n in range(6)
    ]  # fmt: skip


@pytest.fixture
def begin(tmp_path, live, serve, write_rows):
    """Grade and export a run with functions of the file."""
    path = tmp_path / "own.py"
    path.write_text(textwrap.dedent(REWARDS))

    def start(*names, trainers=("trl", "verl"), **export):
        url, _ = serve(answer=sum_answer(lambda n: 0.5))
        run = store.RunFolder(tmp_path / "run")
        overrides = {
            "source": {"columns": ("answer=gold",)},
            "sampling": {"template": "bare-v1", "max_tokens": 64},
            "grading": {
                "rewards": parse_rewards([f"{path}:{name}" for name in names], ()),
                "pass_threshold": 2.0,
            } if names else {},
            "selection": {"keep": "L1-L6"},
            "export": {"trainers": trainers, **export},
            "server": {"endpoints": (url,)},
        }  # fmt: skip
        dataset = str(write_rows(dataset_rows()))
        spec = plan_run(
            run,
            dataset,
            find_run_dataset(run, dataset, make_changes(overrides)),
            "scripted",
            make_changes(overrides),
        )
        save_run(run, spec)
        stages.profile(run, spec, live)
        return run, path

    return start


def exported(run, trainer):
    return pq.read_table(run.exports / trainer / "train-00000.parquet").to_pylist()


def functions_of(path):
    space = {}
    exec(compile(path.read_text(), path.name, "exec"), space)
    return space


def grades_of(run):
    texts = {
        (row["question_id"], row["sample_index"]): row["text"]
        for part in run.completion_parts()
        for row in pq.read_table(part).to_pylist()
    }
    for grade in store.read_rows(run.grades, Grade):
        yield grade, texts[grade.question_id, grade.sample_index]


def test_a_trl_function_gets_the_same_columns_in_training_as_in_the_profile(begin):
    run, path = begin("as_trl")
    function = functions_of(path)["as_trl"]
    rows = {row["question_id"]: row for row in exported(run, "trl")}
    for grade, text in grades_of(run):
        columns = {name: [value] for name, value in rows[grade.question_id].items()}
        reply = [[{"role": "assistant", "content": text}]]
        del columns["prompt"]
        assert function(completions=reply, **columns) == [grade.reward]
    assert {grade.outcome for grade, _ in grades_of(run)} == {"correct", "wrong"}


def test_a_verl_function_gets_them_in_extra_info(begin):
    run, path = begin("as_verl")
    function = functions_of(path)["as_verl"]
    rows = {row["extra_info"]["question_id"]: row for row in exported(run, "verl")}
    for grade, text in grades_of(run):
        row = rows[grade.question_id]
        found = function(
            row["data_source"], text, row["reward_model"]["ground_truth"], row["extra_info"]
        )
        assert found["score"] == grade.reward
        assert found["first"] == grade.components[1].value
    assert all(row["extra_info"]["level"] != "Level 5" for row in rows.values())


def test_what_cannot_be_carried_is_said_and_names_of_the_files_own_stay_its_own(begin, live):
    run, _ = begin("as_trl")
    said = "\n".join(live.lines)
    (line,) = [line for line in said.splitlines() if "/trl/" in line and "without" in line]
    assert "without columns of the dataset: odd (it holds values of two types, int and " in line
    assert "level (the name has a meaning of its own there)" in line
    (row, *_) = exported(run, "trl")
    assert row["level"].startswith("L")
    assert {*OWN, "ground_truth"} <= row.keys()
    assert "odd" not in row


def test_without_a_reward_of_ones_own_columns_are_carried_only_on_request(begin, live):
    run, _ = begin()
    assert not {*OWN} & exported(run, "trl")[0].keys()
    spec = with_change(run, {"export": {"carry": ("weight", "tests")}})
    stages.export(run, spec, live)
    assert {*OWN} & exported(run, "trl")[0].keys() == {"weight", "tests"}
    assert exported(run, "verl")[0]["extra_info"]["weight"] == 2.0
    stages.export(run, with_change(run, {"export": {"carry": ("none",)}}), live)
    assert not {*OWN} & exported(run, "trl")[0].keys()


@pytest.mark.parametrize(("names", "message"), [
    (("nope",), "no column 'nope' to carry: the dataset has"),
    (("odd",), "column odd cannot be carried: it holds values of two types"),
    (("all", "weight"), "carry all goes alone"),
])  # fmt: skip
def test_a_column_that_cannot_be_carried_is_one_line(begin, live, names, message):
    run, _ = begin()
    with pytest.raises(SettingsError, match=message):
        stages.export(run, with_change(run, {"export": {"carry": names}}), live)


@pytest.mark.parametrize("name", EXPORTERS)
def test_every_trainers_file_holds_the_columns_where_its_rewards_look(name):
    from tests.export.test_export import CARRIED_IN, ONE_TURN, training_row

    trainer = EXPORTERS[name]
    taken = dict.fromkeys(trainer.reserved, "y")
    own = {"tests": ["a"], "weight": 1, "level": "x", **taken}
    question = make_question(metadata=json.dumps(own))
    types = {"tests": pa.list_(pa.string()), "weight": pa.int64(), "level": pa.string()}
    types |= dict.fromkeys(taken, pa.string())
    carried = Carried(types=types, names=(*types,))
    item = training_row(question, system=None if name in ONE_TURN else "s")
    schema = full_schema(trainer, carried, plain=False)
    (row,) = pa.Table.from_pylist([full_row(trainer, item, carried)], schema).to_pylist()
    place = json.loads(row["info"]) if name == "verifiers" else row.get(CARRIED_IN.get(name), row)
    assert place["level"] == "L3"
    assert place["weight"] == 1
    assert place.get("tests") == (None if trainer.flat else ["a"])
    assert "level" in left_out_of(trainer, carried)
    assert not place.keys() & taken.keys()


def test_kinds_of_values_are_joined_over_all_rows(begin, live):
    run, _ = begin()
    found = find_carried(run, with_change(run, {"export": {"carry": ("all",)}}))
    assert found.types["weight"] == pa.float64()
    assert found.types["level_of"] == pa.string()
    assert found.types["tests"] == pa.list_(pa.struct([("in", pa.string())]))
    assert found.left_out.keys() == {"odd"}


def test_a_call_of_the_profile_hides_the_names_that_a_training_file_has_of_its_own():
    question = make_question(metadata='{"level": "Level 5", "tests": ["a"]}')
    from tests.user_rewards.test_user_reward import reply

    setup = Setup(
        functions=(), deadline_s=1, template="bare-v1", few_shot=(), prompt_style="chat",
        completions="text",
    )  # fmt: skip
    for style in ("trl", "verl"):
        function = Loaded(
            part="f", call=print, style=style, is_async=False, named=frozenset(), required=(),
            takes_all=True,
        )  # fmt: skip
        given = arguments(function, request_of(question, reply()), setup)
        columns = given if style == "trl" else given["extra_info"]
        assert "level" not in columns
        assert columns["tests"] == ([["a"]] if style == "trl" else ["a"])


def test_a_column_that_is_not_there_neither_removes_files_nor_becomes_a_setting(begin):
    from tests.cli.test_cli import difficulty, one_line

    run, _ = begin()
    before = run.spec_file.read_text()
    line = one_line(difficulty("export", run.root, "--carry", "nope"))
    assert "no column 'nope' to carry: the dataset has question" not in line
    assert "no column 'nope' to carry" in line
    assert (run.spec_file.read_text(), len(exported(run, "trl"))) == (before, 6)
    done = difficulty("export", run.root, "--carry", "weight", "--carry", "tests")
    assert done.returncode == 0, done.stderr
    assert exported(run, "trl")[0]["tests"]
