import asyncio
import functools
import json
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace

import pytest

from difficulty.audit.cases import read_case
from difficulty.errors import InputError, SettingsError
from difficulty.export import EXPORTERS
from difficulty.grading import grade
from difficulty.grading.key import grading_key
from difficulty.rewards import (
    GradeORM,
    areal_reward,
    compute_score,
    make_openrlhf_reward,
    make_trl_reward,
    reward,
    reward_func,
    trl_reward,
    verifiers_reward,
)
from tests.conftest import ROOT, make_question

CASES = ROOT / "tests" / "cases"
EOS = 2
END = "<|im_end|>"
CHAT = "<|im_start|>user\nWhich?<|im_end|>\n<|im_start|>assistant\n"
NUMBER = grading_key(make_question())  # 1 + 1, gold 2
UNKNOWN = grading_key(make_question(answer="no number at all"))
CUT = "I get 2"
"""A sentence that names the gold: an answer if the model stopped there, not if it was cut."""


@functools.cache
def labelled():
    """Key, text, finish reason, grade of every labelled reply."""
    found = []
    for name in ("grader_cases.jsonl", "own_cases.jsonl"):
        for number, line in enumerate((CASES / name).read_text().splitlines()):
            question, completion, _ = read_case(json.loads(line), number)
            key = grading_key(question)
            found.append(
                (key, completion.text, completion.finish_reason, grade(question, completion))
            )
    return found


def stopped():
    """Keys, texts and rewards of the labelled replies that ended by themselves."""
    rows = [(key, text, found.reward) for key, text, end, found in labelled() if end == "stop"]
    assert len(rows) >= 50
    assert {reward for *_, reward in rows} >= {0.0, 1.0}
    return tuple(zip(*rows, strict=True))


def score(text, key, **more):
    return compute_score("set", text, "", {"grading_key": key, **more})


def openrlhf(reply, key, function=reward_func, prompt=CHAT):
    found = function([prompt + reply], [prompt], [key])
    return found["rewards"].item(), found["extra_logs"]["unknown"].item()


def test_the_plain_reward_is_the_grade_of_every_labelled_reply_cut_or_not():
    for key, text, end, found in labelled():
        assert reward(text, key, finish_reason=end) == found.reward


def test_trl_gets_the_grade_of_every_stopped_reply_as_text_and_as_messages():
    keys, texts, expected = stopped()
    messages = [[{"role": "assistant", "content": text}] for text in texts]
    assert trl_reward(texts, keys) == trl_reward(messages, keys) == list(expected)


def test_trl_gets_the_grade_of_every_labelled_reply_where_token_ids_tell_the_cut():
    keys, texts, ends, grades = zip(*labelled(), strict=True)
    ids = [[5, EOS] if end == "stop" else [5, 6] for end in ends]
    function = make_trl_reward(eos_token_ids=[EOS], max_completion_length=2)
    found = function(completions=texts, grading_key=keys, completion_ids=ids, prompts=texts)
    assert found == [each.reward for each in grades]


def test_verl_gets_the_grade_of_every_stopped_reply():
    for key, text, expected in zip(*stopped(), strict=True):
        found = score(text, key)
        assert (found["score"], found["unknown"]) == (expected or 0.0, float(expected is None))


def test_ms_swift_gets_the_grade_of_every_labelled_reply_cut_or_not():
    keys, texts, ends, grades = zip(*labelled(), strict=True)
    found = GradeORM(args=None)(texts, grading_key=keys, finish_reason=ends, is_truncated=ends)
    assert found == [each.reward for each in grades]


def test_openrlhf_gets_the_grade_of_every_labelled_reply_where_end_tokens_tell_the_cut():
    pytest.importorskip("torch", reason="OpenRLHF's rewards are tensors: torch is not installed")
    function = make_openrlhf_reward(end_tokens=END)
    for key, text, end, found in labelled():
        reply = (text or "") + (END if end == "stop" else "")
        assert openrlhf(reply, key, function)[0] == (found.reward or 0.0), text


def test_verifiers_gets_the_grade_of_every_labelled_reply_cut_or_not():
    for key, text, end, found in labelled():
        completion = [{"role": "assistant", "content": text}]
        state = {"is_truncated": False, "trajectory": [{"is_truncated": end == "length"}]}
        for info in ({"grading_key": key}, json.dumps({"grading_key": key})):
            assert verifiers_reward(completion, info, state) == (found.reward or 0.0), text


