"""The forecast of the kept set where a rule goes by the number of options."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from difficulty.collapse import Counts, collapse_posterior, forecast
from difficulty.levels import level_of
from difficulty.run.forecast_kept import forecast_kept
from difficulty.settings.run import SelectionSpec
from tests.conftest import make_spec

QUARTER, THIRD = Fraction(1, 4), Fraction(1, 3)
FIGURES = ("acr", "low", "high", "identified_low", "identified_high", "plug_in", "num_questions")


def draw(rng, rates, questions):
    """(counts, pass rates, right answers of five) of questions of a uniform law on ``rates``."""
    p = rng.choice(rates, questions)
    correct = rng.binomial(5, p)
    values, numbers = np.unique(correct, return_counts=True)
    return Counts.of([5] * len(values), values.tolist(), numbers.tolist()), p, correct


def whole(parts):
    return Counts.of(
        np.concatenate([part.num_samples for part in parts]),
        np.concatenate([part.num_correct for part in parts]),
        np.concatenate([part.num_questions for part in parts]),
    )


def figures(estimate):
    return {name: dataclasses.asdict(estimate)[name] for name in FIGURES}


RATES = np.linspace(0, 1, 21)


def test_without_the_rule_it_is_the_forecast_of_the_levels():
    counts, _, _ = draw(np.random.default_rng(0), RATES, 300)
    spec = make_spec(selection=SelectionSpec(keep="L2-L5"))
    found = forecast_kept(counts, {None: counts}, spec)
    assert found.kept == forecast(counts, group_size=8).kept


def test_one_number_of_options_is_a_rule_on_counts():
    counts, _, _ = draw(np.random.default_rng(1), RATES, 300)
    spec = make_spec(selection=SelectionSpec(above_chance=0.9))
    found = forecast_kept(counts, {QUARTER: counts}, spec)
    expected = forecast(counts, group_size=8, keep=("L2", "L3"))
    assert figures(found.kept) == pytest.approx(figures(expected.kept))
    assert found.plans


def test_collapse_above_the_maximum_is_not_in_the_kept_set():
    counts, _, correct = draw(np.random.default_rng(2), RATES, 400)
    spec = make_spec(selection=SelectionSpec(keep="L1-L6", max_collapse=0.2))
    posterior = collapse_posterior(counts, 8)
    wanted = [c for c in range(6) if posterior[5, c] <= 0.2]
    found = forecast_kept(counts, {None: counts}, spec)
    assert 0 < len(wanted) < 6
    assert found.kept.num_questions == np.isin(correct, wanted).sum()


def test_counts_that_no_question_has_are_judged_too():
    counts = Counts.of([5, 5, 5, 5], [0, 1, 4, 5], [50, 20, 20, 50])
    spec = make_spec(selection=SelectionSpec(keep="L1-L6", max_collapse=0.6))
    found = forecast_kept(counts, {None: counts}, spec)
    assert found.kept.num_questions == 40


def test_several_numbers_of_options_have_a_law_each_and_the_truth_is_inside():
    rng = np.random.default_rng(3)
    drawn = {
        QUARTER: draw(rng, RATES, 500),
        THIRD: draw(rng, RATES[5:], 500),
        None: draw(rng, RATES, 400),
    }
    by_guess = {guess: part[0] for guess, part in drawn.items()}
    counts = whole(by_guess.values())
    spec = make_spec(selection=SelectionSpec(keep="L2-L5", above_chance=0.9))
    found = forecast_kept(counts, by_guess, spec)
    least = {QUARTER: 3, THIRD: 4, None: 1}
    kept = [
        p[(correct >= least[guess]) & (correct <= 4)] for guess, (_, p, correct) in drawn.items()
    ]
    kept = np.concatenate(kept)
    truth = float(np.mean(kept**8 + (1 - kept) ** 8))
    assert found.kept.num_questions == len(kept)
    assert found.kept.low <= truth <= found.kept.high
    assert found.kept.acr == pytest.approx(truth, abs=0.06)
    assert found.pool == forecast(counts, group_size=8).pool
    assert any("other counts at other numbers of options" in text for text in found.warnings)
    assert found.kept_rule(5, 1)
    assert not found.kept_rule(5, 5)


def test_nothing_kept_is_no_estimate():
    counts = Counts.of([5, 5], [1, 2], [10, 10])
    spec = make_spec(selection=SelectionSpec(above_chance=0.9))
    assert forecast_kept(counts, {QUARTER: counts}, spec).kept is None
    assert level_of(2, 5) == "L4"
