"""vLLM servers on a Ray cluster: one actor a server, each in a placement group of its own.

Ray places the actors and restarts one whose node is lost on another node; we start the server in
it, wait for its first token, and withdraw its address when it dies.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty.errors import ServerError
from difficulty.sampling.servers import ray_cluster
from difficulty.sampling.servers.allowance import (
    Allowance,
    step_back,
    step_back_words,
    too_long_words,
)
from difficulty.sampling.servers.local_servers import MAX_RESTARTS, START_TIMEOUT_S
from difficulty.sampling.servers.ray_cluster import Placed
from difficulty.sampling.servers.ray_node import Report, Started, one_line, ray_module
from difficulty.sampling.servers.server_command import first_token
from difficulty.sampling.servers.server_log import context_too_long, last_words, out_of_memory
from difficulty.sampling.servers.server_set import Address, Bar, Update, no_bar
from difficulty.settings.run import RunSpec, SamplingSpec

PLACE_TIMEOUT_S = 600.0
"""Without a place for so long, a server is no longer waited for (autoscalers take minutes)."""
CALL_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 30.0
POLL_S = 1.0
DEAD_AFTER = 3
"""Calls in a row that find an actor dead; one alone may come before Ray's restart."""


@dataclass(kw_only=True)
class RayServer:
    """One server as the driver sees it: without a place, starting, loading, up, or given up."""

    number: int
    placed: Placed
    log: Path
    since: float
    """When it began to wait for a place or for its first token; monotonic seconds."""
    starting: Any = None
    """The call to ``start`` that is under way."""
    started: Started | None = None
    answers: bool = False
    starts: int = 0
    offset: int = 0
    """Bytes of its log that are here."""
    deaths: int = 0
    given_up: bool = False
    allowance: Allowance | None = None
    """Less memory for its next start on this node; None: what the node has."""
    steps_back: int = 0
    """Starts that only were told less memory."""

    @property
    def loading(self) -> bool:
        """Is it on its way to a first token?"""
        return self.starting is not None or (self.started is not None and not self.answers)

    @property
    def coming(self) -> bool:
        """Is it worth waiting for? Not for ever: the cluster may have no room."""
        waits = not self.given_up and time.monotonic() - self.since < PLACE_TIMEOUT_S
        return self.started is not None or waits

    def took_off(self, started: Started) -> None:
        """Note a new engine, with a log of its own."""
        again = f"-restart-{self.starts}" if self.starts else ""
        self.log = self.log.with_name(f"server-{self.number}{again}.log")
        self.log.write_bytes(b"")
        self.started, self.offset, self.deaths = started, 0, 0
        self.starts += 1
        self.since = time.monotonic()

    def withdraw(self) -> None:
        """Note that it is gone: it waits for a place and a new start."""
        self.started, self.answers, self.starting = None, False, None
        self.since = time.monotonic()

    def keep_log(self, part: bytes) -> None:
        """Append a part of the log that came from the node."""
        with self.log.open("ab") as file:
            file.write(part)
        self.offset += len(part)


