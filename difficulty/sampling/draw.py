"""The sampling of a run: what is owed, from which servers, into the journal."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from difficulty import prompts, store
from difficulty.errors import DifficultyError, ServerError, SettingsError
from difficulty.run_spec import FewShotTurn, RunSpec, settings_through
from difficulty.sampling import protocol
from difficulty.sampling.client import Client, Progress
from difficulty.sampling.journal import Journal, seal
from difficulty.sampling.servers import running_servers, visible_gpus
from difficulty.schema import Question

OWED = """
    SELECT q.*, coalesce(got, []) AS got
    FROM read_parquet($questions) AS q
    LEFT JOIN (SELECT question_id, list(sample_index) AS got FROM {done}
               WHERE sample_index < $k GROUP BY question_id) USING (question_id)
    WHERE len(coalesce(got, [])) < $k
"""
NONE_DONE = "(SELECT NULL::VARCHAR AS question_id, NULL::BIGINT AS sample_index WHERE false)"
REFRESH_S = 0.5
FINGERPRINT_EDGE = 2**20
"""Bytes hashed at each end of a weights file: enough to tell checkpoints apart, quick at 400 GB."""

Update = Callable[[int, str], None]


def owed_questions(run: store.RunFolder, spec: RunSpec) -> Iterator[protocol.Owed]:
    """Questions with the samples they still lack, streamed from the tables."""
    few_shot = tuple(_message(turn) for turn in spec.sampling.few_shot)
    for batch in _owed_batches(run, spec):
        for values in batch.to_pylist():
            got = set(values["got"])
            question: Question = store.row_from_dict(Question, values)
            yield protocol.Owed(
                question_id=question.question_id,
                messages=prompts.messages(
                    question, template=spec.sampling.template, few_shot=few_shot
                ),
                missing=tuple(i for i in range(spec.sampling.k) if i not in got),
            )


def num_owed(run: store.RunFolder, spec: RunSpec) -> int:
    """How many samples are still to be drawn."""
    sql, parameters = _owed_query(run, spec)
    count = f"SELECT coalesce(sum($k - len(got)), 0)::BIGINT FROM ({sql})"
    found = store.connect(run).execute(count, parameters).fetchone()
    return int(found[0]) if found else 0


def _owed_batches(run: store.RunFolder, spec: RunSpec) -> Iterator[Any]:
    sql, parameters = _owed_query(run, spec)
    return store.stream(store.connect(run), sql, parameters)


def _owed_query(run: store.RunFolder, spec: RunSpec) -> tuple[str, dict[str, Any]]:
    parts = [str(part) for part in run.completion_parts()]
    parameters: dict[str, Any] = {"questions": str(run.questions), "k": spec.sampling.k}
    if not parts:
        return OWED.format(done=NONE_DONE), parameters
    return OWED.format(done="read_parquet($parts)"), {**parameters, "parts": parts}


def _message(turn: FewShotTurn) -> prompts.Message:
    return {"role": turn.role, "content": turn.content}


def draw(
    run: store.RunFolder,
    spec: RunSpec,
    *,
    say: Callable[[str], None],
    bar: Callable[[str, int], contextlib.AbstractContextManager[Update]],
) -> None:
    """Draw every sample that is owed and seal the journal into completions/.

    Raises:
        ServerError: no usable server; what was finished before is kept.
        SettingsError: another model answers than the one that drew the samples already there.
    """
    seal(run.completions)
    total = num_owed(run, spec)
    if total == 0:
        return
    with contextlib.ExitStack() as stack:
        endpoints = list(spec.server.endpoints) or stack.enter_context(
            running_servers(spec, run.logs, say=say)
        )
        update = stack.enter_context(bar("sampling", total))
        stack.callback(seal, run.completions)
        with _first_of_group():
            asyncio.run(_draw(run, spec, endpoints, update))


@contextlib.contextmanager
def _first_of_group() -> Iterator[None]:
    """Tasks fail together; the first of our errors is the one to tell."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours, _ = group.split(DifficultyError)
        if ours is None:
            raise
        raise _leaf(ours) from group


def _leaf(group: BaseException) -> BaseException:
    return _leaf(group.exceptions[0]) if isinstance(group, BaseExceptionGroup) else group


async def _draw(run: store.RunFolder, spec: RunSpec, urls: list[str], update: Update) -> None:
    concurrency = spec.server.concurrency or (64 if spec.server.endpoints or visible_gpus() else 16)
    async with protocol.open_session(concurrency * len(urls) + 2) as session:
        endpoints = [await protocol.connect(session, url, spec.sampling.model) for url in urls]
        _require_room(endpoints, spec)
        identity = model_identity(endpoints, spec.sampling.model)
        require_same_model(run, identity)
        header = {"settings": settings_through(spec, "sampling"), "extra": {"model": identity}}
        progress = Progress()
        with Journal(run.completions, header=header) as journal:
            drawing = Client(
                session=session,
                endpoints=endpoints,
                sampling=spec.sampling,
                keep=journal.append,
                progress=progress,
            )
            show = asyncio.create_task(_show(progress, update))
            try:
                await drawing.draw_all(owed_questions(run, spec), concurrency=concurrency)
            finally:
                show.cancel()


async def _show(progress: Progress, update: Update) -> None:
    start = time.monotonic()
    while True:
        await asyncio.sleep(REFRESH_S)
        samples = max(progress.samples, 1)
        alive = sum(endpoint.failures_in_a_row == 0 for endpoint in progress.endpoints)
        update(
            progress.samples,
            f"{progress.questions:,} questions, "
            f"{progress.tokens / (time.monotonic() - start):.0f} tokens/s, "
            f"truncated {progress.truncated / samples:.0%}, "
            f"failed {progress.failed / samples:.0%}, "
            f"servers {alive}/{len(progress.endpoints)}",
        )


def _require_room(endpoints: list[protocol.Endpoint], spec: RunSpec) -> None:
    for endpoint in endpoints:
        length = endpoint.max_model_len
        if length is not None and length <= spec.sampling.max_tokens:
            raise ServerError(
                f"max_tokens {spec.sampling.max_tokens} leaves no room for a prompt: the server's "
                f"context is {length} tokens. Lower --max-tokens"
            )


def model_identity(endpoints: list[protocol.Endpoint], model: str) -> dict[str, Any]:
    """Which model answers: served name, context length, vLLM version, and a local folder's hash."""
    first = endpoints[0]
    return {
        "name": first.model,
        "max_model_len": first.max_model_len,
        "vllm_version": first.version,
        "fingerprint": model_fingerprint(Path(model)),
    }


def model_fingerprint(folder: Path) -> str | None:
    """SHA-256 over a local model's small files and both ends of its weights; None if not local."""
    if not folder.is_dir():
        return None
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(FINGERPRINT_EDGE))
            file.seek(max(0, size - FINGERPRINT_EDGE))
            digest.update(file.read(FINGERPRINT_EDGE))
    return digest.hexdigest()


def require_same_model(run: store.RunFolder, identity: dict[str, Any]) -> None:
    """Refuse to mix answers of two models in one run.

    Raises:
        SettingsError: the samples already there came from another model.
    """
    for part in run.completion_parts():
        stamp = store.read_stamp(part)
        before = (stamp.extra if stamp else {}).get("model") or {}
        for key in ("name", "fingerprint"):
            if before.get(key) and identity.get(key) and before[key] != identity[key]:
                raise SettingsError(
                    f"another model answers now: {key} {before[key]} -> {identity[key]}. "
                    "Bring the first one back, or start a new run with another --run"
                )
