"""How much memory a vLLM server is given, and how much less once it ran out of it.

On a CPU the cache of a rank is said in bytes: what the run needs, or what the engine will find on
the rank's NUMA node once everything is loaded, if that is less. On a GPU vLLM takes its own share
of the card; only a server that ran out of memory is told a smaller one.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from difficulty.errors import ServerError
from difficulty.sampling.servers.engine_memory import NodeMemory, cgroup_headroom, engine_nodes
from difficulty.sampling.servers.model_shape import BLOCK_TOKENS, ModelShape, argument, model_shape
from difficulty.sampling.servers.server_log import GIB, OutOfMemory, TooLong
from difficulty.settings.run import RunSpec

CACHE_VARIABLE = "VLLM_CPU_KVCACHE_SPACE"
"""Whole GiB; vLLM lets it override ``--kv-cache-memory-bytes``, so it is never handed on."""
CACHE_FLAG = "--kv-cache-memory-bytes"
PROCESS_BYTES = int(0.7 * GIB)
"""Measured for each of API server, engine core and rank, without weights and cache: 0.65 GiB."""
KEPT_FREE = 0.1
"""Share of what is there that is left alone: others take and give back memory meanwhile."""
LARGEST_BLIND = 8 * GIB
"""Cache of a rank where the model's shape is not known."""
GPU_SHARE, NUM_SEQS = 0.9, 256
"""About vLLM's own defaults: the first step back goes below them."""
SMALLEST_GPU_SHARE = 0.3
FEWEST_SEQS = 16
SUFFIXES = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """Memory that one server may take; null leaves it to vLLM."""

    cache: int | None = None
    """Bytes of cache a rank, on a CPU."""
    gpu_share: float | None = None
    num_seqs: int | None = None
    stated: str | None = None
    """The user's own setting of the cache, as they gave it."""
    nodes: tuple[int, ...] = ()
    """NUMA node of each rank, on a CPU."""
    max_tokens: int = 0
    """New tokens an answer: a context that does not hold them is no way out."""
    shape: ModelShape = field(default_factory=ModelShape)

    def arguments(self) -> list[str]:
        """What tells vLLM; to be put behind the user's own arguments, since the last one counts."""
        told = {
            CACHE_FLAG: self.cache,
            "--gpu-memory-utilization": self.gpu_share and f"{self.gpu_share:g}",
            "--max-num-seqs": self.num_seqs,
        }
        return [text for flag, value in told.items() if value for text in (flag, str(value))]


def cpu_allowance(
    spec: RunSpec, *, model: str, layout: list[list[int]], number: int, tokens: int | None
) -> Allowance:
    """The memory of server ``number`` of those that start together on one machine without a GPU.

    Args:
        spec: settings of the run.
        model: folder or Hub name of the model, as this machine finds it.
        layout: for each of the servers, the NUMA node of each rank.
        number: which of them, from 0.
        tokens: tokens in flight at the most, whose cache is all that the run needs; None: unknown.

    Raises:
        ServerError: the user's own setting of the cache is no number.
    """
    shape = model_shape(model, spec.server)
    stated = stated_cache(spec.server.vllm_args, os.environ)
    if stated is None:
        share = cache_share(layout, number, shape, engine_nodes(), cgroup_headroom())
        cache, words = planned_cache(share, shape, tokens), None
    else:
        cache, words = stated
    return Allowance(
        cache=cache, stated=words, nodes=tuple(layout[number]), shape=shape,
        max_tokens=spec.sampling.max_tokens,
    )  # fmt: skip


def gpu_allowance(spec: RunSpec) -> Allowance:
    """What the user's own arguments give a server on GPUs; else vLLM's defaults."""
    share = argument(spec.server.vllm_args, "--gpu-memory-utilization")
    seqs = argument(spec.server.vllm_args, "--max-num-seqs")
    return Allowance(
        gpu_share=float(share) if share and re.fullmatch(r"\d*\.?\d+", share) else None,
        num_seqs=int(seqs) if seqs and seqs.isdecimal() else None,
    )


