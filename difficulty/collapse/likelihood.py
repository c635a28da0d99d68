"""Maximum likelihood over laws of the pass rate on a grid, for many problems at once.

A law puts weights w_j on grid points p_j. The counts have log likelihood sum_i n_i log(L w)_i
with L_ij = C(k_i, c_i) p_j^c_i (1 - p_j)^(k_i - c_i). This is concave in w and depends on w only
through as many numbers as there are distinct (k, c), so an interior-point method whose
Newton system has that size reaches the maximum in some twenty steps; expectation-maximisation
would need thousands. (The problem is that of Koenker and Mizera, JASA 2014, eq. 3.)
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from difficulty.collapse.collapse import Floats, Ints

GRID_SIZE = 201
MAX_STEPS = 80
NEGLIGIBLE = 1e-60
SMALL_PRODUCT = 2**18
"""Multiplications of a matrix product that OpenBLAS still leaves to one thread."""


def pass_rate_grid(size: int = GRID_SIZE) -> Floats:
    """Grid points from exactly 0 to exactly 1, closer together towards both ends.

    f_G and the binomial probabilities change fastest near 0 and 1, within about 1 / G.
    """
    angles = np.linspace(0.0, np.pi / 2, size)
    grid = np.sin(angles) ** 2
    grid[-1] = 1.0
    return grid


def binomial_matrix(num_samples: Ints, num_correct: Ints, grid: Floats) -> Floats:
    """P(c | k, p): a row a (k, c), a column a grid point."""
    matrix: Floats = np.exp(log_binomial(num_samples, num_correct, grid))
    return matrix


def log_binomial(num_samples: Ints, num_correct: Ints, grid: Floats) -> Floats:
    """Logarithm of P(c | k, p), -inf where c cannot be: a row a (k, c), a column a grid point."""
    from scipy.special import gammaln, xlog1py, xlogy

    k, c = num_samples[:, None], num_correct[:, None]
    log_choose = gammaln(k + 1.0) - gammaln(c + 1.0) - gammaln(k - c + 1.0)
    return np.asarray(log_choose + xlogy(c, grid) + xlog1py(k - c, -grid), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The maximum of each of B problems."""

    weights: Floats
    """(B, J) law on the grid, summing to 1."""
    fitted: Floats
    """(B, C) probability of each (k, c) given k."""
    log_likelihood: Floats
    """(B,) mean log likelihood a question: sum_i share_i log fitted_i."""


def maximise(
    matrix: Floats,
    shares: Floats,
    *,
    prior: Floats | None = None,
    zero: Floats | None = None,
    gap: float = 1e-8,
) -> Solution:
    """Maximise sum_i shares_i log(L w)_i + sum_j prior_j log w_j over laws w, in B problems.

    Args:
        matrix: (C, J) binomial probabilities L.
        shares: (B, C) share of the questions in each class; rows sum to 1.
        prior: (B, J) positive weights of a Dirichlet prior, relative to the number of
            questions; None for plain maximum likelihood.
        zero: (B, J) coefficients g of a side condition g . w = 0; None for no condition.
        gap: how far below the maximum the plain log likelihood a question may end.

    With u_i = shares_i / (L w)_i the maximum is where w_j s_j = prior_j (0 for none), with
    s = nu + lambda g - L^T u >= 0. Newton steps go to these equations, the products w_j s_j
    being led to their goal.
    """
    problem = _Problem(matrix, shares, prior, zero)
    state = problem.start()
    floor = gap / matrix.shape[1]
    weights = np.empty_like(state.w)
    open_ = np.arange(len(shares))
    for _ in range(MAX_STEPS):
        left = problem.left(state, floor)
        if not left.far.all():
            # One that has arrived steps no further: its end owes nothing to the others.
            weights[open_], open_ = state.w, open_[left.far]
            if not len(open_):
                break
            problem.keep(left.far)
            state.keep(left.far)
            left.keep(left.far)
        problem.step(state, left)
    else:
        weights[open_] = state.w
    fitted = weights @ matrix.T
    logs = np.where(shares > 0, np.log(np.maximum(fitted, 1e-300)), 0.0)
    return Solution(
        weights=weights / weights.sum(axis=1, keepdims=True),
        fitted=fitted,
        log_likelihood=(shares * logs).sum(axis=1),
    )


@dataclass
class _Rows:
    """Arrays with one row a problem."""

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Drop the rows of the other problems."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[which])


@dataclass
class _State(_Rows):
    w: Floats
    """(B, J) law."""
    u: Floats
    """(B, C) shares / fitted."""
    y: Floats
    """(B, E) multipliers of the side conditions."""
    s: Floats
    """(B, J) slack."""
    length: Floats
    """(B,) length of the last step."""


@dataclass
class _Left(_Rows):
    """What is left to do."""

    far: NDArray[np.bool_]
    """(B,) has not arrived."""
    fitted: Floats
    """(B, C) present L w."""
    goal: Floats
    """(B, J) or (B, 1) what the products w_j s_j are led to."""
    missed: Floats
    """(B, E) side conditions less what they should be, with the sign turned."""


