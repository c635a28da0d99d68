"""Every word of every list in ``difficulty/grading/words``, asked by every kind of answer."""

from itertools import product

import pytest

from difficulty.grading.words import answers, denials, doubts, joints, numerals, units
from difficulty.grading.words.word_lists import Words, split
from tests.grading.test_grading import outcome

GOLDS = {"choice": "B", "multi": "A,C", "numeric": "6", "math": "6", "text": "Paris"}
OTHERS = {"choice": "D", "multi": "B, D", "numeric": "7", "math": "7", "text": "Rome"}
LISTS = {
    name: words
    for module in (answers, denials, doubts, joints, numerals)
    for name, words in vars(module).items()
    if isinstance(words, Words) and not name.startswith("_")
}
CREDITED, NOT_CREDITED, NO_ANSWER = "correct", "not correct", "no_answer"
SAYS = {
    "ANSWER": (CREDITED, "{Word}: {gold}", "{word}: {gold}"),
    "IS": (CREDITED, "respuesta {word} {gold}", "{answer}{word} {gold}"),
    "FINAL_WORD": (CREDITED, "{Word} answer: {gold}", "{word}{answer}: {gold}"),
    "THEREFORE": (CREDITED, "{Word}, ${gold}$.", "{word}、${gold}$。"),
    "IN_TOTAL": (CREDITED, "{Word}, there are ${gold}$.", ""),
    "OR": (NOT_CREDITED, "Answer: {gold} {word} {other}", "答え: {gold}{word}{other}"),
    "OR_PARTICLE": (NOT_CREDITED, "", "答え: {gold}{word}{other}"),
    "PERHAPS": (NOT_CREDITED, "Answer: {gold}, {word} {other}", ""),
    "AND": (NOT_CREDITED, "Answer: {gold} {word} {other}", "答え: {gold}{word}{other}"),
    "EXCEPT": (NOT_CREDITED, "The answer is anything {word} {gold}.", ""),
    "DENY": (NOT_CREDITED, "The answer is {word} {gold}.", "答案{word}{gold}"),
    "NEITHER": (NOT_CREDITED, "The answer is {word} {gold}.", ""),
    "RULED_OUT": (NOT_CREDITED, "We {word} {gold}.", "{word}{gold}。"),
    "ABSENT": (NOT_CREDITED, "It is {word} {gold}.", "{word}{gold}。"),
    "DENIED": (NOT_CREDITED, "Well, ${gold}$ {word} answer.", "答えは${gold}${word}。"),
    "UNKNOWN": (NOT_CREDITED, "The answer is {word}, not {gold}.", ""),
    "SUPPOSE": (NOT_CREDITED, "{Word} the answer is {gold}.", "{word}、答えは{gold}"),
    "ASSUME": (NOT_CREDITED, "{Word} the answer is {gold}.", ""),
    "SUPPOSED": (NOT_CREDITED, "", "{gold}{word}熱が出る。"),
    "TAKE_BACK": (
        NOT_CREDITED, "Answer: {gold}. {Word}, {other}.", "答えは{gold}です。{word}、{other}です。",
    ),
    "GIVE_UP": (NO_ANSWER, "Answer: {gold}. {Word}.", "答えは{gold}です。{word}。"),
    "UNABLE": (NO_ANSWER, "I am sorry, I {word} answer 6.", ""),
    "TO_ANSWER": (NO_ANSWER, "The result cannot {word}.", ""),
    "REFUSE": (NO_ANSWER, "I fear I {word}.", "結果は{word}。"),
    "MINUS": (CREDITED, "Answer: {word} 6", "答え: {word}6"),
}  # fmt: skip
"""List -> what becomes of a reply, and the reply, for words with spaces and for words without."""
_LABELS = "an option is named by its label or its words"
_SENTENCES = "only an option is looked for in any sentence"
EXCEPTIONS = {
    **dict.fromkeys([("IN_TOTAL", kind) for kind in ("choice", "multi")], "the last of a list"),
    ("IN_TOTAL", "text"): "words are no total",
    ("AND", "multi"): "two options are a set",
    **dict.fromkeys([("MINUS", kind) for kind in ("choice", "multi", "text")], _LABELS),
    **dict.fromkeys(
        [
            (name, kind)
            for name in ("RULED_OUT", "ABSENT", "SUPPOSED")
            for kind in ("numeric", "math")
        ],
        _SENTENCES,
    ),
}
"""Where a list is not asked, or means something else, and why."""
LANGUAGE = {"japanese": "解答", "chinese": "答案", "korean": "답", "signs": "解答"}


def replies(name, kind):
    """Each word of a list, and the reply with it."""
    _, western, eastern = SAYS[name]
    gold = {"choice": "Paris", "multi": "Lisbon, Madrid"}.get(kind, GOLDS[kind])
    gold = gold if name in {"RULED_OUT", "ABSENT", "SUPPOSED"} else GOLDS[kind]
    for language in ("english", "other", *LANGUAGE):
        template = western if language in {"english", "other"} else eastern
        assert template or not getattr(LISTS[name], language)
        for stored in split(getattr(LISTS[name], language)):
            word = stored.rstrip("*")
            text = template if kind == "math" else template.replace("$", "")
            yield word, text.format(
                word=word, Word=word.capitalize(), gold=gold, other=OTHERS[kind],
                answer=LANGUAGE.get(language),
            )  # fmt: skip


def test_every_list_of_words_is_tried():
    assert SAYS.keys() == LISTS.keys()


