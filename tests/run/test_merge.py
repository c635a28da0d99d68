import json

import pytest

from difficulty import store
from difficulty.errors import RunError, SettingsError
from difficulty.run import stages
from difficulty.run.merge import merge_runs
from difficulty.schema import Completion, Question, SetAside
from difficulty.settings.run import ServerSpec
from tests.cli.test_cli import difficulty
from tests.conftest import make_spec


def make_run(path, folder, live, url, **more):
    run = store.RunFolder(folder)
    spec = make_spec(path, server=ServerSpec(endpoints=(url,)), **more)
    store.save_spec(run, spec)
    stages.sample(run, spec, live)
    return run


def test_the_jobs_of_an_array_merge_into_the_run_of_the_whole_set(sums, tmp_path, live, serve):
    url, script = serve()
    runs = [
        make_run(sums, tmp_path / str(i), live, url, source={"shard": f"{i}/3"}) for i in (1, 2, 3)
    ]
    sent = script.num_sent
    done = difficulty(
        "merge", *(run.root for run in runs), "--run", tmp_path / "all", "--json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["num_questions"], found["num_samples"]) == (12, 60)
    assert script.num_sent == sent == 60
    whole = store.RunFolder(tmp_path / "all")
    rows = [row for part in whole.completion_parts() for row in store.read_rows(part, Completion)]
    assert len({(row.question_id, row.sample_index) for row in rows}) == 60
    assert store.load_spec(whole).source.shard is None
    again = difficulty("report", whole.root, "--json")
    assert json.loads(again.stdout)["num_questions"] == 12


def test_a_question_in_two_parts_keeps_the_samples_of_the_first(write_rows, tmp_path, live, serve):
    same = {"question": "What is 2 + 2?", "answer": "4"}
    path = write_rows([same, same])
    url, _ = serve()
    runs = [
        make_run(path, tmp_path / str(i), live, url, source={"shard": f"{i}/2"}) for i in (1, 2)
    ]
    out = store.RunFolder(tmp_path / "all")
    merge_runs(runs, out)
    (question,) = store.read_rows(out.questions, Question)
    assert question.num_copies == 2
    assert sum(store.num_rows(part) for part in out.completion_parts()) == 5


def test_golds_that_contradict_each_other_across_parts_are_set_aside(
    write_rows, tmp_path, live, serve
):
    rows = [{"question": "What is 2 + 2?", "answer": answer} for answer in ("4", "5")]
    path = write_rows([*rows, {"question": "What is 3 + 3?", "answer": "6"}])
    url, _ = serve()
    runs = [
        make_run(path, tmp_path / str(i), live, url, source={"shard": f"{i}/2"}) for i in (1, 2)
    ]
    out = store.RunFolder(tmp_path / "all")
    merge_runs(runs, out)
    assert [q.prompt for q in store.read_rows(out.questions, Question)] == ["What is 3 + 3?"]
    asides = list(store.read_rows(out.set_aside, SetAside))
    assert len(asides) == 2  # each row of the dataset is accounted for
    assert all(row.reason.startswith("conflicting_gold: 2 golds") for row in asides)


def test_runs_that_do_not_fit_together_are_refused(sums, tmp_path, live, serve):
    url, _ = serve()
    first = make_run(sums, tmp_path / "1", live, url, source={"shard": "1/2"})
    hot = make_run(
        sums, tmp_path / "2", live, url, source={"shard": "2/2"}, sampling={"temperature": 0.5}
    )
    with pytest.raises(SettingsError, match="differ in sampling.temperature 1.0 -> 0.5"):
        merge_runs([first, hot], store.RunFolder(tmp_path / "all"))
    with pytest.raises(RunError, match="is a run already"):
        merge_runs([first], first)
    open_run = store.RunFolder(tmp_path / "3")
    store.save_spec(open_run, make_spec(sums, source={"shard": "2/2"}))
    with pytest.raises(RunError, match="has no questions yet. Finish it first"):
        merge_runs([first, open_run], store.RunFolder(tmp_path / "all"))
