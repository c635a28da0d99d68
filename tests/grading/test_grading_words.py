"""Words around a declared answer that take it back, put another beside it or never assert it."""

import pytest

from difficulty.grading.normalize import normalize
from difficulty.grading.read import stated
from difficulty.grading.words import leads, markers, markers_eastern, phrases
from difficulty.grading.words.anchors import Anchored, Gated
from tests.grading.test_grading import load, outcome

DECLARED = (
    "Answer: B", "**B**", "The answer is B.", "The correct answer is (B).", "\\boxed{B}",
    "<answer>B</answer>", '{"answer": "B"}', "B. Paris", "So it must be B.", "I choose B.",
    "Therefore, B.", "B is correct.", "Final answer: **B. Paris**", "正解はBです。", "答え：B",
    "よって、Bが正しい。", "答案：B", "选B。", "정답: B", "Paris", "Going with B.",
    "The best option is B, Paris.", "Reasons first.\n\nAnswer: B",
)  # fmt: skip
GIVEN_UP = (
    " No, wait, it's D.", " Actually no, D.", " Sorry, D.", " Correction: D", " Edit: D",
    " Oops, I meant D.", " Scratch that, D.", " I change my answer to D.", " Or rather D.",
    " On second thought, D.", " Not B but D.", " Let me revise: D.", " I take that back.",
    " Ignore that.", " いや、Dです。", " 訂正：D", " 間違えました。正解はDです。", " やはりDです。",
    " 更正：D", " 不对，应该是D。", " 아니, D입니다.", " Actually, Rome.", " No, Rome.",
    "\nAnswer: D",
)  # fmt: skip
BESIDE = (
    " or D", " (or D)", ", or maybe D", " D is also correct.", " D would also be right.",
    " But D is equally good.", " Alternatively, D.", " Both are right, B and D.", " B or D.",
    " もしくはD", " またはD", " Dも正解です。", " 或者D", " 또는 D", " Rome is also correct.",
    "\n\nD",
)  # fmt: skip
UNASSERTED = (
    "It is wrong that ", "I doubt that ", "Nobody would say: ", "I disagree that ", "e.g. ",
    "The following is incorrect: ", "A bad answer would be: ", "It would be a mistake to say: ",
    "My friend said: ", "For instance: ", "You may write: ", "The student wrote: ", "Suppose ",
    "It is false that ", "It is not the case that ", "What if ",
)  # fmt: skip
ASSERTED_BY_ITSELF = {"Therefore, B.", "Reasons first.\n\nAnswer: B", "Paris"}
NUMBERS = (
    "#### 12", "Answer: 12", "The answer is 12.", "\\boxed{12}", "So there are 12 apples left.",
    "Final answer: **12**", "<answer>12</answer>", "答えは12です。", "答案：12",
    "The answer is $12$.",
)  # fmt: skip
OTHER_NUMBER = (
    " or 15", " (or 15)", ", or maybe 15", " Wait, 15.", " No, 15.", " Sorry, it's 15.",
    " Actually, it is 15.", " Correction: 15", " Edit: 15", " Or rather 15.", "\n#### 15",
    " On second thought, 15.", " Not 12 but 15.", " 訂正：15", " または15", " いや、15です。",
    "\n\nAnswer: 15", "\n\n15", " Alternatively, 15.",
)  # fmt: skip
EXPLANATIONS = (
    "\n\nA is too old, C is too far away, and D is wrong.", "\n\nWhy not D? It lies in Italy.",
    "\n\n(not D)", "\n\nD: the capital of Italy.", "\n\nUnlike D, it lies on the Seine.",
    "\n\nOption A is in Portugal and option D in Italy.", "\n\nIncorrect: A, C, D",
    "\n\nMany would say A, but it is not.", "\n\nA is also a capital, but of Portugal.",
    "\n\n（解説）Aはポルトガル、Dはイタリアの首都である。",
    "\n\nLet me double-check: yes, the Seine.",
    "\n\n- A: incorrect\n- C: incorrect\n- D: incorrect", "\n\nIf asked for Italy, choose D.",
    "\n\nConfidence: 90% (A: 2%, C: 3%, D: 5%)", "\n\n間違えやすい点：DやAを選ぶ人が多い。",
    "\n\nActually, Versailles was the seat of the king, but it is not among the options.",
    "\n\nOr, in other words, the city on the Seine.", "\n\nSorry if this is too long.",
)  # fmt: skip


@pytest.mark.parametrize("after", GIVEN_UP + BESIDE)
def test_an_answer_that_is_given_up_or_doubled_is_not_credited(after):
    assert [text for text in DECLARED if outcome("choice", "B", text + after) == "correct"] == []


@pytest.mark.parametrize("after", EXPLANATIONS)
def test_an_explanation_of_the_other_options_leaves_the_answer_as_it_is(after):
    stated_once = [text for text in DECLARED if text not in {"**B**", "Paris", "B. Paris"}]
    assert [text for text in stated_once if outcome("choice", "B", text + after) != "correct"] == []


@pytest.mark.parametrize("before", UNASSERTED)
def test_an_answer_that_is_denied_supposed_or_anothers_is_not_credited(before):
    told = [text for text in DECLARED if text not in ASSERTED_BY_ITSELF]
    texts = [before + text[0].lower() + text[1:] for text in told if text[0] != "B"]
    assert [text for text in texts if outcome("choice", "B", text) == "correct"] == []


@pytest.mark.parametrize("kind", ["numeric", "math"])
@pytest.mark.parametrize("after", OTHER_NUMBER)
def test_a_number_that_is_given_up_or_doubled_is_not_credited(kind, after):
    assert [text for text in NUMBERS if outcome(kind, "12", text + after) == "correct"] == []


@pytest.mark.parametrize(
    "text",
    [
        "Answer: 90 minutes, or 1.5 hours.", "It takes 90 minutes (1.5 hours).",
        "#### 90\n\nTo double-check, 90 / 2 = 45 minutes each way.", "The answer is 90, not 45.",
    ],
)  # fmt: skip
def test_a_restatement_or_a_check_is_no_second_answer(text):
    assert outcome("numeric", "90", text) == "correct"


def every_text():
    cases = load("grader_cases.jsonl") + load("own_cases.jsonl")
    return [normalize(case["completion"]).low for case in cases]


def test_words_find_what_the_patterns_find_at_every_character():
    searches = [marker.matches for marker in (*markers.WESTERN, *markers_eastern.EASTERN)]
    searches += [search for _, search in leads._ALL_LEADS]
    for search in searches:
        assert isinstance(search, Anchored | Gated)
        for low in every_text():
            assert spans(search.finditer(low)) == spans(search.pattern.finditer(low))


def test_a_phrase_is_found_by_its_gates_wherever_its_pattern_finds_it():
    for each in (
        phrases.SECOND_THOUGHTS, phrases.TAKEN_BACK, phrases.REFUSAL, phrases.NOT_STATED,
        phrases.UNASSERTED, stated._LEAD,
    ):  # fmt: skip
        for low in every_text():
            assert (each.search(low) is None) == (each.pattern.search(low) is None)


def spans(found):
    return [match.span() for match in found]
