import collections

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from difficulty import store
from difficulty.levels import LEVELS, level_of
from difficulty.schema import PassRate, Selection
from difficulty.selection import choose as chooser
from difficulty.settings.selection import SelectionSpec


def profile_row(name, correct, graded=5, source="set"):
    return PassRate(
        question_id=name, source=source, kind="numeric", num_samples=5, num_graded=graded,
        num_correct=correct, num_no_answer=0, num_truncated=0, num_failed=5 - graded,
        num_grader_error=0, pass_rate=correct / graded if graded else None, pass_rate_low=None,
        pass_rate_high=None, level=level_of(correct, graded) if graded == 5 else None,
        level_without_truncated=None, mean_reward=None, mean_tokens=None,
    )  # fmt: skip


def choose(folder, rows, **selection):
    run = store.RunFolder(folder)
    with store.TableWriter(run.profile, store.table_schema(PassRate), None) as table:
        table.write_rows(rows)
    collapse = {(5, correct): correct / 10 for correct in range(6)}
    batches = chooser.choose(run, SelectionSpec(**selection), store.connect(), collapse)
    return [store.row_from_dict(Selection, row) for batch in batches for row in batch.to_pylist()]


ROWS = [profile_row(f"q{c}", c) for c in range(6)] + [profile_row("short", 2, graded=4)]


def test_the_default_keeps_l2_to_l5_and_names_why_the_rest_went(tmp_path):
    found = {row.question_id: (row.keep, row.drop_reason) for row in choose(tmp_path, ROWS)}
    assert found == {
        "q0": (False, "level_L6"), "q1": (True, None), "q2": (True, None), "q3": (True, None),
        "q4": (True, None), "q5": (False, "level_L1"), "short": (False, "too_few_graded"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("order", "expected"),
    [("easy-to-hard", ["q4", "q3", "q2", "q1"]), ("hard-to-easy", ["q1", "q2", "q3", "q4"])],
)
def test_positions_follow_the_order_that_was_asked_for(tmp_path, order, expected):
    kept = [row for row in choose(tmp_path, ROWS, order=order) if row.keep]
    assert [row.question_id for row in sorted(kept, key=lambda row: row.position)] == expected
    assert [row.position for row in kept] == [0, 1, 2, 3]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), min_size=1, max_size=30),
    st.sets(st.sampled_from(LEVELS), min_size=1),
    st.none() | st.integers(0, 10),
    st.none() | st.integers(0, 5),
)
def test_kept_and_dropped_add_up_whatever_the_rules(tmp_path_factory, counts, keep, most, quota):
    rows = [profile_row(f"q{i}", c, source=source) for i, (c, source) in enumerate(counts)]
    found = choose(
        tmp_path_factory.mktemp("s"), rows, keep=",".join(sorted(keep)), max_questions=most,
        quotas=() if quota is None else (f"a={quota}",),
    )  # fmt: skip
    assert sorted(row.question_id for row in found) == sorted(row.question_id for row in rows)
    assert all(row.keep == (row.drop_reason is None) == (row.position is not None) for row in found)
    kept = [row for row in found if row.keep]
    assert sorted(row.position for row in kept) == list(range(len(kept)))
    assert most is None or len(kept) <= most
    assert quota is None or sum(row.source == "a" for row in kept) <= quota
    assert all(row.level in keep for row in kept)


def test_the_order_of_the_rows_changes_nothing(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    more = {"order": "shuffled", "max_questions": 3, "seed": 7}
    assert choose(tmp_path / "a", ROWS, **more) == choose(tmp_path / "b", ROWS[::-1], **more)


def test_another_seed_gives_another_shuffle(tmp_path):
    rows = [profile_row(f"q{i}", 3) for i in range(30)]
    first, second = (
        [row.question_id for row in choose(tmp_path, rows, order="shuffled", seed=seed)]
        for seed in (1, 2)
    )
    assert first != second
    assert sorted(first) == sorted(second)


def test_a_band_comes_on_top_of_the_levels(tmp_path):
    found = choose(tmp_path, ROWS, pass_rate="0.4-0.6")
    reasons = collections.Counter(row.drop_reason for row in found)
    assert reasons == {
        None: 2,
        "outside_pass_rate_band": 2,
        "level_L1": 1,
        "level_L6": 1,
        "too_few_graded": 1,
    }


def test_a_source_name_with_a_quote_is_only_a_name(tmp_path):
    rows = [profile_row(f"q{i}", 3, source="o'brien; DROP TABLE x") for i in range(3)]
    found = choose(tmp_path, rows, quotas=("o'brien; DROP TABLE x=1",))
    assert sum(row.keep for row in found) == 1


def test_the_collapse_probability_is_joined_by_counts_and_null_without_any(tmp_path):
    found = {row.question_id: row.collapse_probability for row in choose(tmp_path, ROWS)}
    assert found["q3"] == 0.3
    assert found["short"] is None
