"""What runs in a Ray actor: one vLLM server on the actor's node, under the guard.

The guard ends the server when the actor is gone, and the actor goes with its node or its driver.
The server makes its own API key: it crosses the network once, as the reply to ``start``, and stands
in no argument, log or file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO, Any

from difficulty.sampling.servers.allowance import Allowance
from difficulty.sampling.servers.local_servers import STOP_TIMEOUT_S
from difficulty.sampling.servers.server_command import (
    QUIET_ENVIRONMENT,
    Machine,
    check_before_start,
    inherited_environment,
    server_allowance,
    server_command,
    server_environment,
    this_machine,
    usable_cores,
)
from difficulty.sampling.servers.server_set import Address
from difficulty.settings.run import RunSpec

LOG_STEP = 2**20
"""Bytes of log a call brings at the most."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """A vLLM server that was started; it may still be loading."""

    address: Address
    node: str
    """Ray's identifier of its node."""
    allowance: Allowance
    """Memory that it was given there."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a server is doing."""

    started: bool
    """False: this actor has started none; it is new, or Ray restarted it."""
    code: int | None
    """How the server ended; None while it runs."""
    log: bytes
    """The next part of its log, ``LOG_STEP`` bytes at the most."""


def ray_module() -> Any:
    """Ray, imported when it is needed; Any: its own types are partial."""
    import ray

    return ray


def one_line(error: object) -> str:
    """An error of Ray's, which has many lines, as one that fits a message."""
    line = " ".join(str(error).split())
    return line if len(line) <= 300 else line[:297] + "..."


class NodeServer:
    """The actor: starts one server, and starts it again when asked to.

    Its log is a file without a name, so nothing is left on the node: the driver fetches it.
    """

    def __init__(self, spec: RunSpec, model: str, num_gpus: int, tokens: int | None) -> None:
        self.spec, self.model, self.num_gpus, self.tokens = spec, model, num_gpus, tokens
        self.process: subprocess.Popen[bytes] | None = None
        self.log = tempfile.TemporaryFile()  # noqa: SIM115

    def start(self, index: int, count: int, allowance: Allowance | None) -> Started:
        """Start the server, which is number ``index`` of ``count`` on this machine.

        ``allowance``: less memory than at its last start here; None measures what there is.

        Raises:
            ServerError: this node has no engine, or not the model folder.
        """
        ray = ray_module()
        self.stop()
        machine = dataclasses.replace(this_machine(), num_gpus=self.num_gpus)
        check_before_start(with_model(with_servers(self.spec, 1), self.model), machine)
        given = allowance or server_allowance(
            with_servers(self.spec, count),
            model=self.model,
            number=index,
            machine=machine,
            cores=usable_cores(),
            tokens=self.tokens,
        )
        host: str = ray.util.get_node_ip_address()
        port, key = free_port(host), secrets.token_urlsafe(32)
        command = node_command(
            self.spec, self.model, host=host, port=port, machine=machine, allowance=given
        )
        environment = node_environment(self.spec, index=index, count=count, machine=machine)
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = start_guarded(command, {**environment, "VLLM_API_KEY": key}, self.log)
        name = f"[{host}]" if ":" in host else host
        address = Address(url=f"http://{name}:{port}/v1", api_key=key)
        node = ray.get_runtime_context().get_node_id()
        return Started(address=address, node=node, allowance=given)

    def report(self, offset: int) -> Report:
        """How the server is doing, and its log from ``offset`` bytes on."""
        code = self.process.poll() if self.process else None  # before the log: then it is whole
        log = os.pread(self.log.fileno(), LOG_STEP, offset)
        return Report(started=self.process is not None, code=code, log=log)

    def stop(self) -> None:
        """End the server and everything it started."""
        process, self.process = self.process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def start_guarded(
    command: list[str], environment: dict[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a command under the guard, out of Ray's reach.

    A Ray worker that exits kills its direct children, and a killed guard guards nothing. So the
    direct child is a shell, and the guard below it lives until its input closes.
    """
    shell = ("/bin/sh", "-c", '"$@"; exit $?', "sh")  # with nothing after "$@" it would exec it
    return subprocess.Popen(
        [*shell, sys.executable, "-m", "difficulty.sampling.servers.guard", *command],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**inherited_environment(os.environ), **environment},
        start_new_session=True,
    )


def with_servers(spec: RunSpec, count: int) -> RunSpec:
    """The same settings for ``count`` servers."""
    return dataclasses.replace(spec, server=dataclasses.replace(spec.server, servers=count))


def with_model(spec: RunSpec, model: str) -> RunSpec:
    """The same settings for another model."""
    return dataclasses.replace(spec, sampling=dataclasses.replace(spec.sampling, model=model))


def node_command(
    spec: RunSpec, model: str, *, host: str, port: int, machine: Machine, allowance: Allowance
) -> list[str]:
    """The command of one server, bound to its node's address.

    ``model`` is the folder's absolute path; it is served under the name that the user gave.
    """
    chance = secrets.randbits(31)
    command = server_command(
        spec, port=port, machine=machine, chance=chance, allowance=allowance, host=host
    )
    command[command.index("--model") + 1] = model
    return command


def node_environment(spec: RunSpec, *, index: int, count: int, machine: Machine) -> dict[str, str]:
    """What server ``index`` of ``count`` on one machine gets on top of the actor's environment.

    GPUs are not named: Ray has put the actor's own into CUDA_VISIBLE_DEVICES.
    """
    if machine.num_gpus > 0:
        return dict(QUIET_ENVIRONMENT)
    return server_environment(
        with_servers(spec, count), number=index, machine=machine, gpus=[], cores=usable_cores()
    )


def free_port(host: str) -> int:
    """A port that is free at this address now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
