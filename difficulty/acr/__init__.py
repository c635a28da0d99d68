"""Forecast how many training groups will teach nothing, from counts of right answers."""

from difficulty.acr.counts import Counts
from difficulty.acr.estimate import Estimate
from difficulty.acr.forecast import Forecast, forecast
from difficulty.acr.missing import MissingRange, missing_range
from difficulty.acr.mixture import collapse_posterior
from difficulty.acr.planner import planner

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