def cache_share(
    layout: list[list[int]],
    number: int,
    shape: ModelShape,
    nodes: Mapping[int, NodeMemory],
    headroom: int | None,
) -> int:
    """Bytes that a rank's cache can have when all servers of ``layout`` are loaded; may be < 0.

    The tightest of its nodes and of the cgroups: what the engine counts there now, less the
    processes and weights of all servers, divided by the ranks that share it.
    """
    weights = (shape.weights or 0) // len(layout[number])
    ranks = Counter(node for server in layout for node in server)
    loaded = Counter({node: count * (PROCESS_BYTES + weights) for node, count in ranks.items()})
    for server in layout:
        loaded[server[0]] += 2 * PROCESS_BYTES  # its API server and engine core
    rooms = [
        (nodes[node].available - loaded[node]) // ranks[node]
        for node in layout[number]
        if node in nodes
    ]
    if headroom is not None:
        rooms.append((headroom - loaded.total()) // ranks.total())
    return min(rooms, default=0)


def planned_cache(share: int, shape: ModelShape, tokens: int | None) -> int:
    """What the run needs, if the share holds it, but never less than one whole sequence."""
    room = int((1 - KEPT_FREE) * share)
    if tokens is None or shape.token_bytes is None:
        return max(shape.floor, min(room, LARGEST_BLIND))
    return max(shape.floor, min(room, shape.floor + tokens * shape.token_bytes))


def step_back(before: Allowance, end: OutOfMemory, waiting: list[int]) -> Allowance:
    """Less memory for a server that ran out of it.

    Args:
        before: what it had.
        end: what its log says.
        waiting: NUMA node of each rank that is not loaded yet, its own included: they share what
            the log found.

    Raises:
        ServerError: with less it could not hold one sequence of the model's context.
    """
    if before.cache is None:
        return _gpu_step_back(before, end)
    cache = before.cache // 2
    if end.available is not None:
        # Whatever the log says, less than before: or it would go round in circles.
        found = end.available // max(1, waiting.count(end.node or 0))
        cache = min(int((1 - KEPT_FREE) * found), int((1 - KEPT_FREE) * before.cache))
    floor = before.shape.floor
    if cache < floor < before.cache and end.available is None:
        cache = floor  # nothing says that it would not fit
    if cache < floor:
        raise ServerError(_too_small(before, end, cache))
    return dataclasses.replace(before, cache=cache)


def _gpu_step_back(before: Allowance, end: OutOfMemory) -> Allowance:
    """The share of the card that is free, or else a tenth less and half as many answers at once."""
    share, num_seqs = before.gpu_share or GPU_SHARE, before.num_seqs or NUM_SEQS
    if end.nothing_left:  # a smaller share would leave even less for the cache
        if num_seqs <= FEWEST_SEQS:
            raise ServerError(
                f"the GPU has no memory left for a cache beside the weights, even for {num_seqs} "
                "answers at once. Use a larger --tensor-parallel-size, a smaller --max-model-len "
                "or a smaller model"
            )
        return dataclasses.replace(before, num_seqs=num_seqs // 2)
    less = share - 0.1
    if end.available is not None and end.total:
        free = int(100 * end.available / end.total - 2) / 100
        less = free if free < share else less
    if less < SMALLEST_GPU_SHARE:
        raise ServerError(
            f"the GPU has too little free memory: a share of {max(0.0, less):.2f} is left. "
            "See nvidia-smi for what else runs there, or use a larger --tensor-parallel-size"
        )
    if end.available is None:
        return dataclasses.replace(before, gpu_share=less, num_seqs=max(1, num_seqs // 2))
    return dataclasses.replace(before, gpu_share=less)


def step_back_words(before: Allowance, after: Allowance, end: OutOfMemory) -> str:
    """Why it is started with less, and with how much: one line for the user."""
    if before.cache is None or after.cache is None:
        share = [f"a share of {after.gpu_share:.2f}"] if after.gpu_share else []
        seqs = [f"{after.num_seqs} answers at once"] if after.num_seqs else []
        return f"ran out of GPU memory; trying with {' and '.join(share + seqs)}"
    asked = f"a cache of {_gib(before.cache)}" + (f" ({before.stated})" if before.stated else "")
    if end.available is not None:
        why = f"asked for {asked}, but node {end.node} has {_gib(end.available)} left"
    elif end.killed:
        why = f"was killed while starting with {asked}, as for want of memory"
    else:
        why = f"ran out of memory with {asked}"
    return f"{why}; trying with {_gib(after.cache)}"


def _too_small(before: Allowance, end: OutOfMemory, cache: int) -> str:
    """What is too small, and what would do."""
    shape = before.shape
    if end.available is None:
        loaded = (2 + len(before.nodes)) * PROCESS_BYTES + (shape.weights or 0)
        return (
            f"too little memory for the engine: it ran out even with a cache of "
            f"{_gib(before.cache or 0)}, and takes about {_gib(loaded)} beside it. Free memory, "
            "use a smaller model, or --endpoint with a server elsewhere"
        )
    if shape.token_bytes is None or shape.context is None:
        return (
            f"too little memory for the model: {_gib(cache)} can be had for its cache. Free "
            "memory, use a smaller model, or --endpoint with a server elsewhere"
        )
    fits = max(0, cache // (BLOCK_TOKENS * shape.token_bytes) - 1) * BLOCK_TOKENS
    shorter = f"Use --max-model-len {fits} or less, free" if fits > before.max_tokens else "Free"
    return (
        f"too little memory for the model's context: one sequence of {shape.context:,} tokens "
        f"takes a cache of {_gib(shape.floor)}, {_gib(cache)} can be had. {shorter} memory, or "
        "use a smaller model"
    )


def too_long_words(end: TooLong) -> str:
    """The engine's own word that its cache is too small for one sequence, as our error."""
    shorter = f"Use --max-model-len {end.fits} or less" if end.fits else "Use a smaller model"
    return (
        f"too little memory for the model's context: one sequence of {end.max_model_len:,} tokens "
        f"takes a cache of {end.needed_gib:.2f} GiB, {end.available_gib:.2f} GiB can be had. "
        f"{shorter}, a larger {CACHE_VARIABLE} (CPU) or --tensor-parallel-size (GPU)"
    )


def stated_cache(
    vllm_args: tuple[str, ...], environment: Mapping[str, str]
) -> tuple[int, str] | None:
    """The user's own cache size in bytes and as they gave it; vLLM's variable before its flag.

    Raises:
        ServerError: it is no number.
    """
    text = environment.get(CACHE_VARIABLE, "").strip()
    if text and text != "0":
        if not text.isdecimal():
            raise ServerError(
                f"{CACHE_VARIABLE} is not a whole number of GiB: found {text!r}. Set one, or unset "
                "it: the cache is then as large as the run needs"
            )
        return int(text) * GIB, f"{CACHE_VARIABLE}={text}"
    text = argument(vllm_args, CACHE_FLAG) or ""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)", text)
    if text and match is None:
        raise ServerError(f"{CACHE_FLAG} is no number of bytes: found {text!r}. Write it as 2G")
    return match and (int(float(match[1]) * SUFFIXES[match[2]]), f"{CACHE_FLAG} {text}")


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB" if size < 10 * GIB else f"{size / GIB:.1f} GiB"
