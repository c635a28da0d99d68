import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty import store
from difficulty.errors import RunError, ServerError, SettingsError
from difficulty.run import stages
from difficulty.sampling import answers, client, dispatch, journal, protocol
from difficulty.sampling import draw as draw_module
from difficulty.sampling.protocol import Owed, Reply, Served
from difficulty.sampling.scripted import Script, scripted_server
from difficulty.sampling.servers.server_set import Address
from difficulty.schema import Completion
from difficulty.settings.run import FewShotTurn, SamplingSpec, ServerSpec
from tests.conftest import make_spec, sum_answer


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
    "fault",
    [
        "429",
        "500",
        "503",
        "reset",
        "broken_json",
        "no_choices",
        "fewer_choices",
        "not_an_object",
        "abort",
    ],
)
def test_a_fault_of_the_server_costs_a_retry_and_no_answer(
    sums, tmp_path, live, serve, fault, monkeypatch
):
    monkeypatch.setattr(client, "RETRY_S", 0.01)
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


def test_a_poisoned_question_is_given_up_on_and_the_others_are_not(
    sums, tmp_path, live, serve, monkeypatch
):
    monkeypatch.setattr(client, "RETRY_S", 0.001)
    url, script = serve(poisoned="What is 3 +")
    _, rows = run_sample(sums, tmp_path, live, url)
    failed = [row for row in rows if row.error]
    assert len(rows) == 60
    assert len(failed) == 5
    assert failed[0].error.startswith("gave_up: 6 tries failed, last: status 500")
    assert failed[0].attempt is None
    assert script.num_sent == 55


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
    monkeypatch.setattr(client, "RETRY_S", 0.01)
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


def test_the_longest_expected_answers_are_drawn_first(sums, tmp_path, live, serve):
    url, script = serve(
        answer=lambda messages, chooser: "w " * int(messages[-1]["content"].split()[2])
    )
    run_sample(sums, tmp_path, live, url, k=2, concurrency=1)
    script.requests.clear()
    run_sample(sums, tmp_path, live, url, k=3, concurrency=1)
    asked = [int(body["messages"][-1]["content"].split()[2]) for body in script.requests]
    assert asked == sorted(asked, reverse=True)


def test_another_model_on_the_same_run_is_refused(sums, tmp_path, live, serve):
    url, script = serve()
    run_sample(sums, tmp_path, live, url, k=3)
    script.model, script.root = "other", "scripted"
    with pytest.raises(SettingsError, match="another model answers now: name scripted -> other"):
        run_sample(sums, tmp_path, live, url, k=5)


def test_samples_of_other_settings_are_never_relabelled(sums, tmp_path, live, serve):
    url, _ = serve()
    run, _ = run_sample(sums, tmp_path, live, url, temperature=0.7)
    run.questions.unlink()
    with pytest.raises(SettingsError, match="sampling.temperature 0.7 -> 0.2"):
        run_sample(sums, tmp_path, live, url, temperature=0.2)


@pytest.mark.parametrize("fault", ["500", "400", "429"])
def test_an_outage_is_no_data(sums, tmp_path, live, serve, impatient, fault, monkeypatch):
    monkeypatch.setattr(dispatch, "BUSY_GIVE_UP_S", 1.0)
    monkeypatch.setattr(client, "MAX_REFUSALS", 10)
    url, script = serve(faults=[fault] * 100_000)
    with pytest.raises(ServerError, match="no server is left|refuses every request"):
        run_sample(sums, tmp_path, live, url)
    assert completions(store.RunFolder(tmp_path / "run")) == []
    script.faults.clear()
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(rows) == 60
    assert all(row.error is None for row in rows)


def test_one_dead_server_fails_no_question_that_a_slow_one_answers(
    sums, tmp_path, live, serve, impatient
):
    (dead, bad), (slow, _) = serve(), serve(delay_s=0.3)
    bad.faults = ["reset"] * 100_000
    _, rows = run_sample(sums, tmp_path, live, dead, slow, concurrency=2)
    assert all(row.error is None for row in rows)
    assert len(set(keys(rows))) == 60


def test_an_answer_in_parts_is_joined_and_hostile_numbers_are_unknown():
    asked = Owed(question_id="q", messages=[], missing=(0,))
    content = [{"type": "text", "text": "4"}, {"type": "image"}, 7, {"text": "2"}]
    choice = {"message": {"content": content}, "finish_reason": ["stop"]}
    row = answers.read_choice(
        asked, 0, choice, reply=Reply(server="s"), attempt=1, sampling=SamplingSpec(model="m")
    )
    assert (row.text, row.finish_reason, row.num_tokens) == ("42", None, None)