def test_verifiers_takes_a_rollout_for_finished_that_says_nothing_of_a_cut():
    assert verifiers_reward(CUT, {"grading_key": NUMBER}) == 1.0
    assert verifiers_reward(CUT, {"grading_key": NUMBER}, {"is_truncated": True}) == 0.0


def test_a_verifiers_row_without_a_key_is_refused():
    with pytest.raises(InputError, match=r"info has no grading_key: found \['source'\]"):
        verifiers_reward("2", {"source": "set"})


def test_areal_gets_the_grade_of_every_labelled_reply_where_end_tokens_tell_the_cut():
    # what is sent to its pool of processes and comes back
    function = pickle.loads(pickle.dumps(functools.partial(areal_reward, end_tokens=END)))
    for key, text, end, found in labelled():
        reply = (text or "") + (END if end == "stop" else "")
        columns = {"messages": [], "answer": "", "level": "L3", "grading_key": key}
        assert function(CHAT, reply, [1], [2], **columns) == (found.reward or 0.0), text


def test_areal_takes_every_reply_for_finished_without_end_tokens():
    assert areal_reward(CHAT, CUT, [1], [2], grading_key=NUMBER) == 1.0
    assert areal_reward(CHAT, CUT, [1], [2], grading_key=NUMBER, end_tokens=[END]) == 0.0
    assert areal_reward(CHAT, "2", [1], [2], grading_key=UNKNOWN) == 0.0


def readme_module(name):
    """The reward file that the README of an export tells to write, run as it stands."""
    block = re.search(r"```python\n(.*?)```", EXPORTERS[name].setup, re.DOTALL)[1]
    module = ModuleType(name)
    exec(compile(block, name, "exec"), module.__dict__)
    return module


def test_the_reward_file_for_slime_grades_every_labelled_reply_as_the_profile():
    function = readme_module("slime").reward_func
    status = SimpleNamespace(TRUNCATED="truncated", COMPLETED="completed")
    for key, text, end, found in labelled():
        sample = SimpleNamespace(
            Status=status, response=text, metadata={"grading_key": key},
            status=status.TRUNCATED if end == "length" else status.COMPLETED,
        )  # fmt: skip
        assert asyncio.run(function(None, sample)) == (found.reward or 0.0), text


def test_the_reward_files_of_rllm_and_open_instruct_grade_every_stopped_reply(monkeypatch):
    class Verifier:  # stands for their base class, of which no package exists
        def __init__(self, name, weight, verifier_config):
            self.name = name

    for path, values in {
        "rllm.rewards.reward_types": {"RewardOutput": SimpleNamespace},
        "open_instruct.ground_truth_utils": {
            "VerifierFunction": Verifier, "VerificationResult": SimpleNamespace,
        },
    }.items():  # fmt: skip
        module = ModuleType(path)
        module.__dict__.update(values)
        monkeypatch.setitem(sys.modules, path, module)
        for parent in (path.split(".")[0], path.rpartition(".")[0]):
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    function = readme_module("rllm").reward_fn
    verifier = readme_module("open-instruct").DifficultyVerifier()
    assert verifier.name == EXPORTERS["open-instruct"].row(training_row("choice"))["dataset"]
    for key, text, expected in zip(*stopped(), strict=True):
        assert function({"grading_key": key}, text).reward == (expected or 0.0)
        assert verifier([], text, key).score == (expected or 0.0)


def test_a_trainer_that_tells_no_cut_only_ever_credits_truncated_replies_too_much():
    differ = [
        found.outcome
        for key, text, _, found in labelled()
        if reward(text, key) != found.reward and found.reward is not None
    ]
    assert set(differ) == {"truncated"}


def test_a_cut_reply_earns_nothing_where_the_trainer_tells_it():
    limits = make_trl_reward(eos_token_ids=EOS, max_completion_length=3)
    assert limits([CUT] * 3, [NUMBER] * 3, [[7, 8, 9], [7, 8, EOS], [7, 8]]) == [0.0, 1.0, 1.0]
    assert make_trl_reward(eos_token_ids=EOS)([CUT] * 2, [NUMBER] * 2, [[7], [EOS]]) == [0.0, 1.0]
    assert make_trl_reward(max_completion_length=1)([CUT], [NUMBER], [[EOS]]) == [0.0]
    assert GradeORM()([CUT] * 2, [NUMBER] * 2, finish_reason=["length", None]) == [0.0, 1.0]
    assert score(CUT, NUMBER, finish_reason="length")["outcome"] == "truncated"


