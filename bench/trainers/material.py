"""What the trainers are tried on: the exports of a profiled run, and its replies with rewards."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

from difficulty import prompts, store
from difficulty.cli.run import starting_run
from difficulty.export import EXPORTERS, write_export
from difficulty.report.live import Live
from difficulty.run.stages import profile
from difficulty.sampling.scripted import Script, scripted_server
from difficulty.schema import Question
from difficulty.settings.toml import changes_from_tables

FEWEST_REPLIES = 50
TRAINERS_TRIED = tuple(name for name, exporter in EXPORTERS.items() if exporter.loader_ran)
SHAPES = (
    "{}",
    "Answer: {}",
    "Answer: ${}$",
    "The answer is {}.",
    "答え: {}",
    "It must be \\boxed{{{}}}.",
    "<think>Not 7, or is it?</think>\nAnswer: {}",
    "<answer>{}</answer>",
    "First guess: {wrong}. No, wait.\n\nAnswer: {}",
    "Answer: {} or {wrong}",
    "<think>It is {}",
    "That is hard to say.",
)
"""Replies as models give them; the last three are a hedge, an unclosed thought and no answer."""
WRONG = {"choice": "Z", "multi": "Y, Z", "numeric": "-12345.5", "math": "z^{99} + 1"}


def make_material(work: Path, run_folder: Path | None) -> tuple[int, int]:
    """Write exports/ and replies.jsonl under ``work``; returns numbers of questions and replies.

    Args:
        work: is emptied first.
        run_folder: a finished run; it is only read. None profiles the demo's questions with a
            scripted server, whose replies have many forms.
    """
    shutil.rmtree(work, ignore_errors=True)
    run = store.RunFolder(run_folder or work / "run")
    if run_folder is None:
        _profile_scripted(run)
    spec = store.load_spec(run)
    files = store.RunFolder(run.root)
    files.exports = work / "exports"
    stamp = store.Stamp(settings={}, inputs={})
    questions = 0
    for name in TRAINERS_TRIED:
        questions = write_export(files, EXPORTERS[name], spec, stamp)
    replies = _replies(run)
    (work / "replies.jsonl").write_text(
        "".join(json.dumps(reply, ensure_ascii=False) + "\n" for reply in replies), encoding="utf-8"
    )
    return questions, len(replies)


def _replies(run: store.RunFolder) -> list[dict[str, object]]:
    """Every reply to an exported question, with the reward that the profile gave it."""
    sql = """
        SELECT c.question_id, c.sample_index, c.text, c.finish_reason, g.reward, g.outcome
        FROM rows_of($completions) AS c
        JOIN rows_of($grades) AS g USING (question_id, sample_index)
        JOIN rows_of($selection) AS s USING (question_id)
        WHERE s.keep AND c.error IS NULL AND c.text IS NOT NULL
        ORDER BY s.position, c.sample_index
    """
    tables = {
        "completions": [store.sql_path(part) for part in run.completion_parts()],
        "grades": store.sql_path(run.grades),
        "selection": store.sql_path(run.selection),
    }
    found = [
        values
        for batch in store.stream(store.connect(), sql, tables)
        for values in batch.to_pylist()
    ]
    stopped = sum(values["finish_reason"] == "stop" for values in found)
    assert stopped >= FEWEST_REPLIES, f"only {stopped} replies stopped by themselves"
    return found


def _profile_scripted(run: store.RunFolder) -> None:
    """Profile the demo's questions; three of them get replies that were cut."""
    golds: dict[str, Question] = {}

    def answer(messages: list[dict[str, str]], chooser: random.Random) -> str:
        if not golds:
            template = prompts.find_template(prompts.DEFAULT_TEMPLATE)
            rows = store.read_rows(run.questions, Question)
            golds.update({prompts.user_text(row, template): row for row in rows})
        question = golds[messages[-1]["content"]]
        gold = question.answer.strip("$")
        other = WRONG[question.kind]
        said = gold if chooser.random() < 0.5 else other
        return chooser.choice(SHAPES).format(said, wrong=other)

    with scripted_server(Script(answer=answer, faults=["cut"] * 3)) as url:
        overrides = {
            "source": {"system_prompt": "You take an exam. 日本語でも答えます。"},
            "sampling": {"template": prompts.DEFAULT_TEMPLATE, "k": 5, "seed": 0},
            "selection": {"keep": "L1-L6"},
            "export": {"trainers": ["plain"]},
            "server": {"endpoints": [url], "concurrency": 1},
        }
        changes = changes_from_tables(overrides, name="settings")
        with starting_run(run, "demo", "scripted", changes) as spec:
            profile(run, spec, Quiet())


class Quiet(Live):
    """Says nothing."""

    def say(self, text: str) -> None:
        """Keep quiet."""
