"""vLLM servers on this machine: started together, waited for, restarted, and never left behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from difficulty.errors import ServerError
from difficulty.sampling.servers.allowance import (
    Allowance,
    step_back,
    step_back_words,
    too_long_words,
)
from difficulty.sampling.servers.server_command import (
    Machine,
    check_before_start,
    first_token,
    idle_gpus_hint,
    inherited_environment,
    server_allowance,
    server_command,
    server_environment,
    this_machine,
    usable_cores,
    visible_gpus,
)
from difficulty.sampling.servers.server_log import (
    context_too_long,
    last_words,
    log_size,
    out_of_memory,
)
from difficulty.sampling.servers.server_set import Address, Bar, Update, no_bar
from difficulty.settings.run import RunSpec

START_TIMEOUT_S = 1800.0
"""Large models take many minutes to load; a server that dies is noticed at once."""
POLL_S = 0.5
STOP_TIMEOUT_S = 15.0
MAX_RESTARTS = 3
"""Of one server in a run: an engine that dies again and again will not get better."""


class LocalServer:
    """One server on this machine, under a guard that ends it when we are gone."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        number: int,
        machine: Machine,
        logs: Path,
        allowance: Allowance,
    ) -> None:
        self.spec = spec
        self.number = number
        self.machine = machine
        self.logs = logs
        self.allowance = allowance
        self.starts = 0
        self.restarts = 0
        """Starts after it had ended for another reason than memory."""
        self.ready = False
        self.start()

    def start(self) -> None:
        """Start the engine on a port of its own; its output goes to a log of its own."""
        port = _free_port()
        self.ready = False
        self.address = Address(url=f"http://127.0.0.1:{port}/v1")
        again = f"-restart-{self.starts}" if self.starts else ""
        self.starts += 1
        self.log = self.logs / f"server-{self.number}{again}.log"
        self.log_begin = log_size(self.log)
        command = server_command(
            self.spec,
            port=port,
            machine=self.machine,
            chance=secrets.randbits(31),
            allowance=self.allowance,
        )
        environment = server_environment(
            self.spec,
            number=self.number,
            machine=self.machine,
            gpus=visible_gpus(),
            cores=usable_cores(),
        )
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "difficulty.sampling.servers.guard", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**inherited_environment(os.environ), **environment},
                start_new_session=True,
            )

    @property
    def dead(self) -> bool:
        """Has the engine ended?"""
        return self.process.poll() is not None

    def look(self) -> None:
        """See whether it gives tokens by now: a healthy address is not enough.

        Raises:
            ServerError: it answers, but refuses.
        """
        if not self.ready and not self.dead and _listens(self.address):
            self.ready = first_token(self.address, self.spec.sampling)

    def restart(self) -> None:
        """Start again after it ended."""
        self.stop()
        self.restarts += 1
        self.start()

    def start_with(self, allowance: Allowance) -> None:
        """Start again with less memory."""
        self.stop()
        self.allowance = allowance
        self.start()

    def last_words(self) -> str:
        """Why its last start ended."""
        return last_words(self.log, self.log_begin)

    def stop(self) -> None:
        """End the server and everything it started."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class LocalServers:
    """The servers of a run on this machine."""

    def __init__(
        self, spec: RunSpec, *, logs: Path, tokens: int | None, say: Callable[[str], None]
    ) -> None:
        self.say = say
        machine = this_machine()
        check_before_start(spec, machine)
        logs.mkdir(parents=True, exist_ok=True)
        allowances = [  # all of them before the first server takes anything
            server_allowance(
                spec,
                model=spec.sampling.model,
                number=number,
                machine=machine,
                cores=usable_cores(),
                tokens=tokens,
            )
            for number in range(spec.server.servers)
        ]
        self.servers = [
            LocalServer(spec, number=number, machine=machine, logs=logs, allowance=allowance)
            for number, allowance in enumerate(allowances)
        ]
        self.num_gpus = min(
            machine.num_gpus, spec.server.servers * spec.server.tensor_parallel_size
        )
        hint = idle_gpus_hint(spec, machine)
        if hint:
            say(hint)
        where = f"{machine.num_gpus} GPUs" if machine.num_gpus else f"{machine.num_cores} CPU cores"
        say(
            f"starting {len(self.servers)} vLLM server(s), tensor-parallel size "
            f"{spec.server.tensor_parallel_size}, on {where}; log: {self.servers[0].log}"
        )

    def addresses(self) -> list[Address]:
        """Servers that have given a first token and live."""
        return [server.address for server in self.servers if server.ready and not server.dead]

    def wait(self, update: Update) -> None:
        """Wait until every server has given a first token; ``update`` sees how many have.

        Raises:
            ServerError: one ended while starting, refuses, or takes too long.
        """
        begin = time.monotonic()
        while len(self.addresses()) < len(self.servers):
            for server in self.servers:
                if server.dead and not self._step_back(server):
                    raise ServerError(
                        f"the vLLM server stopped while starting: {server.last_words()}. "
                        f"Its whole log: {server.log}"
                    )
                server.look()
            seconds = time.monotonic() - begin
            update(len(self.addresses()), f"loading the model, {seconds:.0f} s")
            if seconds > START_TIMEOUT_S:
                raise ServerError(
                    f"the vLLM server gave no token within {START_TIMEOUT_S:.0f} s. "
                    f"See {self.servers[0].log}"
                )
            time.sleep(POLL_S)
        self.say(f"servers answer after {time.monotonic() - begin:.0f} s")

    def _step_back(self, server: LocalServer) -> bool:
        """Start a server that ran out of memory again with less; false if it ended otherwise.

        Raises:
            ServerError: with less it could not hold one sequence of the model's context.
        """
        too_long = context_too_long(server.log, server.log_begin)
        if too_long is not None:
            raise ServerError(f"{too_long_words(too_long)}. Its log: {server.log}")
        end = out_of_memory(server.log, server.log_begin, starting=not server.ready)
        if end is None:
            return False
        waiting = [node for each in self.servers if not each.ready for node in each.allowance.nodes]
        less = step_back(server.allowance, end, waiting)
        self.say(f"vLLM server {server.number} {step_back_words(server.allowance, less, end)}")
        server.start_with(less)
        return True

    def mend(self) -> bool:
        """Restart servers that ended, each a bounded number of times; is one coming?"""
        for server in self.servers:
            if server.dead and server.restarts < MAX_RESTARTS:
                self._replace(server)
            with contextlib.suppress(ServerError):
                server.look()
        return any(not server.dead and not server.ready for server in self.servers)

    def _replace(self, server: LocalServer) -> None:
        try:
            if self._step_back(server):
                return
        except ServerError as error:
            server.restarts = MAX_RESTARTS
            self.say(f"vLLM server {server.number} is given up: {error}")
            return
        self.say(
            f"a vLLM server ended ({server.last_words()}); restart "
            f"{server.restarts + 1} of {MAX_RESTARTS}"
        )
        server.restart()

    def stop(self) -> None:
        """End them all."""
        for server in self.servers:
            server.stop()


@contextlib.contextmanager
def running_local_servers(
    spec: RunSpec,
    logs: Path,
    *,
    tokens: int | None = None,
    say: Callable[[str], None],
    bar: Bar = no_bar,
) -> Iterator[LocalServers]:
    """Start the servers that the settings ask for; end them afterwards, however we leave.

    ``tokens``: tokens in flight to a server at the most, if known; its cache need hold no more.

    Raises:
        ServerError: the engine is missing or did not come up; carries the server's own last words.
    """
    servers = LocalServers(spec, logs=logs, tokens=tokens, say=say)
    try:
        with bar("starting servers", len(servers.servers)) as update:
            servers.wait(update)
        yield servers
    finally:
        servers.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(address: Address) -> bool:
    """Is anything there yet? Cheap to ask while an engine loads for minutes."""
    host, _, port = address.url.removeprefix("http://").removesuffix("/v1").partition(":")
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, int(port))) == 0
