"""One worker: a fresh interpreter (never a fork) that its parent may kill at any time.

It is joined to its parent by one socket and leads a process group of its own, so that what it
starts ends with it. It is told what to run by an import path.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

SEND_LIMIT_S = 30
"""Seconds after which a worker that takes nothing more counts as lost."""
CLOSE_LIMIT_S = 2.0

_START = "import sys; from difficulty.workers.process import run; run(*sys.argv[1:])"


class WorkerProcess:
    """The parent's side.

    Args:
        target: ``package.module:function``, called in the child with the descriptor of its end of
            the socket and ``numbers``.
        numbers: what else it is given.
        descriptors: further open files that it inherits.
        stdout: descriptor of the file that takes what it prints.
        stderr: the same for its errors; None: our own standard error.
    """

    def __init__(
        self,
        target: str,
        numbers: Sequence[float] = (),
        *,
        descriptors: Sequence[int] = (),
        stdout: int = subprocess.DEVNULL,
        stderr: int | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_LIMIT_S, 0))
        path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, target, *map(str, (theirs.fileno(), *numbers))],
                pass_fds=[theirs.fileno(), *descriptors],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                process_group=0,
            )
        self.connection = Connection(ours.detach())

    def send_bytes(self, message: bytes | memoryview) -> bool:
        """Send a message; false if the process is gone or takes nothing."""
        try:
            self.connection.send_bytes(message)
        except OSError:
            return False
        return True

    def kill(self) -> int:
        """End the process and all that it started; returns its exit code (negative: the signal)."""
        self.connection.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

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


def run(target: str, *numbers: str) -> None:
    """The child's side: call what the parent named."""
    module, _, name = target.partition(":")
    getattr(import_module(module), name)(*map(float, numbers))
