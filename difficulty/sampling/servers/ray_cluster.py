"""A Ray cluster as servers need it: joining it, its room, and one placed actor a server."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty.errors import ServerError
from difficulty.sampling.servers.local_servers import MAX_RESTARTS
from difficulty.sampling.servers.ray_node import NodeServer, one_line, ray_module
from difficulty.settings.run import RunSpec

Resources = dict[str, float]
JOIN_TIMEOUT_S = 10.0
PLACE_AT_ONCE_S = 2.0


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """Join the cluster as a driver; leave it afterwards, unless this process was in it before.

    Raises:
        ServerError: Ray is not installed, or no cluster of the same version is at that address.
    """
    try:
        ray = ray_module()
    except ImportError as error:
        raise ServerError(
            "--ray needs Ray: it is not installed here. Install difficulty-profiler[ray], in the "
            "version that the cluster runs"
        ) from error
    if ray.is_initialized():
        yield
        return
    _join(address)
    try:
        yield
    finally:
        ray.shutdown()


def _join(address: str) -> None:
    try:
        _require_listener(address)
        with _our_sigterm():
            ray_module().init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        raise ServerError(
            f"no Ray cluster can be joined at {address}: {one_line(error)}. "
            "Run on a node of the cluster, with the cluster's versions of Ray and Python"
        ) from error


def _require_listener(address: str) -> None:
    """Ask whether anything is there: Ray itself takes minutes to say that nothing is."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "://" not in address:
        socket.create_connection((host.strip("[]"), int(port)), timeout=JOIN_TIMEOUT_S).close()


@contextlib.contextmanager
def _our_sigterm() -> Iterator[None]:
    """Keep our handler of SIGTERM: ray.init puts its own in its place."""
    ours = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, ours)


def living_nodes() -> list[dict[str, Any]]:
    """The nodes that Ray holds for alive: NodeID, NodeManagerAddress, Resources."""
    return [node for node in ray_module().nodes() if node["Alive"]]


def bundle(spec: RunSpec, *, has_gpus: bool) -> Resources:
    """What one server takes of its node: T GPUs and a core, or without GPUs a core a rank."""
    size = float(spec.server.tensor_parallel_size)
    return {"GPU": size, "CPU": 1.0} if has_gpus else {"CPU": size}


def num_places(nodes: list[Resources], one: Resources) -> int:
    """How many servers the nodes hold when nothing else runs on them.

    Raises:
        ServerError: no node holds even one.
    """
    total = sum(int(min(node.get(key, 0) / size for key, size in one.items())) for node in nodes)
    if total == 0:
        most = {key: max((node.get(key, 0) for node in nodes), default=0) for key in one}
        raise ServerError(
            f"no node of the Ray cluster holds one server of {_show(one)}: the most on a node is "
            f"{_show(most)}. Lower --tensor-parallel-size or add larger nodes"
        )
    return total


def _show(resources: Resources) -> str:
    return " and ".join(f"{amount:g} {name}" for name, amount in resources.items())


@dataclass(frozen=True, kw_only=True)
class Placed:
    """An actor and the placement group it lives in; both may still wait for room."""

    actor: Any
    group: Any

    def host(self, hosts: dict[str, str]) -> str | None:
        """The machine where Ray has put it, by ``hosts``: node -> address; None: nowhere yet."""
        table = ray_module().util.placement_group_table(self.group)
        if table.get("state") != "CREATED":
            return None
        return hosts.get(table["bundles_to_node_id"].get(0, ""))

    def remove(self) -> None:
        """End the actor and give its place back."""
        ray = ray_module()
        ray.kill(self.actor)
        ray.util.remove_placement_group(self.group)


def place(spec: RunSpec, one: Resources, *, tokens: int | None) -> Placed:
    """Ask Ray for an actor on one node; a lost one comes back on another, a few times.

    ``tokens``: tokens in flight at the most, as the actor's server needs to know.
    """
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    ray = ray_module()
    folder = Path(spec.sampling.model)
    model = str(folder.resolve()) if folder.is_dir() else spec.sampling.model
    group = ray.util.placement_group([one], strategy="STRICT_PACK")
    group.wait(PLACE_AT_ONCE_S)  # servers that share a machine have to know of each other
    actor = (
        ray.remote(NodeServer)
        .options(
            num_cpus=one["CPU"],
            num_gpus=one.get("GPU", 0),
            max_restarts=MAX_RESTARTS,
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                group, placement_group_bundle_index=0
            ),
        )
        .remote(spec, model, int(one.get("GPU", 0)), tokens)
    )
    return Placed(actor=actor, group=group)
