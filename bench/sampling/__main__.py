"""How well sampling keeps its servers busy, and what it costs the client.

``python -m bench.sampling [slots|client|memory|engine]``; without an argument the first two. Each
figure stands beside a baseline of the same minutes, on the same machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from bench.sampling.servers import (
    Log,
    QuietLive,
    Settings,
    other_process,
    run_spec,
    write_questions,
)
from difficulty import store
from difficulty.run import stages
from difficulty.sampling import journal, protocol
from difficulty.sampling.protocol import Owed
from difficulty.settings.run import RunSpec

SLOTS = 64
SERVERS = 8
SLOT_QUESTIONS = 6_000
SLOT_MEANS_S = (0.25, 2.0)
"""Short answers ask more than 2,000 requests a second of one client core; 2 s is still brisk."""
CLIENT_QUESTIONS = 6_000
WORDS, WORD = 180, "abcde"
"""180 tokens of six bytes: an answer of 1 kB."""


@contextlib.contextmanager
def prepared(questions: int, urls: list[str], **sampling: int) -> Iterator[tuple[Path, RunSpec]]:
    """A run folder whose questions are read."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "questions.jsonl"
        write_questions(str(dataset), questions)
        spec = run_spec(str(dataset), urls, **sampling)
        run = Path(folder) / "run"
        stages.prepare(store.RunFolder(run), spec, QuietLive())
        yield run, spec


def slots(mean_s: float) -> None:
    """Share of slot time in which a server works on a request, until the queue is empty."""
    log = Log()
    settings = Settings(servers=SERVERS // 2, mean_s=mean_s)
    with (
        other_process(settings, log) as first,
        other_process(settings, log) as second,
        prepared(SLOT_QUESTIONS, first + second, k=5) as (run, spec),
    ):
        stages.sample(store.RunFolder(run), spec, QuietLive())
    begin, end = min(log.starts), max(log.starts)
    busy = sum(
        min(start + delay, end) - start for start, delay in zip(log.starts, log.delays, strict=True)
    )
    share = busy / (SERVERS * SLOTS * (end - begin))
    rate = len(log.starts) / (end - begin)
    print(
        f"slots: {share:.1%} of {SERVERS} x {SLOTS} slots busy until the queue was empty, answers "
        f"of {sum(log.delays) / len(log.delays):.2f} s ({rate:,.0f} requests a second); "
        f"in batches of {SLOTS}: {in_batches(log.delays):.1%}"
    )


def in_batches(delays: list[float]) -> float:
    """The same answer times in synchronous batches, each as long as its longest answer."""
    batches = [delays[i : i + SLOTS] for i in range(0, len(delays) - SLOTS + 1, SLOTS)]
    return sum(map(sum, batches)) / (SLOTS * sum(map(max, batches)))


class Timed:
    """A function with the processor time spent in it."""

    def __init__(self, function: Callable[[Path], None]) -> None:
        self.function = function
        self.seconds = 0.0

    def __call__(self, folder: Path) -> None:
        """Call it."""
        start = time.process_time()
        self.function(folder)
        self.seconds += time.process_time() - start


def client() -> None:
    """Processor time of the client for a request of five answers of 1 kB."""
    seal = Timed(journal.seal)
    with other_process(Settings(words=WORDS, word=WORD)) as urls:
        with (
            prepared(CLIENT_QUESTIONS, urls, k=5) as (run, spec),
            mock.patch("difficulty.sampling.draw.seal", seal),
        ):
            wall, start = time.monotonic(), time.process_time()
            stages.sample(store.RunFolder(run), spec, QuietLive())
            seconds, wall = time.process_time() - start, time.monotonic() - wall
        bare = asyncio.run(bare_requests(urls[0], spec))
    each = 1000 / CLIENT_QUESTIONS
    print(
        f"client: {(seconds - seal.seconds) * each:.2f} ms of processor time a request of 5 x "
        f"{WORDS * (len(WORD) + 1):,} bytes, and {seal.seconds * each:.2f} ms for sealing "
        f"({wall:.1f} s in all); bare aiohttp and json: {bare * each:.2f} ms"
    )


async def bare_requests(url: str, spec: RunSpec) -> float:
    """Processor seconds of the same requests with nothing but aiohttp and json."""
    question = Owed(
        question_id="q",
        messages=[{"role": "user", "content": "Case 1000: what is 1000 + 1000?"}],
        missing=(0, 1, 2, 3, 4),
    )
    body = protocol.request_body(
        "scripted", spec.sampling, question, missing=list(question.missing), attempt=1
    )
    left = iter(range(CLIENT_QUESTIONS))
    async with protocol.open_session() as session:

        async def one_slot() -> None:
            for _ in left:
                async with session.post(f"{url}/chat/completions", json=body) as answer:
                    json.loads(await answer.read())

        start = time.process_time()
        await asyncio.gather(*(one_slot() for _ in range(SLOTS)))
        return time.process_time() - start


def main() -> None:
    """Run one of the benchmarks, or the two quick ones."""
    chosen = sys.argv[1:] or ["slots", "client"]
    for name in chosen:
        if name == "slots":
            for mean_s in SLOT_MEANS_S:
                slots(mean_s)
        elif name == "client":
            client()
        elif name == "memory":
            from bench.sampling.memory import memory

            memory()
        elif name == "engine":
            from bench.sampling.engine import engine

            engine()
        else:
            sys.exit("usage: python -m bench.sampling [slots|client|memory|engine]")


if __name__ == "__main__":
    main()
