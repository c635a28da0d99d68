"""Memory as a vLLM engine on a CPU counts it, a NUMA node at a time, and what cgroups allow.

The engine looks at one node's ``meminfo`` (which may say less than ``/proc/meminfo``, and something
else a minute later) and at the cgroup limit at the mount's root. The kernel kills by every limit up
the process's own cgroup tree. ``root`` stands for ``/`` in all functions, for tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")
NODES = "sys/devices/system/node"
UNLIMITED = 2**62
"""cgroup v1 writes "no limit" as a number near 2**63."""
COUNTED = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")
"""What the engine holds for available: free memory, and file pages and slabs that can be let go."""


@dataclass(frozen=True, kw_only=True)
class NodeMemory:
    """Memory of one NUMA node in bytes, as the engine counts it."""

    node: int
    total: int
    available: int


def engine_nodes(root: Path = ROOT) -> dict[int, NodeMemory]:
    """Every node that has memory; one node 0 with the whole memory where none is listed."""
    found = {}
    for file in sorted((root / NODES).glob("node[0-9]*/meminfo")):
        values = _meminfo(file)
        if values.get("MemTotal"):
            number = int(file.parent.name.removeprefix("node"))
            available = sum(values.get(name, 0) for name in COUNTED)
            found[number] = _clamped(number, values["MemTotal"], available, root)
    if not found:
        values = _meminfo(root / "proc/meminfo")
        available = values.get("MemAvailable", values.get("MemFree", 0))
        found[0] = _clamped(0, values.get("MemTotal", 0), available, root)
    return found


def node_of_core(core: int, root: Path = ROOT) -> int:
    """The node that a core belongs to; 0 where the machine does not say."""
    for link in (root / f"sys/devices/system/cpu/cpu{core}").glob("node[0-9]*"):
        return int(link.name.removeprefix("node"))
    return 0


def cgroup_headroom(root: Path = ROOT) -> int | None:
    """Bytes that may still be taken before any limit up our own cgroup tree; None: no limit.

    File pages count as free here: the kernel lets them go before it kills.
    """
    rooms = [_room(folder) for folder in _own_cgroups(root)]
    return min((room for room in rooms if room is not None), default=None)


def _meminfo(file: Path) -> dict[str, int]:
    """Name -> bytes. Lines read ``Node 0 MemFree: 12 kB``, or without the node."""
    values = {}
    for line in _lines(file):
        name, _, amount = line.partition(":")
        if amount.endswith(" kB"):
            values[name.split()[-1]] = int(amount.split()[0]) * 1024
    return values


def _clamped(node: int, total: int, available: int, root: Path) -> NodeMemory:
    """The engine's own rule: it looks at the cgroup that is mounted as the root, at no other."""
    for limit_file, usage_file in (
        ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
        (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        limit = _number(root / limit_file)
        if limit is not None:
            if limit < total:
                room = limit - (_number(root / usage_file) or 0)
                return NodeMemory(node=node, total=limit, available=max(0, min(available, room)))
            break
    return NodeMemory(node=node, total=total, available=available)


def _own_cgroups(root: Path) -> Iterator[Path]:
    """The folders of our own memory cgroup and of all above it, for cgroup v1 and v2."""
    for mount_root, point, is_v2 in _cgroup_mounts(root):
        for own in _own_paths(root, is_v2=is_v2):
            inside = own.relative_to(mount_root) if own.is_relative_to(mount_root) else None
            folder = root / str(point).lstrip("/")
            # In a container the path may be the host's: then only the mount itself is ours.
            here = folder if inside is None else folder / inside
            yield from (each for each in (here, *here.parents) if each.is_relative_to(folder))


def _cgroup_mounts(root: Path) -> Iterator[tuple[PurePosixPath, PurePosixPath, bool]]:
    """(root within the hierarchy, mount point, is it v2) of every mount that can limit memory."""
    for line in _lines(root / "proc/self/mountinfo"):
        fields, _, rest = line.partition(" - ")
        kind, *more = rest.split()
        is_v1 = kind == "cgroup" and "memory" in more[-1].split(",")
        if kind == "cgroup2" or is_v1:
            mount_root, point = fields.split()[3:5]
            yield PurePosixPath(mount_root), PurePosixPath(point), not is_v1


def _own_paths(root: Path, *, is_v2: bool) -> Iterator[PurePosixPath]:
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if (number == "0" and not controllers) if is_v2 else "memory" in controllers.split(","):
            yield PurePosixPath(path)


def _room(folder: Path) -> int | None:
    """Limit less usage of one cgroup, file pages given back; None: it has no limit."""
    v2 = [_number(folder / name) for name in ("memory.max", "memory.high")]
    limit = min((each for each in v2 if each is not None), default=None)
    usage, prefix = _number(folder / "memory.current"), ""
    if usage is None:
        limit, prefix = _number(folder / "memory.limit_in_bytes"), "total_"
        usage = _number(folder / "memory.usage_in_bytes")
    if limit is None or usage is None:
        return None
    stat = dict(line.split()[:2] for line in _lines(folder / "memory.stat"))
    files = sum(int(stat.get(prefix + name, 0)) for name in ("inactive_file", "active_file"))
    return max(0, limit - usage + files)


def _number(file: Path) -> int | None:
    """The number in a file of the kernel's; None: no file, ``max``, or v1's "no limit"."""
    text = next(iter(_lines(file)), "").strip()
    number = int(text) if text.isdecimal() else None
    return None if number is None or number >= UNLIMITED else number


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
