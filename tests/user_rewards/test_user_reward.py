"""The user's own reward: how functions are called, and what becomes of those that fail."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from difficulty.errors import SettingsError
from difficulty.schema import Completion
from difficulty.settings.reward_code import code_hash, signature_of
from difficulty.settings.rewards import GradingSpec, RewardSpec, parse_rewards, passes, settled
from difficulty.settings.run import SamplingSpec
from difficulty.settings.stated import Stated, stating
from difficulty.settings.toml import typed_values
from difficulty.user_rewards import reward_pool as pools
from difficulty.user_rewards.request import reply_text, request_of
from difficulty.user_rewards.reward_pool import RewardPool
from difficulty.user_rewards.score import Part, combine, grade_of
from difficulty.user_rewards.setup import setup_of
from tests.conftest import make_question


def reply(text="4", index=0, **more):
    values = {
        "question_id": "q", "sample_index": index, "text": text, "reasoning": None,
        "num_tokens": 3, "finish_reason": "stop", "attempt": 1, "max_tokens": 9, "server": None,
        "error": None, **more,
    }  # fmt: skip
    return Completion(**values)


QUESTION = make_question(
    "What is 2 + 2?", answer="4", metadata='{"tests": ["a", "b"], "extra_info": {"index": 7}}'
)


@pytest.fixture
def code(tmp_path):
    """Write a reward file; gives its path."""

    def write(text, name="reward.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def grading(path, *names, **more):
    rewards = tuple(RewardSpec(file=str(path), name=name, sha256="x") for name in names)
    return GradingSpec(grader="t", rewards=rewards, **more)


def open_pool(path, *names, concurrency=None, sampling=None, **more):
    sampling = SamplingSpec(model="m", template="bare-v1", **(sampling or {}))
    setup = setup_of(grading(path, *names, **more), sampling)
    return RewardPool(setup, concurrency=concurrency, log=path.parent / "log")


def score(path, *names, replies=("4",), **more):
    """The parts that the functions give for each reply to one question."""
    requests = [request_of(QUESTION, each if isinstance(each, Completion) else reply(each))
                for each in replies]  # fmt: skip
    with open_pool(path, *names, **more) as pool:
        return list(pool.score_all(requests))


def values(found):
    return [[part.value for part in parts] for parts in found]


def faults(found):
    return [parts[0].fault for parts in found]


def test_a_trl_function_gets_messages_prompts_and_columns(code):
    path = code("""
        def reward(prompts, completions, completion_ids, solution, tests, source, **columns):
            assert prompts == [[{"role": "user", "content": "What is 2 + 2?"}]], prompts
            assert completions == [[{"role": "assistant", "content": "it is 4"}]], completions
            assert [len(ids) for ids in completion_ids] == [3]
            assert (solution, tests, source) == (["4"], [["a", "b"]], ["set"])
            assert columns["answer"] == columns["ground_truth"] == ["4"]
            assert len(columns["grading_key"]) == len(columns["question_id"]) == 1
            columns["log_metric"]("name", 1.0)
            return [0.25]
    """)
    found = score(path, "reward", replies=["it is 4"])
    assert values(found) == [[0.25]], faults(found)
    assert found[0][0].type == "list[float]"


def test_completions_are_text_in_a_plain_run_or_when_asked_for(code):
    path = code("""
        def reward(completions, prompts, **columns):
            return [float(isinstance(each, str)) + 2 * float(isinstance(prompts[0], str))
                    for each in completions]
    """)
    assert values(score(path, "reward")) == [[0.0]]
    assert values(score(path, "reward", reward_completions="text")) == [[1.0]]
    assert values(score(path, "reward", sampling={"prompt_style": "plain"})) == [[3.0]]


def test_a_text_function_that_meets_messages_is_told_of_the_option(code):
    path = code("""
        import re
        def reward(completions, **columns):
            return [float(bool(re.search("4", each))) for each in completions]
    """)
    assert "--reward-completions text" in faults(score(path, "reward"))[0]


def test_a_verl_function_gets_its_four_arguments_and_may_return_a_dict(code):
    path = code("""
        def compute_score(data_source, solution_str, ground_truth, extra_info=None):
            assert (data_source, ground_truth) == ("set", "4")
            assert extra_info["tests"] == ["a", "b"] and extra_info["index"] == 7
            return {"score": float(solution_str == ground_truth), "acc": True, "note": "x"}
    """)
    (good,), (bad,) = score(path, "compute_score", replies=["4", "5"])
    assert (good.value, bad.value) == (1.0, 0.0)
    assert good.more == (("acc", 1.0),)
    assert good.type == "dict"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("raise ValueError('no\\nluck')", "ValueError: no luck"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return None", "returned NoneType, not a list"),
        ("return [None]", "returned None"),
        ("return [float('nan')]", "returned nan"),
        ("return [float('inf')]", "returned inf"),
        ("return ['1']", "returned str, not a number"),
        ("return [1.0, 1.0]", "returned 2 rewards for 1 completion"),
        ("return 1.0", "returned float, not a list"),
        ("return [{'acc': 1.0}]", "returned a dict without score: acc"),
        ("return [10 ** 400]", "returned inf"),
    ],
)
def test_what_is_no_reward_is_unknown_with_the_reason(code, body, fault):
    path = code(f"""
        def reward(completions, **columns):
            if completions[0][0]["content"] == "bad":
                {body}
            return [1.0]
    """)
    found = score(path, "reward", replies=["4", "bad", "4"])
    assert values(found) == [[1.0], [None], [1.0]]
    assert fault in faults(found)[1]
    graded = grade_of(reply(), grading(path, "reward"), combine(grading(path, "reward"), found[1],
                                                                None), None)  # fmt: skip
    assert (graded.outcome, graded.reward) == ("grader_error", None)
    assert graded.reason.startswith("reward: ")


def test_numbers_of_numpy_count_as_numbers(code):
    path = code("""
        import numpy
        def one(completions, **columns): return numpy.array([0.5])
        def two(completions, **columns): return [numpy.float32(0.5)]
        def three(solution_str, **rest): return numpy.array(2)
    """)
    assert values(score(path, "one", "two", "three")) == [[0.5, 0.5, 2.0]]


def test_a_missing_column_is_named(code):
    path = code("def reward(completions, cases): return [1.0]")
    assert faults(score(path, "reward"))[0].startswith("needs the argument cases, there are answer")


HANG = """
    import os, time
    {kind} reward(completions, **columns):
        text = completions[0][0]["content"]
        if text == "hang": time.sleep(600)
        if text == "exit": os._exit(3)
        return [float(text)]