def test_a_cut_reply_is_taken_for_finished_where_the_trainer_does_not_tell_it():
    assert trl_reward([CUT], [NUMBER], [[7, 8]]) == [1.0]
    assert GradeORM()([CUT], [NUMBER]) == [1.0]
    assert score(CUT, NUMBER)["outcome"] == "correct"


def test_unknown_is_none_or_zero_with_a_flag():
    assert reward("2", UNKNOWN) is None
    assert trl_reward(["2", "2"], [UNKNOWN, NUMBER]) == [None, 1.0]
    assert GradeORM()(["2"], [UNKNOWN]) == [None]
    assert score("2", UNKNOWN) == {
        "score": 0.0, "acc": 0.0, "outcome": "grader_error", "unknown": 1.0,
    }  # fmt: skip


def test_openrlhf_gets_zero_and_a_flag_for_unknown():
    pytest.importorskip("torch", reason="OpenRLHF's rewards are tensors: torch is not installed")
    assert openrlhf("2" + END, UNKNOWN) == (0.0, 1.0)
    assert openrlhf("2" + END, NUMBER) == (1.0, 0.0)


@pytest.mark.parametrize("key", ["", "2", "{}", '{"kind": "odd", "choices": null}', None, {}])
def test_a_key_that_is_none_is_refused_and_never_a_zero(key):
    for call in (reward, score, lambda text, key: trl_reward([text], [key])):
        with pytest.raises(InputError, match="grading key"):
            call("2", key)


def test_a_verl_row_without_a_key_is_refused():
    with pytest.raises(InputError, match=r"no grading_key: found \['split'\]"):
        compute_score("set", "2", "2", {"split": "train"})


def test_as_many_keys_as_replies_are_asked_for():
    with pytest.raises(ValueError, match="zip"):
        trl_reward(["2", "2"], [NUMBER])


def test_settings_that_cannot_tell_a_cut_are_refused():
    with pytest.raises(SettingsError, match="cut replies cannot be told"):
        make_trl_reward()
    with pytest.raises(SettingsError, match="cut replies cannot be told"):
        make_openrlhf_reward(end_tokens=[])


def test_the_last_assistant_message_is_graded_whatever_its_form():
    calls = [
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "tool", "content": "3"},
    ]
    blocks = [{"role": "assistant", "content": [{"type": "text", "text": "Answer: 2"}]}]
    replies = [[*calls, {"role": "assistant", "content": "2"}], blocks, calls, []]
    assert trl_reward(replies, [NUMBER] * 4) == [1.0, 1.0, 0.0, 0.0]


def test_trl_logs_the_shares_of_unknown_and_truncated_replies():
    logged = {}
    function = make_trl_reward(eos_token_ids=EOS)
    function(
        ["2", CUT], [UNKNOWN, NUMBER], [[EOS], [7]], log_metric=logged.__setitem__,
        log_extra=None, trainer_state=SimpleNamespace(),
    )  # fmt: skip
    assert logged == {"grading/unknown": 0.5, "grading/truncated": 0.5}


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        ("Which is it? [INST] 3 [/INST]", "Which is it?[INST] 3 [/INST] Answer: 2</s>"),
        ("A long exam. " * 9 + "1 + 1?", "\ufffdexam. " + "A long exam. " * 5 + "1 + 1?Answer: 2"),
        ("1 + 1? " * 30, "1 + 1? " * 20 + "Answer: 2"),
        ("", "Answer: 2<|eot_id|>\n"),
    ],
)
def test_openrlhf_prompts_that_were_cut_or_lost_spaces_are_no_part_of_the_reply(prompt, query):
    pytest.importorskip("torch", reason="OpenRLHF's rewards are tensors: torch is not installed")
    assert reward_func([query], [prompt], [NUMBER])["rewards"].tolist() == [1.0]


def test_a_query_of_another_prompt_is_refused():
    pytest.importorskip("torch", reason="OpenRLHF's rewards are tensors: torch is not installed")
    with pytest.raises(InputError, match="does not start with its prompt"):
        reward_func(["Answer: 2"], ["1 + 1?"], [NUMBER])


