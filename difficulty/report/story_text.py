"""One question's story in the terminal."""

from __future__ import annotations

from rich.console import Console

from difficulty.report.story import AnswerTold, Story, own_id
from difficulty.report.terminal import escape
from difficulty.schema import Question
from difficulty.selection.rules import number

SHOWN = 300
"""Characters of a text; ``--json`` has all of them."""


def print_story(story: Story, console: Console) -> None:
    """The story in the terminal; no text of the dataset or the model reaches it unescaped."""
    question, profile = story.question, story.profile
    say = console.print
    own = own_id(question)
    say(f"question {question.question_id}" + (f" ({line(own)} of the dataset)" if own else ""))
    say(f"source {line(question.source)}, kind {question.kind}, {_copies(question)}")
    say(f"asks: {line(question.prompt)}")
    for choice in question.choices or ():
        say(f"  {line(choice.label)}: {line(choice.text)}")
    say(f"gold: {line(', '.join([question.answer, *question.aliases]))}")
    for sample in story.samples:
        say(f"sample {sample.sample_index}: {_outcome(sample)}")
    say(
        f"{profile.num_correct} of {profile.num_graded} graded answers correct: pass rate "
        f"{number(profile.pass_rate)} ({number(profile.pass_rate_low)} to "
        f"{number(profile.pass_rate_high)}), level {profile.level or 'none'}"
    )
    say(
        f"a group of {story.group_size} collapses with probability "
        f"{number(story.collapse_probability)}"
    )
    for near in story.near_duplicates:
        gold = "same gold" if near.same_gold else "another gold"
        say(f"asks almost what {near.question_id} asks ({near.similarity:.2f}, {gold})")
    for hit in story.overlaps:
        say(f"row {hit.row} of {line(hit.file)} asks it too ({hit.similarity:.2f})")
    for verdict in story.verdicts:
        found = f" ({line(verdict.found)})" if verdict.found else ""
        say(f"{verdict.verdict} {line(verdict.rule)}{found}")
    say(_decision(story))


def line(text: str) -> str:
    """Foreign text on one line, cut, without markup and control characters."""
    flat = " ".join(text.split())
    return escape(flat if len(flat) <= SHOWN else flat[: SHOWN - 3] + "...")


def _copies(question: Question) -> str:
    copies = question.num_copies
    return "stands once in the dataset" if copies == 1 else f"{copies:,} copies in the dataset"


def _outcome(sample: AnswerTold) -> str:
    answer = sample.extracted_answer
    said = "declares nothing" if answer is None else f"answer {line(answer)}"
    tokens = sample.num_tokens
    length = "unknown length" if tokens is None else f"{tokens:,} tokens"
    return f"{sample.outcome}, {said} ({line(sample.reason)}), {length}"


def _decision(story: Story) -> str:
    if story.position is None:
        return f"dropped: {line(story.drop_reason or '')}"
    return f"kept: position {story.position:,}, counted from 0, of {story.num_kept:,} questions"
