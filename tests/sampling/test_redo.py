import pytest

from difficulty import store
from difficulty.sampling import redo
from difficulty.settings.run import ServerSpec
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_spec, sum_answer
from tests.sampling.test_sampling import completions, keys, run_sample


def test_failed_samples_are_drawn_again_and_the_others_are_not(sums, tmp_path, live, serve):
    url, script = serve(poisoned="What is 3 +")
    run, rows = run_sample(sums, tmp_path, live, url)
    good = {(row.question_id, row.sample_index): row.text for row in rows if not row.error}
    script.poisoned = None
    before = script.num_sent
    assert redo.start_redo(run, "failed", limit=64) == 5
    _, rows = run_sample(sums, tmp_path, live, url)
    assert script.num_sent - before == 5
    assert len(set(keys(rows))) == len(rows) == 60
    now = {(row.question_id, row.sample_index): row.text for row in rows}
    assert {key: now[key] for key in good} == good


def test_a_question_with_a_truncated_sample_is_drawn_again_whole(sums, tmp_path, live, serve):
    url, script = serve(faults=["cut"])
    run, rows = run_sample(sums, tmp_path, live, url)
    cut = {row.question_id for row in rows if row.finish_reason == "length"}
    assert len(cut) == 1
    before = script.num_sent
    assert redo.start_redo(run, "truncated", limit=128) == 5
    _, rows = run_sample(
        sums, tmp_path, live, url, max_tokens=128, earlier_max_tokens=(64,)
    )  # fmt: skip
    assert script.num_sent - before == 5
    limits = {row.max_tokens for row in rows if row.question_id in cut}
    assert limits == {128}
    assert {row.max_tokens for row in rows if row.question_id not in cut} == {64}
    assert len(set(keys(rows))) == 60


def test_a_crash_in_the_middle_of_a_redo_is_finished_by_the_next_run(
    sums, tmp_path, live, serve, monkeypatch
):
    url, _ = serve(faults=["cut"])
    run, _ = run_sample(sums, tmp_path, live, url, k=3)
    run_sample(sums, tmp_path, live, url, k=5)  # its samples now lie in two parts
    rewrite, done = store.rewrite, []

    def crash_at_the_second(path, batches):
        if done:
            raise KeyboardInterrupt
        done.append(path)
        rewrite(path, batches)

    monkeypatch.setattr(store, "rewrite", crash_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        redo.start_redo(run, "truncated", limit=128)
    monkeypatch.setattr(store, "rewrite", rewrite)
    redo.finish_redo(run)
    left = completions(run)
    assert len(left) == 55
    assert len({row.question_id for row in left}) == 11


def test_the_command_draws_under_the_larger_limit_and_keeps_the_old_one_on_record(
    sums, tmp_path, serve
):
    url, script = serve(answer=sum_answer(lambda n: 1.0), faults=["cut"])
    run = tmp_path / "run"
    options = ("--endpoint", url, "--run", run, "--template", "bare-v1", "--max-tokens", 64)
    assert difficulty("profile", sums, "--model", "scripted", *options).returncode == 0
    assert "redo truncated needs a larger limit" in one_line(
        difficulty("sample", run, "--redo", "truncated")
    )
    done = difficulty("sample", run, "--redo", "truncated", "--max-tokens", 256)
    assert done.returncode == 0, done.stderr
    assert "5 samples will be drawn again (truncated)" in done.stderr
    spec = store.load_spec(store.RunFolder(run))
    assert (spec.sampling.max_tokens, spec.sampling.earlier_max_tokens) == (256, (64,))
    assert script.requests[-1]["max_tokens"] == 256
    again = difficulty("sample", run, "--redo", "truncated", "--max-tokens", 256)
    assert again.returncode == 0, again.stderr
    assert "0 samples will be drawn again (truncated)" in again.stderr
    assert difficulty("report", run).returncode == 0
    assert "cannot redo 'all'" in one_line(difficulty("sample", run, "--redo", "all"))
    assert difficulty("sample", run, "--max-tokens", 512).returncode == 2


def test_a_redo_that_was_killed_goes_on_by_the_same_command(sums, tmp_path, live, serve):
    url, _ = serve(faults=["cut"])
    run, _ = run_sample(sums, tmp_path, live, url)
    store.save_spec(  # as a kill between the new limit and the new samples leaves them
        run,
        make_spec(
            sums,
            sampling={"max_tokens": 128, "earlier_max_tokens": (64,)},
            server=ServerSpec(endpoints=(url,)),
        ),
    )
    done = difficulty("sample", run.root, "--redo", "truncated", "--max-tokens", 128)
    assert done.returncode == 0, done.stderr
    assert "5 samples will be drawn again" in done.stderr
    assert len(set(keys(completions(run)))) == 60


def test_without_a_cut_answer_a_redo_leaves_the_limit_as_it_was(sums, tmp_path, serve):
    url, script = serve()
    run = tmp_path / "run"
    options = ("--endpoint", url, "--run", run, "--template", "bare-v1", "--max-tokens", 64)
    assert difficulty("profile", sums, "--model", "scripted", *options).returncode == 0
    before = script.num_sent
    done = difficulty("sample", run, "--redo", "truncated", "--max-tokens", 256)
    assert done.returncode == 0, done.stderr
    assert "0 samples will be drawn again (truncated)" in done.stderr
    assert store.load_spec(store.RunFolder(run)).sampling.max_tokens == 64
    assert script.num_sent == before
