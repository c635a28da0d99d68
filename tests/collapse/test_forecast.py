"""The forecast's worked examples, its laws, and its coverage by simulation."""

import dataclasses
import itertools
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bench.collapse.estimators import beta_collapse, exact_collapse
from difficulty.collapse import Counts, collapse_posterior, forecast, missing_range
from difficulty.collapse.beta_binomial import fit_beta
from difficulty.collapse.bounds import best_fit, extremes
from difficulty.collapse.collapse import collapse_probability, degree
from difficulty.collapse.complete import of_counts
from difficulty.collapse.forecast_json import from_json, to_json
from difficulty.collapse.likelihood import binomial_matrix, maximise, pass_rate_grid
from difficulty.collapse.mixture import _beta_cells, fit_mixture
from difficulty.errors import InputError

# Published level counts by number correct, 0 to 5 (medical-exam study; k = 5, G = 8).
SPECIALIST = (636, 216, 180, 223, 294, 2164)
IGAKUQA = (286, 150, 119, 154, 325, 7061)

few_counts = st.lists(st.integers(0, 40), min_size=6, max_size=6).filter(any)
mixed_rows = st.lists(
    st.integers(1, 9).flatmap(
        lambda k: st.tuples(st.just(k), st.integers(0, k), st.integers(1, 30))
    ),
    min_size=1,
    max_size=8,
)
calm = settings(max_examples=25, deadline=None)


def table(by_correct):
    k = len(by_correct) - 1
    return Counts.of([k] * (k + 1), range(k + 1), by_correct)


def check_honest(estimate):
    assert 0 <= estimate.low <= estimate.identified_low <= estimate.identified_high
    assert estimate.identified_high <= estimate.high <= 1
    assert estimate.low <= estimate.acr <= estimate.high
    assert estimate.low < estimate.high


@pytest.fixture(scope="module")
def specialist():
    return forecast(table(SPECIALIST))


# --- worked examples ---


def test_specialist_pool_agrees_with_the_trainer_and_the_plug_in_does_not(specialist):
    pool = specialist.pool
    assert 0.66 < pool.acr < 0.75
    assert pool.plug_in == pytest.approx(0.779, abs=0.001)
    assert (pool.low, pool.high) == pytest.approx((0.68, 0.72), abs=0.005)
    assert pool.num_questions == 3713


@pytest.mark.parametrize(
    ("by_correct", "pool", "kept"),
    [
        (SPECIALIST, (0.697, 0.706), (0.115, 0.285)),
        (IGAKUQA, (0.881, 0.884), (0.193, 0.380)),
    ],
)
def test_identified_sets_of_the_published_counts(by_correct, pool, kept):
    result = forecast(table(by_correct))
    for found, known in ((result.pool, pool), (result.kept, kept)):
        assert (found.identified_low, found.identified_high) == pytest.approx(known, abs=0.001)


def test_kept_interval_of_the_specialist_set(specialist):
    kept = specialist.kept
    assert (kept.low, kept.high) == pytest.approx((0.09, 0.32), abs=0.015)
    assert kept.plug_in == pytest.approx(0.10, abs=0.005)
    assert kept.plug_in < kept.identified_low
    assert kept.num_questions == 913


def test_open_kept_set_is_warned_of_with_the_k_that_settles_it_and_its_cost(specialist):
    present, eight = specialist.plans[:2]
    assert (present.num_samples, eight.num_samples) == (5, 8)
    assert present.identified_width > 0.15
    assert eight.identified_width < 0.01
    assert eight.extra_answers == 3 * 3713
    (warning,) = specialist.warnings
    assert "k = 8" in warning
    assert "11,139 more answers" in warning


def test_identified_set_does_not_depend_on_the_grid():
    classes = table(SPECIALIST).classes()
    fitted = best_fit(classes).fitted
    kept = [
        extremes(
            binomial_matrix(classes.num_samples, classes.num_correct, grid),
            fitted,
            collapse_probability(grid, 8),
            1 - grid**5 - (1 - grid) ** 5,
        )
        for grid in (pass_rate_grid(), pass_rate_grid(801), np.linspace(0, 1, 2001))
    ]
    assert kept[0] == pytest.approx(kept[1], abs=5e-4)
    assert kept[0] == pytest.approx(kept[2], abs=5e-4)


def test_json_holds_the_contract_and_no_nan(specialist):
    found = json.loads(json.dumps(to_json(of_counts(specialist)), allow_nan=False))
    figures = {
        "acr", "low", "high", "identified_low", "identified_high", "plug_in", "num_questions"
    }  # fmt: skip
    assert found["group_size"] == 8
    assert figures <= found["pool"].keys()
    assert figures <= found["kept"].keys()
    assert found["kept"]["levels"] == ["L2", "L3", "L4", "L5"]
    assert list(found["levels"]) == ["L1", "L2", "L3", "L4", "L5", "L6"]
    assert found["levels"]["L1"]["num_questions"] == 2164


