"""One reward worker: a process that takes and sends JSON, so that nothing is unpickled here."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from difficulty.user_rewards.setup import Setup
from difficulty.workers.process import WorkerProcess

MESSAGE_BYTES = 2**20
"""A worker's messages are small; one that sends more is out of order."""
STDERR = 2


class RewardProcess(WorkerProcess):
    """One worker.

    Args:
        setup: what it is to load.
        log: file that takes what the functions print; standard error if null.
    """

    def __init__(self, setup: Setup, log: Path | None) -> None:
        with _output(log) as output:
            super().__init__("difficulty.user_rewards.worker:serve", stdout=output, stderr=output)
        self.send(setup.as_json())

    def send(self, message: object) -> bool:
        """Send plain values; false if the process is gone or takes nothing."""
        return self.send_bytes(json.dumps(message).encode())

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


@contextlib.contextmanager
def _output(log: Path | None) -> Iterator[int]:
    if log is None:
        yield STDERR
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        yield file.fileno()
