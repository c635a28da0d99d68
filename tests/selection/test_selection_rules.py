"""Rules and orders of the selection beyond the levels."""

import collections
import dataclasses
import hashlib
import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.levels import beats_guessing, guess_chance, level_of
from difficulty.schema import NearDuplicate, Overlap, PassRate, Selection
from difficulty.selection import choose as chooser
from difficulty.selection import orders, rules
from difficulty.selection.orders import gaussian_turns
from difficulty.settings.selection import SelectionSpec, batch_places, check_selection, parse_mix
from tests.selection.test_curriculum import choose, profile_row

QUARTER = Fraction(1, 4)


# Chance


def test_a_pure_guesser_on_four_options_lands_in_l2_to_l5_three_times_in_four():
    kept = [c for c in range(6) if level_of(c, 5) in ("L2", "L3", "L4", "L5")]
    share = sum(math.comb(5, c) * 0.25**c * 0.75 ** (5 - c) for c in kept)
    assert round(share, 2) == 0.76


def test_with_five_answers_and_four_options_l4_and_l5_do_not_beat_guessing_and_l3_does():
    sure = {level_of(c, 5): beats_guessing(c, 5, QUARTER) for c in range(6)}
    assert sure["L5"] < 0.9
    assert sure["L4"] < 0.9
    assert sure["L3"] > 0.9


@given(st.integers(1, 16), st.integers(0, 16), st.fractions(0, 1))
def test_the_probability_is_the_upper_tail_of_the_beta_posterior(graded, correct, guess):
    from scipy.special import betaincc

    correct = min(correct, graded)
    expected = betaincc(correct + 1, graded - correct + 1, float(guess))
    assert beats_guessing(correct, graded, guess) == pytest.approx(expected, abs=1e-9)


def test_what_a_guess_earns_follows_options_and_golds():
    assert guess_chance("choice", 5, 1) == Fraction(1, 5)
    assert guess_chance("choice", 5, 2) == Fraction(2, 5)
    assert guess_chance("multi", 3, 1) == Fraction(1, 7)
    assert guess_chance("numeric", None, 1) is None
    assert guess_chance("choice", None, 1) is None


def option_row(name, correct, options, source="set"):
    row = profile_row(name, correct, source=source)
    kind = "numeric" if options is None else "choice"
    return dataclasses.replace(row, kind=kind, num_options=options)


def choose_above(folder, rows, **selection):
    """``choose`` with the tables that the rules need, through the stage's own preparation."""
    run = store.RunFolder(folder)
    with store.TableWriter(run.profile, store.table_schema(PassRate), None) as table:
        table.write_rows(rows)
    collapse = {(5, correct): abs(correct - 2.5) / 5 for correct in range(6)}
    batches = chooser.choose(run, SelectionSpec(**selection), store.connect(run), collapse)
    return [store.row_from_dict(Selection, row) for batch in batches for row in batch.to_pylist()]


def reasons(found):
    return {row.question_id: row.drop_reason for row in found}


def test_above_chance_goes_by_each_questions_own_options(tmp_path):
    rows = [option_row(f"c{c}-o{m}", c, m) for c in (1, 2, 3) for m in (2, 4, 5, None)]
    found = reasons(choose_above(tmp_path, rows, above_chance=0.9))
    gone = {name for name, reason in found.items() if reason == "not_above_chance"}
    assert gone == {"c1-o2", "c1-o4", "c1-o5", "c2-o2", "c2-o4", "c3-o2"}
    assert all(found[f"c{c}-oNone"] is None for c in (1, 2, 3))


def test_collapse_above_the_maximum_is_dropped_and_named(tmp_path):
    rows = [profile_row(f"q{c}", c) for c in range(6)]
    found = reasons(choose_above(tmp_path, rows, max_collapse=0.2))
    assert {name for name, reason in found.items() if reason == "over_max_collapse"} == {"q1", "q4"}
    assert found["q0"] == "level_L6"


def test_several_rules_at_once_name_the_first_that_drops(tmp_path):
    rows = [option_row(f"c{c}", c, 4) for c in range(6)]
    found = reasons(
        choose_above(tmp_path, rows, keep="L1-L6", above_chance=0.9, max_collapse=0.4,
                     pass_rate="0.4-1")
    )  # fmt: skip
    assert found == {
        "c0": "outside_pass_rate_band", "c1": "outside_pass_rate_band", "c2": "not_above_chance",
        "c3": None, "c4": None, "c5": "over_max_collapse",
    }  # fmt: skip


