"""One cell of the coverage grid: seeded sets from a known law, forecast, against the very set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bench.collapse.estimators import beta_collapse
from bench.collapse.laws import GRID_LAWS, HARD_LAWS, Law, identified, kept
from difficulty.collapse.collapse import Floats, Ints, collapse_probability
from difficulty.collapse.counts import Counts
from difficulty.collapse.estimate import Fits, every_question
from difficulty.collapse.mixture import Mixture

KS: dict[str, tuple[int, ...]] = {"4": (4,), "5": (5,), "8": (8,), "mixed": (4, 5, 8)}
"""Samples a question; mixed: each of the three equally often."""
QUESTIONS = (125, 1_000, 10_000)
GROUP_SIZES = (8, 16)
SETS = {"pool": every_question, "kept": kept}
LAWS = GRID_LAWS | HARD_LAWS
JOBS = [(law, n, k) for n in QUESTIONS for k in KS for law in GRID_LAWS] + [
    (law, n, k) for n in QUESTIONS[:2] for k in ("5", "8", "mixed") for law in HARD_LAWS
]
"""The hard laws where most questions are asked: they cost as much as the others."""
METHODS = ("ours", "plain", "beta", "plug-in")
SEED = 2605


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One line of the table: a law, a size, a k, a G and a set, over all repetitions."""

    law: str
    num_questions: int
    k: str
    group_size: int
    subset: str
    """``pool`` or ``kept`` (L2-L5)."""
    repetitions: int
    """Repetitions in which the set had a question."""
    coverage: float
    """Share of intervals that hold the mean of f_G over the very questions of the set."""
    width: float
    """Mean width of the interval."""
    yardstick: float
    """Central 95 % range of the point estimate plus the width that exact counts leave open."""
    open_width: float
    """Width that exact counts of the law leave open."""
    bias: float
    """Mean of forecast less truth."""
    rmse: dict[str, float]
    """Root mean square error of each of ``METHODS``."""
    biases: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def repetition(
    law: Law, n: int, ks: tuple[int, ...], rng: np.random.Generator
) -> dict[tuple[int, str], Floats]:
    """(group size, set) -> truth, low, high and the estimate of each of ``METHODS``."""
    rates = law.draw(rng, n)
    k = rng.choice(np.array(ks), n)
    c = rng.binomial(k, rates)
    inside = {"pool": np.ones(n, bool), "kept": (c > 0) & (c < k)}
    classes = Counts.of(k, c).classes()
    found = {}
    for size in GROUP_SIZES:
        truth = collapse_probability(rates, size)
        work = Fits(classes, size)
        others = _others(work)
        for name, estimate in work.estimates(SETS).items():
            mask = classes.chosen(SETS[name])
            weights = classes.num_questions[mask]
            found[size, name] = np.array(
                [
                    truth[inside[name]].mean(),
                    estimate.low,
                    estimate.high,
                    estimate.acr,
                    *(float(np.average(other[mask], weights=weights)) for other in others),
                ]
            )
    return found


def _others(work: Fits) -> tuple[Floats, Floats, Floats]:
    """Collapse chance of each class by the plain mixture, the Beta law and the plug-in."""
    k: Ints = work.classes.num_samples
    c: Ints = work.classes.num_correct
    plain = Mixture(grid=work.fit.grid, weights=work.fit.weights, beta=work.law.beta, prior=0.0)
    a, b = work.law.beta
    beta = beta_collapse(k, c, a=a, b=b, group_size=work.group_size)
    return plain.mean(work.values, k, c), beta, work.naive


def cells(law_name: str, n: int, k_name: str, repetitions: int) -> list[Cell]:
    """The cells of one law, size and k: both group sizes, pool and kept set."""
    law, ks = LAWS[law_name], KS[k_name]
    seeds = [list(LAWS).index(law_name), n, list(KS).index(k_name)]
    rows: dict[tuple[int, str], list[Floats]] = {}
    for index in range(repetitions):
        rng = np.random.default_rng([SEED, *seeds, index])
        for key, row in repetition(law, n, ks, rng).items():
            rows.setdefault(key, []).append(row)
    found = []
    for (size, subset), table in rows.items():
        low, high = identified(law, ks, size, filtered=subset == "kept")
        truth, start, end, *estimates = np.array(table).T
        errors = {name: e - truth for name, e in zip(METHODS, estimates, strict=True)}
        central = np.subtract(*np.quantile(estimates[0], (0.975, 0.025)))
        found.append(
            Cell(
                law=law_name,
                num_questions=n,
                k=k_name,
                group_size=size,
                subset=subset,
                repetitions=len(table),
                # Ends are searched to a hundredth of a standard error; exact zeros are not noise.
                coverage=float(np.mean((start <= truth + 1e-9) & (truth <= end + 1e-9))),
                width=float(np.mean(end - start)),
                yardstick=float(central + high - low),
                open_width=high - low,
                bias=float(errors["ours"].mean()),
                rmse={name: float(np.sqrt(np.mean(e**2))) for name, e in errors.items()},
                biases={name: float(e.mean()) for name, e in errors.items()},
            )
        )
    return found
