import os

import pytest
from conftest import make_spec
from hypothesis import given
from hypothesis import strategies as st

from difficulty import stages, store
from difficulty.errors import RunError, ServerError, SettingsError
from difficulty.run_spec import ServerSpec
from difficulty.sampling import client, journal
from difficulty.schema import Completion


def run_sample(path, tmp_path, live, *urls, k=5, concurrency=4, **sampling):
    run = store.RunFolder(tmp_path / "run")
    server = ServerSpec(endpoints=urls, concurrency=concurrency)
    spec = make_spec(path, sampling={"k": k, **sampling}, server=server)
    stages.sample(run, spec, live)
    return run, completions(run)


def completions(run):
    return [row for part in run.completion_parts() for row in store.read_rows(part, Completion)]


def keys(rows):
    return sorted((row.question_id, row.sample_index) for row in rows)


def asked(script):
    return sum(body["n"] for body in script.requests)


def test_every_question_gets_k_samples_in_one_request_each(sums, tmp_path, live, serve):
    url, script = serve()
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(set(keys(rows))) == len(rows) == 12 * 5
    assert [body["n"] for body in script.requests] == [5] * 12
    assert all(row.error is None and row.num_tokens == 1 for row in rows)


def test_every_sampling_parameter_is_stated_in_every_request(sums, tmp_path, live, serve):
    url, script = serve()
    run_sample(sums, tmp_path, live, url, temperature=0.7, stop=("\n",))
    stated = {
        "temperature": 0.7, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
        "max_tokens": 64, "n": 5, "stop": ["\n"],
    }  # fmt: skip
    for body in script.requests:
        assert {key: body[key] for key in stated} == stated
    assert all("seed" not in body for body in script.requests)


def test_a_seeded_run_gives_every_request_a_seed_of_its_own(sums, tmp_path, live, serve):
    url, script = serve(faults=["fewer_choices"])
    run_sample(sums, tmp_path, live, url, seed=7)
    assert len({body["seed"] for body in script.requests}) == len(script.requests) == 13


@pytest.mark.parametrize(
    "fault", ["429", "500", "503", "reset", "broken_json", "no_choices", "fewer_choices"]
)
def test_a_fault_of_the_server_costs_a_retry_and_no_answer(
    sums, tmp_path, live, serve, fault, monkeypatch
):
    monkeypatch.setattr(client, "FIRST_DELAY_S", 0.01)
    url, _ = serve(faults=[fault] * 3)
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(set(keys(rows))) == len(rows) == 60
    assert all(row.error is None for row in rows)
    assert max(row.attempt for row in rows) > 1


def test_a_short_answer_is_topped_up_and_not_asked_for_again_whole(sums, tmp_path, live, serve):
    url, script = serve(faults=["fewer_choices"])
    run_sample(sums, tmp_path, live, url)
    assert script.num_sent == 60
    assert sorted(body["n"] for body in script.requests)[0] == 2


def test_a_server_that_ignores_n_is_topped_up_one_by_one(sums, tmp_path, live, serve):
    url, script = serve(ignores_n=True)
    _, rows = run_sample(sums, tmp_path, live, url, k=8)
    assert len(set(keys(rows))) == script.num_sent == 12 * 8


def test_a_row_the_server_refuses_is_failed_and_the_run_goes_on(sums, tmp_path, live, serve):
    url, _ = serve(faults=["400"])
    _, rows = run_sample(sums, tmp_path, live, url)
    failed = [row for row in rows if row.error]
    assert len(rows) == 60
    assert len(failed) == 5
    assert all(row.error.startswith("refused: 400") and row.text is None for row in failed)


def test_a_server_that_keeps_failing_on_one_request_is_given_up_on(
    sums, tmp_path, live, serve, monkeypatch
):
    monkeypatch.setattr(client, "FIRST_DELAY_S", 0.001)
    url, _ = serve(faults=["500"] * client.MAX_ATTEMPTS)
    _, rows = run_sample(sums, tmp_path, live, url, concurrency=1)
    assert sum(row.error is not None for row in rows) == 5
    assert next(row.error for row in rows if row.error).startswith(
        "gave_up: 6 attempts, last: status 500"
    )


@pytest.mark.parametrize(("fault", "status"), [("401", "401"), ("404", "404")])
def test_a_wrong_key_or_model_stops_the_run_and_keeps_what_is_done(
    sums, tmp_path, live, serve, fault, status
):
    url, script = serve()
    run = store.RunFolder(tmp_path / "run")
    original, count = script.answer, [0]

    def answer(messages, chooser):
        count[0] += 1
        if count[0] == 20:
            script.faults.append(fault)
        return original(messages, chooser)

    script.answer = answer
    with pytest.raises(ServerError, match=f"answered {status}"):
        run_sample(sums, tmp_path, live, url, concurrency=1)
    done = len(completions(run))
    assert 20 <= done < 60
    script.answer = original
    before = script.num_sent
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(rows) == 60
    assert script.num_sent - before == 60 - done


def test_a_key_is_taken_from_the_environment_and_never_written(
    sums, tmp_path, live, serve, monkeypatch
):
    url, _ = serve(api_key="s3cret-key")
    with pytest.raises(ServerError, match="Set DIFFICULTY_API_KEY"):
        run_sample(sums, tmp_path, live, url)
    monkeypatch.setenv("DIFFICULTY_API_KEY", "s3cret-key")
    run, _ = run_sample(sums, tmp_path, live, url)
    files = [path for path in run.root.rglob("*") if path.is_file()]
    assert files
    assert not any(b"s3cret-key" in path.read_bytes() for path in files)


