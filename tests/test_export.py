import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import make_question

from difficulty.errors import InputError, SettingsError
from difficulty.export import TRAINERS, find_trainer
from difficulty.export.training_row import TrainingRow
from difficulty.grading.key import grading_key, question_from_key

CARRIED = {
    "question_id",
    "level",
    "pass_rate",
    "num_samples",
    "num_correct",
    "position",
    "grading_key",
}


def training_row(question, position=0):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": question.prompt},
    ]
    return TrainingRow(
        question=question, messages=messages, grading_key=grading_key(question), level="L3",
        pass_rate=0.6, num_samples=5, num_correct=3, position=position,
    )  # fmt: skip


ROWS = [
    training_row(make_question("2 + 2?", answer="4"), 0),
    training_row(
        make_question("Which?", kind="multi", answer="a,c", choices={"a": "x", "b": "y", "c": "z"}),
        1,
    ),
]


@pytest.fixture(params=TRAINERS)
def exported(request, tmp_path):
    trainer = TRAINERS[request.param]
    path = tmp_path / f"{trainer.name}.parquet"
    pq.write_table(pa.Table.from_pylist([trainer.row(row) for row in ROWS], trainer.schema()), path)
    return trainer.name, path


EXPECTED = {
    "trl": {"prompt", "solution", "source"} | CARRIED,
    "verl": {"data_source", "prompt", "ability", "reward_model", "extra_info"},
    "ms-swift": {"messages", "solution", "source"} | CARRIED,
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
}


def test_each_trainer_gets_its_own_columns_and_none_it_reserves(exported):
    name, path = exported
    columns = set(pq.read_schema(path).names)
    assert columns == EXPECTED[name]
    assert not columns & RESERVED[name]


def test_the_profile_travels_with_every_row(exported):
    name, path = exported
    row = pq.read_table(path).to_pylist()[1]
    carried = row["extra_info"] if name == "verl" else row
    assert carried.keys() >= CARRIED
    assert (
        carried["level"],
        carried["pass_rate"],
        carried["num_samples"],
        carried["num_correct"],
    ) == ("L3", 0.6, 5, 3)
    assert carried["position"] == 1


def test_messages_hold_exactly_role_and_content_and_end_with_the_user(exported):
    name, path = exported
    for row in pq.read_table(path).to_pylist():
        turns = row["messages" if name == "ms-swift" else "prompt"]
        assert [set(turn) for turn in turns] == [{"role", "content"}] * 2
        assert turns[-1]["role"] == "user"


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
    turns = frame["messages" if name == "ms-swift" else "prompt"][0]
    assert turns[0]["role"] == "system"


def test_the_file_holds_only_plain_types_and_no_librarys_metadata(exported):
    _, path = exported
    schema = pq.read_schema(path)
    assert not any(
        word in str(schema) for word in ("large_", "map<", "dictionary", "null", "int32")
    )
    assert set(pq.read_metadata(path).metadata or {}) <= {b"ARROW:schema", b"difficulty"}


def test_verls_ground_truth_is_text_and_its_rule_style_is_stated(tmp_path):
    row = TRAINERS["verl"].row(ROWS[0])
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
        find_trainer("axolotl")
