"""Replies that random runs found to break or slow the grader, and a slice of such a run."""

import subprocess
import sys
import time

import pytest

from difficulty.grading import grade
from difficulty.grading.equal.forms import form_of
from difficulty.grading.equal.verdict import evaluate
from difficulty.grading.gold import check_gold
from difficulty.schema import Question
from tests.conftest import ROOT
from tests.grading.test_grading import CHOICES, completion, outcome, question


def run(module, *options):
    return subprocess.run(
        [sys.executable, "-m", module, *options], cwd=ROOT, capture_output=True, text=True
    )


def test_a_slice_of_random_replies_has_no_fault():
    done = run("bench.grading.fuzz", "--replies", "1500", "--seed", "11")
    assert "1,500 replies of seed 11" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_sample_of_long_runs_of_one_thing_is_graded_in_time():
    done = run("bench.grading.sweep", "--sample", "250", "--seed", "11")
    assert "sweep: 250 runs" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_random_run_notices_a_grader_that_is_wrong():
    code = (
        "import sys; from dataclasses import replace\n"
        "from bench.grading import fuzz\n"
        "real = fuzz.grade\n"
        "fuzz.grade = lambda *a, **k: replace(real(*a, **k), outcome='correct', reward=1.0)\n"
        "sys.argv = ['fuzz', '--replies', '60']\n"
        "sys.exit(fuzz.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "nothing of the gold" in done.stdout
    assert "the pool found" in done.stdout


@pytest.mark.parametrize(
    ("kind", "gold", "reply", "expected"),
    [
        ("numeric", "12", "答案是-1E-400", "wrong"),
        ("numeric", "12", "Answer: 1/3e400", "wrong"),
        ("math", "[-1,4)", "\\boxed{\\pm 1 \\pm 2 \\pm 3 \\pm 4}", "wrong"),
        ("math", "(0,1)\\cup(1,2)", "\\boxed{(0, \\pm 1)}", "wrong"),
        ("math", "[-1,4)", "\\boxed{x<\\sum_{n=1}^{9}}", "wrong"),
        ("math", "(1,\\pm 2)", "\\boxed{(1,\\pm\\frac{4}{2})}", "correct"),
        ("math", "(1,\\pm 2)", "\\boxed{(1,2)}", "wrong"),
        ("math", "\\int_0^1 x\\,dx", "选10^{10^{10}}ⓒc", "wrong"),
        ("math", "\\int_0^1 x\\,dx", "\\boxed{(50!)!}", "wrong"),
        ("math", "\\int_0^1 x\\,dx", "\\boxed{" + "{" * 20 + "1" + "}" * 20 + "}", "wrong"),
    ],
)
def test_a_reply_that_once_crashed_the_grader_has_its_verdict(kind, gold, reply, expected):
    assert outcome(kind, gold, reply) == expected


@pytest.mark.parametrize(
    "gold", ["\\pm 1 \\pm 2 \\pm 3 \\pm 4", "\\cdot 1<\\sum_{n=1}^{9}", "x<\\sum_{n=1}^{9}"]
)
def test_a_gold_that_once_crashed_the_grader_is_reported(gold):
    asked = Question(
        question_id="q", source="s", kind="math", prompt="", choices=None, answer=gold, aliases=(),
        tolerance=None, system_prompt=None, num_copies=1, metadata="{}",
    )  # fmt: skip
    assert check_gold(asked).startswith("gold_unparsable: ")
    assert evaluate(gold, "5").equal is not True


def test_a_sign_in_a_subscript_does_not_split_an_equation():
    form = form_of("S=\\sum_{n=1}^{9} n")
    assert (form.kind, form.parts) == ("equation", ("S", "\\sum_{n=1}^{9} n"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("math", "So $x = " + "-" * 3_000 + "1$."),
        ("math", "-" * 150_000),
        ("math", "\\boxed{1" + "~" * 150_000 + "1}"),
        ("math", "So $x = " + "9" * 150_000 + "$."),
        ("math", "\\(" * 75_000 + "1"),
        ("math", "\\[" * 75_000 + "1"),
        ("text", "Answer: " + " " * 150_000),
        ("choice", "Paris " + "\x0b" * 150_000 + "?"),
        ("numeric", "<answer>" + "\r\n" * 75_000),
        ("numeric", "4" + " " * 150_000 + "5."),
        ("choice", "Therefore, " + "ﷺ" * 190_000),
        ("math", "4 " + "㍿" * 190_000 + " 5"),
    ],
    ids=lambda value: value[:12] if len(value) > 12 else value,
)
def test_a_reply_that_once_took_minutes_is_graded_at_once(kind, text):
    golds = {"math": "x+1", "text": "Paris", "choice": "B", "numeric": "4"}
    started = time.process_time()
    assert outcome(kind, golds[kind], text) in {"correct", "wrong", "no_answer"}
    assert time.process_time() - started < 2


def test_a_reply_that_grows_when_it_is_normalised_keeps_its_end_and_its_span():
    text = "㍿" * 150_000 + "\nAnswer: B"
    found = grade(question("choice", "B", choices=CHOICES), completion(text))
    assert (found.outcome, text[found.span.start : found.span.end]) == ("correct", "B")
