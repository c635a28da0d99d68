"""Scripted servers in a process of their own, so that they do not take the client's core.

``python -m bench.sampling.servers SETTINGS`` prints the addresses, serves until its input closes,
then prints when each request began to be worked on and how long that took.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from difficulty.grading import GRADER_VERSION
from difficulty.report.live import Live
from difficulty.sampling.scripted import Script, scripted_server
from difficulty.settings.run import GradingSpec, RunSpec, SamplingSpec, ServerSpec, SourceSpec
from difficulty.sources import find_dataset


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the servers of one process do."""

    servers: int = 1
    words: int = 1
    """Length of an answer; a word is a token."""
    word: str = "1"
    mean_s: float = 0.0
    """Mean time of a request; 0 answers at once."""
    sigma: float = 1.0
    """Of the lognormal times: 1 makes one request in a hundred take six times the mean."""


class QuietLive(Live):
    """Says nothing."""

    def say(self, text: str) -> None:
        """Nothing."""


class CountedOnly(list[dict[str, Any]]):
    """Stands for the bodies seen; a million of them would fill the memory."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def append(self, _body: dict[str, Any]) -> None:
        """Count it."""
        self.seen += 1

    def __len__(self) -> int:
        return self.seen


@dataclass
class Log:
    """When requests were worked on (CLOCK_MONOTONIC is the same in all processes)."""

    starts: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def draw_delay(settings: Settings, chooser: random.Random) -> float:
    """A lognormal time of the wanted mean."""
    if settings.mean_s == 0:
        return 0.0
    location = math.log(settings.mean_s) - settings.sigma**2 / 2
    return chooser.lognormvariate(location, settings.sigma)


@contextlib.contextmanager
def other_process(settings: Settings, log: Log | None = None) -> Iterator[list[str]]:
    """Serve from another process; hands out the addresses, fills in ``log`` at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.sampling.servers", json.dumps(asdict(settings))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        text = process.stdout.read()
        process.wait()
    if log is not None:
        seen = json.loads(text)
        log.starts += seen["starts"]
        log.delays += seen["delays"]


def write_questions(path: str, count: int) -> None:
    """A dataset of sums."""
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        for n in range(count):
            row = {"question": f"Case {n}: what is {n} + {n}?", "answer": str(2 * n)}
            file.write(json.dumps(row) + "\n")


def run_spec(dataset: str, urls: list[str], *, concurrency: int = 64, **sampling: Any) -> RunSpec:
    """A run of that dataset against those servers."""
    return RunSpec(
        source=SourceSpec(dataset=dataset, sha256=find_dataset(dataset).sha256),
        sampling=SamplingSpec(**{"model": "scripted", "template": "bare-v1", **sampling}),
        grading=GradingSpec(grader=GRADER_VERSION),
        server=ServerSpec(endpoints=tuple(urls), concurrency=concurrency),
    )


def main() -> None:
    """Serve until the input closes."""
    settings = Settings(**json.loads(sys.argv[1]))
    text = " ".join([settings.word] * settings.words)
    log = Log()

    def delay(number: int) -> Any:
        own = random.Random(f"server {number} {time.time_ns()}")

        def draw(_chance: random.Random) -> float:
            log.starts.append(time.monotonic())
            log.delays.append(draw_delay(settings, own))
            return log.delays[-1]

        return draw if settings.mean_s else None

    with contextlib.ExitStack() as stack:
        urls = [
            stack.enter_context(
                scripted_server(
                    Script(
                        answer=lambda _messages, _chooser: text,
                        delays=delay(number),
                        requests=CountedOnly(),
                    )
                )
            )
            for number in range(settings.servers)
        ]
        print(json.dumps(urls), flush=True)
        sys.stdin.read()
        print(json.dumps(asdict(log)), flush=True)


if __name__ == "__main__":
    main()