"""


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("word", "fault"), [("hang", "deadline of 1 s"), ("exit", "ended its worker (3)")]
)
def test_a_hang_or_a_crash_costs_one_reward_and_the_others_are_judged(
    code, kind, word, fault, monkeypatch
):
    monkeypatch.setattr("difficulty.workers.slot.GRACE_S", 0.5)
    path = code(HANG.format(kind=kind))
    texts = [str(number) for number in range(30)]
    texts[10] = word
    found = score(path, "reward", replies=texts, concurrency=2, reward_deadline=1.0)
    expected = [[float(text)] for text in texts[:10]] + [[None]] + [[float(t)] for t in texts[11:]]
    assert values(found) == expected
    assert faults(found)[10] == fault


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_worker_that_ends_with_its_only_reply_leaves_the_rest_of_the_stream(code, kind):
    path = code(HANG.format(kind=kind))
    found = score(path, "reward", replies=["0", "exit", "2", "exit", "4"], concurrency=1)
    assert values(found) == [[0.0], [None], [2.0], [None], [4.0]]


def test_the_part_that_hangs_is_named_and_those_before_it_are_kept(code):
    path = code("""
        import time
        def quick(completions, **columns): return [0.5]
        def slow(completions, **columns): time.sleep(600)
        def last(completions, **columns): return [0.5]
    """)
    found = score(path, "quick", "slow", "last", reward_deadline=0.5)
    assert values(found) == [[0.5, None, None]]
    combined = combine(grading(path, "quick", "slow", "last"), found[0], None)
    assert (combined.reward, combined.fault) == (None, "slow: deadline of 0.5 s")
    assert [(part.name, part.value) for part in combined.components] == [("quick", 0.5)]


def test_an_async_call_over_its_deadline_is_cancelled_without_losing_the_worker(code):
    path = code("""
        import asyncio, os
        async def reward(completions, **columns):
            text = completions[0][0]["content"]
            if text == "slow": await asyncio.sleep(600)
            if text == "own": raise TimeoutError("of its own")
            return [float(os.getpid())]
    """)
    found = score(path, "reward", replies=["1", "slow", "own", "1"], reward_deadline=0.5)
    assert faults(found) == [None, "deadline of 0.5 s", "TimeoutError: of its own", None]
    assert found[0][0].value == found[3][0].value


BUSY = """
    import asyncio
    now = most = 0
    async def reward(completions, **columns):
        global now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.2)
        now -= 1
        return [float(most)]
