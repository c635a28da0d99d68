"""A process that grades or compares for its parent: requests and replies are pickled."""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from typing import Any

from difficulty.schema import Completion, Grade, Question
from difficulty.workers.process import WorkerProcess
from difficulty.workers.progress import Progress, shared_memory

Pair = tuple[Question, Completion]

READY = "ready"
LOAD = "load"
"""A request to load Math-Verify, answered by READY."""


class GradingProcess(WorkerProcess):
    """The parent's side.

    Args:
        deadline_s: seconds that one reply or comparison may take.
    """

    def __init__(self, deadline_s: float) -> None:
        memory = shared_memory()
        self.progress = Progress(memory)
        numbers = (memory, deadline_s)
        super().__init__("difficulty.grading.serve:serve", numbers, descriptors=[memory])
        os.close(memory)

    def send(self, message: object) -> bool:
        """Send a request; false if the process is gone."""
        return self.send_bytes(ForkingPickler.dumps(message))

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
