"""Memory as the engine counts it, on machines made of files."""

import pytest

from difficulty.sampling.servers.engine_memory import cgroup_headroom, engine_nodes, node_of_core

GIB = 2**30
V1 = "31 23 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V2 = "31 23 0:32 {root} /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
OTHERS = (
    "30 23 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "29 1 8:1 / / rw - ext4 /dev/vda rw\n"
)


@pytest.fixture
def machine(tmp_path):
    """Write files of /proc and /sys below a folder; gives the folder."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text))
        return tmp_path

    return write


def meminfo(prefix="", *, total, free, **more):
    values = {"MemTotal": total, "MemFree": free, **more}
    return "".join(f"{prefix}{name}: {int(gib * 2**20)} kB\n" for name, gib in values.items())


def node(number, **values):
    return {f"sys/devices/system/node/node{number}/meminfo": meminfo(f"Node {number} ", **values)}


def test_available_is_what_the_engine_adds_up_of_each_node(machine):
    first = node(0, total=8, free=2, **{"Active(file)": 1, "Inactive(file)": 1.5, "Cached": 9})
    root = machine(**first, **node(1, total=16, free=4, SReclaimable=0.25))
    found = engine_nodes(root)
    assert {number: (each.total, each.available) for number, each in found.items()} == {
        0: (8 * GIB, int(4.5 * GIB)),
        1: (16 * GIB, int(4.25 * GIB)),
    }


def test_a_node_that_says_less_than_proc_is_believed(machine):
    whole = {"proc/meminfo": meminfo(total=24, free=20, MemAvailable=23)}
    found = engine_nodes(machine(**whole, **node(0, total=7.46, free=5)))
    assert found[0].available == 5 * GIB


def test_a_machine_that_lists_no_node_has_one(machine):
    root = machine(**{"proc/meminfo": meminfo(total=24, free=3, MemAvailable=20)})
    assert engine_nodes(root)[0].available == 20 * GIB
    assert node_of_core(5, root) == 0


def test_a_node_without_memory_of_its_own_is_none(machine):
    root = machine(**node(0, total=8, free=4), **node(1, total=0, free=0))
    assert list(engine_nodes(root)) == [0]


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/memory.max": 4 * GIB, "sys/fs/cgroup/memory.current": 1 * GIB},
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": 4 * GIB,
            "sys/fs/cgroup/memory/memory.usage_in_bytes": 1 * GIB,
        },
    ],
)
def test_the_limit_of_a_container_clamps_every_node(machine, files):
    found = engine_nodes(machine(**files, **node(0, total=64, free=60)))
    assert (found[0].total, found[0].available) == (4 * GIB, 3 * GIB)


def test_a_limit_above_the_node_changes_nothing(machine):
    files = {"sys/fs/cgroup/memory.max": 100 * GIB, "sys/fs/cgroup/memory.current": 99 * GIB}
    assert engine_nodes(machine(**files, **node(0, total=8, free=5)))[0].available == 5 * GIB


def cgroup_v1(folder, *, limit, usage, files=0):
    base = f"sys/fs/cgroup/memory{folder}"
    return {
        f"{base}/memory.limit_in_bytes": limit,
        f"{base}/memory.usage_in_bytes": usage,
        f"{base}/memory.stat": f"total_inactive_file {files}\ntotal_active_file 0\ncache 77\n",
    }


def cgroup_v2(folder, *, limit, usage, files=0, high="max"):
    base = f"sys/fs/cgroup{folder}"
    return {
        f"{base}/memory.max": limit,
        f"{base}/memory.high": high,
        f"{base}/memory.current": usage,
        f"{base}/memory.stat": f"active_file {files}\ninactive_file 0\n",
    }


def own(path, mounts):
    return {"proc/self/cgroup": f"3:cpu:/x\n4:memory:{path}\n0::{path}\n",
            "proc/self/mountinfo": OTHERS + mounts}  # fmt: skip


NO_LIMIT = 9223372036854771712


def test_the_tightest_limit_up_our_own_tree_counts_in_v1(machine):
    """A child of 4 GB under a job of 16 GB: the engine sees neither, the kernel both."""
    root = machine(
        **own("/job/child", V1.format(root="/")),
        **cgroup_v1("", limit=NO_LIMIT, usage=20 * GIB),
        **cgroup_v1("/job", limit=16 * GIB, usage=10 * GIB),
        **cgroup_v1("/job/child", limit=4 * GIB, usage=2 * GIB, files=GIB),
        **cgroup_v1("/other", limit=GIB, usage=0),
        **node(0, total=64, free=60),
    )
    assert cgroup_headroom(root) == 3 * GIB
    assert engine_nodes(root)[0].available == 60 * GIB


def test_the_tightest_limit_up_our_own_tree_counts_in_v2(machine):
    root = machine(
        **own("/user.slice/job", V2.format(root="/")),
        **cgroup_v2("/user.slice", limit=5 * GIB, usage=4 * GIB),
        **cgroup_v2("/user.slice/job", limit="max", usage=1 * GIB),
    )
    assert cgroup_headroom(root) == 1 * GIB


def test_memory_high_slows_a_group_to_a_crawl_and_counts_as_its_limit(machine):
    root = machine(
        **own("/job", V2.format(root="/")),
        **cgroup_v2("/job", limit=8 * GIB, high=4 * GIB, usage=1 * GIB),
    )
    assert cgroup_headroom(root) == 3 * GIB


@pytest.mark.parametrize("path", ["/docker/abc", "/", "/elsewhere"])
def test_in_a_container_the_mount_is_our_own_group_whatever_path_we_are_told(machine, path):
    root = machine(
        **own(path, V1.format(root="/docker/abc")),
        **cgroup_v1("", limit=2 * GIB, usage=GIB),
    )
    assert cgroup_headroom(root) == 1 * GIB


def test_without_limits_there_is_no_headroom_to_speak_of(machine):
    mounted = own("/", V1.format(root="/") + V2.format(root="/"))
    root = machine(**mounted, **cgroup_v1("", limit=NO_LIMIT, usage=GIB))
    assert cgroup_headroom(root) is None
    assert cgroup_headroom(root / "nowhere") is None


def test_a_group_that_is_over_its_limit_has_no_room_and_no_less(machine):
    root = machine(**own("/", V2.format(root="/")), **cgroup_v2("", limit=GIB, usage=2 * GIB))
    assert cgroup_headroom(root) == 0


def test_this_machine_is_read_without_an_error():
    for number, each in engine_nodes().items():
        assert number >= 0
        assert 0 <= each.available <= each.total
    assert (cgroup_headroom() or 0) >= 0
