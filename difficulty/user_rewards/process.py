"""The parent's side of one reward worker: a fresh interpreter in a process group of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from difficulty.user_rewards.setup import Setup

MESSAGE_BYTES = 2**20
"""A worker's messages are small; one that sends more is out of order."""
SEND_LIMIT_S = 30
"""Seconds after which a worker that takes nothing more counts as lost."""
CLOSE_LIMIT_S = 2.0
STDERR = 2

_START = "import sys; from difficulty.user_rewards.worker import serve; serve(float(sys.argv[1]))"


class RewardProcess:
    """One worker.

    Args:
        setup: what it is to load.
        log: file that takes what the functions print; standard error if null.
    """

    def __init__(self, setup: Setup, log: Path | None) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_LIMIT_S, 0))
        with theirs, _output(log) as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ
                | {
                    "PYTHONPATH": os.pathsep.join(part or str(Path.cwd()) for part in sys.path),
                    "PYTHONUNBUFFERED": "1",
                },
                process_group=0,
            )
        self.connection = Connection(ours.detach())
        self.send(setup.as_json())

    def send(self, message: object) -> bool:
        """Send plain values; false if the process is gone or takes nothing."""
        try:
            self.connection.send_bytes(json.dumps(message).encode())
        except OSError:
            return False
        return True

    def messages(self) -> Iterator[dict[str, Any]]:
        """All messages that are there.

        Raises:
            EOFError: the process is gone, or sends what is no message.
        """
        try:
            while self.connection.poll():
                message = json.loads(self.connection.recv_bytes(MESSAGE_BYTES))
                if not isinstance(message, dict):
                    raise EOFError
                yield message
        except (OSError, ValueError) as error:
            raise EOFError from error

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


def close_all(processes: list[RewardProcess]) -> None:
    """Close idle processes, which then end by themselves; kill those that do not."""
    for process in processes:
        process.connection.close()
    end = time.monotonic() + CLOSE_LIMIT_S
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.process.wait(timeout=max(0.01, end - time.monotonic()))
        process.kill()


@contextlib.contextmanager
def _output(log: Path | None) -> Iterator[int]:
    if log is None:
        yield STDERR
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        yield file.fileno()
