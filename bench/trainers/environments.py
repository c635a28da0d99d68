"""One virtual environment a trainer, under data/trainers/: what is in it, and making it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "data" / "trainers"
TORCH = "torch==2.13.0+cpu"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""Where PyTorch keeps its CPU builds; some package indexes carry them too."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What one trainer's interpreter needs."""

    name: str
    """As in ``difficulty export --to``."""
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """Installed without what they ask for: GPU builds, or pins that no CPU build meets. What their
    loaders do need stands in ``packages``."""
    torch: bool = True

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return PLACE / self.name

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def module(self) -> str:
        """The module that its interpreter runs."""
        return f"bench.trainers.{self.name.replace('-', '_')}"


# areal pins torch<2.11 and math-verify 0.8.0 (we need 0.9): it runs with the newer ones.
ENVIRONMENTS = (
    Environment(name="trl", packages=("trl==1.16.0",)),
    Environment(name="verl", packages=("verl==0.9.1",)),
    Environment(name="ms-swift", packages=("ms-swift==4.6.0",)),
    Environment(
        name="openrlhf",
        packages=("transformers==5.15.0", "tqdm", "pylatexenc", "sympy", "aiohttp"),
        alone=("openrlhf==0.11.2",),
    ),
    Environment(name="verifiers", packages=("verifiers==0.3.1",), torch=False),
    Environment(
        name="areal",
        packages=(
            "transformers==5.3.0", "hydra-core==1.4.0.dev1", "omegaconf==2.4.0.dev2",
            "peft==0.18.1", "networkx==3.3", "uvloop", "pyyaml", "colorlog", "aiohttp",
            "ray[default]", "torchdata", "pyzmq", "fastapi", "uvicorn", "requests", "psutil",
            "orjson", "aiofiles", "einops", "pillow", "lark", "openai", "anthropic",
            "openai-agents", "tenacity", "flask", "numba",
        ),
        alone=("areal==1.0.4",),
    ),
    Environment(
        name="skyrl",
        packages=("transformers==5.15.0", "loguru", "skyrl-gym==0.3.0"),
        alone=("skyrl==0.3.0",),
    ),
)  # fmt: skip


def make(environment: Environment) -> None:
    """Make the environment, or leave it if it already holds these packages.

    Raises:
        subprocess.CalledProcessError: a package could not be installed.
    """
    wanted = "\n".join([TORCH, *environment.packages, *environment.alone])
    stamp = environment.folder / ".ready"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(environment.folder, ignore_errors=True)
    _make_empty(environment)
    if environment.torch:
        try:
            _install(environment, TORCH)
        except subprocess.CalledProcessError:
            _install(environment, "--index-url", TORCH_INDEX, TORCH)
    _install(environment, *environment.packages, "-e", str(ROOT))
    if environment.alone:
        _install(environment, "--no-deps", *environment.alone)
    stamp.write_text(wanted, encoding="utf-8")


def _make_empty(environment: Environment) -> None:
    uv = shutil.which("uv")
    command = [uv, "venv", "--quiet", "--python"] if uv else [sys.executable, "-m", "venv"]
    where = [sys.executable, str(environment.folder)] if uv else [str(environment.folder)]
    subprocess.run([*command, *where], check=True)


def _install(environment: Environment, *wanted: str) -> None:
    """Install with uv where it is there, since it links files that environments share."""
    python, uv = str(environment.python), shutil.which("uv")
    if uv:
        command = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        command = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*command, *wanted], check=True, stdin=subprocess.DEVNULL)


def variables(work: Path) -> dict[str, str]:
    """The process environment of a trainer: offline, with its caches under ``work``."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": str(work.resolve() / "cache"),
        "MODELSCOPE_CACHE": str(work.resolve() / "modelscope"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_VISIBLE_DEVICES": "",
    }
