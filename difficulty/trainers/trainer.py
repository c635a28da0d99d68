"""What the package knows of one trainer, in one file each: a part for every thing it offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from difficulty.trainers.config_keys import ConfigKeys
from difficulty.trainers.exporter import Exporter
from difficulty.trainers.resampling import Resampling

Offer = Literal["export", "forecast", "like"]
OFFERS: tuple[Offer, ...] = get_args(Offer)

LAST = 100


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """One trainer, or another way of running it that has a name of its own.

    A part is null where nothing of it is known here.
    """

    name: str
    """As the command line takes it."""
    place: int = LAST
    """Where it stands when names are listed, from 1; those of one place stand by name."""
    export: Exporter | None = None
    """Training files: ``export --to``."""
    forecast: Resampling | None = None
    """Whether its steps fill: ``forecast --trainer``."""
    like: ConfigKeys | None = None
    """Its configuration, to profile as it trains: ``profile --like``."""

    @property
    def offers(self) -> tuple[Offer, ...]:
        """What it can be asked for."""
        return tuple(offer for offer in OFFERS if getattr(self, offer) is not None)
