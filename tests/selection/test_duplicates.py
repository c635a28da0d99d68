"""Near duplicates and overlaps with evaluation sets."""

import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty import store
from difficulty.errors import InputError
from difficulty.schema import NearDuplicate, Overlap, Question
from difficulty.selection.duplicates import evaluation_hashes, list_near_duplicates, list_overlaps
from difficulty.selection.duplicates.signatures import bands, grams, similarity
from difficulty.selection.duplicates.texts import comparable, gram_length, numbers, plain
from difficulty.settings.run import SelectionSpec
from tests.conftest import make_question, make_spec

LONG = (
    "A 45-year-old man comes to the clinic with a cough that has lasted for three weeks and a "
    "fever in the evening. Which of these is the next step in his care?"
)
OPTIONS = {"A": "Chest film", "B": "Sputum smear", "C": "Antibiotics", "D": "Observation"}


def a_run(folder, questions):
    run = store.RunFolder(folder)
    stamp = store.Stamp(settings={}, inputs={})
    with store.TableWriter(run.questions, store.table_schema(Question), stamp) as table:
        table.write_rows(questions)
    return run


def pairs(folder, questions):
    run = a_run(folder, questions)
    assert list_near_duplicates(run, make_spec())
    assert not list_near_duplicates(run, make_spec())
    ids = {question.question_id: number for number, question in enumerate(questions)}
    found = list(store.read_rows(run.near_duplicates, NearDuplicate))
    for row in found:
        assert row.question_id < row.other_id
    return {
        tuple(sorted((ids[row.question_id], ids[row.other_id]))): row.same_gold for row in found
    }


def option_question(prompt=LONG, answer="B", choices=None):
    return make_question(prompt, kind="choice", answer=answer, choices=choices or OPTIONS)


def test_other_spacing_width_case_and_order_of_options_make_a_near_duplicate(tmp_path):
    shuffled = {"A": "Sputum smear", "B": "Antibiotics", "C": "Observation", "D": "Chest film"}
    questions = [
        option_question(),
        option_question(LONG.upper().replace(" ", "  "), "A", shuffled),
        option_question("Which nerve moves the diaphragm of a healthy adult?", "A"),
    ]
    assert pairs(tmp_path, questions) == {(0, 1): True}


def test_a_changed_word_is_near_and_a_changed_number_another_question(tmp_path):
    questions = [
        option_question(),
        option_question(LONG.replace("cough", "fever")),
        option_question(LONG.replace("45", "75")),
    ]
    assert pairs(tmp_path, questions) == {(0, 1): True}


def test_the_same_stem_with_other_options_is_another_question(tmp_path):
    other = {"A": "Bed rest", "B": "Lung function test", "C": "Bronchoscopy now", "D": "Biopsy"}
    stem = "Which of the following is right?"
    assert pairs(tmp_path, [option_question(stem), option_question(stem, "B", other)]) == {}


def test_another_gold_is_listed_but_no_duplicate(tmp_path):
    assert pairs(tmp_path, [option_question(), option_question(LONG + "!", "C")]) == {(0, 1): False}


def test_japanese_questions_are_compared_by_characters(tmp_path):
    one = "消化管に含まれる臓器として正しいものを次の選択肢から一つ選べ"
    choices = {"A": "肝臓", "B": "大腸", "C": "腎臓"}
    questions = [
        option_question(one, "B", choices),
        option_question(one.replace("次の", "下の"), "B", choices),
        option_question("脳神経のうち顔面の運動をつかさどるものはどれか", "B", choices),
    ]
    assert pairs(tmp_path, questions) == {(0, 1): True}


def test_short_sums_are_all_different_questions(tmp_path):
    questions = [
        make_question(f"What is {a} + {b}?", answer=str(a + b)) for a in range(9) for b in range(9)
    ]
    assert pairs(tmp_path, questions) == {}


