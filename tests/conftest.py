"""Fixtures that several test files share."""

import json
import os
import typing

# A thread is plenty for small matrices; on a busy machine more of them only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from difficulty.grading import GRADER_VERSION
from difficulty.report.live import Live
from difficulty.run.change import change_run
from difficulty.sampling.scripted import Script, scripted_server
from difficulty.schema import Choice, Question, question_id
from difficulty.settings.changes import Changes
from difficulty.settings.run import GradingSpec, RunSpec, SamplingSpec, SourceSpec
from difficulty.settings.stated import Stated
from difficulty.sources import find_dataset

ROOT = Path(__file__).parents[1]

# Jobs in the background ignore these signals, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Machines are shared and noisy: speed is asserted where it is the point, as a ratio or with room.
settings.register_profile("difficulty", deadline=None)
settings.load_profile("difficulty")


class QuietLive(Live):
    """Keeps what was said instead of printing it."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def say(self, text):
        self.lines.append(text)


@pytest.fixture
def live():
    return QuietLive()


@pytest.fixture
def write_rows(tmp_path):
    """Write dicts as a .jsonl dataset; gives its path."""

    def write(rows, name="set.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def sums(write_rows):
    """Twelve sums whose right answers a scripted server can know."""
    return write_rows(
        [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    )


def make_spec(dataset="set", *, source=None, sampling=None, **sections):
    """A RunSpec for a dataset file, or for none."""
    digest = find_dataset(str(dataset)).sha256 if Path(str(dataset)).exists() else "0" * 64
    return RunSpec(
        source=SourceSpec(**{"dataset": str(dataset), "sha256": digest, **(source or {})}),
        sampling=SamplingSpec(
            **{"model": "scripted", "max_tokens": 64, "template": "bare-v1", **(sampling or {})}
        ),
        grading=GradingSpec(grader=GRADER_VERSION),
        **sections,
    )


def make_changes(sections):
    """What a user stated, as ``{"selection": {"keep": "L1"}}``."""
    kinds = typing.get_type_hints(RunSpec)
    return Changes(**{name: Stated(kinds[name], values) for name, values in sections.items()})


def with_change(run, sections):
    """The settings of a run with what a user stated."""
    return change_run(run, make_changes(sections))


def make_question(prompt="What is 1 + 1?", kind="numeric", answer="2", choices=None, **more):
    options = choices and tuple(Choice(label=label, text=text) for label, text in choices.items())
    values = {
        "source": "set", "aliases": (), "tolerance": None, "system_prompt": None, "num_copies": 1,
        "metadata": "{}", **more,
    }  # fmt: skip
    return Question(
        question_id=question_id(
            system_prompt=values["system_prompt"], prompt=prompt, choices=options
        ),
        kind=kind, prompt=prompt, answer=answer, choices=options, **values,
    )  # fmt: skip


def sum_answer(chance):
    """Answer "What is n + n?" rightly with ``chance(n)``, else with a number that is wrong."""

    def answer(messages, chooser):
        number = int(messages[-1]["content"].split()[2])
        return str(2 * number if chooser.random() < chance(number) else 2 * number + 1)

    return answer


@pytest.fixture
def serve():
    """Start scripted servers; they end with the test."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(answer=None, **more):
            script = Script(answer=answer or sum_answer(lambda n: n / 11), **more)
            return stack.enter_context(scripted_server(script)), script

        yield start
