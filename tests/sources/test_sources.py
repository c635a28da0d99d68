import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from difficulty import store
from difficulty.errors import InputError, SettingsError
from difficulty.schema import Question, SetAside, question_id
from difficulty.sources import find_dataset, load_questions
from difficulty.sources.columns import find_columns
from difficulty.sources.counts_table import read_counts_table
from difficulty.sources.few_shot import read_few_shot
from difficulty.sources.formats import READERS
from tests.conftest import make_spec


def load(path, tmp_path, **source):
    run = store.RunFolder(tmp_path / "run")
    load_questions(run, make_spec(path, source=source))
    questions = list(store.read_rows(run.questions, Question))
    return questions, list(store.read_rows(run.set_aside, SetAside))


def reasons(aside):
    return [row.reason.partition(":")[0] for row in aside]


GOOD = {"question": "2 + 2?", "answer": "4"}


def test_every_row_becomes_a_question_or_is_set_aside_with_a_reason(write_rows, tmp_path):
    rows = [
        GOOD,
        {"question": "Which is a vitamin?", "choices": ["Iron", "Retinol"], "answer": "B"},
        {"question": "no gold", "answer": ""},
        {"question": " ", "answer": "4"},
        {"question": "look", "answer": "4", "image": "a.png"},
        {"question": "q", "choices": ["a1", "b1"], "answer": "E"},
        {"question": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                      {"role": "user", "content": "c"}], "answer": "1"},
        {"question": [{"role": "user", "content": [{"type": "image"}]}], "answer": "1"},
        {"question": "only one option", "choices": ["x"], "answer": "A"},
        {"question": "odd kind", "kind": "essay", "answer": "1"},
        {"question": "odd options", "choices": {"label": None, "text": None}, "answer": "A"},
        {"question": "deep options", "choices": "[" * 5000, "answer": "A"},
        {"question": "huge gold", "answer": 10**400},
        {"question": "no number", "answer": float("nan")},
        {"question": "odd tolerance", "kind": "numeric", "tolerance": "about", "answer": "1"},
    ]  # fmt: skip
    questions, aside = load(write_rows(rows), tmp_path)
    assert [q.kind for q in questions] == ["numeric", "choice"]
    assert reasons(aside) == [
        "no_gold", "no_prompt", "has_media", "gold_not_among_options", "several_turns", "not_text",
        "choices_unreadable", "unknown_kind", "choices_unreadable", "choices_unreadable",
        "gold_unparsable", "no_gold", "tolerance_unreadable",
    ]  # fmt: skip
    assert [row.row for row in aside] == list(range(2, 15))
    assert json.loads(aside[0].raw) == rows[2]


def test_exact_duplicates_are_one_question_with_copies(write_rows, tmp_path):
    questions, aside = load(
        write_rows([GOOD, {"question": "3 + 3?", "answer": "6"}, GOOD]), tmp_path
    )
    assert [(q.prompt, q.num_copies) for q in questions] == [("2 + 2?", 2), ("3 + 3?", 1)]
    assert aside == []


def test_one_question_with_two_golds_is_set_aside_with_all_its_rows(write_rows, tmp_path):
    rows = [GOOD, {"question": "3 + 3?", "answer": "6"}, {"question": "2 + 2?", "answer": "5"}]
    questions, aside = load(write_rows(rows), tmp_path)
    assert [q.prompt for q in questions] == ["3 + 3?"]
    assert [(row.row, row.reason.partition(":")[0]) for row in aside] == [
        (0, "conflicting_gold"),
        (2, "conflicting_gold"),
    ]


def test_the_same_gold_written_twice_is_no_conflict(write_rows, tmp_path):
    questions, aside = load(write_rows([GOOD, {"question": "2 + 2?", "answer": " 4 "}]), tmp_path)
    assert [q.num_copies for q in questions] == [2]
    assert aside == []


def test_broken_lines_are_counted_rows_and_not_the_end(tmp_path):
    path = tmp_path / "set.jsonl"
    good = json.dumps(GOOD).encode()
    path.write_bytes(b"\n".join([
        good, b'{"question": "\xff", "answer": "1"}', b'{"question": ', b"[1]",
        b'{"question": "\\ud800", "answer": "1"}', b"", b"",
    ]))  # fmt: skip
    questions, aside = load(path, tmp_path)
    assert len(questions) == 1
    assert reasons(aside) == ["invalid_utf8", "invalid_json", "not_an_object", "invalid_utf8"]


def test_gsm8k_golds_are_read_as_they_are(write_rows, tmp_path):
    rows = [{"question": "How many?", "answer": "2+3=<<2+3=5>>5 thousand\n#### 5,000"}]
    (question,), _ = load(write_rows(rows), tmp_path)
    assert (question.kind, question.answer) == ("numeric", "5000")


