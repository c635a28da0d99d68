import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import make_spec

from difficulty.errors import ServerError
from difficulty.run_spec import ServerSpec
from difficulty.sampling import local_servers, servers
from difficulty.sampling.servers import Machine

BOX = Machine(num_gpus=8, num_cores=64, memory_gib=512)
LAPTOP = Machine(num_gpus=0, num_cores=8, memory_gib=16)


def spec_of(model="org/model", **server):
    return make_spec(sampling={"model": model}, server=ServerSpec(**server))


def environment(spec, number, machine):
    gpus = [str(i) for i in range(machine.num_gpus)]
    cores = list(range(machine.num_cores))
    return servers.server_environment(spec, number=number, machine=machine, gpus=gpus, cores=cores)


def test_each_server_gets_gpus_of_its_own():
    spec = spec_of(servers=2, tensor_parallel_size=4)
    sets = [environment(spec, number, BOX)["CUDA_VISIBLE_DEVICES"] for number in (0, 1)]
    assert sets == ["0,1,2,3", "4,5,6,7"]


def test_each_rank_of_each_cpu_server_gets_cores_of_its_own():
    spec = spec_of(servers=2, tensor_parallel_size=2)
    binds = [environment(spec, number, LAPTOP)["VLLM_CPU_OMP_THREADS_BIND"] for number in (0, 1)]
    assert binds == ["0,1|2,3", "4,5|6,7"]


def test_the_command_binds_loopback_and_takes_no_defaults_from_the_model():
    command = servers.server_command(
        spec_of(max_model_len=512, vllm_args=("--quantization", "fp8")),
        port=1,
        machine=BOX,
        chance=5,
    )
    text = " ".join(command)
    assert "--host 127.0.0.1" in text
    assert "--generation-config vllm" in text
    assert "--max-model-len 512" in text
    assert text.endswith("--quantization fp8")
    assert "--trust-remote-code" not in text
    assert "float32" not in text


def test_without_a_gpu_the_engine_runs_eager_in_float32():
    text = " ".join(servers.server_command(spec_of(), port=1, machine=LAPTOP, chance=5))
    assert "--dtype float32 --enforce-eager" in text


def test_started_servers_send_nothing_home_and_never_see_our_key():
    assert environment(spec_of(), 0, BOX)["VLLM_NO_USAGE_STATS"] == "1"
    handed_on = local_servers.without_our_key({"DIFFICULTY_API_KEY": "x", "PATH": "/bin"})
    assert handed_on == {"PATH": "/bin"}


@pytest.mark.parametrize(
    ("server", "machine", "message"),
    [
        (
            {"servers": 3, "tensor_parallel_size": 4},
            BOX,
            "too few GPUs: 3 servers of 4 need 12, found 8",
        ),
        ({"servers": 0}, BOX, "servers cannot be started"),
    ],
)
def test_what_cannot_fit_is_refused_before_the_engine_starts(server, machine, message, monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    with pytest.raises(ServerError, match=message):
        servers.check_before_start(spec_of(**server), machine)


def test_a_tensor_parallel_size_that_does_not_divide_the_heads_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    (tmp_path / "config.json").write_text('{"num_attention_heads": 9}')
    with pytest.raises(
        ServerError, match="2 does not divide the model's 9 attention heads. Use one of 1, 3, 9"
    ):
        servers.check_before_start(spec_of(str(tmp_path), tensor_parallel_size=2), LAPTOP)


@pytest.mark.parametrize("model", ["/nowhere/model", "./model", "a/b/c"])
def test_a_model_folder_that_is_missing_is_refused(model, monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    with pytest.raises(ServerError, match="model folder is missing"):
        servers.check_before_start(spec_of(model), LAPTOP)


def test_a_machine_without_the_engine_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: False)
    with pytest.raises(ServerError, match="no engine: .* Run make setup, or point --endpoint"):
        servers.check_before_start(spec_of(), LAPTOP)


def test_weights_that_do_not_fit_are_refused_with_the_size_that_does(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "weights_gib", lambda model: 140.0)
    box = Machine(num_gpus=8, num_cores=64, memory_gib=512, gpu_memory_gib=80.0)
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    with pytest.raises(ServerError, match="weights take 140 GiB. Use --tensor-parallel-size 2"):
        servers.check_before_start(spec_of(), box)
    servers.check_before_start(spec_of(tensor_parallel_size=2), box)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n", True),
        ("ValueError: No available memory for the cache blocks.\n", True),
        ("ValueError: unknown architecture\n", False),
    ],
)
def test_running_out_of_memory_is_told_from_other_ends(tmp_path, text, expected):
    log = tmp_path / "server.log"
    log.write_text(text)
    assert servers.ran_out_of_memory(log) is expected
    assert servers.ran_out_of_memory(tmp_path / "none") is False