def test_a_chain_of_near_duplicates_is_one_cluster_whatever_the_order_of_the_rows(tmp_path):
    words = LONG.split()
    questions = [option_question(" ".join([*words[n:], *words[:n]])) for n in range(4)]
    found = []
    for name, rows in (("a", questions), ("b", questions[::-1])):
        run = a_run(tmp_path / name, rows)
        list_near_duplicates(run, make_spec())
        found.append(list(store.read_rows(run.near_duplicates, NearDuplicate)))
    assert found[0] == found[1]
    assert {row.cluster for row in found[0]} == {min(q.question_id for q in questions)}


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_the_grams_of_a_batch_are_those_of_its_texts(texts):
    tokens, starts = grams(texts)
    for number, text in enumerate(texts):
        alone, _ = grams([text])
        assert list(tokens[starts[number] : starts[number + 1]]) == list(alone)
        assert len(alone) == max(len(text) - gram_length(text) + 1, 1)


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_that_of_the_sets_of_grams(one, other):
    if gram_length(one) != gram_length(other):
        return
    size = gram_length(one)
    first, second = (
        {text[at : at + size] for at in range(max(len(text) - size + 1, 1))}
        for text in (one.ljust(size, "\0"), other.ljust(size, "\0"))
    )
    expected = len(first & second) / len(first | second)
    assert similarity(one, other) == pytest.approx(expected)
    assert similarity(one, other) == similarity(other, one)


def test_bands_do_not_depend_on_the_batch():
    texts = [LONG, LONG.replace("cough", "fever"), "x", ""]
    together = bands(texts)
    assert all((bands([text])[0] == row).all() for text, row in zip(texts, together, strict=True))
    assert (together[0] == together[1]).any()
    assert not (together[0] == together[2]).any()


def test_plain_text_keeps_what_mathematics_is_made_of():
    assert plain("  What is ２＋２ ?") == "what is 2+2"
    assert plain("2 - 2") != plain("2 + 2")
    assert numbers("In 3.5 mg of 1,000") == "3.5 1,000"
    assert comparable("a", ["x", "b"]) == comparable("A.", ["B", "X"])


def overlaps(folder, questions, files):
    run = a_run(folder, questions)
    spec = make_spec(selection=SelectionSpec(against=tuple(map(str, files))))
    said = []
    list_overlaps(run, spec, evaluation_hashes(run, spec), said.append)
    ids = {question.question_id: number for number, question in enumerate(questions)}
    rows = list(store.read_rows(run.overlaps, Overlap))
    return run, spec, {(ids[row.question_id], row.row, row.exact) for row in rows}, said


def test_questions_of_an_evaluation_set_are_found_with_their_row(tmp_path, write_rows):
    file = write_rows(
        [
            {"question": "Who wrote Faust, the tragedy in two parts?"},
            {"question": LONG.lower(), "options": [*OPTIONS.values()]},
            {"question": None},
            {"question": LONG.replace("cough", "fever"), "options": [*OPTIONS.values()]},
        ],
        "test.jsonl",
    )
    questions = [option_question(), make_question("What is 7 + 8?", answer="15")]
    _, _, found, said = overlaps(tmp_path / "run", questions, [file])
    assert found == {(0, 1, True)}
    assert "1 rows cannot be read as a question" in said[0]
    assert "1 questions overlap its 3 rows" in said[1]


def test_an_evaluation_set_that_is_gone_has_not_changed(tmp_path, write_rows):
    file = write_rows([{"question": LONG, "options": [*OPTIONS.values()]}], "test.jsonl")
    run, spec, _, _ = overlaps(tmp_path / "run", [option_question()], [file])
    before = evaluation_hashes(run, spec)
    file.unlink()
    assert evaluation_hashes(run, spec) == before
    gone = make_spec(selection=SelectionSpec(against=(str(tmp_path / "never.jsonl"),)))
    with pytest.raises(InputError, match=r"evaluation set is missing: .*never.jsonl"):
        evaluation_hashes(run, gone)


def test_an_evaluation_set_without_a_prompt_is_one_line(tmp_path, write_rows):
    file = write_rows([{"Frage": "x"}], "test.jsonl")
    with pytest.raises(InputError, match="no column for the prompt in .*found Frage"):
        overlaps(tmp_path / "run", [option_question()], [file])


def test_other_columns_of_known_families_are_read(tmp_path, write_rows):
    options = dict(zip(("opa", "opb", "opc", "opd"), OPTIONS.values(), strict=True))
    file = write_rows([{"question": LONG, **options, "cop": -1}], "medmcqa.jsonl")
    _, _, found, _ = overlaps(tmp_path / "run", [option_question()], [file])
    assert found == {(0, 0, True)}


def test_scratch_tables_are_gone_and_the_list_is_plain(tmp_path):
    run = a_run(tmp_path / "run", [option_question()])
    list_near_duplicates(run, make_spec())
    assert sorted(path.name for path in run.root.iterdir()) == [
        "near_duplicates.parquet", "questions.parquet",
    ]  # fmt: skip
    assert pq.read_table(run.near_duplicates).num_rows == 0
    assert json.loads(pq.read_metadata(run.near_duplicates).metadata[b"difficulty"])["inputs"]
