"""A worker that is overdue, looked at without a process and without waiting."""

import functools
import os
import time

import pytest

from difficulty.workers import slot
from difficulty.workers.job import Job
from difficulty.workers.progress import At, Progress, Standstill, shared_memory
from difficulty.workers.slot import Slot
from difficulty.workers.work import NOT_CALLED, Ready
from tests.workers.words import work


class StillWorker:
    """A worker without a process, which does nothing unless it is told to."""

    def __init__(self):
        self.connection = self
        self.progress = Progress(shared_memory())
        self.requests = 0

    def send_bytes(self, request):
        self.requests += 1

    def kill(self):
        return -9


still_work = functools.partial(work, start=StillWorker, deadline_s=1)


def job_of(*words, **more):
    return Job(0, list(words), still_work(**more))


def test_a_job_keeps_what_is_answered_and_asks_for_the_rest_again():
    job = job_of(*"abcde")
    job.take(0, ["A", "B"])
    job.fail(3, "overdue")
    job.ask()
    assert (job.places, job.done) == ([2, 4], False)
    job.take(0, ["C", "E"])
    assert job.done
    assert job.by_task() == [["A"], ["B"], ["C"], ["d: overdue"], ["E"]]


def test_a_call_that_hangs_leaves_the_answers_before_it_and_the_calls_after_it_are_not_made():
    job = job_of("a", "b", num_calls=3)
    job.take(0, ["A1", "A2", "A3", "B1"])
    job.fail(4, "overdue")
    assert job.by_task() == [["A1", "A2", "A3"], ["B1", "b: overdue", f"b: {NOT_CALLED}"]]


def test_a_task_that_is_asked_for_again_begins_anew_and_null_ones_keep_their_place():
    job = job_of(None, "a", None, num_calls=2)
    job.take(0, ["old"])
    job.ask()
    assert not job.done
    job.take(1, ["second"])
    job.take(0, ["first"])
    assert job.by_task() == [None, ["first", "second"], None]
    assert job_of(None, None).done


@pytest.fixture
def overdue(monkeypatch):
    """A slot with a job of three items, the second of which is over its deadline."""
    monkeypatch.setattr(slot, "LOOK_AGAIN_S", 0)
    place = Slot(still_work())
    place.ready = Ready()
    place.give([job_of("a", "b", "c")])
    place.worker.progress.begin(1, time.monotonic() - 2)
    return place


def looked_at_twice(place):
    return place.settle(heard=False) or place.settle(heard=False)


def test_an_item_over_its_deadline_is_blamed_though_earlier_answers_are_not_there_yet(overdue):
    first = overdue.worker
    (job,) = looked_at_twice(overdue)
    assert job.answers == {1: "b: overdue"}
    assert (job.places, job.done) == ([0, 2], False)
    assert overdue.worker is not first
    assert not overdue.jobs


def test_an_item_that_ends_just_as_its_worker_is_killed_is_not_blamed(overdue, monkeypatch):
    progress = overdue.worker.progress

    def last_moment():
        progress.end()
        progress.begin(2, time.monotonic())

    monkeypatch.setattr(overdue.worker, "kill", last_moment)
    (job,) = looked_at_twice(overdue)
    assert job.answers == {}
    assert job.places == [0, 1, 2]
    assert overdue.num_failed_starts == 0


def test_an_item_that_ends_after_the_first_look_is_not_blamed(overdue):
    first = overdue.worker
    overdue.settle(heard=False)
    first.progress.begin(2, time.monotonic() - 2)
    assert overdue.settle(heard=False) == []
    assert overdue.worker is first


def test_an_item_within_its_deadline_is_left_alone(overdue):
    first = overdue.worker
    first.progress.begin(1, time.monotonic())
    assert looked_at_twice(overdue) == []
    assert overdue.worker is first


def test_time_in_which_the_machine_stood_still_is_given_back_to_the_call_under_way(overdue):
    first = overdue.worker
    overdue.forgive(1.5)
    overdue.forgive(1.5)
    assert looked_at_twice(overdue) == []
    first.progress.begin(2, time.monotonic() - 2)
    assert len(looked_at_twice(overdue)) == 1


def test_a_worker_that_begins_nothing_is_given_the_time_to_start_and_blames_no_item(overdue):
    overdue.worker.progress.reset()
    assert looked_at_twice(overdue) == []
    overdue.heard -= 61
    (job,) = looked_at_twice(overdue)
    assert job.places == [0, 1, 2]
    assert overdue.num_failed_starts == 1


def test_of_several_items_in_one_loop_each_is_tried_alone(overdue):
    overdue.ready = Ready(together=True)
    overdue.jobs = {number: job_of("a") for number in range(2)}
    overdue.worker.progress.begin(0, time.monotonic() - slot.GRACE_S)
    assert looked_at_twice(overdue) == []
    overdue.worker.progress.begin(0, time.monotonic() - slot.GRACE_S - 2)
    assert [(job.alone, job.answers) for job in looked_at_twice(overdue)] == [(True, {})] * 2


def test_answers_that_nobody_asked_for_are_dropped(overdue):
    overdue._take(2, ["C", "D"], [])
    overdue._take(-1, ["A"], [])
    assert overdue.jobs[0].answers == {}


def test_progress_is_seen_by_both_sides():
    descriptor = shared_memory()
    parent, worker = Progress(descriptor), Progress(descriptor)
    os.close(descriptor)
    parent.reset()
    assert worker.read() == At(-1, 0)
    worker.begin(3, 12.5)
    assert parent.read() == At(3, 12.5)
    worker.end()
    assert parent.read() == At(3, 0)


def test_a_look_that_comes_much_too_late_says_by_how_much(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    standstill, found = Standstill(), []
    for now in (101.0, 102.4, 112.4):  # noqa: B007 - the clock reads it
        found.append(standstill.seconds(1.0))
    assert found == [0.0, 0.0, 9.0]
