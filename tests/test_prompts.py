import pytest

from difficulty import prompts
from difficulty.errors import SettingsError
from difficulty.schema import KINDS
from tests.conftest import make_question

CHOICE = make_question(
    "Which organ?", kind="choice", answer="B", choices={"A": "liver", "B": "heart"}
)


def test_a_choice_question_shows_its_options_with_their_own_labels():
    (turn,) = prompts.messages(CHOICE, template="bare-v1")
    assert turn == {"role": "user", "content": "Which organ?\n\nA. liver\nB. heart"}


def test_system_prompt_then_worked_examples_then_the_question():
    question = make_question(system_prompt="Be brief.")
    shots = ({"role": "user", "content": "q"}, {"role": "assistant", "content": "a"})
    turns = prompts.messages(question, template="bare-v1", few_shot=shots)
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert turns[-1]["content"] == "What is 1 + 1?"


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_template_tells_every_kind_how_to_answer(kind):
    question = make_question(kind=kind)
    text = prompts.messages(question)[0]["content"]
    assert text.startswith("What is 1 + 1?\n\n")
    assert ("Answer:" in text) or ("\\boxed{}" in text)


def test_an_unknown_template_lists_those_there_are():
    with pytest.raises(SettingsError, match="Choose one of answer-line-v1, bare-v1"):
        prompts.messages(CHOICE, template="mine")
