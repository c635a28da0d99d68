"""Measure which questions will teach a model, and how much of a GRPO run will teach nothing.

The command line is ``difficulty``; in Python start with ``difficulty.forecast.forecast``
(collapse rates from counts), ``difficulty.grading.grade`` (a verdict on a reply) or
``difficulty.stages`` (the pipeline).
"""

__version__ = "0.1.0"