@pytest.mark.parametrize("tokens", [2**70, True, -1, "5", None, 1.5])
def test_a_token_count_that_is_none_is_null(tokens):
    body = {"choices": [{"message": {"content": "x"}}], "usage": {"completion_tokens": tokens}}
    found = protocol._answers(json.dumps(body).encode(), Address(url="http://h/v1"))
    assert found.completion_tokens is None


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"null", b"[]", b'{"choices": 5}', b'{"choices": [5]}']
)
def test_a_reply_that_is_no_answer_is_the_servers_fault(body):
    assert protocol._answers(body, Address(url="http://h/v1")).fault == "server"


@pytest.fixture
def impatient(monkeypatch):
    """Waits of minutes become fractions of a second."""
    for module, name, seconds in (
        (client, "RETRY_S", 0.01), (client, "MEND_EVERY_S", 0.2), (client, "SILENCE_CHECK_S", 0.1),
        (client, "SILENT_AFTER_S", 0.5), (dispatch, "FIRST_REST_S", 0.05),
        (dispatch, "GIVE_UP_S", 1.0),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, seconds)


def test_a_storm_of_429_loses_nothing_and_halves_what_is_in_flight(
    sums, tmp_path, live, serve, impatient
):
    url, script = serve(faults=["429"] * 40)
    _, rows = run_sample(sums, tmp_path, live, url, concurrency=8)
    assert len(set(keys(rows))) == script.num_sent == 60
    assert all(row.error is None for row in rows)


def test_a_server_that_is_healthy_but_silent_leaves_its_work_to_the_other(
    sums, tmp_path, live, serve, impatient
):
    (first, a), (second, b) = serve(silent=True), serve()
    _, rows = run_sample(sums, tmp_path, live, first, second)
    assert a.requests
    assert len(set(keys(rows))) == b.num_sent == 60


def test_a_request_that_hangs_is_drawn_again_after_its_deadline(
    sums, tmp_path, live, serve, impatient, monkeypatch
):
    monkeypatch.setattr(client, "QUEUE_S", 3.0)
    monkeypatch.setattr(client, "SECONDS_A_TOKEN", 0.0)
    monkeypatch.setattr(client, "SILENT_AFTER_S", 60.0)
    url, script = serve(faults=["hang"])
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(set(keys(rows))) == script.num_sent == 60


def test_servers_that_are_silent_for_good_end_the_run_in_one_line(
    sums, tmp_path, live, serve, impatient
):
    url, script = serve(silent=True)
    with pytest.raises(ServerError, match="no server is left: last, .* run the same command again"):
        run_sample(sums, tmp_path, live, url)
    script.silent = False
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(set(keys(rows))) == 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def when(condition, act):
    """Do something in another thread once a condition holds."""

    def wait():
        while not condition():
            time.sleep(0.005)
        act()

    threading.Thread(target=wait, daemon=True).start()


def test_a_server_that_is_killed_and_comes_back_goes_on(sums, tmp_path, live, impatient):
    port = free_port()
    script = Script(answer=sum_answer(lambda n: n / 11), delay_s=0.05)
    with ExitStack() as first, ExitStack() as second:
        url = first.enter_context(scripted_server(script, port=port))

        def kill_and_revive():
            first.close()
            time.sleep(0.3)
            second.enter_context(scripted_server(script, port=port))

        when(lambda: script.num_sent >= 20, kill_and_revive)
        _, rows = run_sample(sums, tmp_path, live, url, concurrency=2)
    assert len(set(keys(rows))) == len(rows) == 60
    assert all(row.error is None for row in rows)
    assert script.num_sent <= 60 + 2 * 5


def test_a_server_killed_for_good_ends_the_run_in_one_line_that_can_go_on(
    sums, tmp_path, live, serve, impatient
):
    script = Script(answer=sum_answer(lambda n: n / 11), delay_s=0.05)
    with ExitStack() as first:
        url = first.enter_context(scripted_server(script))
        when(lambda: script.num_sent >= 20, first.close)
        with pytest.raises(ServerError, match="no server is left"):
            run_sample(sums, tmp_path, live, url, concurrency=2)
    done = len(completions(store.RunFolder(tmp_path / "run")))
    assert 20 <= done < 60
    url, other = serve()
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(set(keys(rows))) == 60
    assert other.num_sent == 60 - done


