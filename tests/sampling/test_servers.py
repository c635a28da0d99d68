import contextlib
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from difficulty.errors import ServerError
from difficulty.sampling.servers import local_servers, server_log
from difficulty.sampling.servers import server_command as servers
from difficulty.sampling.servers.allowance import Allowance
from difficulty.sampling.servers.server_command import Machine
from difficulty.settings.run import ServerSpec
from tests.conftest import make_spec

BOX = Machine(num_gpus=8, num_cores=64)
LAPTOP = Machine(num_gpus=0, num_cores=8)


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
        allowance=Allowance(),
    )
    text = " ".join(command)
    assert "--host 127.0.0.1" in text
    assert "--generation-config vllm" in text
    assert "--max-model-len 512" in text
    assert text.endswith("--quantization fp8")
    assert "--trust-remote-code" not in text
    assert "float32" not in text


def test_without_a_gpu_the_engine_runs_eager_in_float32():
    text = " ".join(
        servers.server_command(spec_of(), port=1, machine=LAPTOP, chance=5, allowance=Allowance())
    )
    assert "--dtype float32 --enforce-eager" in text


def test_started_servers_send_nothing_home_and_never_see_our_key():
    assert environment(spec_of(), 0, BOX)["VLLM_NO_USAGE_STATS"] == "1"
    handed_on = servers.inherited_environment({"DIFFICULTY_API_KEY": "x", "PATH": "/bin"})
    assert handed_on == {"PATH": "/bin"}


