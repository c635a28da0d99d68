"""Soft overlong penalties: what a reply's length adds to its reward, and which lengths tie.

DAPO (arXiv 2503.14476, eq. 13) and TRL: 0 up to L - N tokens, then down in a line to -1 at L
tokens, and -1 beyond. ms-swift and verl: the same line without the floor. Replies of the flat part
have the same penalty; so have those cut at the token limit, which are all of one length. On the
line two replies have the same penalty only by accident of the very same length; that is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.collapse import Floats
from difficulty.errors import SettingsError

SOFT_OVERLONG = "soft_overlong"
"""What trainers call it."""


@dataclass(frozen=True, kw_only=True)
class LengthPenalty:
    """A soft overlong penalty."""

    max_length: int
    """L, tokens."""
    buffer: int
    """N, tokens before L over which it falls."""
    weight: float = 1.0
    """What it is multiplied with in the sum of rewards."""
    floored: bool = True
    """Does it stay at -1 beyond L?"""

    def __post_init__(self) -> None:
        """Refuse lengths that make no line.

        Raises:
            SettingsError: the buffer is not between 1 and the length, or the weight is no number.
        """
        if not 0 < self.buffer <= self.max_length:
            raise SettingsError(
                f"length penalty cannot be: --buffer {self.buffer} of --max-length "
                f"{self.max_length}. Use a buffer of at least 1 and at most the length"
            )
        if not np.isfinite(self.weight):
            raise SettingsError(f"penalty-weight is no number: {self.weight}. Use 1.0, say")

    def reward(self, length: Floats) -> Floats:
        """What replies of ``length`` tokens get on top of their reward."""
        beyond = np.maximum(length - (self.max_length - self.buffer), 0.0)
        line = -beyond / self.buffer
        return self.weight * (np.maximum(line, -1.0) if self.floored else line)

    def classes(self, length: Floats, cut: NDArray[np.bool_]) -> NDArray[np.str_]:
        """``free``, ``ramp`` or ``cap``: those of one class tie, but for the ramp.

        Args:
            length: tokens.
            cut: was the reply cut at the token limit?
        """
        flat = self.floored & (length >= self.max_length)
        free = length <= self.max_length - self.buffer
        return np.where(free, "free", np.where(cut | flat, "cap", "ramp"))