class RayServers:
    """The servers of a run on Ray. One ``mend`` takes seconds: it never waits for a start."""

    def __init__(self, *, sampling: SamplingSpec, say: Callable[[str], None]) -> None:
        self.sampling = sampling
        self.say = say
        self.servers: list[RayServer] = []
        self.num_gpus = 0
        self.begun = False
        """Has a server ever answered? Before that, one that dies ends the run."""
        self._up: list[Address] = []

    def addresses(self) -> list[Address]:
        """The servers that are up now. A replaced server shows up under a new address."""
        return self._up

    def mend(self) -> bool:
        """Withdraw what died, start what Ray has placed anew, list what gives a first token.

        Raises:
            ServerError: a server died or was refused before any had ever answered.
        """
        nodes = {n["NodeID"]: n["NodeManagerAddress"] for n in ray_cluster.living_nodes()}
        self._look(nodes)
        self._start_placed(nodes)
        for server in self.servers:
            if server.starting is not None:
                self._collect(server)
            elif server.loading:
                self._try_first_token(server)
        self._up = [s.started.address for s in self.servers if s.started and s.answers]
        return any(server.coming and not server.answers for server in self.servers)

    def settled(self) -> bool:
        """Is one up, and none on its way? Those without a place may come later."""
        return bool(self._up) and not any(s.loading and s.coming for s in self.servers)

    def close(self) -> None:
        """End every server, actor and placement group."""
        ray = ray_module()
        busy = [s for s in self.servers if s.starting is not None or s.started is not None]
        calls = [server.placed.actor.stop.remote() for server in busy]
        if calls:
            ray.wait(calls, num_returns=len(calls), timeout=CLOSE_TIMEOUT_S)
        for server in self.servers:
            server.placed.remove()

    def _look(self, nodes: dict[str, str]) -> None:
        """Ask every started server how it is; one on a dead node is lost, whatever it says."""
        ray = ray_module()
        asked = {s.placed.actor.report.remote(s.offset): s for s in self.servers if s.started}
        if not asked:
            return
        heard, _ = ray.wait(list(asked), num_returns=len(asked), timeout=CALL_TIMEOUT_S)
        for call in heard:
            self._hear(asked[call], call)
        for server in asked.values():
            if server.started and server.started.node not in nodes:
                server.allowance = None  # another node has other memory
                self._lose(server, "its node left the cluster")

    def _hear(self, server: RayServer, call: Any) -> None:
        ray = ray_module()
        try:
            report: Report = ray.get(call)
            server.keep_log(report.log)
            while report.code is not None and report.log:  # it ended: all of its last words
                call = server.placed.actor.report.remote(server.offset)
                report = ray.get(call, timeout=CALL_TIMEOUT_S)
                server.keep_log(report.log)
        except ray.exceptions.ActorUnavailableError:
            # Restarting, or the network hiccups: withdrawn until Ray knows or it gives a token.
            server.answers, server.since = False, time.monotonic()
            return
        except ray.exceptions.RayError as error:
            self._lose(server, f"its actor does not answer ({type(error).__name__})")
            return
        if not report.started:
            server.allowance = None
            self._lose(server, "Ray restarted its actor")
        elif report.code is not None:
            self._fail(server, last_words(server.log))

    def _start_placed(self, nodes: dict[str, str]) -> None:
        """Start the engine where Ray has put an actor; machines shared by servers are divided."""
        if not any(_idle(server) for server in self.servers):
            return
        hosts = {s.number: s.placed.host(nodes) for s in self.servers if not s.given_up}
        for server in filter(_idle, self.servers):
            host = hosts[server.number]
            if host is not None:
                beside = [number for number, other in hosts.items() if other == host]
                start = server.placed.actor.start
                server.starting = start.remote(
                    beside.index(server.number), len(beside), server.allowance
                )

    def _collect(self, server: RayServer) -> None:
        ray = ray_module()
        if not ray.wait([server.starting], timeout=0)[0]:
            return
        call, server.starting = server.starting, None
        try:
            server.took_off(ray.get(call))
        except ray.exceptions.RayTaskError as error:
            server.starts += 1
            self._fail(server, one_line(error.cause or error))
        except ray.exceptions.RayActorError as error:
            server.deaths += isinstance(error, ray.exceptions.ActorDiedError)
            if error.actor_init_failed or server.deaths >= DEAD_AFTER:
                server.starts = server.steps_back + MAX_RESTARTS + 1
                cause = str(error).strip().splitlines()[-1]
                self._fail(server, f"Ray has no actor for it: {one_line(cause)}")

    def _try_first_token(self, server: RayServer) -> None:
        assert server.started is not None
        try:
            server.answers = first_token(server.started.address, self.sampling)
        except ServerError as error:
            self._fail(server, str(error))
            return
        if not server.answers:
            if time.monotonic() - server.since > START_TIMEOUT_S:
                self._fail(server, f"no token within {START_TIMEOUT_S:.0f} s")
            return
        self.begun = True
        if server.starts > 1:
            self.say(f"server {server.number} answers again at {server.started.address.url}")

    def _fail(self, server: RayServer, why: str) -> None:
        """Its engine ended: start it again with less memory if that was it, else as it was.

        Raises:
            ServerError: none has answered yet, and it is no want of memory that less would mend.
        """
        try:
            if self._step_back(server):
                return
        except ServerError as error:
            server.starts = server.steps_back + MAX_RESTARTS + 1
            why = str(error)
        if not self.begun:
            raise ServerError(
                f"vLLM server {server.number} on Ray stopped while starting: {why}. "
                f"Its whole log: {server.log}"
            )
        self._lose(server, why)

    def _step_back(self, server: RayServer) -> bool:
        """Let a server that ran out of memory start again with less; false if it ended otherwise.

        Raises:
            ServerError: with less it could not hold one sequence of the model's context.
        """
        if server.started is None:
            return False
        too_long = context_too_long(server.log)
        if too_long is not None:
            raise ServerError(too_long_words(too_long))
        end = out_of_memory(server.log, starting=not server.answers)
        if end is None:
            return False
        before = server.started.allowance
        waiting = [
            node
            for each in self.servers
            if each.started and not each.answers and each.started.node == server.started.node
            for node in each.started.allowance.nodes
        ]
        server.allowance = step_back(before, end, waiting)
        self.say(f"vLLM server {server.number} {step_back_words(before, server.allowance, end)}")
        server.withdraw()
        server.steps_back += 1
        return True

    def _lose(self, server: RayServer, why: str) -> None:
        """Withdraw its address; it waits for a place and a new start, if any are left."""
        server.withdraw()
        restarts = server.starts - server.steps_back
        server.given_up = restarts > MAX_RESTARTS
        then = "given up" if server.given_up else f"restart {restarts} of {MAX_RESTARTS}"
        self.say(f"server {server.number} is lost ({why}); {then}. Log: {server.log}")