def test_medmcqa_rows_are_read_by_their_zero_based_index(write_rows, tmp_path):
    row = {"question": "q", "opa": "w", "opb": "x", "opc": "y", "opd": "z", "cop": 2, "id": "7"}
    first = {**row, "question": "another", "cop": 0}  # shows that the column counts from 0
    (question, _), _ = load(write_rows([row, first]), tmp_path)
    assert (question.answer, [c.text for c in question.choices]) == ("C", ["w", "x", "y", "z"])
    assert json.loads(question.metadata)["id"] == "7"


def test_medqa_rows_are_read_by_their_letter(write_rows, tmp_path):
    row = {"question": "q", "options": {"A": "w", "B": "x"}, "answer": "x", "answer_idx": "B"}
    (question,), _ = load(write_rows([row]), tmp_path)
    assert question.answer == "B"


def test_igakuqa_rows_keep_their_labels_and_set_pictures_aside(write_rows, tmp_path):
    row = {
        "problem_id": "1",
        "problem_text": "どれか。",
        "choices": ["甲", "乙", "丙"],
        "text_only": True,
    }
    rows = [
        {**row, "answer": ["a", "c"]},
        {**row, "problem_text": "絵", "text_only": False, "answer": ["a"]},
    ]
    (question,), aside = load(write_rows(rows), tmp_path)
    assert (question.kind, question.answer) == ("multi", "a,c")
    assert reasons(aside) == ["has_media"]


def test_a_whole_number_beside_options_is_a_zero_based_index(write_rows, tmp_path):
    row = {"question": "q", "choices": ["x", "y", "z"], "answer": 2}
    first = {**row, "question": "another", "answer": 0}  # shows that the column counts from 0
    (question, _), _ = load(write_rows([row, first]), tmp_path)
    assert question.answer == "C"


def test_a_number_that_is_one_options_text_and_anothers_index_is_set_aside(write_rows, tmp_path):
    rows = [GOOD, {"question": "q", "choices": ["1", "2", "0"], "answer": 2}]
    _, aside = load(write_rows(rows), tmp_path)
    assert reasons(aside) == ["ambiguous_gold"]


def test_other_column_names_are_given_by_role(write_rows, tmp_path):
    path = write_rows([{"Frage": "2 + 2?", "KEY": "4"}])
    (question,), _ = load(path, tmp_path, columns=("prompt=Frage", "answer=KEY"))
    assert question.answer == "4"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "no column for the prompt: found Frage, KEY, expected one of prompt, question"),
        (("prompt=Frage",), "no column for the answer: found Frage, KEY"),
        (("prompt=Frage", "answer=gold"), "no column 'gold' for the answer: found Frage, KEY"),
        (("prompt",), "column option cannot be read: 'prompt'"),
    ],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(
    write_rows, tmp_path, columns, message
):
    path = write_rows([{"Frage": "2 + 2?", "KEY": "4"}])
    with pytest.raises(InputError, match=message):
        load(path, tmp_path, columns=columns)


def test_an_empty_dataset_and_one_without_a_usable_row_are_errors(write_rows, tmp_path):
    with pytest.raises(InputError, match="is empty: found no row"):
        load(write_rows([]), tmp_path)
    with pytest.raises(InputError, match="no usable question: all 1 rows were set aside"):
        load(write_rows([{"question": "q", "answer": ""}]), tmp_path)
    assert not (tmp_path / "run" / "questions.parquet").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.jsonl", "dataset file is missing"), ("set.txt", "unknown ending: set.txt")],
)
def test_a_dataset_that_is_not_there_or_of_no_known_kind_is_an_error(tmp_path, name, message):
    (tmp_path / "set.txt").write_text("x")
    with pytest.raises(InputError, match=message):
        find_dataset(str(tmp_path / name))


def test_all_file_formats_give_the_same_questions(write_rows, tmp_path):
    rows = [{"question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(5)]
    paths = [
        write_rows(rows),
        tmp_path / "set.json",
        tmp_path / "set.csv",
        tmp_path / "set.parquet",
    ]
    paths[1].write_text(json.dumps(rows))
    with paths[2].open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer"])
        writer.writeheader()
        writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), paths[3])
    first, *others = [load(path, tmp_path / path.suffix)[0] for path in paths]
    assert len(first) == 5
    assert all(other == first for other in others)


def test_a_folder_written_by_datasets_is_read(tmp_path):
    import datasets

    datasets.Dataset.from_list([GOOD]).save_to_disk(str(tmp_path / "folder"))
    found = find_dataset(str(tmp_path / "folder"))
    assert [row.values for row in found.rows()] == [GOOD]


