"""One worker: a fresh interpreter (never a fork) that its parent may kill at any time.

It is joined to its parent by one socket and leads a process group of its own, so that what it
starts ends with it. It is told what to run by an import path.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from difficulty.workers.progress import Progress, shared_memory

SEND_LIMIT_S = 30
"""Seconds after which a worker that takes nothing more counts as lost."""
CLOSE_LIMIT_S = 2.0

_START = "import sys; from difficulty.workers.child import run; run(*sys.argv[1:])"


class WorkerProcess:
    """The parent's side.

    Args:
        target: ``package.module:function``, called in the child with its end of the socket, its
            ``Progress`` and ``numbers``.
        numbers: what else it is given.
        memory_bytes: memory that it may take beyond what it has once ``target`` is imported.
        stdout: descriptor of the file that takes what it prints.
        stderr: the same for its errors; None: our own standard error.
    """

    def __init__(
        self,
        target: str,
        numbers: Sequence[float] = (),
        *,
        memory_bytes: int,
        stdout: int = subprocess.DEVNULL,
        stderr: int | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_LIMIT_S, 0))
        memory = shared_memory()
        self.progress = Progress(memory)
        self.progress.reset()
        path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
        told = (theirs.fileno(), memory, memory_bytes, *numbers)
        with theirs, os.fdopen(memory):
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, target, *map(str, told)],
                pass_fds=[theirs.fileno(), memory],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                process_group=0,
            )
        self.connection = Connection(ours.detach())
        self._poll = select.poll()
        self._poll.register(self.connection, select.POLLIN)

    def send_bytes(self, message: bytes) -> None:
        """Send a message; a process that takes none is ended, which reading it then says."""
        try:
            self.connection.send_bytes(message)
        except OSError:
            self._kill_group()

    def has_message(self) -> bool:
        """Whether there is something to read, the end included; quicker than a Connection."""
        return bool(self._poll.poll(0))

    def kill(self) -> int:
        """End the process and all that it started; returns its exit code (negative: the signal)."""
        self.connection.close()
        self._kill_group()
        return self.process.wait()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def exit_code(self) -> int:
        """Exit code of a process that closed its socket; what it started ends with it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=CLOSE_LIMIT_S)
        return self.kill()


def close_all(processes: Sequence[WorkerProcess]) -> None:
    """Close idle processes, which then end by themselves; kill those that do not."""
    for process in processes:
        process.connection.close()
    end = time.monotonic() + CLOSE_LIMIT_S
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.process.wait(timeout=max(0.01, end - time.monotonic()))
        process.kill()
