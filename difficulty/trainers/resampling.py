"""How a trainer resamples groups that teach nothing, and what it does when that fails.

Read in the sources of ms-swift 4.6.0, verl 0.9.1, OpenRLHF 0.11.2, SkyRL 0.3.0, TRL 1.16.0 and
AReaL 1.0.4; NeMo-RL, open-instruct, slime and prime-rl, of which no package can be installed, as
their settings, tests and change logs of 2026 describe it. They move: look before relying on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TRAIN_GROUPS = 96
"""Groups a step where neither the user nor the trainer's documents say: the medical-exam study's
768 answers in groups of 8."""
NEVER_FAILS = "never fails: goes on until the batch is full"
REDRAWS = ("fresh", "resamples", "all")
"""Which batches of a step hold the same questions: none while the set lasts; the second and all
later ones; all of them."""

Kind = Literal["rounds", "replace", "once"]
Reading = Literal["after_sampling", "raw", "batches", "rejected", "passed", "none"]


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """One trainer's dynamic sampling, with its defaults."""

    name: str
    """The trainer's, as ``forecast --trainer`` takes it."""
    kind: Kind
    """``rounds``: whole batches until enough groups are usable; ``replace``: each rejected group by
    another, without a limit; ``once``: one batch, whatever it holds."""
    switch: str | None
    """The setting that turns it on; null: there is none to turn on."""
    max_rounds: int | None = None
    """Batches that are looked at in a step; None: no limit."""
    rounds_name: str = ""
    """The trainer's own setting behind ``max_rounds``."""
    zero_is_no_limit: bool = False
    """``max_rounds`` 0 is a value of that setting, for no limit."""
    train_groups: int = TRAIN_GROUPS
    batch_ratio: int = 1
    """Groups generated in a batch for each one trained on."""
    own_batches: bool = False
    """May a generation batch be of another size than a training batch?"""
    redraw: str = "fresh"
    """One of ``REDRAWS``."""
    wasted: int = 0
    """Batches generated after the last one that is looked at, in a step that fails."""
    stops: bool = False
    """A step that fails ends the run."""
    one_pass: bool = False
    """A step takes no question twice: it ends where the set does."""
    tests: Literal["sum", "accuracy"] = "sum"
    """Whose spread decides about a group: the sum of all rewards, or correctness alone."""
    floored: bool = False
    """Its soft overlong penalty stays at -1 beyond the maximal length."""
    reading: Reading = "none"
    """What its collapse metric is the mean of."""
    metric: str = ""
    """Its collapse metric, under the name that it is logged as; empty: none that is known here."""
    metric_says: str = ""
    """What a value of that metric means."""
    at_limit: str
    """What it does in a step that does not fill."""