def test_a_server_that_is_not_there_at_the_start_is_used_when_it_comes(
    sums, tmp_path, live, serve, impatient
):
    port = free_port()
    late = Script(answer=sum_answer(lambda n: n / 11))
    url, script = serve(delay_s=0.3)
    with ExitStack() as stack:
        when(lambda: script.requests, lambda: stack.enter_context(scripted_server(late, port=port)))
        _, rows = run_sample(sums, tmp_path, live, url, f"http://127.0.0.1:{port}", concurrency=1)
    assert len(set(keys(rows))) == 60
    assert late.num_sent >= 20
    assert any("going on without it for now: no server answers" in line for line in live.lines)


def test_a_clock_that_jumps_back_changes_nothing(sums, tmp_path, live, serve, monkeypatch):
    ticks = iter(range(10**9, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: float(next(ticks)))
    url, script = serve(faults=["500"])
    _, rows = run_sample(sums, tmp_path, live, url)
    assert len(set(keys(rows))) == script.num_sent == 60


def test_plain_prompts_go_to_the_plain_address_as_one_text(sums, tmp_path, live, serve):
    turns = (FewShotTurn(role="user", content="1 + 1?"), FewShotTurn(role="assistant", content="2"))
    url, script = serve(answer=lambda messages, chooser: "4")
    _, rows = run_sample(sums, tmp_path, live, url, prompt_style="plain", few_shot=turns)
    assert script.requests[0]["prompt"].startswith("1 + 1?\n2\n\nWhat is ")
    assert script.requests[0]["prompt"].endswith("?\n")
    assert {row.text for row in rows} == {"4"}


def test_template_arguments_are_sent_as_json_values(sums, tmp_path, live, serve):
    url, script = serve()
    run_sample(
        sums, tmp_path, live, url, template_args=("enable_thinking=false", "effort=low", "n=3")
    )
    expected = {"enable_thinking": False, "effort": "low", "n": 3}
    assert all(body["chat_template_kwargs"] == expected for body in script.requests)


def test_log_probabilities_are_kept_only_when_asked_for(sums, tmp_path, live, serve):
    url, script = serve(answer=lambda messages, chooser: "one two")
    _, rows = run_sample(sums, tmp_path, live, url, logprobs=2)
    assert script.requests[0]["top_logprobs"] == 2
    assert [row.logprob_sum for row in rows] == pytest.approx([2 * math.log(0.5)] * 60)
    entropy = 0.5 * math.log(2) + 2 * 0.25 * math.log(4)  # 1/2, 1/4 and the rest, 1/4
    assert [row.mean_entropy for row in rows] == pytest.approx([entropy] * 60)
    run_sample(sums, tmp_path / "without", live, url)
    assert "logprobs" not in script.requests[-1]


@pytest.mark.parametrize(
    "found", [None, 5, {}, {"content": None}, {"content": [{"logprob": "x"}]},
              {"content": [{"logprob": math.nan, "top_logprobs": []}]}]
)  # fmt: skip
def test_log_probabilities_that_make_no_sense_are_null(found):
    assert answers._logprobs(found) == (None, None)


def dispatcher_of(count, *, concurrency=4, clock):
    made = dispatch.Dispatcher(concurrency=concurrency, clock=clock)
    for number in range(count):
        address = Address(url=f"http://host{number}/v1")
        made.add(Served(address=address, model="m", max_model_len=None, version=None))
    return made


def reply(fault=None, wait_s=None):
    return Reply(server="s", fault=fault, detail="as tested", wait_s=wait_s)


def test_the_next_request_goes_to_the_server_with_the_fewest_in_flight():
    async def check():
        made = dispatcher_of(3, clock=lambda: 0.0)
        taken = [await made.acquire() for _ in range(9)]
        assert sorted(each.in_flight for each in taken) == [3] * 9
        made.release(taken[4], reply())
        assert await made.acquire() is taken[4]

    asyncio.run(check())


def test_a_server_that_fails_three_times_rests_and_is_then_tried_once():
    now = [0.0]

    async def check():
        made = dispatcher_of(2, clock=lambda: now[0])
        bad = next(iter(made.endpoints.values()))
        bad.in_flight = 3
        for _ in range(3):
            made.release(bad, reply("server"))
        assert bad.broken
        assert not bad.free(0.0)
        now[0] = 1.0
        assert bad.free(1.0)
        bad.in_flight = 1
        assert not bad.free(1.0)  # one request tries it, not a flood
        made.release(bad, reply())
        assert not bad.broken

    asyncio.run(check())


def test_a_busy_server_gets_half_as_much_and_then_slowly_more():
    now = [0.0]

    async def check():
        made = dispatcher_of(1, concurrency=16, clock=lambda: now[0])
        (only,) = made.endpoints.values()
        only.in_flight = 16
        for _ in range(4):
            made.release(only, reply("busy", wait_s=2.0))
        assert only.limit == 8  # a burst halves once
        assert not only.free(1.9)
        now[0] = 2.0
        for _ in range(9):
            made.release(only, reply())
        assert 8.9 < only.limit < 10

    asyncio.run(check())


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


def answers_in(path):
    return [Completion(**json.loads(payload)) for payload in journal.payloads(path)]


def test_a_journal_cut_at_any_byte_keeps_every_whole_record(tmp_path):
    path = journal_of(tmp_path / "full", 3)
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10][1:]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        assert [row.sample_index for row in answers_in(path)] == list(
            range(sum(end <= cut for end in ends))
        )


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_byte_costs_at_most_the_records_it_touches(tmp_path_factory, place, flip):
    path = journal_of(tmp_path_factory.mktemp("j"), 4)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= flip
    path.write_bytes(bytes(data))
    rows = answers_in(path)
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


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 2000)