@pytest.mark.parametrize(
    ("name", "kind"), [pair for pair in product(SAYS, GOLDS) if pair not in EXCEPTIONS]
)
def test_a_word_means_the_same_to_every_kind_of_answer(name, kind):
    gold = "-6" if name == "MINUS" else GOLDS[kind]
    wanted = SAYS[name][0]
    found = {text: outcome(kind, gold, text) for _, text in replies(name, kind)}
    right = {"correct"} if wanted == CREDITED else {"no_answer"}
    if wanted == NOT_CREDITED:
        right = {"wrong", "no_answer"}
    assert {text: got for text, got in found.items() if got not in right} == {}


@pytest.mark.parametrize("word", joints.THEREFORE.eastern)
def test_mathematics_concludes_with_every_therefore(word):
    for text in (
        "{}、値は 6 である。",
        "理由。\n{} $x=6$",
        "理由を示す。{}、求める値は $6$ である。",
    ):
        assert outcome("math", "6", text.format(word)) == "correct"


@pytest.mark.parametrize("word", [*joints.AND.western, *joints.AND.eastern])
def test_and_joins_options_to_a_set_and_values_to_a_list(word):
    assert outcome("multi", "A,C", f"Answer: A {word} C") == "correct"
    assert outcome("math", "6, 7", f"\\boxed{{6 {word} 7}}") == "correct"


@pytest.mark.parametrize("word", joints.EXCEPT.western)
def test_the_option_excepted_from_what_is_wrong_is_the_answer(word):
    assert outcome("choice", "B", f"All options {word} B are wrong.") == "correct"


NUMBER_WORDS = {
    **{word: str(value) for word, value in (numerals.ONES | numerals.TENS).items()},
    **{f"7 {word}": str(7 * value) for word, value in numerals.SCALES.items()},
    **{f"one {word}": str(value) for word, value in numerals.PARTS.items()},
    **{char: str(value) for char, value in numerals.DIGITS.items()},
    **{f"七{char}": str(7 * value) for char, value in numerals.DIGIT_SCALES.items()},
    **{f"七{char}": str(7 * numerals.SCALES[char]) for char in numerals.EASTERN_SCALES},
}


def test_a_number_in_words_is_a_number_where_a_number_is_asked_for():
    """To mathematics and to a short text it is a word, to options it is nothing."""
    wrong = [
        word
        for word, value in NUMBER_WORDS.items()
        if outcome("numeric", value, f"Answer: {word}") != "correct"
    ]
    assert wrong == []


LINES = [split(line) for line in (*units.MEASURES, *units.COUNTERS)]
COUNTED = [(line, word) for line in LINES for word in line if word in units.EASTERN]
SHAPES = (
    "\\boxed{{\\frac{{3}}{{4}}{}}}", "答え: 3/4{}", "答えは3/4{}です。", "\\boxed{{0.75 {}}}",
    "よって、値は $\\frac{{3}}{{4}}${}である。", "3/4{}", "\\boxed{{\\frac{{3}}{{4}}\\text{{{}}}}}",
)  # fmt: skip


ALGEBRA = {"m", "s", "h", "g", "l", "L", "sec"}
"""Units that are letters or a function of a formula unless their number is plain."""


def graded(gold, texts):
    return {text: outcome("math", gold, text) for text in texts}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_counter_after_a_number_is_read_and_may_be_missing(shape):
    for _, word in COUNTED:
        texts = [shape.format(word)]
        assert set(graded("\\frac{3}{4}", texts).values()) == {"correct"}, texts
        assert outcome("math", f"\\frac{{3}}{{4}}{word}", shape.format("")) == "correct"


def test_words_of_one_line_are_one_unit_and_of_two_lines_are_not():
    for line, word in COUNTED:
        others = [other for other in LINES if word not in other and set(line).isdisjoint(other)]
        same = [f"\\boxed{{26 {each}}}" for each in line if each not in ALGEBRA]
        assert set(graded(f"26{word}", same).values()) == {"correct"}, word
        eastern = [each for other in others for each in other if each in units.EASTERN]
        apart = [each for each in eastern if not units.same_unit(each, word)]
        assert len(apart) > 80
        texts = [f"答えは26{each}です。" for each in apart]
        assert set(graded(f"26{word}", texts).values()) == {"wrong"}, word


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("26個", "\\boxed{26}\n答え：26個"), ("26 apples", "\\boxed{26個}"),
        ("26円", "\\boxed{¥26}"), ("50000円", "\\boxed{5万円}"), ("26円", "\\boxed{26 yen}"),
        ("5\\text{ h}", "\\boxed{5時間}"), ("5時間", "\\boxed{5 hours}"),
        ("60度", "\\boxed{60^\\circ}"), ("3, 4", "\\boxed{3個, 4個}"),
    ],
)  # fmt: skip
def test_a_unit_may_be_written_in_another_way(gold, text):
    assert outcome("math", gold, text) == "correct"


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("26個", "\\boxed{26人}"), ("26個", "答えは26人です"), ("26", "答え: 26個または30個"),
        ("26円", "\\boxed{26元}"), ("5時間", "\\boxed{5分}"), ("5 dollars", "\\boxed{5人}"),
        ("26個", "答え: 26個、いや、30個です"), ("5\\text{ m}", "\\boxed{5分}"),
    ],
)  # fmt: skip
def test_another_counter_is_another_thing(gold, text):
    assert outcome("math", gold, text) == "wrong"


@pytest.mark.parametrize("text", ["答え: 26{}", "26{}です", "答えは26{}です。", "26{}"])
def test_a_counter_after_a_number_leaves_the_number_as_it_is(text):
    found = {word: outcome("numeric", "26", text.format(word)) for _, word in COUNTED}
    assert [word for word, got in found.items() if got != "correct"] == []
