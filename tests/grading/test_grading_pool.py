import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from difficulty.errors import RunError
from difficulty.grading import GraderPool, grade
from difficulty.grading import shared as shared_module
from difficulty.grading.equal.verdict import Verdict, evaluate
from difficulty.grading.shared import shared_math_equal
from difficulty.schema import Completion, Question
from difficulty.workers import pool as pool_module


def pair(index, *, text=None, gold="4", kind="numeric"):
    question = Question(
        question_id=f"q{index}", source="s", kind=kind, prompt="", choices=None, answer=gold,
        aliases=(), tolerance=None, system_prompt=None, num_copies=1, metadata="{}",
    )  # fmt: skip
    completion = Completion(
        question_id=f"q{index}", sample_index=index, text=text or f"Answer: {index % 7}",
        reasoning=None, num_tokens=None, finish_reason="stop", attempt=1, max_tokens=9, server=None,
        error=None,
    )  # fmt: skip
    return question, completion


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def pids(pool):
    return [slot.worker.process.pid for slot in pool._slots]


@pytest.fixture
def slow_words(monkeypatch, tmp_path):
    """A module that workers load at their start and that makes some golds hang, eat or crash."""
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent(
            """
            import os, time
            from difficulty.grading import serve
            real = serve.cached_evaluate
            def fake(gold, answer):
                if answer == "hang+x": time.sleep(600)
                if answer == "eat+x": bytearray(64 * 2**30)
                if answer == "crash+x": os._exit(3)
                if answer == "nest+x": return fake(gold, answer)
                return real(gold, answer)
            serve.cached_evaluate = fake
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_pool_gives_the_grades_that_grade_gives_in_the_order_of_the_pairs():
    pairs = [pair(index) for index in range(500)]
    with GraderPool(2) as pool:
        found = list(pool.grade_all(iter(pairs)))
    assert found == [grade(*each) for each in pairs]


def test_an_empty_stream_gives_no_grades():
    with GraderPool(2) as pool:
        assert list(pool.grade_all([])) == []


def test_a_pool_can_be_used_again():
    with GraderPool(1) as pool:
        first = list(pool.grade_all([pair(4)]))
        assert first == list(pool.grade_all([pair(4)]))
        assert first[0].outcome == "correct"


@pytest.mark.usefixtures("slow_words")
@pytest.mark.parametrize(
    ("word", "reason"),
    [("hang", "deadline"), ("eat", "memory"), ("crash", "died"), ("nest", "nesting")],
)
def test_a_bad_item_costs_one_grader_error_and_the_rest_is_graded(word, reason):
    pairs = [pair(i, kind="math", gold="x+4", text="\\boxed{4+x}") for i in range(100)]
    pairs[10] = pair(10, kind="math", gold="x+4", text=f"\\boxed{{{word}+x}}")
    with GraderPool(2, deadline_s=1.5) as pool:
        found = list(pool.grade_all(pairs))
    assert [each.sample_index for each in found] == list(range(100))
    bad = [each for each in found if each.outcome != "correct"]
    assert [(each.outcome, each.sample_index) for each in bad] == [("grader_error", 10)]
    assert reason in bad[0].reason
    assert bad[0].reward is None


@pytest.mark.usefixtures("slow_words")
def test_each_bad_item_of_one_chunk_is_blamed_and_no_other():
    pairs = [pair(i, kind="math", gold="x+4", text="\\boxed{4+x}") for i in range(60)]
    for index, word in ((0, "crash"), (7, "hang"), (8, "crash"), (30, "eat"), (59, "hang")):
        pairs[index] = pair(index, kind="math", gold="x+4", text=f"\\boxed{{{word}+x}}")
    with GraderPool(1, deadline_s=1) as pool:
        found = list(pool.grade_all(pairs))
    assert [each.sample_index for each in found] == list(range(60))
    bad = {each.sample_index: each.reason for each in found if each.outcome == "grader_error"}
    assert list(bad) == [0, 7, 8, 30, 59]
    assert ["deadline of 1 s" in bad[index] for index in bad] == [False, True, False, False, True]
    assert sum(each.outcome == "correct" for each in found) == 55


@pytest.mark.usefixtures("slow_words")
def test_a_hanging_item_of_a_later_chunk_is_ended_by_the_parent_and_not_by_its_own_alarm():
    pairs = [pair(i, kind="math", gold="x+4", text="\\boxed{4+x}") for i in range(200)]
    pairs[150] = pair(150, kind="math", gold="x+4", text="\\boxed{hang+x}")
    with GraderPool(1, deadline_s=1) as pool:
        found = list(pool.grade_all(pairs))
    assert [each.sample_index for each in found if each.outcome != "correct"] == [150]
    assert found[150].reason == "the grader's deadline of 1 s"


@pytest.mark.usefixtures("slow_words")
def test_workers_that_never_begin_are_reported_and_not_started_for_ever(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(5)")
    with GraderPool(1) as pool, pytest.raises(RunError, match=r"do not start.*died \(5\)"):
        list(pool.grade_all([pair(1)]))


def test_no_worker_is_left_behind_on_exit():
    with GraderPool(2) as pool:
        list(pool.grade_all([pair(i) for i in range(200)]))
        started = pids(pool)
    assert len(started) == 2
    assert not any(alive(pid) for pid in started)


def test_no_worker_is_left_behind_when_the_stream_is_dropped():
    with GraderPool(2) as pool:
        stream = pool.grade_all(pair(i) for i in range(10_000))
        next(stream)
        started = pids(pool)
        stream.close()
    assert not any(alive(pid) for pid in started)


def test_no_worker_is_left_behind_when_the_input_fails():
    def broken():
        yield pair(1)
        raise OSError("disk")

    with GraderPool(1) as pool, pytest.raises(OSError, match="disk"):
        list(pool.grade_all(broken()))
    assert pool._slots == []


def test_the_input_is_read_only_a_bounded_part_ahead():
    taken = []

    def source():
        for index in range(20_000):
            taken.append(index)
            yield pair(index)

    with GraderPool(1) as pool:
        stream = pool.grade_all(source())
        for _ in range(10):
            next(stream)
        assert len(taken) < 2_000


def test_a_slow_reader_of_the_stream_costs_the_workers_nothing():
    with GraderPool(1, deadline_s=0.5) as pool:
        stream = pool.grade_all(pair(i) for i in range(300))
        first = next(stream)
        time.sleep(1.2)
        rest = list(stream)
    assert len(rest) == 299
    assert not any(each.outcome == "grader_error" for each in [first, *rest])


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
sys.path[:0] = {path!r}
from tests.grading.test_grading_pool import pair
from difficulty.grading import GraderPool
def endless():
    index = 0
    while True:
        index += 1
        yield pair(index)
with GraderPool(2) as pool:
    for number, each in enumerate(pool.grade_all(endless())):
        if number == 200:
            print(*[slot.worker.process.pid for slot in pool._slots], flush=True)
"""


def gone_within(started, seconds):
    """Whether all processes end in time."""
    end = time.monotonic() + seconds
    while any(alive(pid) for pid in started) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(alive(pid) for pid in started)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(number):
    script = SCRIPT.format(path=[p or str(Path.cwd()) for p in ["", *sys.path]])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        started = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(started) == 2
        parent.send_signal(number)
        parent.wait(timeout=20)
    assert gone_within(started, 20)


SUSPENDED = """
import sys, time
sys.path[:0] = {path!r}
from tests.grading.test_grading_pool import pair
from difficulty.grading import GraderPool
with GraderPool(2, deadline_s=1) as pool:
    end, bad = time.monotonic() + 5, 0
    for number, each in enumerate(pool.grade_all(pair(i) for i in range(10**9))):
        bad += each.outcome == "grader_error"
        if number == 200:
            print(*[slot.worker.process.pid for slot in pool._slots], flush=True)
        if number > 200 and time.monotonic() > end:
            break
print(bad, flush=True)
"""


def test_a_job_that_is_suspended_and_resumed_blames_no_reply():
    script = SUSPENDED.format(path=[p or str(Path.cwd()) for p in ["", *sys.path]])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as parent:
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        for pid in (parent.pid, *workers):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2)
        for pid in (*workers, parent.pid):
            os.kill(pid, signal.SIGCONT)
        assert parent.stdout.read().split() == ["0"]
    assert len(workers) == 2


