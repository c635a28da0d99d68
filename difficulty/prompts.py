"""Question -> chat messages. Templates are versioned constants: a changed wording is a new version.

What is rendered here is what is sampled, and the exports carry these very messages, so that the
model is trained on the prompt it was profiled with.
"""

from __future__ import annotations

from dataclasses import dataclass

from difficulty.errors import SettingsError
from difficulty.schema import Choice, Question

Message = dict[str, str]
"""Exactly the keys ``role`` and ``content``."""


@dataclass(frozen=True, kw_only=True)
class Template:
    """How a question is put into words: one closing instruction a kind."""

    name: str
    instructions: dict[str, str]
    """Kind -> the line after the question; an absent kind gets none."""


# The instructions ask for the forms that the grader reads without doubt: an ``Answer:`` line for
# letters and numbers, a box for mathematics.
TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template(
            name="answer-line-v1",
            instructions={
                "choice": "Give the letter of the one right option on a last line: Answer: X",
                "multi": "Give the letters of all right options on a last line: Answer: X, Y",
                "numeric": "Give the number on a last line: Answer: N",
                "math": "Give the final answer in \\boxed{}.",
                "text": "Give the answer on a last line: Answer: ...",
            },
        ),
        Template(name="bare-v1", instructions={}),
    )
}
DEFAULT_TEMPLATE = "answer-line-v1"


def find_template(name: str) -> Template:
    """The template of that name.

    Raises:
        SettingsError: there is none; the message lists those there are.
    """
    if name not in TEMPLATES:
        raise SettingsError(
            f"unknown template: {name!r}. Choose one of {', '.join(sorted(TEMPLATES))}"
        )
    return TEMPLATES[name]


def plain_text(chat: list[Message]) -> str:
    """The chat as one text for a base model: turns by a blank line, worked answers after theirs.

    The text ends with the question and a newline, where the answer goes on.
    """
    return (
        "\n\n".join(
            turn["content"] + (f"\n{answer['content']}" if answer else "")
            for turn, answer in _with_answers(chat)
        )
        + "\n"
    )


def _with_answers(chat: list[Message]) -> list[tuple[Message, Message | None]]:
    """Each system or user turn with the assistant's turn that follows it, if any."""
    followers = [*chat[1:], None]
    return [
        (turn, after if after and after["role"] == "assistant" else None)
        for turn, after in zip(chat, followers, strict=True)
        if turn["role"] != "assistant"
    ]


def user_text(question: Question, template: Template) -> str:
    """The question, its options one a line, and the template's instruction for its kind."""
    parts = [question.prompt.strip()]
    if question.choices is not None:
        parts.append(options_text(question.choices))
    instruction = template.instructions.get(question.kind)
    if instruction is not None:
        parts.append(instruction)
    return "\n\n".join(parts)


def asked_form(question: Question, *, template: str = DEFAULT_TEMPLATE) -> str | None:
    """The gold as the template asks for it: ``Answer: X`` or a box; null where it asks for nothing.

    Raises:
        SettingsError: no template of that name.
    """
    instruction = find_template(template).instructions.get(question.kind, "")
    gold = question.answer.replace(",", ", ") if question.kind == "multi" else question.answer
    if "Answer:" in instruction:
        return f"Answer: {gold}"
    return f"\\boxed{{{gold}}}" if "\\boxed{}" in instruction else None


def options_text(choices: tuple[Choice, ...]) -> str:
    """``A. first option`` and so on, one a line."""
    return "\n".join(f"{choice.label}. {choice.text}" for choice in choices)


def messages(
    question: Question, *, template: str = DEFAULT_TEMPLATE, few_shot: tuple[Message, ...] = ()
) -> list[Message]:
    """The chat that is sampled: system message if any, worked examples, then the question.

    Raises:
        SettingsError: no template of that name.
    """
    found = find_template(template)
    chat: list[Message] = []
    if question.system_prompt is not None:
        chat.append({"role": "system", "content": question.system_prompt})
    chat.extend(few_shot)
    chat.append({"role": "user", "content": user_text(question, found)})
    return chat