def test_level_rates_average_to_the_pool(specialist):
    parts = specialist.levels.values()
    mean = sum(part.acr * part.num_questions for part in parts) / 3713
    assert mean == pytest.approx(specialist.pool.acr, abs=1e-9)


# --- the polynomial and its exact estimate ---


@settings(deadline=None)
@given(p=st.floats(1e-6, 1 - 1e-6), size=st.integers(2, 64))
def test_collapse_is_symmetric_and_falls_with_the_group(p, size):
    assert collapse_probability(p, size) == pytest.approx(collapse_probability(1 - p, size))
    assert collapse_probability(p, size + 1) <= collapse_probability(p, size)


@settings(deadline=None)
@given(k=st.integers(2, 20), size=st.integers(2, 20), p=st.floats(1e-6, 1 - 1e-6))
def test_exact_estimate_has_the_true_rate_as_its_mean(k, size, p):
    if degree(size) > k:
        with pytest.raises(ValueError, match="no unbiased"):
            exact_collapse(k, 0, size)
        return
    chances = binom.pmf(np.arange(k + 1), k, p)
    mean = sum(chances[c] * exact_collapse(k, c, size) for c in range(k + 1))
    assert mean == pytest.approx(collapse_probability(p, size), abs=1e-9)


def test_exact_estimate_is_the_share_of_groups_that_collapse():
    answers = (1, 1, 1, 1, 0, 0, 0)
    groups = list(itertools.combinations(answers, 3))
    share = sum(len(set(group)) == 1 for group in groups) / len(groups)
    assert exact_collapse(7, 4, 3) == pytest.approx(share)


def test_exact_anchors_reach_as_far_as_k_allows():
    assert list(forecast(table(SPECIALIST)).exact) == [2, 3, 4, 5]
    assert list(forecast(table((3, 4, 5, 6, 7))).exact) == [2, 3, 4, 5]
    assert forecast(Counts.of([5, 4], [1, 2])).exact == {}


def test_pool_rate_is_exact_where_no_law_is_needed():
    result = forecast(table(SPECIALIST), group_size=5)
    shares = np.array(SPECIALIST) / sum(SPECIALIST)
    assert result.pool.method == "exact"
    assert result.pool.acr == pytest.approx(shares[0] + shares[5])
    assert result.pool.identified_high - result.pool.identified_low < 1e-4


def test_exact_rate_that_no_law_can_have_is_not_the_forecast():
    result = forecast(table((10, 100, 10)), group_size=3)
    assert result.exact[3] < 0.25
    assert result.pool.method == "mixture"
    assert result.pool.acr >= 0.25


# --- the fits ---


def test_beta_posterior_is_the_integral():
    p = (np.arange(200_000) + 0.5) / 200_000
    density = p ** (0.7 + 2 - 1) * (1 - p) ** (1.3 + 3 - 1)
    integral = (density * collapse_probability(p, 8)).sum() / density.sum()
    found = beta_collapse(np.array([5]), np.array([2]), a=0.7, b=1.3, group_size=8)
    assert found[0] == pytest.approx(integral, rel=1e-6)


def test_beta_fit_finds_the_law_behind_mixed_k():
    rng = np.random.default_rng(3)
    k = rng.integers(1, 12, 40_000)
    counts = Counts.of(k, rng.binomial(k, rng.beta(0.4, 0.8, 40_000)))
    assert fit_beta(counts.classes()) == pytest.approx((0.4, 0.8), rel=0.05)


def test_mixture_is_the_fixed_point_of_expectation_maximisation():
    classes = table(SPECIALIST).classes()
    law = fit_mixture(classes)
    matrix = binomial_matrix(classes.num_samples, classes.num_correct, law.grid)
    prior = law.prior * _beta_cells(law.grid, *law.beta)
    posterior = matrix * law.weights / (matrix @ law.weights)[:, None]
    step = (classes.num_questions @ posterior + prior) / (classes.total + law.prior)
    assert np.abs(step - law.weights).max() < 1e-7


@calm
@given(by_correct=few_counts)
def test_best_fit_is_not_beaten_by_expectation_maximisation(by_correct):
    shares = np.array(by_correct) / sum(by_correct)
    matrix = binomial_matrix(np.full(6, 5), np.arange(6), pass_rate_grid())
    best = maximise(matrix, shares[None, :])
    weights, seen = np.full(matrix.shape[1], 1 / matrix.shape[1]), shares > 0
    for _ in range(500):
        weights = weights * ((shares / (matrix @ weights)) @ matrix)
    reached = shares[seen] @ np.log((matrix @ weights)[seen])
    assert best.log_likelihood[0] >= reached - 1e-6


