import dataclasses
import json
import re
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from difficulty import store
from difficulty.errors import InputError, SettingsError
from difficulty.export import EXPORTERS, find_exporter
from difficulty.export.readme import readme
from difficulty.grading.key import grading_key, question_from_key
from difficulty.run import stages
from difficulty.settings.rewards import GradingSpec, RewardSpec
from difficulty.settings.run import SelectionSpec, ServerSpec
from difficulty.trainers.row import TrainingRow
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_question, make_spec, with_change

CARRIED = {
    "question_id",
    "level",
    "pass_rate",
    "num_samples",
    "num_correct",
    "position",
    "grading_key",
}


def training_row(question, position=0, system="Be brief."):
    messages = [{"role": "user", "content": question.prompt}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    return TrainingRow(
        question=question, messages=messages, grading_key=grading_key(question), level="L3",
        pass_rate=0.6, num_samples=5, num_correct=3, position=position,
    )  # fmt: skip


QUESTIONS = [
    make_question("2 + 2?", answer="4"),
    make_question("Which?", kind="multi", answer="a,c", choices={"a": "x", "b": "y", "c": "z"}),
]
ONE_TURN = ("nemo-rl", "rllm")
"""Trainers that make the chat themselves, from one user turn."""


def rows_for(name):
    system = None if name in ONE_TURN else "Be brief."
    return [training_row(question, n, system) for n, question in enumerate(QUESTIONS)]


ROWS = rows_for("trl")


@pytest.fixture(params=EXPORTERS)
def exported(request, tmp_path):
    trainer = EXPORTERS[request.param]
    path = tmp_path / f"{trainer.name}.parquet"
    rows = [trainer.row(row) for row in rows_for(trainer.name)]
    pq.write_table(pa.Table.from_pylist(rows, trainer.schema()), path)
    return trainer.name, path


EXPECTED = {
    "trl": {"prompt", "solution", "source"} | CARRIED,
    "verl": {"data_source", "prompt", "ability", "reward_model", "extra_info"},
    "ms-swift": {"messages", "solution", "source"} | CARRIED,
    "openrlhf": {"input", "label", "datasource"} | CARRIED,
    "verifiers": {"prompt", "answer", "info", "example_id"},
    "areal": {"messages", "answer", "source"} | CARRIED,
    "skyrl": {"data_source", "prompt", "env_class", "reward_spec", "extra_info"},
    "nemo-rl": {"input", "output", "source"} | CARRIED,
    "rllm": {"id", "question", "ground_truth", "data_source"} | CARRIED,
    "slime": {"input", "label", "metadata"},
    "open-instruct": {"messages", "ground_truth", "dataset", "source"} | CARRIED,
    "plain": {"prompt", "kind", "choices", "answer", "source"} | CARRIED,
}
RESERVED = {
    "trl": {
        "prompts",
        "completions",
        "completion",
        "image",
        "images",
        "environment",
        "trainer_state",
    },
    "verl": {"raw_prompt", "index", "uid", "tools_kwargs"},
    "ms-swift": {"completions", "question", "problem", "answer", "query", "response"},
    "openrlhf": {"images"},
    "verifiers": {"task", "env_id", "question"},
    "areal": {"prompt", "completions", "prompt_ids", "completion_ids"},
    "skyrl": {"uid"},
    "nemo-rl": {"messages", "task_name"},
    "rllm": {"task_path", "instruction"},
    "slime": {"prompt", "tools"},
    "open-instruct": {"input_ids", "input_ids_prompt", "labels", "attention_mask"},
    "plain": set(),
}
CARRIED_IN = {"verl": "extra_info", "skyrl": "extra_info", "slime": "metadata"}
"""Where the profile travels, if not beside the trainer's own columns."""
TURNS_IN = {
    "ms-swift": "messages",
    "areal": "messages",
    "open-instruct": "messages",
    "openrlhf": "input",
    "slime": "input",
}
"""The column of the messages, if not ``prompt``."""


def turns_of(name, row):
    """The messages of a row before the model answers."""
    turns = row[TURNS_IN.get(name, "prompt")]
    return turns[:-1] if name == "open-instruct" else turns


def test_each_trainer_gets_its_own_columns_and_none_it_reserves(exported):
    name, path = exported
    columns = set(pq.read_schema(path).names)
    assert columns == EXPECTED[name]
    assert not columns & RESERVED[name]


def test_the_profile_travels_with_every_row(exported):
    name, path = exported
    row = pq.read_table(path).to_pylist()[1]
    carried = row[CARRIED_IN[name]] if name in CARRIED_IN else row
    if name == "verifiers":
        carried = json.loads(row["info"])
    assert carried.keys() >= CARRIED
    assert (
        carried["level"],
        carried["pass_rate"],
        carried["num_samples"],
        carried["num_correct"],
    ) == ("L3", 0.6, 5, 3)
    assert carried["position"] == 1
    assert question_from_key(carried["grading_key"]).answer == "a,c"


def test_messages_hold_exactly_role_and_content_and_end_with_the_user(exported):
    name, path = exported
    if name in ONE_TURN:
        pytest.skip("one user turn, as text")
    for row in pq.read_table(path).to_pylist():
        turns = turns_of(name, row)
        assert [set(turn) for turn in turns] == [{"role", "content"}] * 2
        assert turns[-1]["role"] == "user"


def test_the_gold_is_text_and_where_its_trainer_looks_for_it():
    def row(name):
        return EXPORTERS[name].row(rows_for(name)[1])

    assert row("trl")["solution"] == row("ms-swift")["solution"] == "a,c"
    assert row("areal")["answer"] == row("verifiers")["answer"] == row("plain")["answer"] == "a,c"
    assert row("openrlhf")["label"] == row("slime")["label"] == row("nemo-rl")["output"] == "a,c"
    assert row("rllm")["ground_truth"] == "a,c"
    assert row("skyrl")["reward_spec"] == {"method": "rule", "ground_truth": "a,c"}
    assert row("open-instruct")["ground_truth"] == grading_key(QUESTIONS[1])
    assert row("open-instruct")["dataset"] == "difficulty"


def test_open_instruct_cuts_off_the_gold_and_never_the_question():
    for system in (None, "Be brief."):
        messages = EXPORTERS["open-instruct"].row(training_row(QUESTIONS[0], 0, system))["messages"]
        prompt = messages if len(messages) == 1 else messages[:-1]  # as its tokenizer does
        assert prompt[-1] == {"role": "user", "content": "2 + 2?"}


@pytest.mark.parametrize("name", ONE_TURN)
def test_turns_that_a_trainer_would_lose_are_refused(name):
    assert "2 + 2?" in EXPORTERS[name].row(rows_for(name)[0]).values()
    with pytest.raises(SettingsError, match=f"{name} takes one user turn .* are system, user. Pro"):
        EXPORTERS[name].row(ROWS[0])


def test_a_plain_run_gives_text_to_the_trainers_that_take_it_and_one_turn_to_the_others():
    item = dataclasses.replace(rows_for("rllm")[0], plain_prompt="2 + 2?")
    for name, trainer in EXPORTERS.items():
        row = trainer.row(item)
        table = pa.Table.from_pylist([row], trainer.schema(plain=True))
        if trainer.takes_text:
            assert table.to_pylist()[0][TURNS_IN.get(name, "prompt")] == "2 + 2?"
        elif name not in ONE_TURN:
            assert [turn["role"] for turn in turns_of(name, row)] == ["user"]


def test_datasets_reads_the_file_and_joins_it_with_itself(exported):
    import datasets

    _, path = exported
    found = datasets.Dataset.from_parquet(str(path), cache_dir=str(path.parent / "cache"))
    assert len(datasets.concatenate_datasets([found, found])) == 4
    assert found[0].keys() == set(pq.read_schema(path).names)


def test_pandas_reads_the_file(exported):
    name, path = exported
    frame = pd.read_parquet(path)
    assert len(frame) == 2
    if name not in ONE_TURN:
        assert turns_of(name, frame.iloc[0])[0]["role"] == "system"


def test_rllms_rows_are_flat_since_pandas_would_make_arrays_of_lists():
    assert not any(pa.types.is_nested(field.type) for field in EXPORTERS["rllm"].schema())


def test_the_file_holds_only_plain_types_and_no_librarys_metadata(exported):
    _, path = exported
    schema = pq.read_schema(path)
    assert not any(
        word in str(schema) for word in ("large_", "map<", "dictionary", "null", "int32")
    )
    assert set(pq.read_metadata(path).metadata or {}) <= {b"ARROW:schema", b"difficulty"}


@pytest.fixture
def written(sums, tmp_path, live, serve):
    """A run of twelve sums, exported to a trainer by name."""
    url, _ = serve()
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(
        sums, server=ServerSpec(endpoints=(url,)), selection=SelectionSpec(keep="L1-L6")
    )
    store.save_spec(run, spec)
    stages.profile(run, spec, live)

    def export(*names):
        stages.export(run, with_change(run, {"export": {"trainers": names}}), live)
        return run.exports

    return export


def test_areal_gets_a_folder_that_datasets_loads_with_the_rows_of_the_file(written):
    import datasets

    place = written("areal") / "areal"
    found = datasets.load_from_disk(str(place / "train"))
    assert found.to_list() == pq.read_table(place / "train-00000.parquet").to_pylist()
    assert found["position"][:] == list(range(12))
    assert sorted(p.name for p in place.iterdir()) == ["README.md", "train", "train-00000.parquet"]


def test_every_export_has_a_readme_that_points_at_its_file_our_reward_and_the_order(written):
    exports = written(*EXPORTERS)
    for name, trainer in EXPORTERS.items():
        text = (exports / name / "README.md").read_text()
        file = exports / name / ("train" if trainer.reads_folder else "train-00000.parquet")
        assert file.exists()
        assert str(file.resolve()) in text
        assert "12 questions" in text
        assert "difficulty.rewards" in text
        assert (trainer.keep_order or "always shuffles") in text
        assert ("Not run against its loader" in text) == (
            not trainer.loader_ran and name != "plain"
        )
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            compile(block, name, "exec")
        assert not re.search(r"\b(FILE|FOLDER)\b", text)


def own_spec(*parts, threshold=None):
    rewards = tuple(
        RewardSpec(file=str(file), name=name, weight=weight) for file, name, weight in parts
    )
    grading = GradingSpec(grader="1", rewards=rewards, pass_threshold=threshold)
    return dataclasses.replace(make_spec(), grading=grading)


def readme_of(name, spec, place=Path("exports")):
    file = place / name / "train-00000.parquet"
    return readme(EXPORTERS[name], spec, file=file, folder=file.parent / "train", rows=1)


def test_the_readme_of_a_run_with_a_reward_of_its_own_says_so():
    own = own_spec(("/r.py", "f", 0.5), threshold=0.25)
    texts = [readme_of("trl", spec) for spec in (make_spec(), own)]
    said = "graded by a reward of your own**: 0.5 x `/r.py:f`. A reply counted\nas correct"
    assert [said.replace("\n", " ") in text for text in texts] == [False, True]
    assert "from a reward of 0.25 on" in texts[1]


@pytest.fixture
def own_file(tmp_path):
    path = tmp_path / "FILE_of_mine.py"
    path.write_text(
        "def as_trl(completions, solution, prompts, **columns):\n"
        "    assert all(prompts)\n"
        "    return [float(c[0]['content'] == s) for c, s in zip(completions, solution)]\n"
        "def as_verl(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    right = float(solution_str == ground_truth)\n"
        "    return {'score': right, 'k': extra_info['num_samples']}\n"
    )
    return path


@pytest.mark.parametrize("function", ["as_trl", "as_verl"])
@pytest.mark.parametrize("name", EXPORTERS)
def test_the_settings_name_the_users_reward_and_its_call_gives_its_value(name, function, own_file):
    text = readme_of(name, own_spec((own_file, function, 1)), own_file.parent)
    assert str(own_file.parent) in text
    assert function in text
    assert "difficulty.rewards" not in text.partition("Order:")[0]
    assert not re.search(r"\b(FILE|FOLDER|OWN_\w+|MAX_TOKENS)\b", text)
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for block in blocks:
        compile(block, name, "exec")
    adapter = next((block for block in blocks if "def own_reward" in block), None)
    native = {"trl": "as_trl", "verl": "as_verl"}.get(name) == function
    sys.modules.pop(own_file.stem, None)
    assert (adapter is None) == native
    if native:
        return
    space = {}
    exec(adapter[: adapter.index("    ))") + 6] + "\n", space)
    row = {"num_samples": 5, "source": "set", "prompt": "p"}
    given = [space["own_reward"](reply, "4", row, "2 + 2?") for reply in ("4", "5")]
    assert given == [1.0, 0.0]


def test_a_native_verl_reward_and_several_parts_of_trl(own_file):
    verl = readme_of("verl", own_spec((own_file, "as_verl", 1)))
    assert f"reward.custom_reward_function.path={own_file}" in verl
    assert "reward.custom_reward_function.name=as_verl" in verl
    parts = own_spec((own_file, "as_trl", 0.5), ("builtin", "builtin", 1))
    text = readme_of("trl", parts)
    assert "reward_funcs=[as_trl, trl_reward]" in text
    assert "reward_weights=[0.5, 1]" in text


def test_the_glue_for_trl_and_verl_calls_the_users_reward_row_by_row(own_file):
    block = re.search(r"```python\n(.*?)```", readme_of("trl", own_spec((own_file, "as_verl", 2))),
                      re.DOTALL)  # fmt: skip
    space = {}
    exec(block[1], space)
    replies = [[{"role": "assistant", "content": text}] for text in ("4", "5")]
    found = space["rewards"](
        completions=replies, solution=["4", "4"], prompts=["a", "b"], completion_ids=[[1], [2]],
        source=["s", "s"], num_samples=[5, 5], trainer_state=None,
    )  # fmt: skip
    assert found == [2.0, 0.0]
    own_file.write_text(own_file.read_text().replace("    assert all(prompts)\n", ""))
    sys.modules.pop(own_file.stem, None)
    text = readme_of("verl", own_spec((own_file, "as_trl", 2)))
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], space)
    assert [space["compute_score"]("set", reply, "4", {"k": 1}) for reply in ("4", "5")] == [2, 0]


