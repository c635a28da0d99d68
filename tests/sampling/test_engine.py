"""Against real vLLM servers: the demo's model on one rank, a tiny Llama on two."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from difficulty import store
from difficulty.sampling.servers.engine_memory import engine_nodes
from difficulty.sampling.servers.server_command import engine_installed, visible_gpus
from difficulty.schema import Completion, Grade, Question
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import ROOT

MODEL = ROOT / "data" / "models" / "smollm2-135m"

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        not engine_installed(), reason="vLLM cannot run: make setup chose no engine"
    ),
]


def completions(run):
    return [row for part in run.completion_parts() for row in store.read_rows(part, Completion)]


def engines(model):
    """Processes of servers that this test started: their model has a path of its own."""
    found = subprocess.run(["pgrep", "-f", str(model)], capture_output=True, check=False)
    return found.stdout.split()


@pytest.mark.skipif(not MODEL.exists(), reason="the demo's model is missing: run make demo once")
def test_a_real_model_is_profiled_from_a_dataset_to_a_training_file(tmp_path):
    """Few-shot sums, real answers: levels, forecast and export come out, and no server stays."""
    model = tmp_path / "model"
    model.symlink_to(MODEL)
    done = difficulty(
        "profile", "demo", "--limit", 12, "--model", model, "--run", tmp_path / "run", "--k", 3,
        "--keep", "L1-L6", "--temperature", 0.7, "--max-tokens", 16, "--stop", "\\n",
        "--template", "bare-v1", "--few-shot", ROOT / "data/samples/demo-few-shot.jsonl",
        "--max-model-len", 1024, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["num_samples"] == 36
    assert found["num_kept"] == 12
    assert found["outcomes"]["failed"] == 0
    rows = completions(store.RunFolder(tmp_path / "run"))
    texts = {(row.question_id, row.text) for row in rows}
    assert len(texts) > 12  # the draws of a question are independent, not one answer three times
    assert all(0 < row.num_tokens <= 16 for row in rows)
    assert engines(model) == []
    stamp = store.read_stamp(store.RunFolder(tmp_path / "run").completion_parts()[0])
    assert stamp.extra["model"]["vllm_version"]
    assert len(stamp.extra["model"]["fingerprint"]) == 64


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory):
    """A Llama of 4 heads with random weights and the demo model's tokenizer."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    if not MODEL.exists():
        pytest.skip("its tokenizer is missing: run make demo once")
    folder = tmp_path_factory.mktemp("tiny-llama")
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=256, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_two_tensor_parallel_ranks_serve_one_model(tiny_llama, sums, tmp_path):
    run = store.RunFolder(tmp_path / "run")
    done = difficulty(
        "profile", sums, "--model", tiny_llama, "--run", run.root, "--tensor-parallel-size", 2,
        "--max-tokens", 8, "--max-model-len", 256, "--template", "bare-v1", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = completions(run)
    assert len(rows) == 60
    assert all(row.error is None and row.text is not None for row in rows)
    assert len({row.text for row in rows}) > 30
    log = (run.logs / "server-0.log").read_text(errors="replace")
    assert "tensor_parallel_size=2" in log
    assert engines(tiny_llama) == []
    assert store.num_rows(run.grades) == 60
    outcomes = {row.outcome for row in store.read_rows(run.grades, Grade)}
    assert not outcomes & {"failed", "grader_error"}
    assert len(list(store.read_rows(run.questions, Question))) == 12


@pytest.mark.skipif(bool(visible_gpus()), reason="a GPU is here: its cache is not set in bytes")
def test_a_cache_larger_than_the_machine_is_stepped_back_and_the_run_finishes(
    tiny_llama, sums, tmp_path, monkeypatch
):
    """More than any node has: the engine itself says what is there, and that is taken."""
    largest = max(each.total for each in engine_nodes().values())
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", str(64 + largest // 2**30))
    run = store.RunFolder(tmp_path / "run")
    done = difficulty(
        "profile", sums, "--model", tiny_llama, "--run", run.root, "--max-tokens", 8,
        "--max-model-len", 256, "--template", "bare-v1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "vLLM server 0 asked for a cache of" in done.stderr
    assert "(VLLM_CPU_KVCACHE_SPACE=" in done.stderr
    assert "; trying with" in done.stderr
    assert store.num_rows(run.grades) == 60
    outcomes = {row.outcome for row in store.read_rows(run.grades, Grade)}
    assert not outcomes & {"failed", "grader_error"}
    assert engines(tiny_llama) == []


def test_a_killed_engine_is_restarted_and_loses_nothing(tiny_llama, sums, tmp_path):
    run = store.RunFolder(tmp_path / "run")
    profile = subprocess.Popen(
        [sys.executable, "-m", "difficulty.cli", "profile", str(sums), "--model", str(tiny_llama),
         "--run", str(run.root), "--k", "16", "--max-tokens", "160", "--max-model-len", "256",
         "--template", "bare-v1", "--concurrency", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while profile.poll() is None and not journalled(run):
        time.sleep(0.05)
    (engine,) = children_named(profile.pid, "VLLM::EngineCore")
    os.kill(engine, signal.SIGKILL)
    _, errors = profile.communicate(timeout=300)
    assert profile.returncode == 0, errors
    assert "a vLLM server ended" in errors
    assert "restart 1 of 3" in errors
    rows = completions(run)
    assert len({(row.question_id, row.sample_index) for row in rows}) == len(rows) == 12 * 16
    assert all(row.error is None for row in rows)
    assert len({row.server for row in rows}) == 2


def journalled(run):
    """Has an answer been written by now?"""
    return any(path.read_bytes().count(b"\n") > 1 for path in run.completions.glob("*.log"))


def children_named(pid, name):
    """Descendants of a process by the name they gave themselves."""
    found = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [
        (int(child), int(parent), args)
        for child, parent, args in (line.split(None, 2) for line in found.splitlines())
    ]
    mine, grew = {pid}, True
    while grew:
        more = {p for p, parent, _ in rows if parent in mine} - mine
        mine, grew = mine | more, bool(more)
    return [p for p, _, args in rows if p in mine and args.startswith(name)]


def test_an_engine_that_cannot_start_says_why_and_leaves_nothing(tiny_llama, sums, tmp_path):
    arguments = (
        "profile", sums, "--model", tiny_llama, "--run", tmp_path / "run", "--max-tokens", 8,
    )  # fmt: skip
    line = one_line(difficulty(*arguments, "--max-model-len", 999999))
    assert "the vLLM server stopped while starting" in line
    assert "server-0.log" in line
    assert "max" in line
    assert engines(tiny_llama) == []
    line = one_line(difficulty(*arguments, "--tensor-parallel-size", 3))
    assert "does not divide the model's 4 attention heads" in line
