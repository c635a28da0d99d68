"""What a vLLM server is started with, and what is checked before."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from difficulty.errors import ServerError
from difficulty.sampling.protocol import API_KEY_VARIABLE, headers
from difficulty.sampling.servers.allowance import (
    CACHE_VARIABLE,
    Allowance,
    cpu_allowance,
    gpu_allowance,
)
from difficulty.sampling.servers.engine_memory import node_of_core
from difficulty.sampling.servers.server_set import Address
from difficulty.settings.run import RunSpec, SamplingSpec

QUIET_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
LONGEST_SOCKET_FOLDER = 107 - 37
"""Bytes: a socket's path has 107 at the most, and vLLM adds a slash and a UUID."""
SHARED_MEMORY = "/dev/shm"
SHARED_MEMORY_BYTES = 240 * 2**20
"""vLLM's message queue to a rank: 10 chunks of 24 MiB. Docker gives a container 64 MiB."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What servers are placed on."""

    num_gpus: int
    num_cores: int
    gpu_memory_gib: float | None = None
    """Of the smallest GPU; null where there is none or it does not say."""


def this_machine() -> Machine:
    """GPUs (as nvidia-smi or CUDA_VISIBLE_DEVICES tell) and usable cores."""
    return Machine(
        num_gpus=len(visible_gpus()),
        num_cores=len(usable_cores()),
        gpu_memory_gib=_smallest_gpu_gib(),
    )


def _smallest_gpu_gib() -> float | None:
    if shutil.which("nvidia-smi") is None:
        return None
    listed = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=False,
    )
    sizes = [float(text) for text in listed.stdout.split() if text.isdecimal()]
    return min(sizes) / 1024 if sizes else None


def visible_gpus() -> list[str]:
    """Identifiers for CUDA_VISIBLE_DEVICES, empty where there is no GPU."""
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(
        ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = listed.stdout.split() if listed.returncode == 0 else []
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return found if chosen is None else [gpu for gpu in chosen.split(",") if gpu]


def usable_cores() -> list[int]:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def engine_installed() -> bool:
    """Is vLLM importable here? Looks for it without importing it."""
    return importlib.util.find_spec("vllm") is not None


def server_command(
    spec: RunSpec,
    *,
    port: int,
    machine: Machine,
    chance: int,
    allowance: Allowance,
    host: str = "127.0.0.1",
) -> list[str]:
    """The command line of one vLLM server, bound to loopback unless asked.

    ``chance`` seeds the engine: servers, and restarts, must not all draw the same random numbers.
    """
    server, sampling = spec.server, spec.sampling
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", sampling.model, "--served-model-name", sampling.model),
        *("--host", host, "--port", str(port)),
        *("--tensor-parallel-size", str(server.tensor_parallel_size)),
        *("--generation-config", "vllm", "--enable-prefix-caching", "--seed", str(chance)),
    ]
    if server.max_model_len is not None:
        command += ["--max-model-len", str(server.max_model_len)]
    if spec.sampling.logprobs is not None:
        command += ["--max-logprobs", str(max(20, spec.sampling.logprobs))]
    if machine.num_gpus == 0:
        command += ["--dtype", "float32", "--enforce-eager"]
        if spec.sampling.seed is not None:
            # vLLM 0.32 on a CPU dies when it cuts a seeded prompt into chunks: it rewinds the
            # request's generator, and CPU generators know no offset.
            command += ["--no-enable-chunked-prefill"]
    return [*command, *server.vllm_args, *allowance.arguments()]