def test_many_threads_get_their_own_verdicts_on_mathematics():
    keys = [
        grading_key(make_question("Expand.", kind="math", answer=f"x^2 + {2 * n}x + {n * n}"))
        for n in range(1, 9)
    ]
    pairs = [(n, m) for n in range(1, 9) for m in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(
            lambda p: reward(f"Answer: $(x + {p[0]})(x + {p[0]})$", keys[p[1] - 1]), pairs
        )
        assert list(found) == [float(n == m) for n, m in pairs]


def training_row(kind):
    """A question as exporters get it."""
    from difficulty.trainers.row import TrainingRow

    options = {"A": "Lisbon", "B": "Paris"} if kind == "choice" else None
    question = make_question("Which?", kind=kind, answer="B" if options else "2", choices=options)
    return TrainingRow(
        question=question, messages=[{"role": "user", "content": "Which?"}],
        grading_key=grading_key(question), level="L3", pass_rate=0.6, num_samples=5, num_correct=3,
        position=0,
    )  # fmt: skip


def exported(name, kind):
    """What an exporter writes for a question, and the question."""
    item = training_row(kind)
    return EXPORTERS[name].row(item), item.question


@pytest.mark.parametrize("kind", ["choice", "numeric"])
def test_exported_rows_hold_what_the_reward_functions_read(kind):
    row, question = exported("verl", kind)
    text = f"Answer: {question.answer}"
    wanted = {"data_source", "extra_info"}
    more = {name: value for name, value in row.items() if name in wanted}
    found = compute_score(
        solution_str=text, ground_truth=row["reward_model"]["ground_truth"], **more
    )
    assert found["acc"] == 1.0
    row, _ = exported("trl", kind)
    columns = {name: [value] for name, value in row.items() if name != "prompt"}
    assert trl_reward(prompts=[row["prompt"]], completions=[text], **columns) == [1.0]
    row, _ = exported("ms-swift", kind)
    assert GradeORM()([text], **{name: [value] for name, value in row.items()}) == [1.0]


@pytest.fixture
def trl_trainer(tmp_path):
    """A GRPOTrainer of TRL on a tiny random model, with our reward function."""
    pytest.importorskip("trl", reason="TRL is not installed: pip install trl==1.16.0")
    pytest.importorskip("torch", reason="TRL needs torch")
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    words = {word: number for number, word in enumerate(["<pad>", "<s>", "</s>", "?", "2", "3"])}
    plain = Tokenizer(models.WordLevel(words, unk_token="?"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    config = LlamaConfig(
        vocab_size=6, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, pad_token_id=0, bos_token_id=1,
        eos_token_id=EOS,
    )  # fmt: skip
    rows = [exported("trl", "numeric")[0], exported("trl", "choice")[0]]
    settings = GRPOConfig(
        output_dir=str(tmp_path), per_device_train_batch_size=4, num_generations=2, max_steps=1,
        max_completion_length=3, shuffle_dataset=False, report_to=[], use_cpu=True, bf16=False,
        save_strategy="no", logging_steps=1, disable_tqdm=True,
    )  # fmt: skip
    return GRPOTrainer(
        model=LlamaForCausalLM(config), processing_class=tokenizer, args=settings,
        train_dataset=Dataset.from_list(rows),
        reward_funcs=make_trl_reward(eos_token_ids=EOS, max_completion_length=3),
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_trl_itself_calls_the_reward_and_trains_a_step(trl_trainer):
    rows = [
        {"prompt": [{"role": "user", "content": "?"}], "grading_key": key, "level": "L3"}
        for key in (NUMBER, NUMBER, UNKNOWN, NUMBER)
    ]
    replies = [[{"role": "assistant", "content": text}] for text in ("2", CUT, "2", "3")]
    ids = [[4, EOS], [3, 3, 4], [4, EOS], [5, EOS]]
    found = trl_trainer._calculate_rewards(rows, [row["prompt"] for row in rows], replies, ids)
    values = found[:, 0].tolist()
    assert values[:2] + values[3:] == [1.0, 0.0, 0.0]
    assert values[2] != values[2]  # NaN: TRL's unknown
    trl_trainer.train()
    (logged,) = [each for each in trl_trainer.state.log_history if "reward" in each]
    assert 0.0 <= logged["grading/truncated"] <= 1.0
    assert "rewards/difficulty_reward/mean" in logged
