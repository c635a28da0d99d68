"""Servers on Ray: the pure parts, then a real local cluster that loses a node."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from difficulty.errors import ServerError
from difficulty.sampling.servers import ray_cluster, ray_node, ray_servers
from difficulty.sampling.servers.allowance import Allowance
from difficulty.sampling.servers.ray_servers import running_ray_servers
from difficulty.sampling.servers.server_command import Machine, engine_installed
from difficulty.sampling.servers.server_set import Address
from difficulty.settings.run import ServerSpec
from tests.conftest import make_spec
from tests.sampling.test_engine import tiny_llama  # noqa: F401 (a fixture)
from tests.sampling.test_servers import marked, wait_until

GPUS = Machine(num_gpus=4, num_cores=64)
CORES = Machine(num_gpus=0, num_cores=8)


def spec_of(model="org/model", **server):
    return make_spec(sampling={"model": model, "max_tokens": 8}, server=ServerSpec(**server))


def test_a_server_takes_its_gpus_and_a_core_or_a_core_a_rank():
    spec = spec_of(tensor_parallel_size=4)
    assert ray_cluster.bundle(spec, has_gpus=True) == {"GPU": 4, "CPU": 1}
    assert ray_cluster.bundle(spec, has_gpus=False) == {"CPU": 4}


def test_a_server_never_spans_two_nodes():
    nodes = [{"GPU": 8.0, "CPU": 64.0}, {"GPU": 6.0, "CPU": 64.0}, {"CPU": 64.0}]
    assert ray_cluster.num_places(nodes, {"GPU": 4, "CPU": 1}) == 3
    with pytest.raises(ServerError, match="no node .* of 16 GPU and 1 CPU: the most .* is 8 GPU"):
        ray_cluster.num_places(nodes, {"GPU": 16, "CPU": 1})


def test_the_server_listens_at_its_nodes_address_and_the_key_is_not_in_its_command():
    command = ray_node.node_command(
        spec_of("m"), "/shared/m", host="10.0.0.7", port=81, machine=GPUS, allowance=Allowance()
    )
    text = " ".join(command)
    assert "--host 10.0.0.7 --port 81" in text
    assert "--model /shared/m --served-model-name m" in text
    assert "127.0.0.1" not in text
    assert "--api-key" not in text


def test_gpus_are_left_as_ray_assigned_them():
    environment = ray_node.node_environment(spec_of(servers=9), index=8, count=9, machine=GPUS)
    assert "CUDA_VISIBLE_DEVICES" not in environment
    assert environment["VLLM_NO_USAGE_STATS"] == "1"


def test_servers_that_share_a_machine_share_its_cores(monkeypatch):
    monkeypatch.setattr(ray_node, "usable_cores", lambda: list(range(8)))
    spec = spec_of(servers=5, tensor_parallel_size=2)  # five in the cluster, two on this machine
    binds = [
        ray_node.node_environment(spec, index=index, count=2, machine=CORES)[
            "VLLM_CPU_OMP_THREADS_BIND"
        ]
        for index in (0, 1)
    ]
    assert binds == ["0,1|2,3", "4,5|6,7"]


def test_an_address_without_a_cluster_is_one_line_at_once(tmp_path):
    pytest.importorskip("ray", reason="Ray is missing: install difficulty-profiler[ray]")
    begin = time.monotonic()
    with (
        pytest.raises(ServerError, match="no Ray cluster can be joined at 127.0.0.1:9: .*refused"),
        running_ray_servers(spec_of(), tmp_path, address="127.0.0.1:9", say=print),
    ):
        pass
    assert time.monotonic() - begin < 20


class FakeRay:
    """Ray without a cluster: a call is a function, run when its answer is fetched."""

    class exceptions:
        class RayError(Exception):
            pass

        class RayActorError(RayError):
            actor_init_failed = False

        class ActorDiedError(RayActorError):
            pass

        class ActorUnavailableError(RayActorError):
            pass

        class RayTaskError(RayError):
            cause = None

    @staticmethod
    def wait(calls, **_):
        return calls, []

    @staticmethod
    def get(call, **_):
        return call()


class FakeActor:
    """``dies``: its engine ends as soon as it has answered; ``error``: Ray's word on any call."""

    def __init__(self):
        self.starts, self.dies, self.error = 0, False, None
        self.words, self.given = b"", []
        """Its log, and the memory of each start."""
        self.start = SimpleNamespace(remote=self._start)
        self.report = SimpleNamespace(remote=self._report)

    def _start(self, index, count, allowance):
        def call():
            if self.error:
                raise self.error
            self.starts += 1
            self.given.append(allowance)
            address = Address(url=f"http://n:{self.starts}/v1", api_key="k")
            measured = allowance or Allowance(cache=4 * 2**30, nodes=(0,))
            return ray_node.Started(address=address, node="here", allowance=measured)

        return call

    def _report(self, offset):
        def call():
            if self.error:
                raise self.error
            code = 1 if self.dies else None
            return ray_node.Report(started=True, code=code, log=self.words[offset:])

        return call


