"""Forecast how many training groups will teach nothing, from counts of right answers."""

from difficulty.collapse.counts import Counts
from difficulty.collapse.estimate import Estimate
from difficulty.collapse.forecast import Forecast, forecast
from difficulty.collapse.missing import MissingRange, missing_range
from difficulty.collapse.mixture import collapse_posterior
from difficulty.collapse.planner import planner

__all__ = [
    "Counts",
    "Estimate",
    "Forecast",
    "MissingRange",
    "collapse_posterior",
    "forecast",
    "missing_range",
    "planner",
]
