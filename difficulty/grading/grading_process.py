"""A process that grades or compares for its parent: requests and replies are pickled."""

from __future__ import annotations

import pickle
from typing import Any

from difficulty.schema import Completion, Grade, Question
from difficulty.workers.process import WorkerProcess

Pair = tuple[Question, Completion]

READY = "ready"
LOAD = "load"
"""A request to load Math-Verify, answered by READY."""
MEMORY_BYTES = 4 * 2**30
"""Memory that grading may take beyond what the process has at its start."""


class GradingProcess(WorkerProcess):
    """The parent's side.

    Args:
        deadline_s: seconds that one reply or comparison may take.
    """

    def __init__(self, deadline_s: float) -> None:
        super().__init__("difficulty.grading.serve:serve", (deadline_s,), memory_bytes=MEMORY_BYTES)

    def send(self, message: object) -> None:
        """Send a request; a process that is gone is noticed when it is read."""
        self.send_bytes(pickle.dumps(message))

    def receive(self) -> Any:
        """The next reply.

        Raises:
            EOFError: the process is gone.
        """
        try:
            return self.connection.recv()
        except OSError as error:
            raise EOFError from error


def failed_grade(completion: Completion, reason: str) -> Grade:
    """The grade of a completion that could not be judged: unknown, never wrong."""
    return Grade(
        question_id=completion.question_id,
        sample_index=completion.sample_index,
        outcome="grader_error",
        reward=None,
        components=(),
        extracted_answer=None,
        span=None,
        reason=reason,
    )