@pytest.fixture
def one_fake_server(monkeypatch, tmp_path):
    """Servers of one fake actor that is placed and up."""
    monkeypatch.setattr(ray_servers, "ray_module", lambda: FakeRay)
    monkeypatch.setattr(ray_servers, "first_token", lambda address, sampling: True)
    node = {"NodeID": "here", "NodeManagerAddress": "10.0.0.7"}
    monkeypatch.setattr(ray_cluster, "living_nodes", lambda: [node])
    actor, said = FakeActor(), []
    servers = ray_servers.RayServers(sampling=spec_of().sampling, say=said.append)
    placed = SimpleNamespace(actor=actor, host=lambda hosts: hosts.get("here"))
    servers.servers.append(
        ray_servers.RayServer(
            number=0, placed=placed, log=tmp_path / "server-0.log", since=time.monotonic()
        )
    )
    for _ in range(3):
        servers.mend()
    assert servers.settled()
    return servers, actor, said


def test_an_engine_that_dies_again_and_again_is_given_up(one_fake_server):
    servers, actor, said = one_fake_server
    actor.dies, actor.words = True, b"KeyError: x\n"
    for _ in range(20):
        coming = servers.mend()
    assert not coming
    assert servers.addresses() == []
    assert actor.starts == 4
    assert len(said) == 4
    assert "server 0 is lost (KeyError: x); restart 1 of 3" in said[0]
    assert "given up" in said[-1]


