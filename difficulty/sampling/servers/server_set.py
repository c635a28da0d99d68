"""Where the client's servers come from: given, started here, or started on Ray. The one seam."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

Update = Callable[[int, str], None]
"""(units done so far, a short note) -> None."""
Bar = Callable[[str, int], contextlib.AbstractContextManager[Update]]
"""(label, units in all) -> a block that shows their progress."""


def no_bar(label: str, total: int) -> contextlib.AbstractContextManager[Update]:
    """Shows nothing."""
    return contextlib.nullcontext(lambda done, note: None)


@dataclass(frozen=True, kw_only=True)
class Address:
    """How to reach one server that has given a first token."""

    url: str
    """Base address that ends in ``/v1``."""
    api_key: str | None = field(default=None, repr=False)
    """A key made for a server that we started ourselves; None takes the user's from the
    environment."""


class ServerSet(Protocol):
    """Servers that answer for one model. The client asks for them again and again."""

    @property
    def num_gpus(self) -> int | None:
        """GPUs of all servers together; None if somebody else runs them."""

    def addresses(self) -> list[Address]:
        """The servers that are up now. A replaced server shows up under a new address."""

    def mend(self) -> bool:
        """Replace servers that died, as far as restarts are left; may block for minutes.

        Called off the event loop every few seconds. Returns whether a server is coming: then it is
        worth waiting although nobody answers.
        """


@dataclass(frozen=True, kw_only=True)
class GivenServers:
    """Endpoints that somebody else runs: nothing to mend, a dead one may come back by itself."""

    given: tuple[Address, ...]
    num_gpus: int | None = None

    def addresses(self) -> list[Address]:
        """All of them, alive or not."""
        return list(self.given)

    def mend(self) -> bool:
        """Nothing to do here; whether one is alive only its answers tell."""
        return False
