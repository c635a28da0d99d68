"""Root mean square error of the forecast on U-shaped laws, beside simpler estimators.

Two truths. *The very set*: the mean of f_G over the questions drawn. *Ten samples*: what published
profiles with ten samples a question allow; five of the ten are shown, and the truth is the unbiased
estimate from all ten. It shares five samples with the forecast and therefore looks kinder.
"""

from __future__ import annotations

import numpy as np

from bench.collapse.estimators import beta_collapse, exact_collapse
from bench.collapse.laws import U_SHAPED, Law
from difficulty.collapse.beta_binomial import fit_beta
from difficulty.collapse.collapse import Floats, collapse_probability, plug_in
from difficulty.collapse.counts import aggregate
from difficulty.collapse.likelihood import binomial_matrix, maximise, pass_rate_grid
from difficulty.collapse.mixture import fit_mixture

K, G, SHOWN_OF = 5, 8, 10
QUESTIONS = (125, 1_000, 1_500, 2_000)
SEED = 72


def print_errors(repetitions: int) -> None:
    """A markdown table; all methods see the same sets."""
    print("| law | n | truth | ours | plain mixture | Beta law | plug-in | law known | law alone |")
    print("|---|---|---|---|---|---|---|---|---|")
    together: dict[tuple[int, str], list[list[float]]] = {}
    for index, (name, law) in enumerate(U_SHAPED.items()):
        for n in QUESTIONS:
            rng = np.random.default_rng([SEED, index, n])
            for truth, errors in _errors(law, n, repetitions, rng).items():
                together.setdefault((n, truth), []).append(errors)
                _print_row(name, n, truth, errors)
    for (n, truth), rows in together.items():
        _print_row("all of them", n, truth, np.sqrt(np.mean(np.square(rows), axis=0)).tolist())


def _print_row(name: str, n: int, truth: str, errors: list[float]) -> None:
    figures = " | ".join(f"{error:.4f}" for error in errors)
    print(f"| {name} | {n:,} | {truth} | {figures} |", flush=True)


def _errors(law: Law, n: int, repetitions: int, rng: np.random.Generator) -> dict[str, list[float]]:
    rates = law.draw(rng, n * repetitions).reshape(repetitions, n)
    all_correct = rng.binomial(SHOWN_OF, rates)
    correct = rng.hypergeometric(all_correct, SHOWN_OF - all_correct, K)
    tables = np.array([np.bincount(row, minlength=K + 1) for row in correct])
    truths = {
        "very set": collapse_probability(rates, G).mean(axis=1),
        "ten samples": exact_collapse(SHOWN_OF, np.arange(SHOWN_OF + 1), G)[all_correct].mean(1),
    }
    chances = (*_estimators(tables), _known(law))
    estimates = [(tables * chance).sum(axis=1) / n for chance in chances]
    # What the law's own rate, known without error, would miss the set by: its sampling alone.
    points, masses = law.quadrature()
    estimates.append(np.full(repetitions, collapse_probability(points, G) @ masses))
    return {
        name: [float(np.sqrt(np.mean((found - truth) ** 2))) for found in estimates]
        for name, truth in truths.items()
    }


def _estimators(tables: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(R, K + 1) chance of collapse by number correct: ours, plain, Beta law, plug-in."""
    k, c = np.full(K + 1, K), np.arange(K + 1)
    grid = pass_rate_grid()
    values, matrix = collapse_probability(grid, G), binomial_matrix(k, c, grid)
    ours, beta = np.empty(tables.shape), np.empty(tables.shape)
    for row, table in enumerate(tables):
        classes = aggregate(k, c, table)
        ours[row] = fit_mixture(classes).mean(values, k, c)
        a, b = fit_beta(classes)
        beta[row] = beta_collapse(k, c, a=a, b=b, group_size=G)
    laws = maximise(matrix, tables / tables.sum(axis=1, keepdims=True)).weights
    plain = (laws * values) @ matrix.T / np.maximum(laws @ matrix.T, 1e-300)
    return ours, plain, beta, np.tile(plug_in(k, c, G), (len(tables), 1))


def _known(law: Law) -> Floats:
    """(K + 1,) E[f_G | c] under the true law: no estimate from counts can do better."""
    points, masses = law.quadrature()
    likely = binomial_matrix(np.full(K + 1, K), np.arange(K + 1), points) * masses
    known: Floats = likely @ collapse_probability(points, G) / likely.sum(axis=1)
    return known