class _Problem:
    """The fixed part of the equations: L, the shares, the prior and the side conditions."""

    def __init__(
        self, matrix: Floats, shares: Floats, prior: Floats | None, zero: Floats | None
    ) -> None:
        # Products of tinier numbers are denormal, on which processors are a hundred times slower.
        self.matrix = np.where(matrix < NEGLIGIBLE, 0.0, matrix)
        self.shares, self.prior = shares, prior
        batch, size = len(shares), matrix.shape[1]
        sums = np.ones((batch, 1, size))
        if zero is None:
            self.sides = sums
        else:
            scaled = zero / np.abs(zero).max(axis=1, keepdims=True)
            self.sides = np.concatenate([sums, scaled[:, None, :]], axis=1)
        self.goal = np.zeros(self.sides.shape[:2])
        self.goal[:, 0] = 1.0
        self.seen = shares > 0
        self.rows = np.concatenate([self.matrix * self.seen[:, :, None], -self.sides], axis=1)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Drop the other problems."""
        self.shares, self.sides = self.shares[which], self.sides[which]
        self.goal, self.seen, self.rows = self.goal[which], self.seen[which], self.rows[which]
        if self.prior is not None:
            self.prior = self.prior[which]

    def start(self) -> _State:
        batch, size = len(self.shares), self.matrix.shape[1]
        w = np.full((batch, size), 1.0 / size)
        if self.prior is not None:
            w = self.prior / self.prior.sum(axis=1, keepdims=True)
        u = self.shares / (w @ self.matrix.T)
        y = np.zeros((batch, self.sides.shape[1]))
        pull = u @ self.matrix
        y[:, 0] = 1.2 * pull.max(axis=1) + 0.1
        return _State(w, u, y, y[:, :1] - pull, np.zeros(batch))

    def left(self, now: _State, floor: float) -> _Left:
        """How far each problem is from its maximum."""
        fitted = now.w @ self.matrix.T
        product = now.w * now.s
        if self.prior is None:
            mean = product.mean(axis=1, keepdims=True)
            shrink = np.clip((1.0 - now.length) ** 2, 0.05, 0.5)[:, None]
            goal = np.maximum(shrink * mean, 0.1 * floor)
            far = np.asarray(mean[:, 0] > floor)
        else:
            goal = self.prior
            far = np.asarray(np.abs(product - goal).sum(axis=1) > 1e-7 * goal.sum(axis=1))
        missed = self.goal - (self.sides @ now.w[:, :, None])[:, :, 0]
        drift = np.abs(self.shares - now.u * fitted).sum(axis=1)
        far |= (np.abs(missed).max(axis=1) > 1e-9) | (drift > 1e-9)
        return _Left(far, fitted, goal, missed)

    def step(self, now: _State, left: _Left) -> None:
        """One Newton step in place."""
        fitted, goal, missed, rows = left.fitted, left.goal, left.missed, self.rows
        classes = self.matrix.shape[0]
        ratio = now.w / now.s
        system = _gram(rows, ratio)
        diagonal = np.where(self.seen, fitted / np.where(self.seen, now.u, 1.0), 1.0)
        index = np.arange(classes)
        system[:, index, index] += diagonal
        led = goal / now.s
        over_u = self.shares / np.where(self.seen, now.u, 1.0)
        right = np.concatenate(
            [
                np.where(self.seen, over_u - led @ self.matrix.T, 0.0),
                (self.sides @ (led - now.w)[:, :, None])[:, :, 0] - missed,
            ],
            axis=1,
        )
        tail = np.arange(classes, system.shape[1])
        system[:, tail, tail] *= 1.0 + 1e-12
        system[:, tail, tail] += 1e-14
        move = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        du, dy = move[:, :classes], move[:, classes:]
        ds = -(rows.swapaxes(1, 2) @ move[:, :, None])[:, :, 0]
        dw = led - now.w - ratio * ds
        length = np.minimum.reduce(
            [_room(now.w, dw), _room(now.s, ds), _room(now.u, du), np.ones(len(now.w))]
        )
        for value, change in ((now.w, dw), (now.s, ds), (now.u, du), (now.y, dy)):
            value += length[:, None] * change
        now.length = length


def _gram(rows: Floats, ratio: Floats) -> Floats:
    """(B, R, R) sum_j ratio_j rows_j rows_j^T, in products too small to be worth a thread.

    Numerical libraries share a larger product among all cores, and on a busy machine the threads
    then wait for each other ten times as long as the product takes.
    """
    count, size = rows.shape[1:]
    part = max(8, SMALL_PRODUCT // count**2)
    total = np.zeros((len(rows), count, count))
    for start in range(0, size, part):
        some = rows[:, :, start : start + part]
        total += (some * ratio[:, None, start : start + part]) @ some.swapaxes(1, 2)
    return total


def _room(value: Floats, change: Floats) -> Floats:
    """The longest step, per problem, that keeps ``value`` positive with a little to spare."""
    falling = change < 0
    ratio = np.where(falling, value / np.where(falling, -change, 1.0), np.inf)
    return np.asarray(0.98 * ratio.min(axis=1))
