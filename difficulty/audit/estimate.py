"""From a stratified sample to a share of the whole, with a 95 % interval. Pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

TAIL = 0.025


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """Replies of one outcome: how many there are, how many a person judged, how many hit."""

    size: int
    checked: int
    hits: int
    """Of the checked ones, those with the property that is counted."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """What share of some replies has a property."""

    rate: float | None
    """0 to 1; null when replies of some outcome were never checked, or there are none."""
    low: float | None
    """95 % interval; null only when there are no replies."""
    high: float | None
    checked: int
    found: int
    """Of the checked ones, those that have the property."""
    of: int
    """Replies that the rate is a share of."""


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What is believed of the replies of one stratum that hit: a beta distribution's moments."""

    size: int
    mean: float
    """0 to 1."""
    variance: float


def share_of(strata: list[Stratum], of: int) -> Share:
    """Share of ``of`` replies that have the property, from a sample of each stratum.

    With N_h replies in stratum h, n_h of them checked and x_h hits among these, the estimate is
    sum_h N_h x_h / n_h. The interval is that of Fay and Feuer (1997, Statistics in Medicine 16,
    791-801) for weighted sums of Poisson counts, with beta in place of gamma distributions, so that
    it is exact for shares too:

    - a stratum is Beta(x (n+1)/n, (n-x) (n+1)/n), which has the mean x/n;
    - one stratum at a time is Beta(x, n-x+1) for the low end and Beta(x+1, n-x) for the high end
      instead, the distributions of Clopper and Pearson, so that no hit seen still leaves room for
      some; the widest end over all choices of that stratum counts;
    - the sum over strata, each times N_h, is taken for a beta distribution between the least and
      the most it can be, with the same mean and variance. The ends are its 2.5 % and 97.5 % points.

    A single stratum gives the Clopper-Pearson interval. A stratum of which all N_h were checked is
    its count and no distribution; otherwise that the sample is drawn without replacement is not
    used, which errs on the wide side. No end contradicts what was seen: at least the hits and at
    most all but the misses have the property.

    A stratum of which nothing was checked is anywhere between none and all: the rate is null, and
    the interval grows by the whole stratum.
    """
    checked = [stratum for stratum in strata if stratum.checked]
    unchecked = sum(stratum.size for stratum in strata if not stratum.checked)
    found = sum(stratum.hits for stratum in checked)
    seen = sum(stratum.checked for stratum in checked)
    if of == 0:
        return Share(rate=None, low=None, high=None, checked=seen, found=found, of=0)
    total = sum(stratum.size * stratum.hits / stratum.checked for stratum in checked)
    most = sum(stratum.size - stratum.checked + stratum.hits for stratum in checked)
    low, high = _interval(checked)
    low, high = max(low, found), min(high, most) + unchecked
    return Share(
        rate=None if unchecked else min(total / of, 1.0),
        low=min(low / of, 1.0),
        high=min(high / of, 1.0),
        checked=seen,
        found=found,
        of=of,
    )


def _interval(strata: list[Stratum]) -> tuple[float, float]:
    """Low and high end of the number of replies that hit."""
    parts = [_part(s, s.hits * (1 + 1 / s.checked)) for s in strata]
    lows, highs = [], []
    for at, stratum in enumerate(strata):
        around = parts[:at], parts[at + 1 :]
        lows.append(_point([*around[0], _part(stratum, stratum.hits), *around[1]], TAIL))
        highs.append(_point([*around[0], _part(stratum, stratum.hits + 1), *around[1]], 1 - TAIL))
    return min(lows, default=0.0), max(highs, default=0.0)


def _part(stratum: Stratum, first: float) -> _Part:
    """Beta(first, checked + 1 - first); the count itself where all were checked."""
    n = stratum.checked
    if n == stratum.size:
        return _Part(size=n, mean=stratum.hits / n, variance=0.0)
    mean = first / (n + 1)
    return _Part(size=stratum.size, mean=mean, variance=mean * max(1 - mean, 0.0) / (n + 2))


def _point(parts: list[_Part], chance: float) -> float:
    """Where the sum of the parts, taken for one beta distribution, reaches this chance."""
    from scipy.special import betaincinv

    fixed = math.fsum(part.size * part.mean for part in parts if part.variance <= 0)
    loose = [part for part in parts if part.variance > 0]
    if not loose:
        return fixed
    width = sum(part.size for part in loose)
    mean = math.fsum(part.size * part.mean for part in loose) / width
    variance = math.fsum(part.size**2 * part.variance for part in loose) / width**2
    strength = mean * (1 - mean) / variance - 1
    return fixed + width * float(betaincinv(mean * strength, (1 - mean) * strength, chance))