def test_shards_share_out_the_rows_without_loss_or_overlap(write_rows, tmp_path):
    path = write_rows([{"question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(7)])
    parts = [load(path, tmp_path / str(i), shard=f"{i}/3")[0] for i in (1, 2, 3)]
    prompts = [q.prompt for part in parts for q in part]
    assert sorted(prompts) == [f"{n} + {n}?" for n in range(7)]
    with pytest.raises(SettingsError, match="shard cannot be read: '4/3'"):
        load(path, tmp_path, shard="4/3")


def test_a_dataset_that_changed_under_a_run_is_refused(write_rows, tmp_path):
    spec = make_spec(write_rows([GOOD]))
    write_rows([GOOD, {"question": "new", "answer": "1"}])
    with pytest.raises(InputError, match="has changed since this run was made"):
        load_questions(store.RunFolder(tmp_path / "run"), spec)


def test_the_id_depends_on_what_is_asked_and_not_on_the_gold():
    first = question_id(system_prompt=None, prompt="p", choices=None)
    assert first == question_id(system_prompt=None, prompt="p", choices=None)
    assert len({first, question_id(system_prompt="s", prompt="p", choices=None)}) == 2


def test_few_shot_turns_alternate_and_end_with_an_answer(write_rows):
    path = write_rows([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])
    assert [turn.role for turn in read_few_shot(path)] == ["user", "assistant"]
    with pytest.raises(InputError, match="line 1: expected an object with role 'user'"):
        read_few_shot(write_rows([{"role": "assistant", "content": "a"}]))
    with pytest.raises(InputError, match="ends with a question"):
        read_few_shot(write_rows([{"role": "user", "content": "q"}]))


def test_unnamed_columns_do_no_harm(tmp_path):
    (tmp_path / "c.csv").write_text("num_samples,num_correct,,\n5,0,,\n5,5,,\n")
    assert read_counts_table(tmp_path / "c.csv").num_correct.tolist() == [0, 5]


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "c.csv").write_text("num_samples,num_correct,num_samples\n5,0,8\n")
    names = ["num_samples", "num_correct", "num_correct"]
    twice = pa.Table.from_arrays([pa.array([5])] * 3, names=names)
    pq.write_table(twice, tmp_path / "c.parquet")
    for name, doubled in (("c.csv", "num_samples"), ("c.parquet", "num_correct")):
        words = f"{name} has two columns named '{doubled}'"
        with pytest.raises(InputError, match=words):
            read_counts_table(tmp_path / name)
        with pytest.raises(InputError, match=words):
            list(READERS[(tmp_path / name).suffix](tmp_path / name))


def test_a_table_of_counts_is_read_from_csv_and_parquet(tmp_path):
    (tmp_path / "c.csv").write_text("num_samples,num_correct,num_questions\n5,0,3\n5,5,4\n")
    counts = {"num_samples": [5, 5], "num_correct": [0, 5], "num_questions": [3, 4]}
    pq.write_table(pa.table(counts), tmp_path / "c.parquet")
    for name in ("c.csv", "c.parquet"):
        assert read_counts_table(tmp_path / name).num_questions.tolist() == [3, 4]
    (tmp_path / "bad.csv").write_text("num_samples\n5\n")
    with pytest.raises(InputError, match="lacks column num_correct: found num_samples"):
        read_counts_table(tmp_path / "bad.csv")
    (tmp_path / "text.csv").write_text("num_samples,num_correct\n5,many\n")
    with pytest.raises(InputError, match="text.csv: num_correct cannot .* row 0 .* 'many'"):
        read_counts_table(tmp_path / "text.csv")


def test_a_gold_that_is_the_text_of_several_options_is_named_so(write_rows, tmp_path):
    rows = [
        {"question": "a", "choices": ["4", "4", "5"], "answer": "4"},
        {"question": "b", "choices": ["4", "6", "5"], "answer": "4"},
    ]
    questions, aside = load(write_rows(rows), tmp_path)
    assert len(questions) == 1
    assert aside[0].reason == "duplicate_options: the gold '4' is the text of A and B"


def test_the_datasets_own_columns_are_kept_as_they_are_but_for_its_texts(write_rows, tmp_path):
    row = {
        "question": "How many?", "answer": "2+3=5\n#### 5", "system_prompt": "Be brief.",
        "tests": [{"in": "1", "out": 2}], "weight": 0.5,
    }  # fmt: skip
    (question,), _ = load(write_rows([row]), tmp_path)
    own = {name: row[name] for name in ("answer", "tests", "weight")}
    assert (question.answer, json.loads(question.metadata)) == ("5", own)


def test_a_familys_own_columns_are_those_before_it_was_rearranged(write_rows, tmp_path):
    row = {"question": "q", "options": {"A": "w", "B": "x"}, "answer": "x", "answer_idx": "B"}
    (question,), _ = load(write_rows([row]), tmp_path)
    assert (question.answer, json.loads(question.metadata)) == ("B", row)


def test_a_role_may_be_called_by_the_name_of_its_usual_column():
    found = find_columns(["stem", "key", "opts"], ["question=stem", "gold=key", "options=opts"])
    assert found.columns == {"prompt": "stem", "answer": "key", "choices": "opts"}
