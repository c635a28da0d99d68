"""Measure which questions will teach a model, and how much of a GRPO run will teach nothing.

The command line is ``difficulty``; in Python start with ``difficulty.forecast``
(collapse rates from ``difficulty.Counts``), ``difficulty.grading.grade`` (a verdict on a reply) or
``difficulty.run.stages`` (the pipeline).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from difficulty.collapse import Counts as Counts
    from difficulty.collapse import forecast as forecast

__version__ = "0.1.0"

LAZY = ("Counts", "forecast")
"""Names that are there without importing numpy until they are used."""


def __getattr__(name: str) -> Any:
    """The public names of ``difficulty.collapse``.

    Raises:
        AttributeError: any other name.
    """
    if name not in LAZY:
        raise AttributeError(f"module 'difficulty' has no attribute {name!r}")
    from difficulty import collapse

    return getattr(collapse, name)
