"""Forecast how many training groups will teach nothing, from counts of right answers."""

from difficulty.forecast.counts import Counts
from difficulty.forecast.estimate import Estimate
from difficulty.forecast.forecast import Forecast, forecast
from difficulty.forecast.missing import MissingRange, missing_range
from difficulty.forecast.mixture import collapse_posterior
from difficulty.forecast.planner import planner

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