def test_mathematics_outside_a_pool_is_compared_in_a_process_of_its_own():
    assert shared_math_equal("x^2-1", "(x-1)(x+1)").equal is True
    assert shared_math_equal("x^2-1", "(x-1)(x+2)").equal is False


def test_integrals_are_read_by_the_library():
    assert evaluate("\\int_0^1 x dx", "\\frac{1}{2}").equal is True
    assert evaluate("\\int_0^1 x dx", "\\frac{1}{3}").equal is False


def test_the_library_is_loaded_outside_of_the_deadline_and_only_for_golds_that_need_it(
    monkeypatch, tmp_path, shared
):
    loaded = tmp_path / "loaded"
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent(
            f"""
            import pathlib, time
            from difficulty.grading import serve
            real = serve.load_library
            def load():
                pathlib.Path({str(loaded)!r}).touch()
                time.sleep(3)  # longer than the deadline and both looks
                real()
            serve.load_library = load
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    compare = shared(deadline_s=1.0).compare
    assert compare("2", "2.0").equal
    assert not loaded.exists()
    assert compare("\\int_0^1 x dx", "\\frac{1}{2}").equal
    assert loaded.exists()


@pytest.mark.usefixtures("slow_words")
def test_a_comparison_outside_a_pool_has_what_a_pools_has(shared):
    compare = shared(deadline_s=1.0).compare
    for answer, why in (
        ("hang+x", "the grader's deadline of 1 s"), ("crash+x", "the grader's worker died (3)"),
        ("eat+x", "the worker's memory limit"), ("nest+x", "the worker's limit on nesting"),
    ):  # fmt: skip
        assert compare("x+4", answer) == Verdict(None, why)
        assert compare("x+4", "4+x").equal


@pytest.fixture
def shared():
    """Make workers for comparisons outside a pool; they end with the test."""
    made = []

    def make(**more):
        made.append(shared_module._Shared(**more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_worker_that_dies_at_its_start_gives_no_verdict(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(5)")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = shared_module._Shared().compare("x+4", "4+x")
    assert (found.equal, "does not start" in found.reason) == (None, True)


def test_an_interrupted_comparison_leaves_no_reply_behind_for_the_next(monkeypatch, shared):
    compare = shared().compare
    assert compare("\\frac{1}{2}", "0.50").equal
    wait, calls = pool_module.wait, []

    def interrupted_once(connections, timeout):
        if not calls:
            calls.append(timeout)
            raise TimeoutError
        return wait(connections, timeout)

    monkeypatch.setattr(pool_module, "wait", interrupted_once)
    with pytest.raises(TimeoutError):
        compare("3", "3.0")
    assert compare("2", "3").equal is False
    assert compare("5", "5.0").equal is True


def test_a_fork_does_not_talk_to_its_parents_worker(shared):
    one = shared()
    assert one.compare("x+4", "4+x").equal
    parents = one._pool
    one._owner = -1  # as it looks from a fork
    assert one.compare("x+4", "4+y").equal is False
    assert one._pool is not parents
    parents.close()


def test_a_verdict_that_is_none_is_not_remembered(monkeypatch):
    verdicts = [Verdict(None, "deadline"), Verdict(True, "same value")]
    monkeypatch.setattr(shared_module._shared, "compare", lambda gold, answer: verdicts.pop(0))
    shared_module._remembered.cache_clear()
    assert shared_module.shared_math_equal("a", "b").equal is None
    assert shared_module.shared_math_equal("a", "b").equal is True
    shared_module._remembered.cache_clear()