"""


def test_async_calls_overlap_in_one_loop_up_to_the_bound(code):
    path = code(BUSY)
    started = time.monotonic()
    found = score(path, "reward", replies=["x"] * 40, concurrency=8)
    took = time.monotonic() - started
    assert max(parts[0].value for parts in found) == 8
    assert took < 40 * 0.2


def test_calls_that_are_not_async_overlap_in_as_many_processes(code):
    path = code("""
        import os, time
        def reward(completions, **columns):
            time.sleep(0.3)
            return [float(os.getpid())]
    """)
    found = score(path, "reward", replies=["x"] * 48, concurrency=4)  # busy machines start slowly
    assert len({parts[0].value for parts in found}) == 4


def test_one_function_that_is_not_async_keeps_all_on_main_threads(code):
    path = code("""
        import asyncio, threading
        def plain(completions, **columns):
            assert threading.current_thread() is threading.main_thread()
            return [asyncio.run(number())]
        async def number(): return 1.0
        async def judge(completions, **columns):
            await asyncio.sleep(0.01)
            return [2.0]
    """)
    found = score(path, "plain", "judge", replies=["x"] * 5)
    assert values(found) == [[1.0, 2.0]] * 5, faults(found)


def test_what_functions_print_goes_to_the_log_and_harms_nothing(code):
    path = code("""
        import os, sys
        print("at the start")
        def reward(completions, **columns):
            print("to stdout"); os.write(1, b'{"index": 0}'); print("to stderr", file=sys.stderr)
            return [1.0]
    """)
    assert values(score(path, "reward", replies=["x"] * 3)) == [[1.0]] * 3
    log = (path.parent / "log").read_text()
    assert "at the start" in log
    assert log.count("to stdout") == log.count("to stderr") == 3


def test_errors_stand_in_the_log_with_their_traceback(code):
    path = code("def reward(completions, **columns): return [1 / 0]")
    score(path, "reward")
    assert "ZeroDivisionError" in (path.parent / "log").read_text()


def test_modules_beside_the_file_can_be_imported(code):
    code("def helper(): return 0.75", name="my_helper.py")
    path = code("""
        from my_helper import helper
        def reward(completions, **columns): return [helper()]
    """)
    assert values(score(path, "reward")) == [[0.75]]


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def test_no_process_is_left_behind_not_even_one_that_a_function_started(code):
    path = code("""
        import subprocess, sys, time
        def reward(completions, **columns):
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            open("{folder}/pid", "w").write(str(child.pid))
            time.sleep(600)
    """.replace("{folder}", str(code("", name="empty.py").parent)))  # fmt: skip
    with open_pool(path, "reward", reward_deadline=2.0) as pool:
        assert faults(list(pool.score_all([request_of(QUESTION, reply())]))) == ["deadline of 2 s"]
        workers = [slot.worker.process.pid for slot in pool._slots]
    child = int((path.parent / "pid").read_text())
    end = time.monotonic() + 10
    while any(map(alive, [child, *workers])) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(alive, [child, *workers]))


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_that_asks_for_too_much_memory_costs_one_reward(code, kind, monkeypatch):
    monkeypatch.setattr(pools, "MEMORY_BYTES", 2**30)
    path = code(f"""
        {kind} reward(completions, **columns):
            return [float(len(bytearray(int(completions[0][0]["content"]))))]
    """)
    found = score(path, "reward", replies=["10", str(2**31), "20"])
    assert values(found) == [[10.0], [None], [20.0]]
    assert faults(found)[1] == "MemoryError"


def test_a_worker_that_ends_between_calls_blames_no_reply(code):
    path = code("""
        import os, threading
        def reward(completions, **columns):
            if completions[0][0]["content"] == "1":
                threading.Timer(0.2, os._exit, [3]).start()
            return [float(completions[0][0]["content"])]
    """)

    def requests():
        for text in "012":
            yield request_of(QUESTION, reply(text))
            time.sleep(1)

    with open_pool(path, "reward", concurrency=1) as pool:
        assert values(pool.score_all(requests())) == [[0.0], [1.0], [2.0]]


SLOW = {
    "def": """
        import os, time
        def reward(completions, **columns):
            open("{folder}/pid", "w").write(str(os.getpid()))
            for _ in range(20): time.sleep(0.1)
            return [1.0]
    """,
    "async def": """
        import asyncio, os
        async def reward(completions, **columns):
            open("{folder}/pid", "w").write(str(os.getpid()))
            for _ in range(20): await asyncio.sleep(0.1)
            return [1.0]
    """,
}
"""Rewards that take two seconds, in many short sleeps: one long one ends while we are stopped."""


@pytest.mark.parametrize("kind", SLOW)
def test_a_run_that_is_suspended_and_resumed_blames_no_call(code, kind):
    path = code(SLOW[kind].replace("{folder}", str(code("", name="empty.py").parent)))
    script = PARENT.format(
        path=[p or str(Path.cwd()) for p in sys.path], file=str(path), deadline=3.0
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as parent:
        worker = pid_in(path.parent / "pid")
        time.sleep(0.5)
        for pid in (parent.pid, worker):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3 if kind == "def" else 9)
        for pid in (parent.pid, worker):
            os.kill(pid, signal.SIGCONT)
        assert parent.stdout.read().strip() == "[[1.0]]"


def pid_in(path):
    """The number that a worker wrote, once it is there."""
    end = time.monotonic() + 60
    while not (path.exists() and path.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    return int(path.read_text())


PARENT = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from tests.user_rewards import test_user_reward as tests
with tests.open_pool(Path({file!r}), "reward", reward_deadline={deadline}) as pool:
    print(tests.values(pool.score_all([tests.request_of(tests.QUESTION, tests.reply())])))
"""


