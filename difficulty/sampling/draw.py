"""The sampling of a run: what is owed, from which servers, into the journal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from difficulty import store
from difficulty.errors import DifficultyError, RunError, ServerError
from difficulty.sampling import protocol
from difficulty.sampling.client import Client, Progress
from difficulty.sampling.cost import CostTeller, estimate, save_speed, speed_of, tokens_in_flight
from difficulty.sampling.dispatch import Dispatcher
from difficulty.sampling.identity import model_identity, require_same_model
from difficulty.sampling.journal import Journal, seal
from difficulty.sampling.owed import owed_questions
from difficulty.sampling.protocol import UnreachableError
from difficulty.sampling.servers.local_servers import running_local_servers
from difficulty.sampling.servers.ray_servers import running_ray_servers
from difficulty.sampling.servers.server_command import visible_gpus
from difficulty.sampling.servers.server_set import Address, Bar, GivenServers, ServerSet, Update
from difficulty.settings.run import RunSpec, settings_through

if TYPE_CHECKING:
    import aiohttp
REFRESH_S = 0.5
GPU_CONCURRENCY = 64
CPU_CONCURRENCY = 16
USUAL_K = 5
"""Requests in flight a server at that k: 64 fill vLLM's own batch of 256 answers on a GPU."""


def draw(
    run: store.RunFolder,
    spec: RunSpec,
    *,
    owed: int,
    say: Callable[[str], None],
    bar: Bar,
) -> None:
    """Draw the ``owed`` samples and seal the journal into completions/.

    Raises:
        ServerError: no usable server; what was finished before is kept.
        SettingsError: another model answers than the one that drew the samples already there.
    """
    say(estimate(run, spec, owed))
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(open_servers(run, spec, say=say, bar=bar))
        update = stack.enter_context(bar("sampling", owed))
        stack.callback(seal, run.completions)
        with _first_of_group(), _interrupts_for_asyncio():
            asyncio.run(_draw(run, spec, servers, owed, say=say, update=update))


@contextlib.contextmanager
def open_servers(
    run: store.RunFolder, spec: RunSpec, *, say: Callable[[str], None], bar: Bar
) -> Iterator[ServerSet]:
    """The servers that the settings name: given ones, or ones started here or on Ray."""
    if spec.server.endpoints:
        urls = dict.fromkeys(map(protocol.normal_url, spec.server.endpoints))
        yield GivenServers(given=tuple(Address(url=url) for url in urls))
        return
    tokens = tokens_in_flight(run, spec, requests=requests_in_flight(spec))
    if spec.server.ray is not None:
        address = spec.server.ray
        with running_ray_servers(
            spec, run.logs, address=address, tokens=tokens, say=say, bar=bar
        ) as on_ray:
            yield on_ray
        return
    with running_local_servers(spec, run.logs, tokens=tokens, say=say, bar=bar) as servers:
        yield servers


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


@contextlib.contextmanager
def _interrupts_for_asyncio() -> Iterator[None]:
    """Leave Ctrl-C to asyncio, which ends the tasks in order and does not break into a callback.

    It takes the signal only from Python's own handler, and in the main thread alone.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leaf(group: BaseException) -> BaseException:
    return _leaf(group.exceptions[0]) if isinstance(group, BaseExceptionGroup) else group


async def _draw(
    run: store.RunFolder,
    spec: RunSpec,
    servers: ServerSet,
    total: int,
    *,
    say: Callable[[str], None],
    update: Update,
) -> None:
    dispatcher = Dispatcher(concurrency=requests_in_flight(spec))
    async with protocol.open_session() as session:
        served = await _connect_all(session, servers, spec, say=say)
        for each in served:
            dispatcher.add(each)
        _require_room(served, spec)
        identity = model_identity(served, spec.sampling.model)
        require_same_model(run, identity)
        header = {
            "settings": settings_through(spec, "sampling"),
            "extra": {"model": asdict(identity)},
        }
        with Journal(run.completions, header=header) as journal:
            client = Client(
                session=session,
                servers=servers,
                sampling=spec.sampling,
                dispatcher=dispatcher,
                keep=journal.append,
            )
            begin = time.monotonic()
            teller = CostTeller(total, servers.num_gpus, say)
            show = asyncio.create_task(_show(client, update, teller))
            try:
                await client.draw_all(owed_questions(run, spec))
            finally:
                show.cancel()
                speed = speed_of(
                    spec,
                    num_gpus=servers.num_gpus,
                    samples=client.progress.samples,
                    tokens=client.progress.tokens,
                    seconds=time.monotonic() - begin,
                )
                with contextlib.suppress(RunError):  # a full disk has been told already
                    save_speed(run, speed)


def requests_in_flight(spec: RunSpec) -> int:
    """Requests in flight to a server: fewer where each asks for more answers than usual.

    An engine works on so many answers at a time; more would only wait in it, past their deadline.
    """
    elsewhere = spec.server.endpoints or spec.server.ray
    on_cpu_here = not elsewhere and not visible_gpus()
    usual = CPU_CONCURRENCY if on_cpu_here else GPU_CONCURRENCY
    return spec.server.concurrency or max(2, usual * USUAL_K // max(USUAL_K, spec.sampling.k))


async def _connect_all(
    session: aiohttp.ClientSession,
    servers: ServerSet,
    spec: RunSpec,
    *,
    say: Callable[[str], None],
) -> list[protocol.Served]:
    """Every server that answers now; those that do not are looked for again while sampling.

    Raises:
        ServerError: none answers, or one refuses the key or serves another model.
    """
    served: list[protocol.Served] = []
    absent: list[UnreachableError] = []
    for address in servers.addresses():
        try:
            served.append(await protocol.connect(session, address, spec.sampling.model))
        except UnreachableError as error:
            absent.append(error)
    if not served:
        raise absent[0] if absent else ServerError("no server is up. Run the same command again")
    for missing in absent:
        say(f"going on without it for now: {missing}")
    return served


async def _show(client: Client, update: Update, teller: CostTeller) -> None:
    start = time.monotonic()
    while True:
        await asyncio.sleep(REFRESH_S)
        progress, endpoints = client.progress, client.dispatcher.endpoints.values()
        alive = sum(not endpoint.broken for endpoint in endpoints)
        teller.look(progress.samples, time.monotonic() - start)
        update(
            progress.samples,
            _note(progress, time.monotonic() - start) + f"servers {alive}/{len(endpoints)}",
        )


def _note(progress: Progress, seconds: float) -> str:
    """What is known so far; before the first answer there is no speed and no share."""
    if not progress.samples:
        return "no answer yet, "
    speed = f"{progress.tokens / seconds:.0f} tokens/s, " if progress.tokens else ""
    return (
        f"{progress.questions:,} questions, {speed}"
        f"truncated {progress.truncated / progress.samples:.0%}, "
        f"failed {progress.failed / progress.samples:.0%}, "
    )


def _require_room(served: list[protocol.Served], spec: RunSpec) -> None:
    for each in served:
        length = each.max_model_len
        if length is not None and length <= spec.sampling.max_tokens:
            raise ServerError(
                f"max_tokens {spec.sampling.max_tokens} leaves no room for a prompt: the server's "
                f"context is {length} tokens. Lower --max-tokens"
            )
