"""Rewards that are not 0/1: ties against enumeration, rates against simulation, the commands."""

import itertools
import json
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bench.collapse.estimators import beta_collapse
from difficulty import store
from difficulty.collapse import Counts, forecast
from difficulty.collapse.complete import check, complete
from difficulty.collapse.dirichlet import fit_dirichlet, power_mean
from difficulty.collapse.estimate import every_question
from difficulty.collapse.forecast_json import from_json, to_json
from difficulty.collapse.length import LengthPenalty
from difficulty.collapse.rewards import Outcomes, RewardTable, _Ties, forecast_rewards, value_table
from difficulty.collapse.spread import narrow_chances
from difficulty.collapse.value_laws import ValueLaws, ValueTable
from difficulty.errors import SettingsError
from difficulty.run.forecast import forecast_run
from difficulty.run.reward_table import reward_table
from difficulty.settings.forecast import ForecastSpec
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import sum_answer

shares = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(lambda x: np.array(x) / sum(x))


def outcomes(correct, reward, ties=None):
    reward = np.asarray(reward, float)
    return Outcomes(
        correct=np.asarray(correct, bool),
        reward=reward,
        ties=np.ones(reward.shape, bool) if ties is None else np.asarray(ties, bool),
        num_questions=np.ones(len(reward), np.int64),
    )


def found_for(answers):
    there = answers.there.sum(axis=1)
    return forecast(Counts.of(there, (answers.correct & answers.there).sum(axis=1)))


def rates(found, answers):
    return forecast_rewards(
        found.work,
        answers,
        {"pool": found.pool, "kept": found.kept},
        {"pool": every_question, "kept": found.kept_rule},
    )


# --- ties ---


@settings(max_examples=25)
@given(right=shares, wrong=shares, p=st.floats(0, 1), size=st.integers(2, 4))
def test_ties_are_those_of_all_groups_enumerated(right, wrong, p, size):
    # Values: right free 1, right at the cap 0, wrong free 0, wrong at the cap -1; ramps never tie.
    chances = [*p * right, *(1 - p) * wrong]
    kinds = list(zip([1.0, 0.0, None, 0.0, -1.0, None], chances, strict=True))
    expected = 0.0
    for group in itertools.product(kinds, repeat=size):
        values = {value for value, _ in group}
        if len(values) == 1 and None not in values:
            expected += np.prod([chance for _, chance in group])
    of_value = {(1, 2): right[0], (1, 1): right[1], (0, 1): wrong[0], (0, 0): wrong[1]}
    laws = types.SimpleNamespace(
        seen={0: np.array([0, 1]), 1: np.array([1, 2])},
        power=lambda verdict, value, _, j: np.array([of_value.get((verdict, value), 0.0) ** j]),
    )
    point = types.SimpleNamespace(posterior=lambda *_: np.ones((1, 1)), grid=np.array([p]))
    work = types.SimpleNamespace(
        group_size=size, law=point, values=np.array([p**size + (1 - p) ** size])
    )
    table = types.SimpleNamespace(values=np.zeros(3), num_samples=None, num_correct=None)
    assert _Ties(work, table, laws).rewards(0) == pytest.approx([expected], abs=1e-12)


def test_right_and_wrong_alone_tie_as_their_verdicts_do():
    rng = np.random.default_rng(4)
    correct = rng.random((400, 5)) < rng.beta(0.4, 0.4, (400, 1))
    answers = outcomes(correct, correct)
    found = found_for(answers)
    both = rates(found, answers)
    assert both.sets["pool"].acr == pytest.approx(found.pool.acr, rel=1e-9)
    assert both.sets["kept"].low == pytest.approx(found.kept.low, rel=1e-9)
    assert both.num_values == 2


def test_rare_values_and_ramps_tie_with_none():
    reward = np.array([[1.0, 0.5, 0.25], [1.0, 0.5, 0.125], [1.0, np.nan, 0.5]])
    ties = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], bool)
    table = value_table(outcomes(reward == 1.0, reward, ties))
    assert table.values.tolist() == [0.5, 1.0]
    assert table.counts.sum() == 8
    assert table.counts[:, :, 2].sum() == 3


# --- rates against simulation ---