@pytest.mark.parametrize(
    ("server", "machine", "message"),
    [
        (
            {"servers": 3, "tensor_parallel_size": 4},
            BOX,
            "too few GPUs: 3 servers of 4 need 12, found 8",
        ),
        ({"max_model_len": 64}, BOX, "max_tokens 64 leaves no room for a prompt: --max-model-len"),
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


def test_a_container_with_too_little_shared_memory_is_refused_before_the_engine_dies(monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    monkeypatch.setattr(servers.shutil, "disk_usage", lambda path: SimpleNamespace(free=64 * 2**20))
    with pytest.raises(ServerError, match="64 MiB are free, it asks for 240 MiB. .*--shm-size=1g"):
        servers.check_before_start(spec_of(), LAPTOP)
    servers.check_before_start(spec_of(), BOX)  # one GPU is driven without a queue
    with pytest.raises(ServerError, match="/dev/shm"):
        servers.check_before_start(spec_of(tensor_parallel_size=2), BOX)


def test_a_model_that_is_a_file_is_told_from_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ServerError, match="model is a file: .* Give the folder"):
        servers.check_before_start(spec_of(str(tmp_path / "model.safetensors")), LAPTOP)


@pytest.mark.parametrize("model", ["/nowhere/model", "./model", "a/b/c"])
def test_a_model_folder_that_is_missing_is_refused(model, monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    with pytest.raises(ServerError, match="model folder is missing"):
        servers.check_before_start(spec_of(model), LAPTOP)


def test_a_machine_without_the_engine_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(servers, "engine_installed", lambda: False)
    with pytest.raises(
        ServerError, match="no engine: .* Run make setup where .* or point --endpoint"
    ):
        servers.check_before_start(spec_of(), LAPTOP)


def test_weights_that_do_not_fit_are_refused_with_the_size_that_does(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "weights_gib", lambda model: 140.0)
    box = Machine(num_gpus=8, num_cores=64, gpu_memory_gib=80.0)
    monkeypatch.setattr(servers, "engine_installed", lambda: True)
    with pytest.raises(ServerError, match="weights take 140 GiB. Use --tensor-parallel-size 2"):
        servers.check_before_start(spec_of(), box)
    servers.check_before_start(spec_of(tensor_parallel_size=2), box)


OUT_OF_MEMORY = (
    "ValueError: Available memory on node 0 (5.0/7.46 GiB) on kv cache allocation is less than "
    "requested memory for kv ({cache} GiB). Decrease --kv-cache-memory-bytes"
)
SMALL_NODE = f"""
import sys, time
cache = int(sys.argv[sys.argv.index("--kv-cache-memory-bytes") + 1])
if cache > 5 * 2**30:
    sys.exit({OUT_OF_MEMORY!r}.format(cache=round(cache / 2**30, 2)))
print(" ".join(sys.argv), flush=True)
time.sleep(600)
"""
KILLED_ABOVE_1_GIB = """
import os, signal, sys, time
if int(sys.argv[sys.argv.index("--kv-cache-memory-bytes") + 1]) > 2**30:
    os.kill(os.getpid(), signal.SIGKILL)
print(" ".join(sys.argv), flush=True)
time.sleep(600)
"""


@pytest.fixture
def engine(monkeypatch):
    """Servers run a stand-in's code in the engine's place; its arguments are the allowance's."""

    def put(code):
        monkeypatch.setattr(
            local_servers,
            "server_command",
            lambda *_, allowance, **__: [sys.executable, "-c", code, *allowance.arguments()],
        )

    monkeypatch.setattr(local_servers, "this_machine", lambda: Machine(num_gpus=0, num_cores=2))
    monkeypatch.setattr(local_servers, "check_before_start", lambda *_: None)
    monkeypatch.setattr(
        local_servers.LocalServer, "look",
        lambda server: setattr(server, "ready", not server.dead and b"-c" in written(server)),
    )  # fmt: skip
    return put


def written(server):
    """What this start has added to its log."""
    return server.log.read_bytes()[server.log_begin :]


def test_a_server_that_runs_out_of_memory_is_started_again_with_what_there_is(
    tmp_path, monkeypatch, engine
):
    engine(SMALL_NODE)
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "64")
    said = []
    with local_servers.running_local_servers(spec_of(), tmp_path, say=said.append) as running:
        (server,) = running.servers
        assert f"--kv-cache-memory-bytes {int(0.9 * 5 * 2**30)}" in server.log.read_text()
        assert (server.starts, server.restarts) == (2, 0)
    assert (
        "vLLM server 0 asked for a cache of 64.0 GiB (VLLM_CPU_KVCACHE_SPACE=64), but node 0 has "
        "5.00 GiB left; trying with 4.50 GiB"
    ) in said
    assert server.dead


def test_while_servers_load_something_moves(tmp_path, engine):
    engine("import sys, time; time.sleep(1.5); print(sys.argv, flush=True); time.sleep(600)")
    seen = []
    shown = contextlib.nullcontext(lambda done, note: seen.append((done, note)))
    with local_servers.running_local_servers(
        spec_of(), tmp_path, say=print, bar=lambda label, total: shown
    ):
        pass
    assert seen[0] == (0, "loading the model, 0 s")
    assert len(seen) >= 2


def test_a_server_that_is_killed_while_starting_is_given_less(tmp_path, monkeypatch, engine):
    """A cgroup kills without a word, and the guard's own end hides the signal."""
    engine(KILLED_ABOVE_1_GIB)
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4")
    said = []
    with local_servers.running_local_servers(spec_of(), tmp_path, say=said.append) as running:
        assert running.servers[0].allowance.cache == 2**30
    lines = [line for line in said if "was killed while starting" in line]
    assert [line.rpartition(" with ")[2] for line in lines] == ["2.00 GiB", "1.00 GiB"]


def test_an_engine_that_is_killed_however_little_it_is_given_ends_in_one_line(
    tmp_path, monkeypatch, engine
):
    engine("import os; os.kill(os.getpid(), 9)")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    with (
        pytest.raises(ServerError, match="too little memory for the engine: it ran out even with"),
        local_servers.running_local_servers(spec_of(), tmp_path, say=print),
    ):
        pass


def test_the_log_of_an_earlier_night_does_not_shrink_a_server_that_ends_for_another_reason(
    tmp_path, monkeypatch, engine
):
    engine("import sys; sys.exit('KeyError: x')")
    (tmp_path / "server-0.log").write_text(OUT_OF_MEMORY.format(cache=5))
    with (
        pytest.raises(ServerError, match="stopped while starting: KeyError: x. Its whole log"),
        local_servers.running_local_servers(spec_of(), tmp_path, say=print),
    ):
        pass


def test_a_running_server_that_dies_of_memory_comes_back_with_less(tmp_path, monkeypatch, engine):
    engine(SMALL_NODE)
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4")
    said = []
    with local_servers.running_local_servers(spec_of(), tmp_path, say=said.append) as running:
        (server,) = running.servers
        os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait()
        with server.log.open("a") as log:
            log.write("RuntimeError: DefaultCPUAllocator: can't allocate memory\n")
        wait_until(lambda: not running.mend() and running.addresses())
        assert server.allowance.cache == 2 * 2**30
        assert server.restarts == 0
    assert "ran out of memory with a cache of 4.00 GiB" in said[-1]


def test_the_engine_never_sees_the_variable_that_would_override_us():
    kept = servers.inherited_environment({"VLLM_CPU_KVCACHE_SPACE": "64", "PATH": "/bin"})
    assert kept == {"PATH": "/bin"}


def test_a_temporary_folder_with_a_long_name_does_not_hold_the_engines_sockets():
    """A job's own folder, say: paths of sockets end at 107 bytes."""
    long, short = "/scratch/" + "x" * 70, "/scratch/" + "x" * 40
    assert servers.inherited_environment({"TMPDIR": long})["VLLM_RPC_BASE_PATH"] == "/tmp"
    assert "VLLM_RPC_BASE_PATH" not in servers.inherited_environment({"TMPDIR": short})
    own = servers.inherited_environment({"TMPDIR": long, "VLLM_RPC_BASE_PATH": "/run"})
    assert own["VLLM_RPC_BASE_PATH"] == "/run"


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
    assert server_log.last_words(log) == "RuntimeError: head_dim=16 is not supported"
    log.write_text(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "  Value error, max_model_len (999999) is greater than 512 [type=value_error]\n"
    )
    assert server_log.last_words(log).startswith("Value error, max_model_len (999999)")


PARENT = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
sleep = "import time; time.sleep(600)  # MARK"
child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]); {sleep}"
guard = [sys.executable, "-m", "difficulty.sampling.servers.guard"]
subprocess.Popen([*guard, sys.executable, "-c", child],
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