def test_a_model_the_server_does_not_serve_is_refused_by_name(sums, tmp_path, live, serve):
    url, _ = serve()
    with pytest.raises(ServerError, match="serves another model: scripted, not other"):
        run_sample(sums, tmp_path, live, url, model="other")


def test_a_server_that_is_not_there_is_one_line(sums, tmp_path, live):
    with pytest.raises(ServerError, match="no server answers at http://127.0.0.1:9/v1"):
        run_sample(sums, tmp_path, live, "http://127.0.0.1:9")


def test_a_prompt_that_is_too_long_is_counted_before_it_is_sent(write_rows, tmp_path, live, serve):
    path = write_rows([
        {"question": "What is 1 + 1?", "answer": "2"},
        {"question": "What is 2 + " + "very " * 300 + "?", "answer": "4"},
    ])  # fmt: skip
    url, script = serve(max_model_len=200)
    _, rows = run_sample(path, tmp_path, live, url)
    assert len(script.requests) == 1
    errors = [row.error for row in rows if row.error]
    assert len(errors) == 5
    assert errors[0].startswith("prompt_too_long: 309 tokens, room for 136")


def test_no_room_for_any_prompt_is_said_at_once(sums, tmp_path, live, serve):
    url, _ = serve(max_model_len=64)
    with pytest.raises(ServerError, match="max_tokens 64 leaves no room for a prompt"):
        run_sample(sums, tmp_path, live, url)


def test_null_content_is_kept_as_null_and_not_as_text(sums, tmp_path, live, serve):
    url, _ = serve(faults=["null_content"])
    _, rows = run_sample(sums, tmp_path, live, url)
    assert sum(row.text is None and row.error is None for row in rows) == 5


def test_two_servers_share_the_work(sums, tmp_path, live, serve):
    (first, a), (second, b) = serve(delay_s=0.02), serve(delay_s=0.02)
    _, rows = run_sample(sums, tmp_path, live, first, second, concurrency=2)
    assert len(rows) == 60
    assert min(len(a.requests), len(b.requests)) >= 3


def test_a_server_that_dies_leaves_its_work_to_the_other(sums, tmp_path, live, serve, monkeypatch):
    monkeypatch.setattr(client, "FIRST_DELAY_S", 0.01)
    (first, a), (second, b) = serve(), serve()
    a.faults = ["reset"] * 1000
    _, rows = run_sample(sums, tmp_path, live, first, second)
    assert len(set(keys(rows))) == 60
    assert b.num_sent == 60


def test_a_larger_k_draws_only_what_is_missing(sums, tmp_path, live, serve):
    url, script = serve()
    run_sample(sums, tmp_path, live, url, k=3)
    _, rows = run_sample(sums, tmp_path, live, url, k=5)
    assert len(set(keys(rows))) == script.num_sent == 60
    assert [body["n"] for body in script.requests] == [3] * 12 + [2] * 12


def test_another_model_on_the_same_run_is_refused(sums, tmp_path, live, serve):
    url, script = serve()
    run_sample(sums, tmp_path, live, url, k=3)
    script.model = "other"
    with pytest.raises(SettingsError, match="another model answers now: name scripted -> other"):
        run_sample(sums, tmp_path, live, url, k=5, model="other")


COMPLETION = Completion(
    question_id="q", sample_index=0, text="a\nb \u2028 日本", reasoning=None, num_tokens=3,
    finish_reason="stop", attempt=1, max_tokens=8, server="s", error=None,
)  # fmt: skip


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_a_journal_record_survives_its_line(record):
    line = journal.encode(record)
    assert line.count(b"\n") == 1
    assert journal.decode(line) == record


def journal_of(folder, count):
    with journal.Journal(folder, header={"settings": {}, "extra": {}}) as log:
        for index in range(count):
            log.append([Completion(**{**vars(COMPLETION), "sample_index": index})])
    return log.path


def test_a_journal_cut_at_any_byte_keeps_every_whole_record(tmp_path):
    path = journal_of(tmp_path / "full", 3)
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10][1:]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        _, rows = journal.read_segment(path)
        assert [row.sample_index for row in rows] == list(range(sum(end <= cut for end in ends)))


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_byte_costs_at_most_the_records_it_touches(tmp_path_factory, place, flip):
    path = journal_of(tmp_path_factory.mktemp("j"), 4)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= flip
    path.write_bytes(bytes(data))
    rows = list(journal.read_segment(path)[1])
    assert all(row.text == COMPLETION.text for row in rows)
    assert len(rows) >= 2


def test_a_crash_between_sealing_and_deleting_counts_nothing_twice(tmp_path):
    path = journal_of(tmp_path, 3)
    saved = path.read_bytes()
    journal.seal(tmp_path)
    path.write_bytes(saved)
    journal.seal(tmp_path)
    assert not path.exists()
    rows = [row for part in tmp_path.glob("*.parquet") for row in store.read_rows(part, Completion)]
    assert [row.sample_index for row in rows] == [0, 1, 2]


def test_a_full_disk_stops_the_journal_in_one_line(tmp_path, monkeypatch):
    log = journal.Journal(tmp_path, header={})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RunError, match="no disk space"):
        log.append([COMPLETION])


def test_the_scripted_server_draws_at_its_stated_rate(sums, tmp_path, live, serve):
    from difficulty.sampling.scripted import answer_with_chance

    url, _ = serve(answer=answer_with_chance("yes", "no", 0.25))
    _, rows = run_sample(sums, tmp_path, live, url, k=100)
    assert abs(sum(row.text == "yes" for row in rows) / 1200 - 0.25) < 0.05