def test_counts_of_no_law_are_called_a_poor_fit():
    # Every question 2 or 3 of 5: narrower than even a single pass rate would give.
    result = forecast(table((0, 0, 500, 500, 0, 0)))
    assert result.fit.p_value <= 0.01
    assert any("poor fit" in warning for warning in result.warnings)
    assert forecast(table(SPECIALIST)).fit.p_value > 0.05


# --- laws of the whole ---


@settings(max_examples=8, deadline=None)
@given(rows=mixed_rows, seed=st.integers(0, 99))
def test_row_order_and_split_rows_change_nothing(rows, seed):
    columns = np.array(rows).T
    split = np.concatenate([columns, [columns[0], columns[1], columns[2]]], axis=1)
    split[2, : len(rows)] -= 1
    split[2, len(rows) :] = 1
    shuffled = split[:, np.random.default_rng(seed).permutation(split.shape[1])]
    assert of_counts(forecast(Counts.of(*columns))) == of_counts(forecast(Counts.of(*shuffled)))


@calm
@given(rows=mixed_rows, size=st.integers(2, 16))
def test_every_interval_is_honest_whatever_the_counts(rows, size):
    result = forecast(Counts.of(*np.array(rows).T), group_size=size)
    whole = of_counts(result)
    assert from_json(json.loads(json.dumps(to_json(whole), allow_nan=False))) == whole
    for estimate in (result.pool, *result.levels.values()):
        check_honest(estimate)
    assert sum(part.num_questions for part in result.levels.values()) == sum(r[2] for r in rows)


@settings(max_examples=8, deadline=None)
@given(by_correct=few_counts)
def test_right_and_wrong_are_symmetric(by_correct):
    here, mirrored = forecast(table(by_correct)).pool, forecast(table(by_correct[::-1])).pool
    assert here.acr == pytest.approx(mirrored.acr, abs=2e-3)
    assert here.low == pytest.approx(mirrored.low, abs=1e-2)


@calm
@given(by_correct=few_counts)
def test_forecast_falls_with_the_group_size(by_correct):
    rates = [collapse_posterior(table(by_correct), size) for size in (2, 5, 8, 16, 64)]
    for smaller, larger in itertools.pairwise(rates):
        assert all(larger[key] <= smaller[key] + 1e-9 for key in smaller)


@pytest.mark.parametrize("by_correct", [(0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, 0)])
def test_one_question_settles_next_to_nothing(by_correct):
    pool = forecast(table(by_correct)).pool
    assert pool.high - pool.low > 0.8


def test_five_questions_all_right_do_not_promise_full_collapse():
    pool = forecast(table((0, 0, 0, 0, 0, 5))).pool
    assert pool.low < 0.6
    assert pool.high == pytest.approx(1.0)


def test_thousands_all_wrong_do():
    result = forecast(table((4000, 0, 0, 0, 0, 0)))
    assert result.pool.low > 0.99
    assert result.kept is None
    empty = to_json(of_counts(result))
    for part in (empty["kept"], empty["levels"]["L3"]):
        assert part["acr"] is None
        assert part["num_questions"] == 0


def test_one_sample_a_question_leaves_the_pool_open():
    pool = forecast(Counts.of([1, 1], [0, 1], [5000, 10_000])).pool
    assert pool.identified_high - pool.identified_low > 0.9


def test_kept_rate_is_right_where_k_was_raised_for_the_middling_only():
    rng = np.random.default_rng(5)
    p = rng.beta(0.4, 0.4, 20_000)
    first = rng.binomial(5, p)
    more = (first > 0) & (first < 5)
    k = np.where(more, 16, 5)
    c = first + np.where(more, rng.binomial(11, p), 0)
    result = forecast(Counts.of(k, c))
    inner = (c > 0) & (c < k)
    assert result.kept.acr == pytest.approx(collapse_probability(p[inner], 8).mean(), abs=0.01)
    assert result.pool.acr == pytest.approx(collapse_probability(p, 8).mean(), abs=0.01)


def test_many_different_k_are_thinned_without_bias():
    rng = np.random.default_rng(6)
    k = rng.integers(1, 41, 20_000)
    p = rng.beta(0.4, 0.6, 20_000)
    counts = Counts.of(k, rng.binomial(k, p))
    simple = counts.classes().simplified()
    assert len(simple.num_samples) < len(counts.classes().num_samples)
    assert simple.num_questions.sum() == pytest.approx(20_000)
    law = fit_mixture(counts.classes())
    rate = law.weights @ collapse_probability(law.grid, 8)
    assert rate == pytest.approx(collapse_probability(p, 8).mean(), abs=0.01)


