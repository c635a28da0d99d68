"""The servers of a run with their free slots: who gets the next request, who is left alone.

One shared queue: a request goes to the server with the fewest in flight. A server that says 429 is
given half as many, then slowly more again. A server that fails three times in a row is left alone
for a while that doubles, then tried with a single request (a circuit breaker).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from difficulty.errors import ServerError
from difficulty.sampling.protocol import Reply, Served

BREAK_AFTER = 3
"""Faults in a row: one is chance, two are a hiccup."""
FIRST_REST_S = 0.5
LONGEST_REST_S = 30.0
GIVE_UP_S = 120.0
"""After nothing but failures for this long, while no server is being replaced, the run stops."""
BUSY_GIVE_UP_S = 1800.0
"""The same where the servers only say that they are busy (429): somebody else's work may end."""
LOOK_AGAIN_S = 0.25


@dataclass(kw_only=True)
class Endpoint:
    """One server as the dispatcher sees it."""

    served: Served
    most: int
    """Requests in flight it may have at the most."""
    limit: float
    """Requests in flight it may have now."""
    in_flight: int = 0
    faults: int = 0
    """Faults in a row."""
    resting_until: float = 0.0
    posts: set[asyncio.Task[Reply]] = field(default_factory=set)
    """Its requests in flight; cancelled when it is found silent or gone."""

    @property
    def broken(self) -> bool:
        """Has it failed so often in a row that only a single request tries it?"""
        return self.faults >= BREAK_AFTER

    def free(self, now: float) -> bool:
        """Can it take a request now?"""
        if now < self.resting_until:
            return False
        return self.in_flight < (1 if self.broken else max(1, int(self.limit)))


class Dispatcher:
    """Hands out the slots of all endpoints; ``clock`` is monotonic, in seconds."""

    def __init__(self, *, concurrency: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.concurrency = concurrency
        self.clock = clock
        self.endpoints: dict[str, Endpoint] = {}
        self.mending = False
        """Is a server being replaced? Then waiting is worth while."""
        self.last_fault = "no answer yet"
        self.num_answers = 0
        """Requests answered well so far, by any server."""
        self._failing_since: float | None = None
        self._freed = asyncio.Event()

    def add(self, served: Served) -> None:
        """Take a server in."""
        most = self.concurrency
        endpoint = Endpoint(served=served, most=most, limit=most)
        self.endpoints[served.address.url] = endpoint
        self._failing_since = None
        self._freed.set()

    def remove(self, url: str) -> None:
        """Let a server go; its requests in flight are drawn elsewhere."""
        endpoint = self.endpoints.pop(url)
        for post in endpoint.posts:
            post.cancel()

    def trip(self, endpoint: Endpoint) -> None:
        """Treat a server as broken: it is up but makes no tokens."""
        endpoint.faults = max(endpoint.faults, BREAK_AFTER)
        self._rest(endpoint)
        for post in endpoint.posts:
            post.cancel()

    async def acquire(self) -> Endpoint:
        """Wait for a free slot and take it.

        Raises:
            ServerError: no server has answered anything for too long, and none is coming back.
        """
        while True:
            now = self.clock()
            free = [each for each in self.endpoints.values() if each.free(now)]
            if free:
                endpoint = min(free, key=lambda each: (each.broken, each.in_flight))
                endpoint.in_flight += 1
                return endpoint
            self._require_hope(now)
            self._freed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._next_look(now)):
                    await self._freed.wait()

    def _next_look(self, now: float) -> float:
        """Seconds until the first resting server may be tried."""
        waits = [e.resting_until - now for e in self.endpoints.values() if e.resting_until > now]
        return min([LOOK_AGAIN_S, *waits])

    def release(self, endpoint: Endpoint, reply: Reply) -> None:
        """Give the slot back and learn from what the request brought."""
        endpoint.in_flight -= 1
        self._freed.set()
        if reply.fault is None:
            endpoint.faults = 0
            endpoint.limit = min(endpoint.most, endpoint.limit + 1 / max(1.0, endpoint.limit))
            self._failing_since = None
            self.num_answers += bool(reply.choices)
            return
        now = self.clock()
        self.last_fault = f"{reply.server}: {reply.detail}"
        if self._failing_since is None:
            self._failing_since = now
        if now < endpoint.resting_until:
            return  # the first of a burst counts, not each request that was in flight
        if reply.fault == "busy":
            endpoint.limit = max(1.0, endpoint.limit / 2)
            endpoint.resting_until = now + (reply.wait_s or _jitter(FIRST_REST_S))
            return
        endpoint.faults += 1
        if endpoint.broken:
            self._rest(endpoint)

    def _rest(self, endpoint: Endpoint) -> None:
        doubled = min(endpoint.faults - BREAK_AFTER, 10)
        rest = min(LONGEST_REST_S, FIRST_REST_S * 2.0**doubled)
        endpoint.resting_until = self.clock() + _jitter(rest)

    def _require_hope(self, now: float) -> None:
        """Stop waiting when only failures have come back for too long and nothing is under way."""
        if self.mending or any(endpoint.in_flight for endpoint in self.endpoints.values()):
            return
        since = self._failing_since
        broken = any(endpoint.broken for endpoint in self.endpoints.values())
        patience = GIVE_UP_S if broken else BUSY_GIVE_UP_S
        if not self.endpoints or (since is not None and now - since > patience):
            raise ServerError(
                f"no server is left: last, {self.last_fault}. "
                "Everything finished is kept; run the same command again"
            )


def _jitter(seconds: float) -> float:
    """Between half of it and all of it, so that clients do not come back together."""
    return random.uniform(seconds / 2, seconds)
