import dataclasses
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty import store
from difficulty.errors import InputError, SettingsError
from difficulty.run import stages
from difficulty.schema import Question, SetAside
from difficulty.settings.run import SourceSpec, settings_through
from difficulty.sources import find_dataset, load_questions
from difficulty.sources.gold_index import IndexGold, settle_gold_index
from difficulty.sources.load import read_all
from difficulty.sources.misreadings import lone_letter
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_spec

ORGANS = ["Liver", "Heart", "Kidney", "Lung"]
PASSAGE = "The heart pumps blood through the body, and the lungs take up oxygen."


def read(path, **source):
    """Every row of a file in order: its gold, or why it was set aside."""
    return [
        item.answer if isinstance(item, Question) else item.reason
        for item in items_of(path, **source)
    ]


def items_of(path, **source):
    found = find_dataset(str(path))
    spec = SourceSpec(dataset=str(path), sha256=found.sha256, **source)
    return [item for _, item in read_all(found, spec)]


def rows_of(golds, name="answer", **more):
    return [{"question": f"Question {n}?", **more, name: gold} for n, gold in enumerate(golds)]


def spread(texts, names):
    return dict(zip(names, texts, strict=True))


INDEX = "whole-number golds beside options may count from 0 or from 1: found "
SAY = ". Say which with --gold-index 0 or --gold-index 1"
OPTIONS = "columns look like options and are not read: found "
JOIN = (
    ", filled in 2 of the first 2 rows. Put the options into one column and name it with "
    "--column choices=COLUMN, or say that they are not needed: "
)
READ_ALL = ", filled in 2 of the first 2 rows. Read them with --column choices="
READ_ONE = ", filled in 2 of the first 2 rows. Read one with --column choices="
LETTERS = "golds are letters and no options were found: "
TEXT_KIND = ", or, if the letters themselves are asked for, add a column kind that says text"
NAME_ONE = ". Name the column of the options with --column choices=COLUMN" + TEXT_KIND
BESIDE = "a column looks like the passage that the questions are about and is not read: found "
BEFORE = ". Put its text before the question in the prompt's column, or say that it is not needed: "
OP = spread(ORGANS, ["opa", "opb", "opc", "opd"])