@pytest.mark.parametrize("guess", [None, QUARTER])
def test_the_forecasts_rule_keeps_the_counts_that_the_selection_keeps(tmp_path, guess):
    options = None if guess is None else 4
    stated = {"keep": "L1-L6", "above_chance": 0.9, "max_collapse": 0.4, "pass_rate": "0.2-1"}
    rows = [option_row(f"c{c}", c, options) for c in range(6)]
    found = reasons(choose_above(tmp_path, rows, **stated))
    keeps = rules.counts_rule(
        SelectionSpec(**stated), min_graded=5, collapse=lambda _, c: abs(c - 2.5) / 5, guess=guess
    )
    assert {c for c in range(6) if keeps(5, c)} == {c for c in range(6) if found[f"c{c}"] is None}


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([2, 4, None])),
        min_size=1,
        max_size=20,
    ),
    st.none() | st.sampled_from(["0-0.5", "0.2-0.8", "1-1"]),
    st.none() | st.floats(0.1, 0.95),
    st.none() | st.floats(0.05, 0.6),
)
def test_every_question_is_in_the_table_once_with_what_the_rules_say_of_it(
    tmp_path_factory, questions, band, chance, collapse
):
    counts = [(max(a, b), min(a, b), options) for a, b, options in questions]
    rows = [counted_row(f"q{i}", *row) for i, row in enumerate(counts)]
    spec = {"keep": "L1-L5", "pass_rate": band, "above_chance": chance, "max_collapse": collapse}
    found = reasons(choose_above(tmp_path_factory.mktemp("s"), rows, **spec))
    asked = rules.drop_rules(SelectionSpec(**spec))
    assert found == {
        row.question_id: rules.first_reason(asked, facts_row(row, chance)) for row in rows
    }


def counted_row(name, graded, correct, options):
    row = dataclasses.replace(option_row(name, correct, options), num_graded=graded)
    rate = correct / graded if graded else None
    level = level_of(correct, graded) if graded == 5 else None
    return dataclasses.replace(row, pass_rate=rate, level=level)


def facts_row(row, chance):
    guess = guess_chance(row.kind, row.num_options, row.num_golds)
    known = chance is not None and guess is not None and row.num_graded > 0
    return rules.QuestionFacts(
        num_graded=row.num_graded,
        num_correct=row.num_correct,
        level=row.level,
        collapse_probability=abs(row.num_correct - 2.5) / 5 if row.num_graded == 5 else None,
        above_chance=beats_guessing(row.num_correct, row.num_graded, guess) if known else None,
    )


@pytest.mark.parametrize("rule", rules.drop_rules(
    SelectionSpec(pass_rate="0.4-0.6", above_chance=0.9, max_collapse=0.5, against=("/a.csv",))
), ids=lambda rule: rule.reason)  # fmt: skip
def test_what_is_not_known_drops_no_question_but_for_want_of_graded_answers(rule):
    unknown = rules.QuestionFacts(num_graded=0, num_correct=0, level=None)
    assert rule.drops(unknown) == (rule.reason == "too_few_graded")


# Orders


def mixed(folder, counts, **selection):
    rows = [profile_row(f"q{c}-{i}", c) for c, n in counts.items() for i in range(n)]
    kept = [row for row in choose(folder, rows, order="mix", **selection) if row.keep]
    return [row.level for row in sorted(kept, key=lambda row: row.position)]


def test_each_batch_of_a_mix_holds_its_shares_until_a_name_runs_out(tmp_path):
    levels = mixed(tmp_path, {4: 20, 3: 7, 2: 30}, mix="L2=0.5,L3=0.25,L4=0.25", batch_size=8)
    assert len(levels) == 57
    batches = [collections.Counter(levels[at : at + 8]) for at in range(0, 24, 8)]
    assert batches == [{"L2": 4, "L3": 2, "L4": 2}] * 3
    assert collections.Counter(levels[24:]) == {"L2": 8, "L3": 1, "L4": 24}


def test_levels_that_a_mix_does_not_name_follow_it(tmp_path):
    levels = mixed(tmp_path, {4: 6, 3: 6, 1: 3}, mix="L2=0.5,L3=0.5", batch_size=4)
    assert "L5" not in levels[:12]
    assert levels[12:] == ["L5"] * 3


def test_a_mix_of_sources(tmp_path):
    rows = [profile_row(f"{s}{i}", 3, source=s) for s in ("a", "it's") for i in range(9)]
    found = choose(tmp_path, rows, order="mix", mix="a=1/3,it's=2/3", batch_size=3)
    sources = [row.source for row in sorted(found, key=lambda row: row.position)]
    for at in range(0, 12, 3):
        assert sorted(sources[at : at + 3]) == ["a", "it's", "it's"]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(50, 300))
