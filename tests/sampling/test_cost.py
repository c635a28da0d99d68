import dataclasses
import json

import pytest

from difficulty.run import stages
from difficulty.sampling import cost
from difficulty.sampling.client import Progress
from difficulty.sampling.draw import _note
from difficulty.settings.run import ServerSpec
from difficulty.sources.load import load_questions
from difficulty.store import RunFolder
from tests.conftest import make_spec


def spec_of(**server):
    return make_spec(sampling={"max_tokens": 100}, server=ServerSpec(**server))


def save(folder, spec, *, num_gpus=None, samples=1000, tokens=50_000, seconds=100.0):
    folder.mkdir(exist_ok=True)
    run = RunFolder(folder)
    speed = cost.speed_of(spec, num_gpus=num_gpus, samples=samples, tokens=tokens, seconds=seconds)
    cost.save_speed(run, speed)
    return run


def test_without_an_earlier_speed_only_tokens_are_said(tmp_path):
    text = cost.estimate(RunFolder(tmp_path / "new"), spec_of(), 440)
    assert "44,000 at the very most" in text
    assert "no earlier speed" in text


def test_time_and_gpu_hours_come_from_the_measured_speed_of_a_run_beside(tmp_path):
    # 2 servers x 2 GPUs gave 50,000 tokens in 100 s: 250 tokens/s a server of 2 GPUs.
    measured = spec_of(servers=2, tensor_parallel_size=2)
    save(tmp_path / "old", measured, num_gpus=4)
    # 720,000 answers x 50 tokens on 4 servers: 36,000 s, 10 hours on 8 GPUs.
    wanted = spec_of(servers=4, tensor_parallel_size=2)
    text = cost.estimate(RunFolder(tmp_path / "new"), wanted, 720_000)
    assert "about 36,000,000 tokens and 10.0 hours, 80.00 GPU-hours" in text
    assert "of old (" in text


def test_a_speed_of_other_servers_or_another_model_is_not_used(tmp_path):
    save(tmp_path / "old", spec_of(servers=1, tensor_parallel_size=2), num_gpus=2)
    new = RunFolder(tmp_path / "new")
    assert cost.known_speed(new, spec_of(servers=1)) is None
    assert cost.known_speed(new, spec_of(endpoints=("http://a/v1",))) is None
    other = spec_of(servers=1, tensor_parallel_size=2)
    sampling = dataclasses.replace(other.sampling, model="other")
    assert cost.known_speed(new, dataclasses.replace(other, sampling=sampling)) is None


def test_the_own_speed_goes_before_that_of_a_neighbour(tmp_path):
    save(tmp_path / "old", spec_of(), samples=9_000)
    own = save(tmp_path / "own", spec_of(), samples=10)
    speed, folder = cost.known_speed(own, spec_of())
    assert (speed.samples, folder) == (10, own.root)


def test_a_start_that_drew_the_rest_does_not_replace_the_speed_of_the_whole(tmp_path):
    run = save(tmp_path / "run", spec_of(), samples=1000)
    save(tmp_path / "run", spec_of(), samples=3)
    assert cost.known_speed(run, spec_of())[0].samples == 1000


@pytest.mark.parametrize("less", [{"samples": 0}, {"tokens": 0}, {"seconds": 1.0}])
def test_a_start_too_short_to_tell_leaves_no_speed(tmp_path, less):
    run = save(tmp_path / "run", spec_of(), **less)
    assert cost.known_speed(run, spec_of()) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"samples": 1}', "nonsense"])
def test_a_damaged_record_is_no_speed(tmp_path, text):
    run = save(tmp_path / "run", spec_of())
    record = run.root / cost.SPEED_FILE
    assert cost.known_speed(run, spec_of()) is not None
    record.write_text(text)
    assert cost.known_speed(run, spec_of()) is None
    save(tmp_path / "run", spec_of())
    record.write_text(json.dumps({**json.loads(record.read_text()), "seconds": 0}))
    assert cost.known_speed(run, spec_of()) is None


def test_a_shorter_limit_shortens_what_is_expected(tmp_path):
    save(tmp_path / "old", spec_of(), num_gpus=0)
    spec = spec_of()
    short = dataclasses.replace(spec.sampling, max_tokens=20)
    text = cost.estimate(
        RunFolder(tmp_path / "new"), dataclasses.replace(spec, sampling=short), 100
    )
    assert "about 2,000 tokens and 4 seconds at" in text  # 500 tokens/s
    assert "GPU" not in text
    assert "of at most 100)" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 seconds"), (89, "89 seconds"), (600, "10 minutes"), (36_000, "10.0 hours")],
)
def test_time_is_told_in_the_unit_that_reads_best(seconds, text):
    assert cost.cost(seconds, None) == text


def test_a_second_run_is_told_what_the_first_measured(sums, tmp_path, live, serve, monkeypatch):
    monkeypatch.setattr(cost, "LEAST_MEASURED_S", 0.0)
    url, _ = serve()
    for name in ("first", "second"):
        spec = make_spec(sums, server=ServerSpec(endpoints=(url,)))
        stages.sample(RunFolder(tmp_path / name), spec, live)
    told = [text for text in live.lines if text.startswith("drawing")]
    assert "no earlier speed" in told[0]
    assert "at the speed of first (" in told[1]


def test_after_a_redo_under_a_larger_limit_the_time_is_said_to_be_at_most(tmp_path):
    run = save(tmp_path / "run", spec_of())  # 50 tokens an answer, 500 a second, at most 100
    sampling = {"max_tokens": 400, "earlier_max_tokens": (100,)}
    text = cost.estimate(run, make_spec(sampling=sampling, server=ServerSpec()), 1_000)
    assert "400,000 at the very most; at most 13 minutes at the speed" in text
    assert "about" not in text
    redone = save(tmp_path / "done", make_spec(sampling=sampling, server=ServerSpec()))
    again = cost.estimate(redone, make_spec(sampling=sampling, server=ServerSpec()), 1_000)
    assert "about 50,000 tokens and 2 minutes" in again


def test_no_speed_and_no_shares_are_shown_before_the_first_answer():
    assert _note(Progress(), 5.0) == "no answer yet, "
    shown = _note(Progress(questions=2, samples=10, tokens=50, truncated=1), 5.0)
    assert shown == "2 questions, 10 tokens/s, truncated 10%, failed 0%, "
    assert "tokens/s" not in _note(Progress(questions=1, samples=1, failed=1), 5.0)


def test_tokens_in_flight_count_a_prompt_once_and_each_answer_with_a_block_of_its_own(
    tmp_path, write_rows
):
    """What a server's cache has to hold: prompts of 90 bytes are 30 tokens, about."""
    questions = write_rows([{"question": f"{n:02}" + "x" * 88, "answer": "1"} for n in range(9)])
    spec = make_spec(questions, sampling={"k": 4, "max_tokens": 100})
    run = RunFolder(tmp_path / "run")
    load_questions(run, spec)
    assert cost.tokens_in_flight(run, spec, requests=2) == 2 * (30 + 4 * (100 + 128))