def rank_cores(spec: RunSpec, cores: list[int]) -> list[list[list[int]]]:
    """For each server, for each of its ranks, the cores it is bound to."""
    size, count = spec.server.tensor_parallel_size, spec.server.servers
    share = max(1, len(cores) // (count * size))
    groups = [cores[(rank * share) % len(cores) :][:share] for rank in range(count * size)]
    return [groups[number * size : (number + 1) * size] for number in range(count)]


def server_environment(
    spec: RunSpec, *, number: int, machine: Machine, gpus: list[str], cores: list[int]
) -> dict[str, str]:
    """What server ``number`` (from 0) gets on top of ours: its own GPUs, or its own cores."""
    size = spec.server.tensor_parallel_size
    if machine.num_gpus > 0:
        mine = gpus[number * size : (number + 1) * size]
        return {**QUIET_ENVIRONMENT, "CUDA_VISIBLE_DEVICES": ",".join(mine)}
    groups = rank_cores(spec, cores)[number]
    binds = "|".join(",".join(map(str, group)) for group in groups)
    return {**QUIET_ENVIRONMENT, "VLLM_CPU_OMP_THREADS_BIND": binds}


def server_allowance(
    spec: RunSpec,
    *,
    model: str,
    number: int,
    machine: Machine,
    cores: list[int],
    tokens: int | None,
) -> Allowance:
    """The memory that server ``number`` (from 0) may take of this machine.

    ``tokens``: tokens in flight at the most; their cache is all that the run needs.

    Raises:
        ServerError: the user's own setting of the cache is no number.
    """
    if machine.num_gpus > 0:
        return gpu_allowance(spec)
    layout = [[node_of_core(group[0]) for group in groups] for groups in rank_cores(spec, cores)]
    return cpu_allowance(spec, model=model, layout=layout, number=number, tokens=tokens)


def inherited_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Ours as a started server gets it.

    It needs no key of the user's, and must not print one; the size of its cache is an argument,
    which the variable would override; and its sockets need a folder with a short name.
    """
    dropped = (API_KEY_VARIABLE, CACHE_VARIABLE)
    kept = {key: value for key, value in environment.items() if key not in dropped}
    if len(environment.get("TMPDIR", "").encode()) > LONGEST_SOCKET_FOLDER:
        kept.setdefault("VLLM_RPC_BASE_PATH", "/tmp")
    return kept


def check_before_start(spec: RunSpec, machine: Machine) -> None:
    """Refuse what is known to fail, before the engine takes a minute to say so.

    Raises:
        ServerError: no engine here, too few GPUs, an unreadable model folder, or a head count that
            the tensor-parallel size does not divide.
    """
    size, count = spec.server.tensor_parallel_size, spec.server.servers
    length, answer = spec.server.max_model_len, spec.sampling.max_tokens
    if length is not None and length <= answer:
        raise ServerError(
            f"max_tokens {answer} leaves no room for a prompt: --max-model-len is {length} tokens. "
            "Lower --max-tokens or raise --max-model-len"
        )
    if not engine_installed():
        raise ServerError(
            "no engine: vLLM is not installed here. Run make setup where one can run (a GPU, or "
            "Linux x86-64; not ENGINE=none), or point --endpoint at a running server"
        )
    if 0 < machine.num_gpus < count * size:
        raise ServerError(
            f"too few GPUs: {count} servers of {size} need {count * size}, found "
            f"{machine.num_gpus}. Lower --servers or --tensor-parallel-size"
        )
    check_model_folder(spec.sampling.model, size)
    _check_weights_fit(spec, machine)
    if machine.num_gpus == 0 or size > 1:
        problem = shared_memory_problem()
        if problem is not None:
            raise ServerError(problem)


def shared_memory_problem() -> str | None:
    """What is wrong with /dev/shm, over which an engine talks with its ranks; None: nothing."""
    try:
        free = shutil.disk_usage(SHARED_MEMORY).free
    except OSError:
        return None  # vLLM skips its own check too
    if free >= SHARED_MEMORY_BYTES:
        return None
    return (
        f"{SHARED_MEMORY} is too small for the engine: {free >> 20} MiB are free, it asks for "
        f"{SHARED_MEMORY_BYTES >> 20} MiB. In a container start it with --shm-size=1g; elsewhere "
        f"run mount -o remount,size=1g {SHARED_MEMORY}"
    )


def weights_gib(model: str) -> float | None:
    """Size of a local model's weights; None for a model that is not here."""
    files = list(Path(model).glob("*.safetensors")) if Path(model).is_dir() else []
    return sum(file.stat().st_size for file in files) / 2**30 if files else None


def _check_weights_fit(spec: RunSpec, machine: Machine) -> None:
    """Weights must leave a tenth of the memory for the cache, or the engine dies after minutes."""
    weights, size = weights_gib(spec.sampling.model), spec.server.tensor_parallel_size
    if weights is None or machine.gpu_memory_gib is None:
        return
    needed = math.ceil(weights / (0.9 * machine.gpu_memory_gib))
    if needed > size:
        raise ServerError(
            f"model is too large for {size} GPU(s) of {machine.gpu_memory_gib:.0f} GiB: its "
            f"weights take {weights:.0f} GiB. Use --tensor-parallel-size {needed} or more"
        )


def idle_gpus_hint(spec: RunSpec, machine: Machine) -> str | None:
    """How to use GPUs that the settings leave idle; None if there are none."""
    size, count = spec.server.tensor_parallel_size, spec.server.servers
    fit = machine.num_gpus // size
    if fit <= count:
        return None
    return f"{machine.num_gpus - count * size} GPUs stay idle; --servers {fit} would use them"


def check_model_folder(model: str, size: int) -> None:
    """Refuse a model that is a file, or a folder that is missing, or holds no config.

    Raises:
        ServerError: it is, or ``size`` ranks do not divide its attention heads.
    """
    folder = Path(model)
    if folder.is_file():
        raise ServerError(f"model is a file: {folder}. Give the folder that it lies in")
    if not folder.is_dir():
        if model.startswith(("/", ".", "~")) or len(folder.parts) > 2:
            raise ServerError(f"model folder is missing: {folder}. Check --model")
        return
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ServerError(
            f"model folder has no readable config.json: {folder}. "
            "Give a folder in transformers' format"
        ) from error
    heads = config.get("num_attention_heads")
    if isinstance(heads, int) and heads % size:
        raise ServerError(
            f"tensor-parallel size {size} does not divide the model's {heads} attention heads. "
            f"Use one of {', '.join(str(n) for n in range(1, heads + 1) if heads % n == 0)}"
        )


FIRST_TOKEN_TIMEOUT_S = 300.0
NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Servers that we started are asked directly, whatever http_proxy says."""


def first_token(address: Address, sampling: SamplingSpec) -> bool:
    """Does a server give a token? Asked from here, as the client will: a firewall shows too.

    Raises:
        ServerError: it answers, but refuses.
    """
    plain = sampling.prompt_style == "plain"
    prompt = {"prompt": "1"} if plain else {"messages": [{"role": "user", "content": "1"}]}
    request = urllib.request.Request(
        f"{address.url}/{'completions' if plain else 'chat/completions'}",
        data=json.dumps({"model": sampling.model, "max_tokens": 1, **prompt}).encode(),
        headers={"Content-Type": "application/json", **headers(address)},
    )
    try:
        with NO_PROXY.open(request, timeout=FIRST_TOKEN_TIMEOUT_S):
            return True
    except urllib.error.HTTPError as error:
        if error.code >= 500 or error.code == 404:
            return False
        text = " ".join(error.read(2000).decode("utf-8", "replace").split())[:300]
        raise ServerError(
            f"the vLLM server refuses a first token: {error.code} {text}. "
            "Check --model and --prompt-style"
        ) from error
    except (OSError, HTTPException):
        return False
