"""How a set's collapse rate moves as the model learns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty.collapse import Counts, forecast
from difficulty.collapse.belief import with_rate
from difficulty.collapse.collapse import collapse_probability
from difficulty.collapse.complete import complete
from difficulty.collapse.drift import HALF, drift, shifted
from difficulty.collapse.fills import QuestionSet
from difficulty.collapse.steps import fill_chance
from difficulty.collapse.training import plan_run
from difficulty.settings.forecast import ForecastSpec

SPECIALIST = (636, 216, 180, 223, 294, 2164)


def set_of(grid, weights, number=1000):
    usable = 1.0 - collapse_probability(grid, 8)
    return QuestionSet(usable=usable, weights=weights, num_questions=number)


def drift_of(grid, weights, **more):
    grid, weights = np.array(grid), np.array(weights)
    options = {"group_size": 8, "num_samples": 5, "plan": None} | more
    return drift(grid, set_of(grid, weights), **options)


@given(p=st.floats(1e-6, 1 - 1e-6), shift=st.floats(-5, 5))
def test_a_shift_adds_to_the_logit(p, shift):
    moved = shifted(np.array([p]), shift)[0]
    assert np.log(moved / (1 - moved)) == pytest.approx(np.log(p / (1 - p)) + shift, abs=1e-6)


def test_zero_and_one_never_move():
    assert shifted(np.array([0.0, 1.0]), 3.0).tolist() == [0.0, 1.0]


def test_questions_of_one_pass_rate_pass_the_limit_where_the_formula_says():
    found = drift_of([0.5], [1.0])
    assert found.accuracy == 0.5
    assert found.limit == HALF
    at = found.profile_again_at
    assert collapse_probability(at, 8) == pytest.approx(0.5, abs=0.005)
    assert np.log(at / (1 - at)) == pytest.approx(found.shift, abs=1e-6)


def test_atoms_at_the_ends_are_bounded_by_pass_rates_slightly_inside():
    found = drift_of([0.0, 0.5, 1.0], [0.4, 0.2, 0.4])
    assert pytest.approx(0.95, abs=0.002) == 0.99**5
    assert found.edge == pytest.approx(0.0102, abs=1e-4)
    by_shift = {one.shift: one for one in found.curve}
    assert all(one.acr >= 0.8 for one in found.curve)
    # Questions never right that were in truth right in 1 of 100 would wake up with training.
    assert by_shift[4.0].acr_low < by_shift[0.0].acr_low - 0.1
    assert all(one.acr_low <= one.acr <= one.acr_high for one in found.curve)


def test_a_set_that_passes_its_limit_already_says_so_and_one_that_never_does():
    assert drift_of([0.0, 0.5], [0.9, 0.1]).shift == 0
    never = drift_of([0.0, 0.5], [0.3, 0.7], plan=None, ratio=0.1)
    assert never.profile_again_at is None


def test_the_limit_is_where_a_step_still_fills(tmp_path):
    found = forecast(Counts.of([5] * 6, range(6), SPECIALIST))
    plan = plan_run("ms-swift")
    whole = complete(found, ForecastSpec(trainer="ms-swift")).drift
    questions = found.work.questions(found.kept_rule)
    limit = whole.kept.limit
    assert fill_chance(with_rate(questions, limit), plan) == pytest.approx(0.99, abs=0.001)
    assert limit < 1 - 1 / 3
    assert whole.pool.shift == 0
    assert whole.kept.accuracy < 0.6 < whole.kept.profile_again_at < 1
    now = next(one for one in whole.kept.curve if one.shift == 0)
    assert now.acr == pytest.approx(found.kept.acr)
    assert now.accuracy == pytest.approx(whole.kept.accuracy)


def test_without_a_limit_of_its_own_half_of_the_groups_is_the_limit():
    found = forecast(Counts.of([5] * 6, range(6), SPECIALIST))
    for spec in (ForecastSpec(), ForecastSpec(trainer="trl"), ForecastSpec(trainer="slime")):
        assert complete(found, spec).drift.kept.limit == HALF
    assert complete(forecast(Counts.of([5], [5])), ForecastSpec()).drift.kept is None