def _idle(server: RayServer) -> bool:
    """Does it wait to be started?"""
    return not server.given_up and server.starting is None and server.started is None


@contextlib.contextmanager
def running_ray_servers(
    spec: RunSpec,
    logs: Path,
    *,
    address: str,
    tokens: int | None = None,
    say: Callable[[str], None],
    bar: Bar = no_bar,
) -> Iterator[RayServers]:
    """Start the servers on a Ray cluster; hand them out when they answer; end them afterwards.

    ``tokens``: tokens in flight to a server at the most, if known; its cache need hold no more.

    Raises:
        ServerError: Ray or its cluster is missing, no node is large enough, or a server did not
            come up; carries the server's own last words.
    """
    with ray_cluster.connected(address):
        logs.mkdir(parents=True, exist_ok=True)
        running = RayServers(sampling=spec.sampling, say=say)
        try:
            _place_all(running, spec, logs, tokens)
            with bar("starting servers", len(running.servers)) as update:
                _wait_for_start(running, update)
            yield running
        finally:
            running.close()


def _place_all(running: RayServers, spec: RunSpec, logs: Path, tokens: int | None) -> None:
    nodes = [node["Resources"] for node in ray_cluster.living_nodes()]
    one = ray_cluster.bundle(spec, has_gpus=any(node.get("GPU", 0) >= 1 for node in nodes))
    places, count = ray_cluster.num_places(nodes, one), spec.server.servers
    size = spec.server.tensor_parallel_size
    running.num_gpus = count * int(one.get("GPU", 0))
    running.say(f"starting {count} vLLM server(s), tensor-parallel size {size}, on Ray: {logs}")
    if places < count:
        running.say(f"the Ray cluster holds {places} of {count} servers; others wait for nodes")
    for number in range(count):
        placed = ray_cluster.place(spec, one, tokens=tokens)
        log = logs / f"server-{number}.log"
        running.servers.append(
            RayServer(number=number, placed=placed, log=log, since=time.monotonic())
        )


def _wait_for_start(running: RayServers, update: Update) -> None:
    begin = time.monotonic()
    while not running.settled():
        if not running.mend() and not running.settled():
            raise ServerError(
                f"Ray found room for no server within {PLACE_TIMEOUT_S:.0f} s: others hold the "
                "cluster. See ray status, and try again later"
            )
        seconds = time.monotonic() - begin
        update(len(running.addresses()), f"loading the model, {seconds:.0f} s")
        time.sleep(POLL_S)
    running.say(
        f"{len(running.addresses())} of {len(running.servers)} servers answer after "
        f"{time.monotonic() - begin:.0f} s"
    )
