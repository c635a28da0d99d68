"""A figure of the summary stands in the terminal, on the page and in the JSON object alike."""

import json

import pytest
from rich.console import Console

from difficulty import store
from difficulty.cli.run import summary_json
from difficulty.report.live import printable
from difficulty.report.page import render
from difficulty.report.summary import summarize
from difficulty.report.terminal import print_summary
from difficulty.run import stages
from difficulty.run.change import find_run_dataset, plan_run, save_run
from tests.conftest import QuietLive, make_changes, sum_answer


@pytest.fixture
def summary(write_rows, tmp_path, serve):
    """The summary of a run over two sources, 8 and 4 sums, and the run."""
    rows = [
        {
            "question": f"What is {n} + {n}?",
            "answer": str(2 * n),
            "source": "first" if n < 8 else "other",
        }
        for n in range(12)
    ]
    dataset = str(write_rows(rows))
    url, _ = serve(sum_answer(lambda n: 1.0 if n < 6 else 0.5))
    changes = make_changes({
        "sampling": {"template": "bare-v1"}, "server": {"endpoints": (url,)},
    })  # fmt: skip
    run = store.RunFolder(tmp_path / "run")
    spec = plan_run(run, dataset, find_run_dataset(run, dataset, changes), "scripted", changes)
    run.root.mkdir()
    save_run(run, spec)
    stages.profile(run, spec, QuietLive())
    return run, summarize(run, spec)


def terminal(summary, capsys):
    print_summary(summary, Console(width=200))
    return capsys.readouterr().out


def test_levels_by_source_are_on_the_page_and_in_the_object_and_add_up(summary):
    run, found = summary
    assert {name: sum(counts.values()) for name, counts in found.sources.items()} == {
        "first": 8, "other": 4,
    }  # fmt: skip
    written = json.loads(json.dumps(summary_json(run, found), allow_nan=False))
    assert written["sources"] == found.sources
    page = render(found)
    assert all(name in page for name in found.sources)


def test_the_headline_is_the_same_in_all_three(summary, capsys):
    run, found = summary
    assert f"{found.num_kept:,}" in terminal(found, capsys)
    assert f"{found.num_kept:,}" in render(found)
    assert summary_json(run, found)["num_kept"] == found.num_kept


def test_foreign_text_drives_no_terminal_and_a_wide_blank_stays_what_it_is():
    assert printable("問1\u3000首都は\x1b[31m?\u202e") == "問1\u3000首都は\\x1b[31m?\\x202e"