def test_each_step_back_takes_less_of_the_gpu_and_fewer_at_once():
    assert servers.step_back_arguments(0) == []
    assert servers.step_back_arguments(1) == [
        "--gpu-memory-utilization", "0.80", "--max-num-seqs", "128",
    ]  # fmt: skip
    assert servers.step_back_arguments(2)[1::2] == ["0.70", "64"]


DYING_ENGINE = """
import sys, time
if "--gpu-memory-utilization" not in sys.argv:
    sys.exit("torch.OutOfMemoryError: CUDA out of memory.")
print(" ".join(sys.argv), flush=True)
time.sleep(600)
"""


def test_a_server_that_runs_out_of_memory_is_started_again_with_less(tmp_path, monkeypatch):
    """The engine itself is a stand-in: it dies as vLLM does on a GPU that is too small."""
    said = []
    command = [sys.executable, "-c", DYING_ENGINE]
    monkeypatch.setattr(local_servers, "server_command", lambda *_, **__: list(command))
    monkeypatch.setattr(local_servers, "check_before_start", lambda *_: None)
    monkeypatch.setattr(
        local_servers.LocalServer, "look",
        lambda server: setattr(server, "ready", not server.dead and server.log.stat().st_size > 0),
    )  # fmt: skip
    with local_servers.running_local_servers(spec_of(), tmp_path, say=said.append) as running:
        (server,) = running.servers
        assert "--gpu-memory-utilization 0.80" in server.log.read_text()
        assert server.restarts == 1
    assert any("ran out of memory" in line and "trying with less" in line for line in said)
    assert server.dead


def test_idle_gpus_are_mentioned_with_the_option_that_uses_them():
    assert servers.idle_gpus_hint(spec_of(tensor_parallel_size=2), BOX) == (
        "6 GPUs stay idle; --servers 4 would use them"
    )
    assert servers.idle_gpus_hint(spec_of(servers=8), BOX) is None
    assert servers.idle_gpus_hint(spec_of(), LAPTOP) is None


def test_the_last_error_of_a_log_is_what_a_person_sees(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "(pid=1) WARNING limit may cause errors like OSError: [Errno 24]\n"
        "(Worker pid=2) ERROR 11-29 [executor.py:1] Traceback (most recent call last):\n"
        "(Worker pid=2) ERROR 11-29 [executor.py:1] RuntimeError: head_dim=16 is not supported\n"
        "vllm.v1.engine.exceptions.EngineDeadError: see the root cause above\n"
        'INFO: "POST /v1/chat/completions" 500 Internal Server Error\n'
    )
    assert servers.last_words(log) == "RuntimeError: head_dim=16 is not supported"
    log.write_text(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "  Value error, max_model_len (999999) is greater than 512 [type=value_error]\n"
    )
    assert servers.last_words(log).startswith("Value error, max_model_len (999999)")


PARENT = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
sleep = "import time; time.sleep(600)  # MARK"
child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]); {sleep}"
subprocess.Popen([sys.executable, "-m", "difficulty.sampling.guard", sys.executable, "-c", child],
                 stdin=subprocess.PIPE, start_new_session=True)
print("up", flush=True)
time.sleep(600)
"""


def marked(mark):
    return subprocess.run(
        ["pgrep", "-f", mark], capture_output=True, text=True, check=False
    ).stdout.split()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_of_a_server_outlives_its_parent(ending):
    mark = f"guard-test-{os.getpid()}-{int(ending)}"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.replace("MARK", mark)], stdout=subprocess.PIPE
    )
    parent.stdout.readline()
    wait_until(lambda: len(marked(mark)) >= 4)
    parent.send_signal(ending)
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not marked(mark))


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)