def test_files_of_an_earlier_selection_are_made_again_also_of_trainers_not_named_last(
    written, live
):
    exports = written("trl", "verl")
    written("plain")
    run = store.RunFolder(exports.parent)
    stages.refresh(run, with_change(run, {"selection": {"group_size": 16}}), live, "forecast")
    names = ("trl", "verl", "plain")
    stamps = [store.read_stamp(exports / name / "train-00000.parquet") for name in names]
    assert {stamp.settings["selection.group_size"] for stamp in stamps} == {16}
    assert all((exports / name / "README.md").exists() for name in names)
    said = [
        line for line in live.lines if "it was made by other settings and is made again" in line
    ]
    assert [line.partition(":")[0].rpartition("/")[2] for line in said] == [
        "ms-swift", "plain", "trl", "verl",
    ]  # fmt: skip


def test_an_export_of_another_selection_goes_with_all_that_was_made_from_it(written, live):
    exports = written("areal")
    run = store.RunFolder(exports.parent)
    spec = with_change(run, {"selection": {"pass_rate": "0.01-0.02"}})
    stages.refresh(run, spec, live, "select")
    assert list((exports / "areal").iterdir()) == []


def test_an_export_whose_last_file_is_missing_is_made_again(written):
    place = written("areal") / "areal"
    (place / "README.md").unlink()
    (place / "train" / "state.json").unlink()
    written("areal")
    assert (place / "README.md").exists()
    assert (place / "train" / "state.json").exists()