def test_a_worker_in_the_midst_of_a_call_ends_with_its_parent(code):
    path = code("""
        import os, time
        def reward(completions, **columns):
            open("{folder}/pid", "w").write(str(os.getpid()))
            time.sleep(600)
    """.replace("{folder}", str(code("", name="empty.py").parent)))  # fmt: skip
    script = PARENT.format(
        path=[p or str(Path.cwd()) for p in sys.path], file=str(path), deadline=60.0
    )
    parent = subprocess.Popen([sys.executable, "-c", script])
    worker, end = pid_in(path.parent / "pid"), time.monotonic() + 60
    assert alive(worker)
    parent.kill()
    parent.wait()
    while alive(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(worker)


def test_the_input_is_read_only_a_bounded_part_ahead(code, monkeypatch):
    monkeypatch.setattr(pools, "LOOK_AHEAD", 50)
    path = code("def reward(completions, **columns): return [1.0]")
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield request_of(QUESTION, reply())

    with open_pool(path, "reward", concurrency=1) as pool:
        stream = pool.score_all(endless())
        for _ in range(20):
            next(stream)
        assert len(taken) <= 75


def test_null_requests_keep_their_place_and_call_nothing(code):
    path = code("def reward(completions, **columns): return [1.0]")
    with open_pool(path, "reward") as pool:
        assert list(pool.score_all([None, None])) == [None, None]
        assert pool._slots == []
        found = list(pool.score_all([None, request_of(QUESTION, reply()), None]))
    assert [parts is None for parts in found] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("def f(completions): pass", "g", "has no 'g': the functions of .* are f. Name one"),
        ("raise RuntimeError('broken')", "f", "cannot be loaded: .*, line 1: RuntimeError: broken"),
        ("import not_there", "f", "No module named 'not_there'"),
        ("import sys; sys.exit(2)", "f", "SystemExit: 2"),
        ("def f(a, b): pass", "f", r"neither completions \(as in TRL\) nor solution_str"),
        ("class f: pass", "f", "is a class"),
        ("f = 3", "f", "is of type int"),
        (
            "class f:\n def __init__(self, bonus): pass\n def __call__(self, completions): pass",
            "f",
            r"is a class that needs arguments: f\(bonus\)",
        ),
        ("class f:\n def __init__(self): 1 / 0", "f", "cannot be made: .*ZeroDivisionError"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(code, text, name, message):
    with open_pool(code(text), name) as pool, pytest.raises(SettingsError, match=message) as error:
        pool.load()
    assert "\n" not in str(error.value)


def test_a_class_and_an_object_that_can_be_called_are_called(code):
    path = code("""
        class Orm:
            def __init__(self, args=None): self.bonus = 0.5
            def __call__(self, completions, solution, **columns):
                return [self.bonus + (c[0]["content"] == s) for c, s in zip(completions, solution)]
        class Judge:
            def __init__(self, bonus): self.bonus = bonus
            def __call__(self, data_source, solution_str, ground_truth, extra_info=None):
                return {"score": self.bonus * (solution_str == ground_truth)}
        judge = Judge(3)
    """)
    assert values(score(path, "Orm", "judge", replies=("4", "5"))) == [[1.5, 3.0], [0.5, 0.0]]
    found = [signature_of(path, name) for name in ("Orm", "judge")]
    assert [(each.style, each.is_class) for each in found] == [("trl", True), ("verl", False)]


def test_functions_that_their_trainer_would_refuse_get_a_note(code):
    path = code("""
        def narrow(completions, solution): return [1.0]
        def wide(completions, **columns): return [1.0]
        def verl(data_source, solution_str, ground_truth, extra_info=None): return 1.0
        def small(solution_str): return 1.0
    """)
    with open_pool(path, "narrow", "wide", "verl", "small") as pool:
        notes = [fact["note"] for fact in pool.load()]
    assert notes[1:3] == [None, None]
    assert "TRL also passes prompts, completion_ids, every column" in notes[0]
    assert "verl also passes data_source, ground_truth, extra_info" in notes[3]


def test_thoughts_that_the_server_took_out_stand_in_the_reply_again():
    assert reply_text(reply("4", reasoning="2 and 2")) == "<think>2 and 2</think>4"
    assert reply_text(reply(None, reasoning="2 and")) == "<think>2 and"
    assert reply_text(reply(None)) == ""


def test_the_reward_is_the_weighted_sum_and_the_parts_are_kept():
    rewards = parse_rewards(["a.py:fmt", "b.py:acc", "builtin"], [0.2, 1.0, 2.0])
    spec = GradingSpec(grader="t", rewards=rewards)
    own = [Part(value=0.5, more=(("tags", 3.0),)), Part(value=-1.0)]
    found = combine(spec, own, Part(value=1.0))
    assert found.reward == pytest.approx(0.1 - 1.0 + 2.0)
    assert [(part.name, part.value) for part in found.components] == [
        ("fmt", 0.5), ("fmt.tags", 3.0), ("acc", -1.0), ("builtin", 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reward", "finish", "text", "outcome"),
    [
        (1.0, "stop", "4", "correct"),
        (1.5, "length", "4", "correct"),
        (0.999, "stop", "4", "wrong"),
        (0.999, "length", "4", "truncated"),
        (0.0, "stop", "  ", "no_answer"),
        (-1.0, "stop", "4", "wrong"),
        (0.7 + 0.2 + 0.1, "stop", "4", "correct"),
    ],
)
def test_the_outcome_follows_the_threshold(reward, finish, text, outcome):
    spec = GradingSpec(grader="t", rewards=parse_rewards(["a.py:f"], []), pass_threshold=1.0)
    found = combine(spec, [Part(value=reward)], None)
    graded = grade_of(reply(text, finish_reason=finish), spec, found, None)
    assert (graded.outcome, graded.reward) == (outcome, reward)


def test_a_reward_in_single_precision_reaches_its_threshold():
    import numpy as np

    assert passes(float(np.float32(0.7)), 0.7)
    assert not passes(0.6999, 0.7)


@pytest.mark.parametrize("text", ["reward.py", "reward.txt:f", "reward.py:", ":f", "r.py:a b", ""])
def test_a_reward_that_cannot_be_read_says_how_to_write_it(text):
    with pytest.raises(SettingsError, match="Write FILE.py:NAME"):
        parse_rewards([text], [])


def test_weights_must_match_the_rewards():
    with pytest.raises(SettingsError, match="found 1 for 2 rewards"):
        parse_rewards(["a.py:f", "b.py:f"], [0.5])


def test_the_hash_follows_local_imports_and_nothing_else(code):
    helper = code("VALUE = 1", name="helper_of_mine.py")
    path = code("import os\nfrom helper_of_mine import VALUE\ndef f(completions): return VALUE")
    before = code_hash(path)
    code("ANOTHER = 1", name="unrelated.py")
    assert code_hash(path) == before
    helper.write_text("VALUE = 2")
    changed = code_hash(path)
    assert changed != before
    path.write_text(path.read_text() + "\n# a comment")
    assert code_hash(path) not in (before, changed)


def test_a_file_that_is_gone_keeps_the_hash_that_it_had(code):
    path = code("def f(completions): return [1.0]")
    stated = stating(GradingSpec, grader="t", rewards=parse_rewards([f"{path}:f"], []))
    spec = settled(stated, GradingSpec(grader="t"))
    path.unlink()
    assert settled(Stated(GradingSpec), spec).rewards == spec.rewards
    with pytest.raises(SettingsError, match="reward file is missing"):
        settled(stated, spec)


def test_rewards_stand_in_a_run_file_as_tables_with_file_name_and_weight(code):
    path = code("def f(completions): return [1.0]")
    table = {"rewards": [{"file": str(path), "name": "f", "weight": 2}], "pass_threshold": 0.5}
    stated = Stated(GradingSpec, typed_values(GradingSpec, table, name="run file"))
    found = settled(stated, GradingSpec(grader="t"))
    assert (found.rewards[0].weight, found.pass_threshold) == (2.0, 0.5)
    assert len(found.rewards[0].sha256) == 64
    with pytest.raises(SettingsError, match="unknown setting: wait"):
        typed_values(GradingSpec, {"rewards": [{"file": "a.py", "wait": 1}]}, name="run file")


def test_the_builtin_grader_alone_takes_back_what_was_stated_before():
    old = GradingSpec(
        grader="t", rewards=(RewardSpec(file="gone.py", name="f", sha256="x"),), pass_threshold=0.5
    )
    builtin = stating(GradingSpec, grader="t", rewards=parse_rewards(["builtin"], []))
    assert settled(builtin, old) == GradingSpec(grader="t")