def test_the_places_of_a_batch_are_whole_and_fill_it(parts, size):
    names = [f"s{i}" for i in range(len(parts))]
    shares = [Fraction(part, sum(parts)) for part in parts]
    text = ",".join(f"{name}={share}" for name, share in zip(names, shares, strict=True))
    places = batch_places(SelectionSpec(order="mix", mix=text, batch_size=size))
    assert sum(places.values()) == size
    assert all(
        abs(places[name] - share * size) < 1 for name, share in zip(names, shares, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("L2=0.5", "does not sum to 1"),
        ("L2=0.5,L2=0.5", "cannot be read"),
        ("L2", "cannot be read"),
        ("L2=0.5,medqa=0.5", "levels and sources"),
        ("L2=-1,L3=2", "cannot be read"),
        ("L2=1e999999999", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_mix_that_is_none_is_one_line(text, message):
    with pytest.raises(SettingsError, match=message):
        parse_mix(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": "mix"}, "order mix without a mix"),
        ({"order": "mix", "mix": "L1=1"}, "mix names L1, which --keep L2-L5 drops"),
        ({"order": "mix", "mix": "L2=0.99,L3=0.01", "batch_size": 8}, "gives L3 no place"),
        ({"order": "gaussian", "gaussian_mean": "2-0"}, "gaussian-mean cannot be read"),
        ({"order": "gaussian", "gaussian_width": 0.0}, "gaussian-width is out of range"),
        ({"order": "random"}, "unknown order: 'random'. Choose one of easy-to-hard"),
        ({"above_chance": 1.0}, "above-chance is out of range"),
        ({"max_collapse": 0.001}, "groups of 8 collapse with probability 0.00781"),
        ({"max_collapse": 2.0}, "max-collapse is out of range"),
        ({"max_questions": 0}, "max-questions is too small"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        check_selection(SelectionSpec(**settings))


def flat(turns):
    return sorted(position for turn in turns for position in turn)


def test_every_question_has_one_place_in_the_gaussian_order():
    rates = [Fraction(c, 5) for c in range(1, 5)]
    turns = gaussian_turns(
        rates, [5, 0, 700, 3], mean=(Fraction(1), Fraction(0)), width=0.01, seed=3
    )
    assert [len(turn) for turn in turns] == [5, 0, 700, 3]
    assert flat(turns) == list(range(708))


def test_the_gaussian_mean_moves_from_its_start_to_its_end():
    rates = [Fraction(c, 16) for c in range(17)]
    mean = (Fraction(9, 10), Fraction(1, 10))
    turns = gaussian_turns(rates, [400] * 17, mean=mean, width=0.15, seed=1)
    rate_at = {at: rate for rate, turn in zip(rates, turns, strict=True) for at in turn}
    tenth = len(rate_at) // 10
    first = sum(rate_at[at] for at in range(tenth)) / tenth
    middle = sum(rate_at[at] for at in range(4 * tenth, 5 * tenth)) / tenth
    assert first > 0.75
    assert 0.4 < middle < 0.7


def test_the_gaussian_order_is_a_weighted_draw():
    """The first question of two rates: the share of the draws is that of the weights."""
    rates, mean, width = [Fraction(1, 2), Fraction(4, 5)], Fraction(4, 5), 0.3
    firsts = [
        gaussian_turns(rates, [1, 1], mean=(mean, mean), width=width, seed=seed)[1][0] == 0
        for seed in range(4000)
    ]
    expected = 1 / (1 + math.exp(-((0.3) ** 2) / (2 * width**2)))
    assert sum(firsts) / len(firsts) == pytest.approx(expected, abs=0.03)


def test_the_gaussian_order_of_a_run_is_the_same_for_any_row_order(tmp_path):
    rows = [profile_row(f"q{c}-{i}", c) for c in range(1, 5) for i in range(30)]
    found = []
    for name, given_rows in (("a", rows), ("b", rows[::-1])):
        (tmp_path / name).mkdir()
        found.append(choose_above(tmp_path / name, given_rows, order="gaussian", seed=5))
    assert found[0] == found[1]
    kept = [row for row in found[0] if row.keep]
    assert [row.position for row in kept] == list(range(120))
    assert kept != sorted(kept, key=lambda row: row.level)


def test_the_orders_do_not_depend_on_this_machine(tmp_path):
    """Places that another machine, Python or C library must give too."""
    rows = [profile_row(f"q{i}", 3) for i in range(9)]
    found = [row.question_id for row in choose(tmp_path, rows, order="shuffled", seed=7)]
    names = [row.question_id for row in rows]
    assert found == sorted(names, key=lambda name: hashlib.md5(f"7{name}".encode()).hexdigest())
    turns = gaussian_turns(
        [Fraction(1, 5), Fraction(4, 5)], [6, 6], mean=(Fraction(4, 5), Fraction(1, 5)),
        width=0.2, seed=0,
    )  # fmt: skip
    assert [list(turn) for turn in turns] == [[2, 6, 8, 9, 10, 11], [0, 1, 3, 4, 5, 7]]


def test_what_emptied_a_set_is_the_last_rule_that_dropped_any():
    dropped = collections.Counter({"level_L6": 5, "outside_pass_rate_band": 2})
    text = rules.why_empty(dropped, SelectionSpec(pass_rate="0.5-0.6"))
    assert text.startswith("--pass-rate 0.5-0.6 dropped the last 2 questions (level_L6 5, outside")
    text = rules.why_empty(collections.Counter({"too_few_graded": 3}), SelectionSpec())
    assert "no question has enough graded answers" in text
    text = rules.why_empty(
        collections.Counter({"over_quota": 1, "level_L1": 2}), SelectionSpec(quotas=("set=0",))
    )
    assert "--quota set=0 dropped the last 1 questions" in text


def test_the_scarcest_name_ends_a_mix():
    spec = SelectionSpec(order="mix", mix="L2=0.5,L3=0.5", batch_size=4)
    assert orders.mixed_batches(spec, {"L2": 9, "L3": 5}) == (2, "L3")
    assert orders.mixed_batches(spec, {"L2": 9}) == (0, "L3")


def test_kept_and_dropped_add_up_with_every_rule_and_order(tmp_path):
    rows = [
        option_row(f"q{c}-{m}-{i}", c, m, source="ab"[i % 2])
        for c, m, i in itertools.product(range(6), (4, None), range(4))
    ]
    stated = {
        "above_chance": 0.9, "max_collapse": 0.35, "pass_rate": "0.2-0.8", "quotas": ("a=7",),
        "max_questions": 12,
    }  # fmt: skip
    for order, more in (
        ("mix", {"mix": "L2=0.5,L4=0.5", "batch_size": 4}), ("gaussian", {}), ("shuffled", {}),
    ):  # fmt: skip
        found = choose_above(tmp_path, rows, order=order, **stated, **more)
        assert sorted(row.question_id for row in found) == sorted(row.question_id for row in rows)
        kept = [row for row in found if row.keep]
        assert [row.position for row in kept] == list(range(len(kept)))
        assert len(kept) == 12


# Near duplicates and overlaps


def with_twins(folder, pairs, rows, **selection):
    run = store.RunFolder(folder)
    found = [
        NearDuplicate(
            question_id=one, other_id=other, similarity=0.9, same_gold=gold,
            cluster=cluster if gold else None,
        )
        for one, other, gold, cluster in pairs
    ]  # fmt: skip
    with store.TableWriter(run.near_duplicates, store.table_schema(NearDuplicate), None) as table:
        table.write_rows(found)
    return reasons(choose_above(folder, rows, **selection))


TWINS = [("q1", "q2", True, "q1"), ("q2", "q5", True, "q1"), ("q3", "q4", False, None)]


def test_of_near_duplicates_one_that_the_rules_keep_is_kept_and_other_golds_stay(tmp_path):
    rows = [profile_row(f"q{c}", c) for c in range(6)]
    found = with_twins(tmp_path, TWINS, rows, drop_near_duplicates=True)
    assert [found["q1"], found["q2"]].count("near_duplicate") == 1
    assert [found["q1"], found["q2"]].count(None) == 1
    assert (found["q3"], found["q4"], found["q5"]) == (None, None, "level_L1")


def test_near_duplicates_stay_unless_they_are_to_be_dropped(tmp_path):
    rows = [profile_row(f"q{c}", c) for c in range(6)]
    assert "near_duplicate" not in with_twins(tmp_path, TWINS, rows).values()


def test_an_overlap_goes_first_and_takes_the_name_of_the_first_set(tmp_path):
    run = store.RunFolder(tmp_path)
    hits = [
        Overlap(
            question_id=key, file=file, row=0, exact=True, similarity=1.0, evaluation_prompt="?"
        )
        for key, file in (("q0", "/b/held.jsonl"), ("q3", "/b/held.jsonl"), ("q3", "/a/it's.csv"))
    ]
    with store.TableWriter(run.overlaps, store.table_schema(Overlap), None) as table:
        table.write_rows(hits)
    rows = [profile_row(f"q{c}", c) for c in range(6)]
    found = reasons(
        choose_above(tmp_path, rows, against=("/a/it's.csv", "/b/held.jsonl"), max_questions=2)
    )
    assert (found["q0"], found["q3"]) == ("overlaps_held", "overlaps_it's")
    assert collections.Counter(found.values())[None] == 2
