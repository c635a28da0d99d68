"""What the pool promises whatever its workers do."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from difficulty.errors import RunError
from difficulty.workers import process
from difficulty.workers.pool import Pool
from tests.workers.words import answers, work


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def gone_within(pids, seconds):
    """Whether all processes end in time."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_each_bad_task_is_blamed_and_the_others_are_done_in_order():
    words = ["a", "crash", None, "wait100", "crash", *"bcdefghij"]
    expected = [word and word.upper() for word in words]
    expected[1] = expected[4] = "crash: died (3)"
    expected[3] = "wait100: overdue"
    assert answers(*words, deadline_s=0.5) == expected


def test_a_worker_that_takes_too_much_memory_is_refused_it():
    assert answers("a", "eat", "b") == ["A", "too much", "B"]


def test_a_worker_that_takes_nothing_is_ended_in_time_and_blames_no_task(monkeypatch):
    monkeypatch.setattr(process, "SEND_LIMIT_S", 1)
    started = time.monotonic()
    with pytest.raises(RunError, match="workers do not start: -9"):
        answers("a" * 2**22, target="serve_deaf")
    assert time.monotonic() - started < 30


def test_what_an_overdue_worker_started_ends_with_it():
    child, hung = answers("child", "wait100", deadline_s=1.0, workers=1)
    assert hung == "wait100: overdue"
    assert gone_within([int(child)], 10)


def test_a_stream_starts_no_more_workers_than_it_has_jobs():
    with Pool(work(workers=4)) as pool:
        assert list(pool.answer_all([])) == list(pool.answer_all([None]))[1:] == []
        assert pool._slots == []
        list(pool.answer_all("abc"))
        assert len(pool._slots) == 1


def test_a_worker_that_died_while_it_was_idle_blames_no_task():
    with Pool(work(workers=1)) as pool:
        ((pid,),) = pool.answer_all(["pid"])
        os.kill(int(pid), signal.SIGKILL)
        assert list(pool.answer_all("ab")) == [["A"], ["B"]]


def test_no_worker_is_left_behind_when_the_reader_fails():
    with Pool(work()) as pool:
        stream = pool.answer_all(["pid", "pid", *["wait100"] * 8])  # never done by then
        (first,), (second,) = next(stream), next(stream)
        stream.close()
        assert pool._slots == []
    assert gone_within({int(first), int(second)}, 5)


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from difficulty.workers.pool import Pool
from tests.workers.words import work
with Pool(work(deadline_s=3.0, chunk=(1, 1))) as pool:
    for found in pool.answer_all(["pid", {word!r}]):
        print(*found, flush=True)
"""


def start_parent(word):
    """A parent, and its worker that has answered with its number and is at this word."""
    path = [part or str(Path.cwd()) for part in sys.path]
    script = SCRIPT.format(path=path, word=word)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    return parent, int(parent.stdout.readline())


def test_a_worker_in_the_midst_of_a_call_ends_with_its_parent():
    parent, worker = start_parent("wait200")
    with parent:
        parent.kill()
    assert gone_within([worker], 10)


def test_a_call_that_was_under_way_when_the_machine_stood_still_has_its_whole_deadline():
    parent, worker = start_parent("wait20")
    with parent:
        time.sleep(0.5)
        for pid in (parent.pid, worker):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        for pid in (parent.pid, worker):
            os.kill(pid, signal.SIGCONT)
        assert parent.stdout.read().split() == ["WAIT20"]