def sealed_indices(folder):
    journal.seal(folder)
    assert not list(folder.glob("journal-*.log"))
    parts = sorted(folder.glob("part-*.parquet"))
    return [row.sample_index for part in parts for row in store.read_rows(part, Completion)]


def test_large_segments_are_sealed_while_the_journal_goes_on(tmp_path, small_segments):
    with journal.Journal(tmp_path, header={"settings": {"a": 1}, "extra": {}}) as log:
        for index in range(100):
            log.append([Completion(**{**vars(COMPLETION), "sample_index": index})])
    assert len(list(tmp_path.glob("part-*.parquet"))) > 3
    assert len(list(tmp_path.glob("journal-*.log"))) == 1
    assert sealed_indices(tmp_path) == list(range(100))
    for part in tmp_path.glob("part-*.parquet"):
        assert store.read_stamp(part).settings == {"a": 1}


def test_a_seal_that_fails_while_the_journal_goes_on_loses_nothing(
    tmp_path, small_segments, monkeypatch
):
    def full(*_):
        raise RunError("no disk space")

    write_part = journal._write_part
    monkeypatch.setattr(journal, "_write_part", full)
    written = []

    def write_many():
        with journal.Journal(tmp_path, header={"settings": {}, "extra": {}}) as log:
            for index in range(100):
                written.append(index)
                log.append([Completion(**{**vars(COMPLETION), "sample_index": index})])

    with pytest.raises(RunError, match="no disk space"):
        write_many()
    monkeypatch.setattr(journal, "_write_part", write_part)
    assert sealed_indices(tmp_path) == written


APPEND_FOREVER = """
import itertools, pathlib, sys
from difficulty.sampling import journal
from difficulty.schema import Completion
journal.SEGMENT_BYTES = 2000
with journal.Journal(pathlib.Path(sys.argv[1]), header={"settings": {}, "extra": {}}) as log:
    for index in itertools.count():
        log.append([Completion(question_id="q", sample_index=index, text="t", reasoning=None,
            num_tokens=1, finish_reason="stop", attempt=1, max_tokens=8, server="s", error=None)])
        print(index, flush=True)
"""


@pytest.mark.parametrize("wait_s", [0.0, 0.01, 0.03, 0.1, 0.2, 0.4])
def test_a_kill_while_segments_are_sealed_loses_and_doubles_nothing(tmp_path, wait_s):
    command = [sys.executable, "-c", APPEND_FOREVER, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    told = [process.stdout.readline()]
    time.sleep(wait_s)
    process.kill()
    told += process.communicate()[0].splitlines(keepends=True)
    acknowledged = sum(line.endswith("\n") for line in told)
    indices = sealed_indices(tmp_path)
    assert indices == list(range(len(indices)))
    assert len(indices) in (acknowledged, acknowledged + 1)


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


def test_an_interrupt_ends_the_tasks_and_breaks_into_no_callback():
    seen, broken = [], []

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: broken.append(context))
        loop.call_soon(os.kill, os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("ended in order")
            raise

    def handler(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt), draw_module._interrupts_for_asyncio():
            asyncio.run(main())
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["ended in order"]
    assert broken == []
