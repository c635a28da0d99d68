"""The child's side of every worker: what keeps it within bounds, whatever it runs.

It ends with its parent, even in the midst of a call, and has a memory limit. Ctrl-C does not reach
it: it leads a process group of its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

from difficulty.workers.progress import Progress


def run(target: str, descriptor: str, memory: str, memory_bytes: str, *numbers: str) -> None:
    """Call what the parent named, until it closes the socket."""
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    connection, progress = Connection(int(descriptor)), Progress(int(memory))
    os.close(int(memory))
    os.set_inheritable(connection.fileno(), False)
    module, _, name = target.partition(":")
    function = getattr(import_module(module), name)
    _limit_memory(int(memory_bytes))
    with contextlib.suppress(EOFError, OSError):
        function(connection, progress, *map(float, numbers))


def _end_with_parent(parent: int) -> None:
    """End this process and those it started once the parent is gone.

    An alarm would do the same, but functions use the alarm themselves.
    """
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


def _limit_memory(num_bytes: int) -> None:
    """Limit the memory that can be filled, where the system can (not on macOS).

    Address space that is only reserved, as CUDA does by the terabyte, does not count.
    """
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    taken = int(statm.read_text().split()[5]) * resource.getpagesize()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (taken + num_bytes,) * 2)