REFUSED = {
    "an index from nowhere": (
        rows_of([1, 2, 2], choices=ORGANS),
        INDEX + "1 (1 row), 2 (2 rows) beside 4 options; neither 0 nor the number of options "
        "itself is there" + SAY,
    ),
    "an index from both": (
        rows_of([0, 2, 4.0], choices=ORGANS),
        INDEX + "0 (1 row), 2 (1 row), 4 (1 row) beside 4 options; both 0 (1 row) and the number "
        "of options itself (1 row) are there" + SAY,
    ),
    "an index from both, by rows of 3 and of 4 options": (
        [*rows_of([0], choices=ORGANS), *rows_of([3], choices=ORGANS[:3])],
        INDEX + "0 (1 row), 3 (1 row) beside 3 to 4 options; both 0 (1 row) and the number "
        "of options itself (1 row) are there" + SAY,
    ),
    "MedMCQA without a first or a last option": (
        rows_of([1, 2], "cop", **OP),
        INDEX + "1 (1 row), 2 (1 row) beside 4 options; neither 0 nor the number of options "
        "itself is there" + SAY,
    ),
    "letters alone": (
        rows_of(["B", "(c)", "D\n"]), LETTERS + "3 of the first 3 golds, as B, (c), D" + NAME_ONE,
    ),
    "letters for the most part": (
        rows_of(["B", "12", "C"]), LETTERS + "2 of the first 3 golds, as B, C" + NAME_ONE,
    ),
    "several letters": (
        rows_of([["A", "C"], "B, D"]),
        LETTERS + "2 of the first 2 golds, as ['A', 'C'], B, D" + NAME_ONE,
    ),
    "an options column without options": (
        rows_of(["Ａ", "ｂ"], choices=[]), LETTERS + "2 of the first 2 golds, as Ａ, ｂ" + NAME_ONE,
    ),
    "options in the prompt": (
        [{"problem": "Which?\nA. Liver\nB. Heart", "answer": "B"}],
        LETTERS + "1 of the first 1 golds, as B; 1 prompts hold their options themselves. Put "
        "these into a column choices" + TEXT_KIND,
    ),
    "columns A to D": (
        rows_of("BC", **spread(ORGANS, "ABCD")),
        OPTIONS + "A, B, C, D" + READ_ALL + "A,B,C,D, or say that they are not needed: "
        "--ignore-column A --ignore-column B --ignore-column C --ignore-column D",
    ),
    "columns option_a on": (
        rows_of(["Heart", "Liver"], **spread(ORGANS[:2], ["option_a", "Option B"])),
        OPTIONS + "option_a, Option B" + READ_ALL + "'option_a,Option B', or say that they are "
        "not needed: --ignore-column option_a --ignore-column 'Option B'",
    ),
    "distractors beside the gold": (
        rows_of(["Heart", "Liver"], distractor1="Lung"),
        OPTIONS + "distractor1" + JOIN + "--ignore-column distractor1",
    ),
    "Japanese names of options": (
        rows_of(["心臓", "肝臓"], **spread(ORGANS[:2], ["選択肢１", "選択肢２"])),
        OPTIONS + "選択肢１, 選択肢２" + READ_ALL + "選択肢１,選択肢２, or say that they are not "
        "needed: --ignore-column 選択肢１ --ignore-column 選択肢２",
    ),
    "options under another name": (
        rows_of(["A", "B"], option={"A": "Liver", "B": "Heart"}),
        OPTIONS + "option" + READ_ONE + "option, or say that they are not needed: "
        "--ignore-column option",
    ),
    "a passage beside the question": (
        rows_of(["yes", "no"], Passage=PASSAGE),
        BESIDE + "Passage, with text in 2 of the first 2 rows" + BEFORE + "--ignore-column Passage",
    ),
    "a passage in parts": (
        rows_of(["yes", "no"], context={"contexts": [PASSAGE, PASSAGE], "labels": ["AIM", "END"]}),
        BESIDE + "context, with text in 2 of the first 2 rows" + BEFORE + "--ignore-column context",
    ),
    "a Japanese passage beside options": (
        rows_of(["A", "B"], choices=ORGANS, 本文="心臓は血液を全身に送り、肺は酸素を取り込む。"),
        BESIDE + "本文, with text in 2 of the first 2 rows" + BEFORE + "--ignore-column 本文",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_would_be_misread_is_refused_with_what_was_found(name, write_rows):
    rows, line = REFUSED[name]
    with pytest.raises(InputError) as error:
        read(write_rows(rows))
    assert str(error.value) == line


READ = {
    "an index from 0": (rows_of([3, 0, 1], choices=ORGANS), ["D", "A", "B"]),
    "an index from 1": (rows_of([4, 1, 3], choices=ORGANS), ["D", "A", "C"]),
    "an index that came as floats": (rows_of([1.0, 4.0], choices=ORGANS), ["A", "D"]),
    "MedMCQA from 1": (rows_of([4, 1], "cop", **OP), ["D", "A"]),
    "labels that are digits": (rows_of([1, 2], choices={"1": "x", "2": "y"}), ["1", "2"]),
    "labels that are digits, as text": (rows_of("12", choices={"1": "x", "2": "y"}), ["1", "2"]),
    "texts that are digits": (rows_of([12, 15], choices=[10, 12, 15]), ["B", "C"]),
    "a symbol here and there": (rows_of(["K", "Na", "C", "Fe"]), ["K", "Na", "C", "Fe"]),
    "letters that are said to be texts": (rows_of(["C", "E"], kind="text"), ["C", "E"]),
    "options in a column and in columns": (
        rows_of("BA", choices=ORGANS, **spread(ORGANS, "ABCD")), ["B", "A"],
    ),
    "columns of options that are empty": (rows_of([5, 7], A=None, B="", C=None), ["5", "7"]),
    "operands": (rows_of([5, 7], a=2, b=3), ["5", "7"]),
    "a topic named context": (rows_of([5, 7], context="number theory"), ["5", "7"]),
    "a passage that the prompt holds": (
        [{"question": f"{PASSAGE}\nWhat pumps?", "context": PASSAGE, "answer": "heart"}], ["heart"],
    ),
    "explanations": (
        rows_of([5, 7], exp=PASSAGE, explanation=PASSAGE, cot=PASSAGE, source="x"), ["5", "7"],
    ),
    "MedQA": (
        rows_of("AB", "answer_idx", options={"A": "x", "B": "y"}, answer="x", meta_info=PASSAGE),
        ["A", "B"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_file_that_only_looks_so_is_read(name, write_rows):
    rows, golds = READ[name]
    assert read(write_rows(rows)) == golds


@st.composite
def index_columns(draw):
    """What a column counts from, and (place of the right option, number of options) of its rows."""
    sizes = draw(st.lists(st.integers(2, 10), min_size=1, max_size=12))
    return draw(st.sampled_from([0, 1])), [(draw(st.integers(0, n - 1)), n) for n in sizes]


@given(index_columns())
def test_an_index_column_is_settled_rightly_or_not_at_all(column):
    base, rows = column
    golds = [IndexGold(place + base, options, named=False) for place, options in rows]
    telling = any(place == (0 if base == 0 else options - 1) for place, options in rows)
    if telling:
        assert settle_gold_index(golds) == settle_gold_index(reversed(golds)) == base
    else:
        with pytest.raises(InputError, match=r"may count from 0 or from 1.*--gold-index"):
            settle_gold_index(golds)


@given(index_columns(), index_columns())
def test_two_columns_that_count_differently_are_never_settled_as_one(one, other):
    both = [*one[1], *other[1], (0, 4), (3, 4)]
    golds = [IndexGold(place + base, n, named=False) for base in (0, 1) for place, n in both]
    with pytest.raises(InputError, match="both 0"):
        settle_gold_index(golds)


def test_a_value_that_names_an_option_and_is_no_index_makes_the_column_no_index():
    golds = [IndexGold(0, 4, named=False), IndexGold(30, 4, named=True)]
    assert settle_gold_index(golds) is None
    assert settle_gold_index([IndexGold(-1, 4, named=False)]) is None


@pytest.mark.parametrize("part", [{"limit": 2}, {"shard": "1/4"}])
def test_a_part_of_a_file_counts_as_the_whole_file_does(write_rows, part):
    path = write_rows(rows_of([1] * 150 + [4], choices=ORGANS))
    assert set(read(path, **part)) == {"A"}
    assert read(path)[-1] == "D"


@pytest.mark.parametrize(
    ("rows", "times"),
    [
        (rows_of([0, 1] * 20, choices=ORGANS), 1),
        (rows_of(["A", "B"] * 99, choices=ORGANS), 1),
        (rows_of([5, 6] * 99), 1),
        (rows_of([0, 1] * 99, choices=ORGANS), 2),
    ],
)
def test_a_file_is_read_twice_only_for_an_index_that_may_end_later(write_rows, rows, times):
    path = write_rows(rows)
    found, reads = find_dataset(str(path)), []
    counted = dataclasses.replace(found, rows=lambda: reads.append(1) or found.rows())
    assert len(list(read_all(counted, SourceSpec(dataset="set", sha256="")))) == len(rows)
    assert len(reads) == times


def test_the_flag_settles_an_index_and_what_is_out_of_range_is_set_aside(write_rows):
    path = write_rows(rows_of([1, 2, 4], choices=ORGANS))
    assert read(path, gold_index=1) == ["A", "B", "D"]
    far = "gold_not_among_options: found 4 for 4 options"
    assert read(path, gold_index=0) == ["B", "C", far]
    with pytest.raises(SettingsError, match="gold index is neither 0 nor 1: 2"):
        make_spec(path, source={"gold_index": 2})


def test_an_index_written_as_text_is_read_only_when_it_is_said_to_be_one(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text('question,choices,answer\nq,"[""x"", ""y""]",1\nr,"[""x"", ""y""]",2\n')
    assert [reason.partition(":")[0] for reason in read(path)] == ["gold_not_among_options"] * 2
    assert all(reason.endswith("or --gold-index 0 or 1") for reason in read(path))
    assert read(path, gold_index=1) == ["A", "B"]


def test_a_number_that_is_one_option_and_anothers_index_is_never_guessed(write_rows):
    rows = [*rows_of([0, 3], choices=ORGANS), *rows_of([1], choices={"1": "x", "2": "y"})]
    rows += rows_of([2.0], choices=[1.0, 2.0, 3.0])
    assert [gold.partition(":")[0] for gold in read(write_rows(rows))] == [
        "A", "D", "ambiguous_gold", "ambiguous_gold",
    ]  # fmt: skip


def test_whole_numbers_beside_options_that_come_late_wait_for_the_flag(write_rows):
    path = write_rows(rows_of(["A"] * 120 + [2], choices=ORGANS))
    assert read(path)[-1].startswith("gold_index: found 2 for 4 options, which may count from 0")
    assert read(path, gold_index=0)[-1] == "C"


def test_columns_that_are_not_needed_are_said_to_be_so(write_rows):
    rows = rows_of([5, 7], context=PASSAGE, **spread(ORGANS, "ABCD"))
    path = write_rows(rows)
    assert read(path, ignore_columns=("context", *"ABCD")) == ["5", "7"]
    with pytest.raises(InputError, match="not read: found context"):
        read(path, ignore_columns=tuple("ABCD"))
    first, _ = items_of(path, ignore_columns=("context", *"ABCD"))
    assert json.loads(first.metadata)["context"] == PASSAGE  # a reward may still read it


def test_in_a_set_with_options_a_row_without_them_whose_gold_is_a_letter_is_set_aside(write_rows):
    rows = [*rows_of(["A"], choices=ORGANS), *rows_of(["B", "12"])]
    inside = {"question": "Which? (A) Liver (B) Lung", "answer": "B"}
    assert read(write_rows([*rows, inside])) == [
        "A",
        "no_options: the gold is 'B' and the row has no options",
        "12",
        "options_in_prompt: the gold is 'B' and the prompt holds the options. "
        "Put them into a column choices",
    ]


def test_rows_with_a_passage_that_few_others_have_are_set_aside(write_rows):
    rows = rows_of(range(40))
    rows[7]["context"] = rows[33]["context"] = PASSAGE
    found = read(write_rows(rows))
    assert [n for n, gold in enumerate(found) if gold.startswith("column_unread: context")] == [
        7, 33,
    ]  # fmt: skip
    assert found[8] == "8"


def test_options_that_only_later_rows_have_are_read(write_rows):
    late = [{"question": "Which?", "options": ORGANS, "answer": "B"}]
    hidden = rows_of(["B"], **spread(ORGANS, "ABCD"))
    found = read(write_rows([*rows_of([5] * 120), *late, *hidden]))
    assert found[119:121] == ["5", "B"]
    assert found[121].startswith("column_unread: A, B, C, D looks needed")


def test_a_reward_of_ones_own_may_compare_the_letters_that_its_prompts_show(write_rows):
    shown = {"question": "Which?\nA. Liver\nB. Heart", "answer": "B"}
    assert read(write_rows([shown]), unchecked_gold=True) == ["B"]
    with pytest.raises(InputError, match="golds are letters"):
        read(write_rows(rows_of("AB")), unchecked_gold=True)


@pytest.mark.parametrize(
    "gold",
    ["B", "b", "(A)", "B.", "Ｂ", "（Ｃ）", "[D]", "**A**", "A,C", "A and C", "ACD", '["A", "C"]',
     ["A", "c"], "\\boxed{B}", "\\text{(B)}", "イ"],
)  # fmt: skip
def test_letters_of_options_are_known_in_all_their_spellings(gold):
    assert lone_letter(gold)


@pytest.mark.parametrize(
    "gold", ["K", "x", "12", "CAB", "NADH", "A 12", "a dog", "", [], [1, 2], None, True, "B = 3"]
)
def test_other_golds_are_no_letters_of_options(gold):
    assert not lone_letter(gold)


HEADS = ("option", "opt", "op", "choice", "distractor", "Incorrect Answer ", "ans", "選択肢", "肢")


@given(
    head=st.sampled_from(HEADS),
    between=st.sampled_from(["", "_", "-", " ", "　"]),
    places=st.sampled_from(["abc", "ABC", "123", "０１２", "ＡＢＣ", "①②③"]),
    upper=st.booleans(),
)
def test_names_of_options_are_known_however_they_are_written(
    tmp_path_factory, head, between, places, upper
):
    names = [f"{head.upper() if upper else head}{between}{place}" for place in places]
    path = tmp_path_factory.getbasetemp() / "names.jsonl"
    rows = rows_of(["Heart"], **spread(ORGANS[:3], names))
    path.write_text(json.dumps(rows[0], ensure_ascii=False))
    with pytest.raises(InputError) as error:
        read(path)
    assert ", ".join(names) in str(error.value)


def test_what_stands_for_a_picture_a_list_or_no_gold_is_set_aside_by_name(write_rows):
    rows = [
        *rows_of(["nan", "N/A", "TBD", [0, 3]]),
        {"question": "What is this? <image>", "choices": ORGANS, "answer": "A"},
        {"question": "Which?", "choices": ["<image_1>", "Lung"], "answer": "A"},
        *rows_of(["Answer N/A"]),
    ]
    assert [gold.partition(":")[0] for gold in read(write_rows(rows))] == [
        "no_gold", "no_gold", "no_gold", "list_of_numbers", "has_media", "has_media", "Answer N/A",
    ]  # fmt: skip


@pytest.mark.parametrize("mark", ["({}) ", "{}. ", "{}: ", "{})", "[{}]"])
def test_options_that_bring_their_letters_are_lettered_once_and_in_that_order(write_rows, mark):
    texts = [mark.format(letter) + organ for letter, organ in zip("ABCD", ORGANS, strict=True)]
    path = write_rows(
        [*rows_of(["B", texts[1]], choices=texts), *rows_of("B", choices=texts[::-1])]
    )
    first, second, other = items_of(path)
    assert [choice.text for choice in first.choices] == ORGANS
    assert (first.answer, second.answer) == ("B", "B")
    assert other.reason == "choices_unreadable: lettered in another order, D, C, B, A"


@pytest.mark.parametrize(
    ("prompt", "option", "shown"),
    [
        ("Is 3 &lt; 4 &amp; true?", "3 &lt; 4", ("Is 3 < 4 & true?", "3 < 4")),
        ("Which entity of HTML is &lt;?", "&gt;", ("Which entity of HTML is &lt;?", "&gt;")),
        ("<b>R&amp;D</b>", "R&amp;D", ("<b>R&amp;D</b>", "R&amp;D")),
    ],
)
def test_escapes_of_the_web_are_read_as_characters_but_where_they_are_meant(
    write_rows, prompt, option, shown
):
    path = write_rows([{"question": prompt, "choices": [option, "other"], "answer": option}])
    (item,) = items_of(path)
    assert (item.prompt, item.choices[0].text, item.answer) == (*shown, "A")


def test_a_run_whose_file_would_now_be_refused_goes_on_without_reading_it(
    write_rows, tmp_path, live
):
    path = write_rows(rows_of("BC"))
    spec = make_spec(path)
    run = store.RunFolder(tmp_path / "run")
    run.root.mkdir()
    with pytest.raises(InputError, match="golds are letters"):
        load_questions(run, spec)
    stamp = store.Stamp(settings=settings_through(spec, "source"), inputs={})
    for place, row_type in ((run.questions, Question), (run.set_aside, SetAside)):
        with store.TableWriter(place, store.table_schema(row_type), stamp):
            pass
    stages.prepare(run, spec, live)
    assert store.num_rows(run.questions) == 0


def test_settings_of_runs_from_before_are_those_of_today():
    settings = settings_through(make_spec(), "source")
    assert not settings.keys() & {"source.gold_index", "source.ignore_columns"}


def test_check_and_profile_refuse_in_one_line_and_take_the_flags(write_rows, tmp_path):
    path = write_rows(rows_of([1, 2], choices=ORGANS, context=PASSAGE))
    nowhere = ("--model", "m", "--endpoint", "http://127.0.0.1:9", "--run", tmp_path / "run")
    ignored = ("--ignore-column", "context")
    assert "not read: found context" in one_line(difficulty("check", path))
    assert "may count from 0 or from 1" in one_line(difficulty("check", path, *ignored))
    assert "may count from 0" in one_line(difficulty("profile", path, *nowhere, *ignored))
    done = difficulty("check", path, *ignored, "--gold-index", 1, "--json")
    assert (done.returncode, json.loads(done.stdout)["example"]["gold"]) == (0, "A")
    found = one_line(difficulty("profile", path, *nowhere, *ignored, "--gold-index", 1))
    assert "no server answers" in found
    spec = store.load_spec(store.RunFolder(tmp_path / "run"))
    assert (spec.source.gold_index, spec.source.ignore_columns) == (1, ("context",))


def test_the_order_of_rows_changes_no_reading(write_rows):
    rows = rows_of([1, 4, 2], choices=ORGANS)
    by_question = dict(zip(range(3), ["A", "D", "B"], strict=True))
    for order in itertools.permutations(range(3)):
        path = write_rows([rows[n] for n in order])
        assert read(path) == [by_question[n] for n in order]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"question": "Add the two numbers.", "answer": "3", "input": "1, 2"}, "input"),
        ({"question": "Who won?", "answer": "Ann",
          "table": [["Ann", "12 points"], ["Bo", "9 points"]]}, "table"),
        ({"question": "Is it so?", "answer": "it is",
          "context": {"contexts": ["A trial of 300 people."], "labels": ["X"]}}, "context"),
        ({"question": "Is it so?", "answer": "it is", "Facts": "A contract was signed in May."},
         "Facts"),
    ],
)  # fmt: skip
def test_what_a_question_works_on_is_refused_in_whatever_shape(write_rows, row, column):
    with pytest.raises(InputError, match=f"found {column}, with text in 2 of the first 2 rows"):
        read(write_rows([row, {**row, "question": row["question"] + " Say."}]))


def test_a_column_that_repeats_the_prompt_is_no_passage(write_rows):
    text = "What is the capital of Peru?"
    rendered = f"### Question: {text} ### Answer: Lima"
    path = write_rows([{"question": text, "answer": "Lima", "text": rendered, "input": text}])
    assert read(path) == ["Lima"]


def test_true_and_false_are_no_words_that_a_reply_of_yes_would_match(write_rows):
    rows = [{"question": f"is {n} even", "answer": n % 2 == 0} for n in range(4)]
    with pytest.raises(InputError, match="golds are true and false and no options were found: 4"):
        read(write_rows(rows))
    told = [{**row, "kind": "text"} for row in rows]
    assert len(read(write_rows(told))) == 4


def test_a_gold_that_is_an_object_is_named_with_its_fields(write_rows):
    found = read(write_rows(rows_of([{"style": "rule", "ground_truth": "4"}])))
    (reason,) = found
    assert reason.startswith("gold_is_an_object: found the fields 'style, ground_truth'. Put the")
