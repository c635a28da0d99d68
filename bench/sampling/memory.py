"""Memory of a long run, and how soon it goes on after a kill or a clean stop.

Each start of the client is a process of its own, so that its peak is its own: the first reads the
questions and is killed at 90 % of the samples, the second is interrupted at 95 %, the third ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest import mock

from bench.sampling.servers import Settings, other_process, run_spec, write_questions
from difficulty import store
from difficulty.report.live import Live
from difficulty.run import stages
from difficulty.sampling import protocol, redo

P = ParamSpec("P")
R = TypeVar("R")

COUNTS = (50_000, 1_000_000)
"""The first is what the second's memory is compared with."""
K = 5
SETTINGS = Settings(servers=1, words=33, word="abcde")
"""Answers of 200 bytes."""


def memory() -> None:
    """Run the smaller and the larger set."""
    for count in COUNTS:
        with (
            tempfile.TemporaryDirectory() as folder,
            other_process(SETTINGS) as urls,
        ):
            write_questions(f"{folder}/questions.jsonl", count)
            starts = [
                start_client(folder, urls[0], int(count * K * 0.90), signal.SIGKILL),
                start_client(folder, urls[0], int(count * K * 0.95), signal.SIGINT),
                start_client(folder, urls[0], count * K + 1, signal.SIGINT),
            ]
        show(count, *starts)


def show(count: int, first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]) -> None:
    """A line a figure."""
    print(
        f"memory: {count:,} questions x {K}: peak {first['peak_read']:,.0f} MB reading them "
        f"({first['read']:.0f} s), {first['peak_stop']:,.0f} MB sampling ({first['stop']:.0f} s to "
        f"90 %), {second['peak_request']:,.0f} MB sealing and resuming after a kill, "
        f"{third['peak_end']:,.0f} MB resuming after a stop and finishing"
    )
    print(
        f"resume: {second['request']:.1f} s to the first request after a kill at 90 %, "
        f"{second['sealed']:.1f} s of it for sealing the journal; "
        f"{third['request']:.1f} s after an interrupt at 95 %",
        flush=True,
    )


def start_client(folder: str, url: str, stop_at: int, how: signal.Signals) -> dict[str, Any]:
    """Run the client until that many samples are there; what it measured."""
    command = [sys.executable, "-m", "bench.sampling.memory", folder, url, str(stop_at), how.name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return dict(json.loads(line) for line in done.stdout.splitlines())


class Stopwatch(Live):
    """Notes seconds and peak memory since the last note, and stops the process in time."""

    def __init__(self, stop_at: int, how: signal.Signals, there: int) -> None:
        super().__init__()
        self.begin = time.monotonic()
        self.stop_at = stop_at
        self.how = how
        self.there = there

    def say(self, text: str) -> None:
        """Nothing."""

    @contextlib.contextmanager
    def bar(self, label: str, total: int) -> Iterator[Callable[[int, str], None]]:
        """Stop where it was asked for."""

        def update(done: int, _note: str) -> None:
            if label == "sampling" and self.how and self.there + done >= self.stop_at:
                self.note("stop")
                how, self.stop_at = self.how, sys.maxsize
                os.kill(os.getpid(), how)

        yield update

    def note(self, name: str) -> None:
        """One moment: since the start in seconds, since the last note in megabytes."""
        print(json.dumps([name, time.monotonic() - self.begin]))
        print(json.dumps([f"peak_{name}", peak_mb()]), flush=True)


def peak_mb() -> float:
    """Peak resident memory of this process since the last call, in 10^6 bytes (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return int(line.split()[1]) * 1024 / 1e6


class Once:
    """Notes the first call of a function."""

    def __init__(self, live: Stopwatch, name: str) -> None:
        self.live = live
        self.name = name
        self.noted = False

    def before(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, with the note before its first call."""

        def call(*args: P.args, **more: P.kwargs) -> R:
            if not self.noted:
                self.noted = True
                self.live.note(self.name)
            return function(*args, **more)

        return call


def main() -> None:
    """One start of the client."""
    folder, url, stop_at, how = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    spec = run_spec(f"{folder}/questions.jsonl", [url], k=K)
    run = store.RunFolder(Path(folder) / "run")
    live = Stopwatch(int(stop_at), signal.Signals[how], samples_there(run))
    if not run.questions.exists():
        stages.prepare(run, spec, live)
        live.note("read")
    sealed, first_request = Once(live, "sealed"), Once(live, "request")
    with (
        mock.patch("difficulty.sampling.redo.finish_redo", sealed.before(redo.finish_redo)),
        mock.patch(
            "difficulty.sampling.protocol.request_body", first_request.before(protocol.request_body)
        ),
        contextlib.suppress(KeyboardInterrupt),
    ):
        stages.sample(run, spec, live)
    live.note("end")


def samples_there(run: store.RunFolder) -> int:
    """Samples of earlier starts; what a kill left in a journal counts a line each."""
    parts = sum(map(store.num_rows, run.completion_parts()))
    for segment in run.completions.glob("journal-*.log"):
        with segment.open("rb") as lines:
            parts += sum(1 for _ in lines) - 1
    return parts


if __name__ == "__main__":
    main()
