import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty.errors import SettingsError
from difficulty.levels import LEVELS, format_keep, level_of, parse_keep, reachable_levels
from difficulty.schema import OUTCOMES, REWARD_OF, UNKNOWN_OUTCOMES


def test_five_samples_give_alphameds_table():
    assert [level_of(c, 5) for c in range(6)] == ["L6", "L5", "L4", "L3", "L2", "L1"]


def test_four_samples_cannot_reach_l3():
    assert reachable_levels(4) == ("L1", "L2", "L4", "L5", "L6")


@given(st.integers(1, 64).flatmap(lambda k: st.tuples(st.integers(0, k), st.just(k))))
def test_more_right_answers_never_make_a_question_harder(counts):
    correct, k = counts
    if correct < k:
        assert LEVELS.index(level_of(correct + 1, k)) <= LEVELS.index(level_of(correct, k))


@given(st.sets(st.sampled_from(LEVELS), min_size=1))
def test_a_keep_rule_survives_its_text_form(levels):
    chosen = tuple(level for level in LEVELS if level in levels)
    assert parse_keep(format_keep(chosen)) == chosen


@pytest.mark.parametrize("text", ["", "L7", "L5-L2", "L2-", "easy", "L1,,L2"])
def test_a_keep_rule_that_names_no_levels_is_refused(text):
    with pytest.raises(SettingsError, match="keep rule cannot be read"):
        parse_keep(text)


def test_impossible_counts_are_a_fault_of_ours():
    with pytest.raises(ValueError, match="6 correct of 5"):
        level_of(6, 5)


def test_every_outcome_says_what_it_counts_as():
    assert tuple(REWARD_OF) == OUTCOMES
    assert UNKNOWN_OUTCOMES == ("failed", "grader_error")