def test_an_engine_that_runs_out_of_memory_on_its_node_is_given_less(one_fake_server):
    servers, actor, said = one_fake_server
    actor.dies, actor.words = True, b"MemoryError\n"
    for _ in range(40):
        coming = servers.mend()
    sizes = [given.cache // 2**20 for given in actor.given if given is not None]
    assert sizes == [2048, 1024, 512, 256, 128, 64]  # the floor of a model of unknown shape
    assert not coming
    assert "ran out of memory with a cache of 4.00 GiB; trying with 2.00 GiB" in said[0]
    assert "too little memory for the engine" in said[-1]
    assert "given up" in said[-1]


def test_before_any_answer_want_of_memory_ends_the_run_only_at_the_floor(
    one_fake_server, monkeypatch
):
    servers, actor, said = one_fake_server
    servers.begun = False
    monkeypatch.setattr(ray_servers, "first_token", lambda address, sampling: False)
    actor.dies, actor.words = True, b"ended by signal 9\n"
    servers.servers[0].answers = False
    with pytest.raises(ServerError, match="on Ray stopped while starting: too little memory"):
        mend_until(servers, lambda: False, 60, pause=0)
    assert len(said) == 6


def test_a_hiccup_of_the_network_withdraws_a_server_and_does_not_restart_it(
    one_fake_server, monkeypatch
):
    servers, actor, said = one_fake_server
    actor.error = FakeRay.exceptions.ActorUnavailableError()
    monkeypatch.setattr(ray_servers, "first_token", lambda address, sampling: False)
    assert servers.mend()
    assert servers.addresses() == []
    actor.error = None
    monkeypatch.setattr(ray_servers, "first_token", lambda address, sampling: True)
    servers.mend()
    assert len(servers.addresses()) == 1
    assert actor.starts == 1
    assert said == []


def test_an_actor_that_ray_does_not_bring_back_is_given_up(one_fake_server):
    servers, actor, said = one_fake_server
    actor.error = FakeRay.exceptions.ActorDiedError("its node is gone")
    while servers.mend():
        assert len(said) < 9
    assert "Ray has no actor for it: its node is gone); given up" in said[-1]


PARENT = """
import subprocess, sys, tempfile, time
from difficulty.sampling.servers.ray_node import start_guarded
sleep = "import time; time.sleep(600)  # MARK"
child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]); {sleep}"
print(start_guarded([sys.executable, "-c", child], {}, tempfile.TemporaryFile()).pid, flush=True)
time.sleep(600)
"""


def test_an_actor_that_ends_the_way_ray_ends_it_leaves_no_server_behind():
    """Ray's worker kills its direct children, then itself: our guard has to outlive that."""
    mark = f"ray-guard-test-{os.getpid()}"
    actor = subprocess.Popen(
        [sys.executable, "-c", PARENT.replace("MARK", mark)], stdout=subprocess.PIPE
    )
    direct_child = int(actor.stdout.readline())
    wait_until(lambda: len(marked(mark)) >= 5)
    os.kill(direct_child, signal.SIGKILL)
    actor.kill()
    actor.wait()
    actor.stdout.close()
    wait_until(lambda: not marked(mark))


needs_ray = [
    pytest.mark.ray,
    pytest.mark.filterwarnings("ignore::Warning:ray"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(
        not engine_installed(), reason="vLLM cannot run: make setup chose no engine"
    ),
]
OBJECT_STORE = 80 * 2**20


@pytest.fixture(scope="module")
def cluster():
    """A head without cores and two nodes of one core, which notice a dead node within seconds."""
    pytest.importorskip("ray", reason="Ray is missing: install difficulty-profiler[ray]")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        health = {
            "health_check_initial_delay_ms": 0, "health_check_period_ms": 500,
            "health_check_failure_threshold": 5,
        }  # fmt: skip
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": health}
        made = Cluster(
            initialize_head=True, head_node_args={"object_store_memory": OBJECT_STORE, **head}
        )
        try:
            made.small = [add_node(made) for _ in range(2)]
            yield made
        finally:
            made.shutdown()


def add_node(cluster):
    """Ray gives a raylet 30 s to come up, too little where other work has the cores: once more."""
    for _ in range(3):
        try:
            return cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)
        except Exception as error:  # Ray raises nothing narrower
            if "timed out during startup" not in str(error):
                raise
            last = error
    raise last


def ask(address, number, *, key=None):
    body = {
        "model": ask.model, "max_tokens": 8,
        "messages": [{"role": "user", "content": f"What is {number} + {number}?"}],
    }  # fmt: skip
    request = urllib.request.Request(
        f"{address.url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {key or address.api_key}",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.loads(reply.read())["choices"][0]["message"]["content"]


class Asker:
    """Keeps two requests in flight; one that fails is asked again elsewhere."""

    def __init__(self, servers):
        self.servers, self.answered, self.failed = servers, [], 0
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(2)]

    def work(self, number):
        while not self.stop.is_set():
            up = self.servers.addresses()
            address = up[number % len(up)]
            try:
                ask(address, number)
            except OSError:
                self.failed += 1
                time.sleep(0.2)
            else:
                self.answered.append(address.url)
                number += 1
                time.sleep(0.2)  # the cores are needed to start the replacement

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def mend_until(servers, condition, seconds, *, pause=0.5):
    deadline = time.monotonic() + seconds
    while not condition():
        servers.mend()
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(pause)


def groups_of(folder):
    """Process groups of the guards that serve this folder: the engine hides its command line."""
    found = subprocess.run(
        ["pgrep", "-f", f"servers.guard.*{folder}"], capture_output=True, text=True, check=False
    )
    return {os.getpgid(int(pid)) for pid in found.stdout.split()}


def living(groups):
    found = subprocess.run(["ps", "-eo", "pgid="], capture_output=True, text=True, check=True)
    return groups & {int(group) for group in found.stdout.split()}


def places_of(secret, *folders):
    """Where a secret can be read: files of these folders, or any command line."""
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    lines = list(Path("/proc").glob("[0-9]*/cmdline"))
    return [path for path in [*files, *lines] if secret in read(path)]


def read(path):
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def with_marks(marks):
    def apply(test):
        for mark in marks:
            test = mark(test)
        return test

    return apply


@with_marks(needs_ray)
def test_a_lost_node_takes_only_its_server_and_a_new_node_brings_it_back(
    cluster,
    tiny_llama,  # noqa: F811
    tmp_path,
):
    ask.model = str(tiny_llama)
    spec = spec_of(str(tiny_llama), servers=2, max_model_len=256)
    said, begin = [], time.monotonic()

    def say(line):
        said.append(f"{time.monotonic() - begin:.0f} s: {line}")

    running = running_ray_servers(spec, tmp_path / "logs", address=cluster.address, say=say)
    with running as servers:
        first = servers.addresses()
        groups = groups_of(tiny_llama)
        assert len({address.url for address in first}) == 2
        assert len({address.api_key for address in first}) == 2
        assert not any("127.0.0.1" in address.url for address in first)
        for key in ("wrong", first[1].api_key):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                ask(first[0], 1, key=key)
        with Asker(servers) as asker:
            time.sleep(2)
            cluster.remove_node(cluster.small.pop(), allow_graceful=False)
            mend_until(servers, lambda: len(servers.addresses()) == 1, 60)
            survivor = servers.addresses()[0]
            before = asker.answered.count(survivor.url)
            mend_until(servers, lambda: asker.answered.count(survivor.url) > before + 4, 60)
            cluster.small.append(add_node(cluster))
            mend_until(servers, lambda: len(servers.addresses()) == 2, 300)
            replaced = next(a for a in servers.addresses() if a != survivor)
            assert replaced not in first
            mend_until(servers, lambda: replaced.url in asker.answered, 60)
        groups |= groups_of(tiny_llama)
        keys = [address.api_key for address in (*first, replaced)]
        session = cluster.head_node.get_session_dir_path()
        assert [places_of(key, tmp_path, session) for key in keys] == [[], [], []]
    assert len(groups) == 3
    wait_until(lambda: not living(groups))
    assert any("is lost" in line for line in said), said
    assert any("answers again" in line for line in said), said
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert len(logs) == 3
    again = next(name for name in logs if "-restart-1" in name)
    assert "Application startup complete" in read(tmp_path / "logs" / again)


@with_marks(needs_ray)
def test_an_engine_that_cannot_start_on_its_node_says_why_here(
    cluster,
    tiny_llama,  # noqa: F811
    tmp_path,
):
    spec = spec_of(str(tiny_llama), max_model_len=999999)
    with (
        pytest.raises(ServerError, match="stopped while starting: .*max_model_len") as raised,
        running_ray_servers(spec, tmp_path, address=cluster.address, say=print),
    ):
        pass
    assert "\n" not in str(raised.value)
    assert not groups_of(tiny_llama)
