"""What the log of a vLLM server says about its end: the cause, and whether memory was too small."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LOG_TAIL = 500_000
GIB = 2**30
EXCEPTION = re.compile(r"(?:^|\] |\) )((?:\w+\.)*\w*(?:Error|Exception): .+)")
CRASHED = re.compile(r"Segmentation fault|Fatal Python error|Illegal instruction|SIGSEGV|SIGILL")
KILLED = re.compile(
    r"ended by signal 9\b"  # the guard's word
    r"|died unexpectedly \(exit code: (?:None|-9)\)"
    r"|Failed core proc\(s\): \{(?:\}|[^}]*: -9)"
)
"""A process that SIGKILL ended leaves no word of its own; its parent often has no code yet."""
SHORT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemoryError|less than requested memory for kv"
    r"|less than desired [CG]PU memory utilization|No available memory for the cache"
    r"|can(?:'t|not) allocate memory|not enough memory|bad_alloc|\bMemoryError\b",
    re.IGNORECASE,
)
AVAILABLE = re.compile(
    r"(?:Available memory on node (\d+)|Free memory on device \S+) \(([\d.]+)/([\d.]+) GiB\)"
)
TOO_LONG = re.compile(
    r"model's max seq len \((\d+)\), \(([\d.]+) GiB KV cache is needed.*?"
    r"KV cache memory \(([\d.-]+) GiB\)(?:.*?maximum model length is (\d+))?",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class OutOfMemory:
    """How an engine ran out of memory; sizes in bytes, null where its log names none."""

    node: int | None = None
    """NUMA node of ``available``; null for a GPU."""
    available: int | None = None
    total: int | None = None
    nothing_left: bool = False
    """Do weights and activations leave nothing for the cache?"""
    killed: bool = False
    """Was a process of it killed without a word? So the kernel ends what passes a limit."""


@dataclass(frozen=True, kw_only=True)
class TooLong:
    """The engine's word that its cache does not hold one sequence of the context length."""

    max_model_len: int
    needed_gib: float
    available_gib: float
    fits: int | None
    """Tokens of context that the cache would hold."""


def log_size(log: Path) -> int:
    """Bytes in a log now: what a later start adds begins there. 0 if there is none."""
    return log.stat().st_size if log.exists() else 0


def out_of_memory(log: Path, since: int = 0, *, starting: bool = True) -> OutOfMemory | None:
    """Did the server whose log begins at ``since`` end for want of memory? None: not that it says.

    A kill counts while ``starting``: later it may as well be somebody's hand.
    """
    text = _tail(log, since)
    found = AVAILABLE.search(text)
    if found:
        return OutOfMemory(
            node=None if found[1] is None else int(found[1]),
            available=int(float(found[2]) * GIB),
            total=int(float(found[3]) * GIB),
        )
    if SHORT_OF_MEMORY.search(text):
        return OutOfMemory(nothing_left="No available memory for the cache" in text)
    return OutOfMemory(killed=True) if starting and _killed(text) else None


def _killed(text: str) -> bool:
    """Was a process killed, and not the answer to an exception that the log names before?"""
    found = KILLED.search(text)
    if found is None or CRASHED.search(text):
        return False
    before = text[: found.start()].splitlines()[:-1]
    return not any(EXCEPTION.search(line) for line in before if " WARNING " not in line)


def context_too_long(log: Path, since: int = 0) -> TooLong | None:
    """Did the engine say that one sequence of its context length does not fit its cache?"""
    found = TOO_LONG.search(_tail(log, since))
    return found and TooLong(
        max_model_len=int(found[1]),
        needed_gib=float(found[2]),
        available_gib=float(found[3]),
        fits=int(found[4]) if found[4] else None,
    )


def last_words(log: Path, since: int = 0) -> str:
    """Why a server ended, from its log: the first exception, else the last line.

    The first one is the cause; those after it only say that the engine is dead.
    """
    lines = [line.strip() for line in _tail(log, since).splitlines()]
    lines = [line for line in lines if line and " WARNING " not in line]
    for number, line in enumerate(lines):
        found = EXCEPTION.search(line)
        if found:
            in_next_line = "validation error" in line and number + 1 < len(lines)
            return _cut(lines[number + 1] if in_next_line else found[1])
    return _cut(lines[-1] if lines else "it printed nothing")


def _tail(log: Path, since: int) -> str:
    """The end of a log from ``since`` on; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - LOG_TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _cut(line: str) -> str:
    return line if len(line) <= 300 else line[:297] + "..."
