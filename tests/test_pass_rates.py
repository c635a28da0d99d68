import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from difficulty.levels import clopper_pearson, pass_rate_of_counts

COUNTS = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_the_interval_is_the_published_one():
    # Clopper and Pearson's exact interval for 3 of 10, as in tables of the binomial.
    assert clopper_pearson(3, 10) == pytest.approx((0.0667, 0.6525), abs=1e-4)


def test_none_and_all_right_leave_one_end_open_by_the_rule_of_the_power():
    assert clopper_pearson(0, 5) == pytest.approx((0.0, 1 - 0.025 ** (1 / 5)))
    assert clopper_pearson(5, 5) == pytest.approx((0.025 ** (1 / 5), 1.0))


@given(COUNTS, st.floats(1e-6, 1 - 1e-6) | st.sampled_from([0.0, 1.0]))
def test_the_interval_covers_the_truth_at_least_95_times_in_100(counts, truth):
    _, n = counts
    covered = sum(
        binom.pmf(c, n, truth) for c in range(n + 1)
        if clopper_pearson(c, n)[0] <= truth <= clopper_pearson(c, n)[1]
    )  # fmt: skip
    assert covered >= 0.95 - 1e-9


def judge(correct, graded, truncated=0, minimum=5):
    return pass_rate_of_counts(
        num_correct=correct, num_graded=graded, num_truncated=truncated, min_graded=minimum
    )


def test_a_question_short_of_its_samples_has_no_level_but_keeps_its_rate():
    found = judge(2, 4)
    assert (found.level, found.pass_rate) == (None, 0.5)
    assert judge(2, 4, minimum=4).level == "L4"


def test_nothing_graded_is_unknown_and_not_zero():
    found = judge(0, 0, minimum=1)
    assert (found.pass_rate, found.pass_rate_low, found.level) == (None, None, None)


def test_leaving_truncated_answers_out_can_only_make_a_question_easier():
    found = judge(2, 5, truncated=3)
    assert (found.level, found.level_without_truncated) == ("L4", "L1")
    assert judge(0, 5, truncated=5).level_without_truncated is None