def test_verls_ground_truth_is_text_and_its_rule_style_is_stated(tmp_path):
    row = EXPORTERS["verl"].row(ROWS[0])
    assert row["reward_model"] == {"style": "rule", "ground_truth": "4"}
    assert row["extra_info"]["index"] == 0


def test_the_grading_key_gives_back_what_grades_a_question():
    choices = {"a": "x", "b": "y", "c": "z"}
    question = make_question(
        "Which?", kind="multi", answer="a,c", choices=choices, aliases=("a,b",)
    )
    back = question_from_key(grading_key(question))
    assert json.loads(grading_key(question)).keys() == {
        "kind",
        "answer",
        "choices",
        "tolerance",
        "aliases",
        "prompt",
    }
    for field in ("kind", "answer", "choices", "tolerance", "aliases"):
        assert getattr(back, field) == getattr(question, field)


@pytest.mark.parametrize(
    "key", ["", "{}", "[]", '{"kind": "essay", "answer": "", "choices": null}']
)
def test_a_grading_key_that_is_none_is_one_line(key):
    with pytest.raises(InputError, match="grading key cannot be read"):
        question_from_key(key)


def test_an_unknown_trainer_lists_those_there_are():
    with pytest.raises(
        SettingsError, match="unknown trainer: 'axolotl'. Choose from trl, verl, ms-swift"
    ):
        find_exporter("axolotl")


@pytest.mark.parametrize("name", ONE_TURN)
def test_a_trainer_that_would_lose_turns_is_refused_before_anything_is_drawn(
    name, write_rows, live, tmp_path, serve
):
    url, _ = serve()
    rows = [{"question": "What is 1 + 1?", "answer": "2", "system_prompt": "Be brief."}]
    path = write_rows(rows)
    options = ("--model", "scripted", "--endpoint", url, "--run", tmp_path / "run")
    told = difficulty("profile", path, *options, "--export", name, "--system-prompt", "s")
    message = f"{name} takes one user turn a question: this run has a system prompt"
    assert message in one_line(told)
    assert not (tmp_path / "run").exists()
    assert message in one_line(difficulty("profile", path, *options, "--export", name))
    run = store.RunFolder(tmp_path / "run")
    assert not run.completion_parts()
    assert difficulty("profile", path, *options, "--export", "trl").returncode == 0
    refused = one_line(difficulty("export", run.root, "--to", name))
    assert f"{name} takes one user turn a question: this run's prompts are system, user" in refused