def test_each_source_has_its_own_law():
    both = Counts.of([5] * 12, [*range(6)] * 2, SPECIALIST + IGAKUQA, source=["s"] * 6 + ["i"] * 6)
    result = forecast(both)
    for name, by_correct in (("s", SPECIALIST), ("i", IGAKUQA)):
        found, alone = result.by_source[name], forecast(table(by_correct)).pool
        assert dataclasses.astuple(found)[:-1] == pytest.approx(dataclasses.astuple(alone)[:-1])
    assert forecast(table(SPECIALIST)).by_source == {}


def test_posterior_by_class_is_highest_at_the_ends():
    chance = collapse_posterior(table(SPECIALIST), 8)
    assert set(chance) == {(5, c) for c in range(6)}
    assert chance[5, 0] > chance[5, 1] > chance[5, 2]
    assert chance[5, 5] > chance[5, 4] > chance[5, 3]


def test_missing_answers_span_a_range_around_the_rate_without_them():
    found = missing_range([5, 3], [0, 2], [5, 1], [70, 30])
    assert found.all_wrong != found.all_right
    none_missing = missing_range([5] * 6, [0] * 6, range(6), SPECIALIST)
    pool = forecast(table(SPECIALIST)).pool.acr
    assert (none_missing.all_wrong, none_missing.all_right) == pytest.approx((pool, pool))
    assert missing_range([0], [5], [0], [9]).all_right > 0.9


# --- refusals ---


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([5, 5], [1, 6], [1, 1]), r"num_correct above num_samples: row 1 .* 6"),
        (([5, 5], [1, -1], [1, 1]), r"num_correct negative: row 1"),
        (([5, 0], [1, 0], [1, 1]), r"num_samples below 1: row 1"),
        (([5, 5], [1, None], [1, 1]), r"num_correct missing: row 1"),
        (([5, 5], [1, 2], [float("nan"), 1]), r"num_questions missing: row 0"),
        (([5, 5], [1, 2.5], [1, 1]), r"not a whole number: row 1"),
        (([5, 5], [1, "two"], [1, 1]), r"row 1 .* 'two'"),
        (([5, 5], [1, 2], [float("inf"), 1]), r"num_questions infinite: row 0"),
        (([5, 10**10], [1, 1], [1, 1]), r"num_samples above 1,000,000,000: row 1"),
        (([5] * 1500, [1] * 1500, [2**53] * 1500), r"add up to more than can be counted"),
        (([5, 5], [1], [1, 1]), r"differ in length"),
        (([5], [1], [0]), r"no question"),
        (([], [], []), r"no question"),
    ],
)
def test_counts_that_cannot_be_are_refused_by_row(columns, words):
    with pytest.raises(InputError, match=words) as caught:
        Counts.of(*columns)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("counts", "words"), [
    (Counts.of([5] * 9, [0, 5] * 4 + [5]), "no question is kept: the"),
    (Counts.of([1] * 9, [0, 1] * 4 + [1]), "no question is kept: one answer cannot be both"),
    (Counts.of([1] * 9, [0, 1] * 4 + [1]), "one answer a question says next to nothing"),
])  # fmt: skip
def test_a_set_that_says_little_is_named_so(counts, words):
    assert any(text.startswith(words) for text in forecast(counts).warnings)


@pytest.mark.parametrize("size", [1, 0, -3, 2.5])
def test_a_group_without_a_comparison_is_refused(size):
    with pytest.raises(InputError, match="group size"):
        forecast(table(SPECIALIST), group_size=size)


def test_an_unknown_level_is_refused():
    with pytest.raises(InputError, match="L7"):
        forecast(table(SPECIALIST), keep=("L2", "L7"))


def test_import_is_light():
    code = "import sys, difficulty.collapse; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- speed and seeds ---


def test_ten_million_questions_take_no_longer_than_a_thousand():
    counts = table([value * 2700 for value in SPECIALIST])
    start = time.process_time()
    result = forecast(counts)
    assert time.process_time() - start < 3
    assert result.pool.num_questions > 10_000_000
    assert result.pool.high - result.pool.low < 0.012


def test_the_same_counts_give_the_same_forecast():
    counts = table((30, 9, 2, 8, 1, 60))
    first = forecast(counts, rng=np.random.default_rng(1))
    assert first == forecast(counts, rng=np.random.default_rng(1))
