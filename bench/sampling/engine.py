"""Tokens a second through our server path against bare ``vllm.LLM.chat``, on this machine's CPU.

Same model, questions, engine settings and pinned cores; each engine is started anew, so that
neither finds the other's prompts in its cache. What is counted is tokens made, not asked for.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.sampling.servers import QuietLive, run_spec
from difficulty import prompts, store
from difficulty.run import stages
from difficulty.sampling.servers.local_servers import running_local_servers
from difficulty.sampling.servers.server_command import (
    server_environment,
    this_machine,
    usable_cores,
)
from difficulty.schema import Completion, Question
from difficulty.settings.run import RunSpec, ServerSpec
from difficulty.sources.few_shot import read_few_shot

MODEL = "data/models/smollm2-135m"
DATASET = "data/samples/demo.jsonl"
FEW_SHOT = Path("data/samples/demo-few-shot.jsonl")
K, MAX_TOKENS, TEMPERATURE = 5, 64, 0.5
MAX_MODEL_LEN = 1024
CONCURRENCIES = (16, 64)
"""Our own on a CPU, and enough to fill the engine's 128 sequences at all times."""
ENGINE: dict[str, Any] = {"max_num_seqs": 128, "max_num_batched_tokens": 2048}
"""What vLLM's server takes on a CPU; stated, for ``LLM`` takes twice as much by itself."""

FOUND = '{"tokens"'


def spec_for(urls: list[str], concurrency: int, limit: int | None = None) -> RunSpec:
    """The demo's questions and model; no stop strings."""
    spec = run_spec(
        DATASET,
        urls,
        concurrency=concurrency,
        model=MODEL,
        k=K,
        max_tokens=MAX_TOKENS,
        temperature=TEMPERATURE,
        few_shot=read_few_shot(FEW_SHOT),
    )
    server = ServerSpec(
        endpoints=tuple(urls), concurrency=concurrency, max_model_len=MAX_MODEL_LEN,
        vllm_args=tuple(f"--{k.replace('_', '-')}={v}" for k, v in ENGINE.items()),
    )  # fmt: skip
    source = dataclasses.replace(spec.source, limit=limit)
    return dataclasses.replace(spec, server=server, source=source)


def engine() -> None:
    """Bare first, then ours with each concurrency."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    bare = in_process(["bare"])
    for concurrency in CONCURRENCIES:
        ours = in_process(["ours", str(concurrency)])
        print(
            f"engine (CPU, {len(usable_cores())} cores): {ours['rate']:.0f} tokens a second "
            f"through the server with {concurrency} requests in flight "
            f"({ours['tokens']:,} tokens in {ours['seconds']:.1f} s), LLM.chat {bare['rate']:.0f} "
            f"({bare['tokens']:,} in {bare['seconds']:.1f} s): {ours['rate'] / bare['rate']:.2f}",
            flush=True,
        )


def in_process(arguments: list[str]) -> dict[str, Any]:
    """One engine in a process of its own, with the environment that our servers get."""
    environment = server_environment(
        spec_for([], 1), number=0, machine=this_machine(), gpus=[], cores=usable_cores()
    )
    done = subprocess.run(
        [sys.executable, "-m", "bench.sampling.engine", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    lines = done.stdout.splitlines()  # the engine writes its log between ours
    found: dict[str, Any] = json.loads(next(text for text in lines if text.startswith(FOUND)))
    return {**found, "rate": found["tokens"] / found["seconds"]}


def bare() -> tuple[int, float]:
    """(tokens, seconds) of one ``LLM.chat`` call over all questions."""
    from vllm import LLM, SamplingParams

    with tempfile.TemporaryDirectory() as folder:
        run, spec = store.RunFolder(Path(folder)), spec_for(["http://127.0.0.1:9"], 1)
        stages.prepare(run, spec, QuietLive())
        questions: list[Question] = list(store.read_rows(run.questions, Question))
    few_shot = tuple(dataclasses.asdict(turn) for turn in spec.sampling.few_shot)
    chats: Any = [
        prompts.messages(question, template=spec.sampling.template, few_shot=few_shot)
        for question in questions
    ]
    llm = LLM(
        model=MODEL, dtype="float32", enforce_eager=True, enable_prefix_caching=True,
        generation_config="vllm", max_model_len=MAX_MODEL_LEN, **ENGINE,
    )  # fmt: skip
    wanted = SamplingParams(n=K, temperature=TEMPERATURE, max_tokens=MAX_TOKENS)
    llm.chat(chats[:2], wanted, use_tqdm=False)
    start = time.monotonic()
    results = llm.chat(chats, wanted, use_tqdm=False)
    seconds = time.monotonic() - start
    return sum(len(out.token_ids) for each in results for out in each.outputs), seconds


def ours(concurrency: int) -> tuple[int, float]:
    """(tokens, seconds) of the sample stage, journal and sealing included, on a started server."""
    with tempfile.TemporaryDirectory() as folder:
        started = running_local_servers(spec_for([], concurrency), Path(folder), say=lambda _: None)
        with started as servers:
            urls = [address.url for address in servers.addresses()]
            warm = store.RunFolder(Path(folder) / "warm")
            stages.sample(warm, spec_for(urls, concurrency, limit=2), QuietLive())
            run, spec = store.RunFolder(Path(folder) / "run"), spec_for(urls, concurrency)
            stages.prepare(run, spec, QuietLive())
            start = time.monotonic()
            stages.sample(run, spec, QuietLive())
            seconds = time.monotonic() - start
        rows = [row for part in run.completion_parts() for row in store.read_rows(part, Completion)]
    return sum(row.num_tokens or 0 for row in rows), seconds


def main() -> None:
    """One engine: ``bare``, or ``ours CONCURRENCY``."""
    tokens, seconds = bare() if sys.argv[1] == "bare" else ours(int(sys.argv[2]))
    print()
    print(json.dumps({"tokens": tokens, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