def simulate(seed, *, questions=800, k=5, size=8, weight=0.2):
    """Correctness and length that go with the question: answers, true chances of equal rewards."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.3, 0.3, questions)
    length = rng.normal(0, 1.2, questions) + 1.5 * (1 - p) - 1.5

    def classes(more):
        logits = np.stack([0 * p, length + more, 1.5 * length - 1.5 + more], axis=1)
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    joint = np.concatenate([p[:, None] * classes(0), (1 - p)[:, None] * classes(1)], axis=1)
    drawn = np.array([rng.choice(6, size=k, p=row) for row in joint])
    kind = drawn % 3
    penalty = np.select([kind == 1, kind == 2], [-weight * rng.random(drawn.shape), -weight], 0.0)
    answers = outcomes(drawn < 3, (drawn < 3) + penalty, kind != 1)
    return answers, (joint[:, [0, 2, 3, 5]] ** size).sum(axis=1)


@pytest.fixture(scope="module")
def simulated():
    results = []
    for seed in range(8):
        answers, truth = simulate(seed)
        found = found_for(answers)
        right = answers.correct.sum(axis=1)
        kept = (right > 0) & (right < 5)
        results.append((rates(found, answers), truth.mean(), truth[kept].mean()))
    return results


def test_the_rate_of_the_sum_is_right_and_the_plug_in_is_not(simulated):
    pool = [both.sets["pool"].acr - truth for both, truth, _ in simulated]
    kept = [both.sets["kept"].acr - truth for both, _, truth in simulated]
    naive = [both.sets["pool"].plug_in - truth for both, truth, _ in simulated]
    assert abs(np.mean(pool)) < 0.006
    assert abs(np.mean(kept)) < 0.006
    assert np.mean(naive) > 0.05


def test_intervals_of_the_sum_cover(simulated):
    pool = [both.sets["pool"].low <= t <= both.sets["pool"].high for both, t, _ in simulated]
    kept = [both.sets["kept"].low <= t <= both.sets["kept"].high for both, _, t in simulated]
    assert np.mean(pool) >= 0.8
    assert np.mean(kept) >= 0.8
    assert (
        np.mean([both.sets["pool"].high - both.sets["pool"].low for both, *_ in simulated]) < 0.06
    )


def value_laws_of_many(k):
    """A million questions, always right, with reward 1 or 0.8; half have the shares 0, 1/2 or 1."""
    hits = np.arange(k + 1)
    points = 0.4 * binom.pmf(hits, k, 0.5) + 0.3 * (hits == 0) + 0.3 * (hits == k)
    chances = 0.5 * points + 0.5 / (k + 1)
    counts = np.zeros((k + 1, 2, 3), np.int64)
    counts[:, 1, 0], counts[:, 1, 1] = k - hits, hits
    questions = np.rint(1e6 * chances).astype(np.int64)
    table = ValueTable(values=np.array([0.8, 1.0]), counts=counts, num_questions=questions)
    return ValueLaws(table, questions[None, :].astype(float)), questions / questions.sum()


@pytest.mark.parametrize("k", [5, 16])
def test_what_k_leaves_open_of_the_values_holds_the_true_law(k):
    laws, shares = value_laws_of_many(k)
    truth = 0.5 * (0.6 + 0.4 * 2 * 0.5**8) + 0.5 * 2 / 9
    point = sum(shares @ laws.power(1, value, 0, 8) for value in (0, 1))
    low, high = laws.extent(1, shares, 8)
    assert low - 1e-5 <= truth <= high + 1e-5
    assert low <= point <= high
    # Five answers leave it open, sixteen settle it.
    assert (high - low > 0.01) == (k == 5)


def test_the_same_answers_give_the_same_rates():
    answers, _ = simulate(3, questions=200)
    found = found_for(answers)
    assert rates(found, answers).sets == rates(found, answers).sets


# --- the Dirichlet law ---


def test_with_two_values_it_is_the_beta_law():
    counts = np.array([[c, 5 - c] for c in range(6)])
    law = np.array([0.7, 1.3])
    both = power_mean(law, counts, 8).sum(axis=1)
    assert both == pytest.approx(
        beta_collapse(np.full(6, 5), np.arange(6), a=0.7, b=1.3, group_size=8)
    )


def test_the_fit_finds_the_law_behind_counts_of_three_values():
    rng = np.random.default_rng(8)
    law = np.array([0.3, 0.5, 1.2])
    counts = np.array([rng.multinomial(6, share) for share in rng.dirichlet(law, 20_000)])
    assert fit_dirichlet(counts, np.ones(20_000)) == pytest.approx(law, rel=0.05)


def test_a_value_never_seen_has_no_share():
    law = fit_dirichlet(np.array([[3, 0, 1], [0, 0, 2]]), np.ones(2))
    assert law[1] == 0
    assert power_mean(law, np.array([[3, 0, 1]]), 2)[0, 1] == 0
    assert fit_dirichlet(np.array([[3, 0]]), np.ones(1)).tolist() == [1, 0]


# --- length penalties ---


@pytest.mark.parametrize(("length", "floored", "line"), [
    (2048, 0.0, 0.0), (3072, -0.5, -0.5), (4096, -1.0, -1.0), (5120, -1.0, -1.5)
])  # fmt: skip
def test_the_penalty_of_each_trainer(length, floored, line):
    for ends, expected in ((True, floored), (False, line)):
        penalty = LengthPenalty(max_length=4096, buffer=2048, weight=0.2, floored=ends)
        assert penalty.reward(np.array([float(length)]))[0] == pytest.approx(0.2 * expected)


def test_what_ties_is_the_flat_part_the_cap_and_the_floor():
    length, cut = np.array([10.0, 15.0, 20.0, 25.0]), np.array([False, False, False, True])
    floored = LengthPenalty(max_length=20, buffer=10, floored=True).classes(length, cut)
    assert floored.tolist() == ["free", "ramp", "cap", "cap"]
    line = LengthPenalty(max_length=20, buffer=10, floored=False).classes(length, cut)
    assert line.tolist() == ["free", "ramp", "ramp", "cap"]


def columns(**values):
    size = len(values["length"])
    return {
        "number": np.arange(size) // 2,
        "correct": np.array([True] * size),
        "reward": np.ones(size),
        "cut": np.array([False] * size),
    } | {name: np.ma.asarray(value) for name, value in values.items()}


def test_a_cut_before_the_longest_length_leaves_the_penalty_unknown():
    penalty = LengthPenalty(max_length=20, buffer=10)
    cut = reward_table(columns(length=[5, 15], cut=[False, True]), penalty)
    assert cut.outcomes is None
    assert "1 answers were cut at 15 tokens, before --max-length 20" in cut.reason
    lost = reward_table(columns(length=np.ma.array([5, 6], mask=[False, True])), penalty)
    assert "1 answers have no length" in lost.reason
    whole = complete(forecast(Counts.of([2], [2])), ForecastSpec(), rewards=cut)
    assert whole.rewards.sum is None
    assert any("before --max-length" in text for text in whole.warnings)


def test_the_table_has_a_row_a_question_and_the_whole_reward():
    penalty = LengthPenalty(max_length=20, buffer=10, weight=0.5)
    found = reward_table(columns(length=[5, 15, 20]), penalty)
    assert found.length_classes == {"free": 1, "ramp": 1, "cap": 1}
    assert found.outcomes.reward[0].tolist() == [1.0, 0.75]
    assert found.outcomes.reward[1, 0] == 0.5
    assert np.isnan(found.outcomes.reward[1, 1])
    assert found.outcomes.ties.tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize(("spec", "words"), [
    ({"length_penalty": "soft"}, "unknown length penalty"),
    ({"length_penalty": "soft_overlong", "buffer": 5}, "Give --max-length"),
    ({"length_penalty": "soft_overlong", "max_length": 5}, "Give --buffer"),
    ({"length_penalty": "soft_overlong", "max_length": 5, "buffer": 9}, "length penalty cannot be"),
    ({"buffer": 5}, "goes with --length-penalty"),
    ({"spread": -1.0}, "spread is out of range"),
])  # fmt: skip
def test_a_reward_that_cannot_be_is_refused(spec, words):
    with pytest.raises(SettingsError, match=words):
        check(ForecastSpec(**spec), group_size=8, num_questions=9)


def test_a_length_penalty_needs_answers(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("num_samples,num_correct\n5,3\n")
    assert "counts only" in one_line(difficulty("forecast", path, "--spread", 0.1))


# --- several values and continuous rewards ---


def test_partial_credit_collapses_less_than_its_verdicts():
    rng = np.random.default_rng(5)
    ability = rng.beta(0.4, 0.4, (600, 1))
    reward = np.where(rng.random((600, 5)) < ability, 1.0, 0.5 * (rng.random((600, 5)) < 0.3))
    answers = outcomes(reward == 1.0, reward)
    found = found_for(answers)
    both = rates(found, answers)
    p = ability[:, 0]
    truth = (p**8 + ((1 - p) * 0.3) ** 8 + ((1 - p) * 0.7) ** 8).mean()
    assert both.num_values == 3
    assert both.sets["pool"].acr == pytest.approx(truth, abs=0.03)
    assert both.sets["pool"].acr < found.pool.acr - 0.1
    assert both.dirichlet == pytest.approx(truth, abs=0.08)


def test_groups_of_small_spread_are_counted_for_continuous_rewards():
    rng = np.random.default_rng(6)
    deviation = rng.choice([0.02, 0.1, 0.3], 1200)[:, None]
    reward = rng.random((1200, 1)) + deviation * rng.normal(size=(1200, 5))
    groups = deviation * rng.normal(size=(1200, 8, 50)).std(axis=1, ddof=1)
    answers = outcomes(reward > 0.5, reward, np.zeros(reward.shape))

    def share():
        return narrow_chances(
            answers, np.zeros(1200), threshold=0.08, group_size=8, rng=np.random.default_rng(0)
        ).mean()

    assert share() == pytest.approx((groups < 0.08).mean(), abs=0.04)
    assert share() == share()


def test_spread_counts_equal_rewards_too():
    rng = np.random.default_rng(7)
    reward = np.vstack([np.ones((1, 5)), rng.random((300, 5))])
    equal = np.full(301, 0.2)
    found = narrow_chances(
        outcomes(reward > 0.5, reward), equal, threshold=1e-6, group_size=4, rng=rng
    )
    assert found == pytest.approx(equal)


def test_the_trainer_answers_for_the_reward_that_it_tests():
    answers, _ = simulate(1, questions=400)
    found = found_for(answers)
    table = RewardTable(outcomes=answers, length_classes=None, num_answers=2000, reason=None)
    plain = complete(found, ForecastSpec(trainer="ms-swift", train_groups=64)).trainer
    total = complete(found, ForecastSpec(trainer="ms-swift", train_groups=64), rewards=table)
    verdict = complete(found, ForecastSpec(trainer="verl", train_groups=64), rewards=table)
    assert (total.trainer.reward, verdict.trainer.reward) == ("sum", "accuracy")
    assert total.rewards.trainer_tests == "sum"
    assert total.trainer.pool.p_step_fills > plain.pool.p_step_fills
    assert total.rewards.sum["pool"].acr < total.rewards.correctness["pool"]
    for whole in (total, verdict):
        assert from_json(json.loads(json.dumps(to_json(whole), allow_nan=False))) == whole


# --- a run ---


@pytest.fixture
def run_folder(sums, tmp_path, serve):
    url, _ = serve(sum_answer(lambda n: n / 11))
    run = tmp_path / "run"
    done = difficulty(
        "profile", sums, "--model", "scripted", "--endpoint", url, "--run", run,
        "--template", "bare-v1", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return run


def test_a_run_keeps_its_trainer_and_shows_it_on_the_page(run_folder):
    first = ("forecast", run_folder, "--trainer", "ms-swift", "--train-groups", 4, "--json")
    answer = json.loads(difficulty(*first).stdout)["trainer"]
    assert (answer["name"], answer["train_groups"]) == ("ms-swift", 4)
    again = json.loads(difficulty("forecast", run_folder, "--json").stdout)
    assert again["trainer"] == answer
    assert again["rewards"] is None
    difficulty("report", run_folder)
    page = (run_folder / "report.html").read_text()
    assert "Will the run work? ms-swift" in page
    assert "trains on the step&#39;s first batch" in page
    other = json.loads(difficulty("forecast", run_folder, "--trainer", "trl", "--json").stdout)
    assert other["trainer"]["train_groups"] == 96
    gone = json.loads(difficulty("forecast", run_folder, "--trainer", "none", "--json").stdout)
    assert "trainer" not in gone


def test_a_refused_trainer_leaves_the_run_as_it_was(run_folder):
    before = (run_folder / "run.toml").read_text()
    assert "no forecast for" in one_line(difficulty("forecast", run_folder, "--trainer", "nobody"))
    many = ("--trainer", "trl", "--train-groups", 500)
    assert "as many questions" in one_line(difficulty("forecast", run_folder, *many))
    assert (run_folder / "run.toml").read_text() == before


def test_a_run_with_a_length_penalty_and_a_reward_of_its_own(run_folder):
    penalty = ("--length-penalty", "soft_overlong", "--max-length", 64, "--buffer", 63)
    done = difficulty("forecast", run_folder, *penalty, "--spread", 0.2, "--json")
    found = json.loads(done.stdout)["rewards"]
    assert sum(found["length_classes"].values()) == found["num_answers"] == 60
    assert found["penalty"]["max_length"] == 64
    assert 0 <= found["spread"]["pool"] <= 1
    shown = difficulty("forecast", run_folder).stdout
    assert "equal rewards instead of equal verdicts" in shown
    off = difficulty("forecast", run_folder, "--length-penalty", "none", "--json").stdout
    assert json.loads(off)["rewards"]["penalty"] is None


def test_any_reward_in_the_grades_is_read(run_folder):
    run = store.RunFolder(run_folder)
    spec = store.load_spec(run)
    stamp = store.read_stamp(run.grades)
    from difficulty.schema import Grade

    grades = list(store.read_rows(run.grades, Grade))
    with store.TableWriter(run.grades, store.table_schema(Grade), stamp) as table:
        table.write_rows(
            [
                type(g)(**(vars(g) | {"reward": g.reward + 0.25 * (g.sample_index % 2)}))
                for g in grades
            ]
        )
    found = forecast_run(run, spec).rewards
    assert found.num_values == 4
    assert found.sum["pool"].acr < found.correctness["pool"]
