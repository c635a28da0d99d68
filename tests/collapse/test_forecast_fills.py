"""Will my run work: the laws behind it against enumeration and simulation, and its answers."""

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

from difficulty.collapse import Counts, forecast
from difficulty.collapse.answer import trainer_answer
from difficulty.collapse.belief import belief_of, reachable, with_rate
from difficulty.collapse.complete import check, complete, of_counts
from difficulty.collapse.estimate import every_question
from difficulty.collapse.fills import Draw, QuestionSet, draws_of, moments, usable_groups
from difficulty.collapse.forecast_json import from_json, to_json
from difficulty.collapse.outlook import outlook
from difficulty.collapse.safety import SAFE, candidate_of, least_rounds, p_all_steps
from difficulty.collapse.steps import step_of
from difficulty.collapse.training import plan_run
from difficulty.errors import SettingsError
from difficulty.settings.forecast import ForecastSpec
from difficulty.trainers.find import RESAMPLINGS
from tests.cli.test_cli import SPECIALIST, difficulty, one_line
from tests.conftest import ROOT

PUBLISHED = json.loads((ROOT / "tests/cases/published_counts.json").read_text())

chances = st.lists(st.floats(0, 1), min_size=2, max_size=6)


def alike(*usable):
    """A set with these very questions."""
    size = len(usable)
    return QuestionSet(
        usable=np.array(usable, float), weights=np.full(size, 1 / size), num_questions=size
    )


def table(by_correct):
    k = len(by_correct) - 1
    return Counts.of([k] * (k + 1), range(k + 1), by_correct)


@pytest.fixture(scope="module")
def specialist():
    return forecast(table(PUBLISHED["specialist_exams"]["counts_by_correct"]))


@pytest.fixture(scope="module")
def pool(specialist):
    return specialist.work.questions(every_question)


def law(count, size):
    """P(0..size) of a Count."""
    full = np.zeros(size + 1)
    full[count.start : count.start + len(count.chance)] = count.chance
    return full


# --- the number of usable groups ---


@settings(max_examples=30)
@given(usable=chances, times=st.integers(1, 3))
def test_a_draw_of_all_questions_is_poisson_binomial(usable, times):
    groups = [q for q in usable for _ in range(times)]
    expected = np.zeros(len(groups) + 1)
    for outcome in itertools.product((0, 1), repeat=len(groups)):
        chance = np.prod([q if hit else 1 - q for q, hit in zip(groups, outcome, strict=True)])
        expected[sum(outcome)] += chance
    found = usable_groups(alike(*usable), [Draw(num_questions=len(usable), times=times)])
    assert law(found, len(groups)) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=50)
@given(usable=chances, times=st.integers(1, 3), data=st.data())
def test_mean_and_variance_without_replacement_are_exact(usable, times, data):
    drawn = data.draw(st.integers(1, len(usable)))
    subsets = list(itertools.combinations(usable, drawn))
    means = [times * sum(subset) for subset in subsets]
    within = [times * sum(q * (1 - q) for q in subset) for subset in subsets]
    found = moments(alike(*usable), [Draw(num_questions=drawn, times=times)])
    assert found[0] == pytest.approx(np.mean(means), abs=1e-9)
    assert found[1] == pytest.approx(np.mean(within) + np.var(means), abs=1e-9)


def test_independent_draws_from_a_large_set_are_binomial():
    large = QuestionSet(usable=np.array([0.3]), weights=np.ones(1), num_questions=10**7)
    found = usable_groups(large, draws_of(3, groups=96, num_questions=10**7, redraw="fresh"))
    assert found.below(96) == pytest.approx(binom.cdf(95, 288, 0.3), abs=1e-12)


@pytest.mark.parametrize("drawn", [7, 60, 300])
def test_the_whole_law_has_the_exact_moments(pool, drawn):
    draws = [Draw(num_questions=drawn, times=2), Draw(num_questions=drawn, times=1)]
    found = usable_groups(pool, draws)
    values = found.start + np.arange(len(found.chance))
    mean = values @ found.chance
    assert found.chance.sum() == pytest.approx(1.0, abs=1e-9)
    variance = values**2 @ found.chance - mean**2
    assert (mean, variance) == pytest.approx(moments(pool, draws), rel=2e-3)


def simulate(usable, *, groups, rounds, redraw, needed, repeats, rng):
    """Play steps: each batch is drawn from shuffled passes over the questions."""
    filled = batches = useful = 0.0
    for _ in range(repeats):
        order = np.concatenate([rng.permutation(len(usable)) for _ in range(rounds + 1)])
        other = rng.permutation(len(usable))[:groups]
        there, first, looked_at = 0, 0, 0
        for number in range(rounds):
            batch = order[number * groups : (number + 1) * groups]
            if redraw == "all":
                batch = order[:groups]
            elif redraw == "resamples" and number:
                batch = other
            good = int((rng.random(groups) < usable[batch]).sum())
            first = good if number == 0 else first
            there, looked_at = there + good, looked_at + 1
            if there >= needed:
                break
        filled += there >= needed
        batches += looked_at
        useful += 0 if there >= needed else first
    return filled / repeats, batches / repeats, useful / repeats


@pytest.mark.parametrize(("size", "redraw"), [
    (400, "fresh"), (400, "resamples"), (400, "all"), (100, "fresh"), (60, "resamples"),
])  # fmt: skip
def test_fills_batches_and_the_first_batch_agree_with_simulation(size, redraw):
    rng = np.random.default_rng(7)
    usable = rng.beta(0.3, 0.5, size)
    needed, groups, repeats = int(1.13 * 40 * 3 * usable.mean() / 1.1), 40, 4000
    plan = dataclasses.replace(
        plan_run("ms-swift", redraw=redraw, train_groups=groups), train_groups=needed
    )
    rule = dataclasses.replace(plan.resampling, wasted=0)
    plan = dataclasses.replace(plan, resampling=rule)
    step = step_of(alike(*usable), plan)
    fills, batches, first = simulate(
        usable, groups=groups, rounds=3, redraw=redraw, needed=needed, repeats=repeats, rng=rng
    )
    assert 0.05 < fills < 0.95
    assert step.fills == pytest.approx(fills, abs=4 * 0.5 / np.sqrt(repeats))
    assert step.batches == pytest.approx(batches, abs=0.05)
    assert step.useful - needed * step.fills == pytest.approx(first, rel=0.05, abs=0.3)


# --- worked figures: 96 groups, 3 batches looked at ---


@pytest.mark.parametrize(("rate", "chance"), [(0.73, 0.01), (0.70, 0.12), (0.36, 1.0)])
def test_the_worked_chances_of_a_step(pool, rate, chance):
    there = with_rate(pool, rate)
    step = step_of(there, plan_run("ms-swift", redraw="fresh", train_groups=96))
    assert step.fills == pytest.approx(chance, abs=0.01)
    assert 288 * there.mean == pytest.approx({0.73: 77.8}.get(rate, 288 * (1 - rate)), abs=0.05)


def test_batches_that_hold_the_same_questions_fill_more_often_where_that_is_seldom(pool):
    there = with_rate(pool, 0.70)
    fresh, resamples, same = (
        step_of(there, plan_run("ms-swift", redraw=redraw)).fills
        for redraw in ("fresh", "resamples", "all")
    )
    assert fresh == pytest.approx(0.12, abs=0.01)
    assert resamples == pytest.approx(0.16, abs=0.01)
    assert same == pytest.approx(0.23, abs=0.015)


@pytest.mark.parametrize(("rate", "batches"), [(0.73, 4.2), (2 / 3, 3.5)])
def test_whole_batches_without_a_limit_cost_more_than_one_by_one_replacement(pool, rate, batches):
    there = with_rate(pool, rate)
    whole = step_of(there, plan_run("verl", train_groups=96, gen_groups=96, max_rounds=0))
    single = step_of(there, plan_run("openrlhf", train_groups=96))
    assert whole.batches == pytest.approx(batches, abs=0.05)
    assert single.batches == pytest.approx(1 / (1 - rate), abs=1e-6)
    assert whole.fills == single.fills == 1.0


def test_the_unfiltered_specialist_set_seldom_fills_and_the_kept_one_always(specialist):
    known = PUBLISHED["specialist_exams"]
    plan = plan_run("ms-swift", group_size=known["group_size"], train_groups=96)
    answer = trainer_answer(specialist, plan)
    assert (answer.gen_groups, answer.max_rounds) == (96, 3)
    assert 0.1 < answer.pool.p_step_fills < 0.25
    assert 0.02 < answer.pool.p_step_fills_low < 0.12
    assert 0.2 < answer.pool.p_step_fills_high < 0.5
    assert answer.pool.p_all_steps_fill < 1e-10
    assert answer.kept.p_all_steps_fill > 0.999999
    # At the rates that its trainer logged, a step fills once in ten to once in three hundred.
    low, high = known["observed_first_batch_acr"]
    there = specialist.work.questions(every_question)
    fills = [step_of(with_rate(there, rate), plan).fills for rate in (low, high)]
    assert 0.003 < fills[1] < fills[0] < 0.1


# --- the forecast's uncertainty ---


def test_the_density_is_flat_over_the_identified_set_and_normal_beyond(specialist):
    kept = specialist.kept
    belief = belief_of(kept)
    inside = (belief.rates > kept.identified_low) & (belief.rates < kept.identified_high)
    assert np.ptp(belief.weights[inside]) == pytest.approx(0.0)
    end = np.interp(kept.high, belief.rates, belief.weights)
    assert end / belief.weights[inside][0] == pytest.approx(np.exp(-(1.96**2) / 2), rel=0.1)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_a_set_can_be_given_any_rate_in_reach(pool, rate):
    there = with_rate(pool, rate)
    low, high = reachable(pool)
    assert low < rate < high
    assert 1 - there.mean == pytest.approx(rate, abs=1e-9)
    assert there.weights.sum() == pytest.approx(1.0)


def test_the_chance_is_averaged_over_the_uncertainty_not_taken_at_the_point():
    small = forecast(table([33, 11, 10, 12, 16, 117]))
    there = candidate_of(small.work, every_question, small.pool)
    plan = plan_run("ms-swift", train_groups=60)
    found = outlook(there, plan)
    point = step_of(with_rate(there.questions, small.pool.acr), plan).fills
    assert abs(found.p_step_fills - point) > 0.01
    # Steps succeed and fail together where the rate is unknown.
    assert found.p_all_steps_fill > 100 * found.p_step_fills**plan.steps
    assert found.p_step_fills_low < found.p_step_fills < found.p_step_fills_high


# --- trainers ---

CONTRACT = {
    "name", "p_step_fills", "p_all_steps_fill", "expected_batches", "expected_answers",
    "answers_per_useful_group", "at_limit", "metric",
}  # fmt: skip


def as_written(found, answer):
    """The answer as forecast.json holds it, without a NaN; it is read back as it was."""
    whole = dataclasses.replace(of_counts(found), trainer=answer)
    text = json.dumps(to_json(whole), allow_nan=False)
    assert from_json(json.loads(text)) == whole
    return json.loads(text)["trainer"]


@pytest.mark.parametrize("name", RESAMPLINGS)
def test_every_trainer_has_an_answer_without_nan(specialist, name):
    answer = trainer_answer(specialist, plan_run(name, train_groups=48))
    written = as_written(specialist, answer)
    assert written.keys() >= CONTRACT
    assert written["name"] == answer.name == name
    assert written["p_all_steps_fill"] == answer.kept.p_all_steps_fill
    for part in (answer.pool, answer.kept):
        assert 0 <= part.p_all_steps_fill <= part.p_step_fills <= 1
        assert part.expected_batches >= 1
        assert part.expected_answers == pytest.approx(part.expected_batches * answer.gen_groups * 8)
        assert part.answers_per_useful_group >= 8
    assert answer.pool.expected_batches >= answer.kept.expected_batches
    assert (answer.safe.reason is None) == (RESAMPLINGS[name].kind == "rounds")


def test_what_each_metric_will_read(specialist):
    def reads(name, part="pool"):
        answer = trainer_answer(specialist, plan_run(name, train_groups=48))
        return getattr(answer, part).metric_expected

    acr = specialist.pool.acr
    assert reads("trl") == pytest.approx(acr, abs=0.01)
    # After dynamic sampling: the raw rate of the steps that failed, none of those that filled.
    assert reads("ms-swift") < acr
    assert reads("ms-swift", "kept") == pytest.approx(0.0, abs=1e-6)
    assert reads("slime") == pytest.approx(48 * acr / (1 - acr), rel=0.02)
    assert reads("openrlhf") == pytest.approx(800 * (1 - acr), rel=0.02)
    assert reads("verl") > 1
    assert reads("areal") is None


def test_a_trainer_that_stops_has_useful_groups_of_filled_steps_only(pool):
    there = with_rate(pool, 0.70)
    goes_on = step_of(there, plan_run("ms-swift-ray", max_rounds=3))
    stops = step_of(there, plan_run("nemo-rl", max_rounds=3))
    assert stops.fills == goes_on.fills
    assert stops.useful == pytest.approx(96 * stops.fills)
    assert goes_on.useful > stops.useful + 20


def test_defaults_that_were_taken_are_said():
    assert plan_run("ms-swift").defaults == (
        "train-groups 96", "max-rounds (max_resample_times) 3", "redraw resamples", "steps 100"
    )  # fmt: skip
    stated = plan_run("ms-swift", train_groups=8, max_rounds=2, redraw="all", steps=5)
    assert stated.defaults == ()
    assert plan_run("verl").gen_groups == 1536


# --- the other way round ---


def test_least_rounds_are_safe_and_one_less_is_not(specialist):
    there = candidate_of(specialist.work, every_question, specialist.pool)
    plan = plan_run("ms-swift")
    rounds = least_rounds(there, plan)
    assert p_all_steps(there, dataclasses.replace(plan, max_rounds=rounds)) >= SAFE
    assert p_all_steps(there, dataclasses.replace(plan, max_rounds=rounds - 1)) < SAFE


def test_the_widest_keep_rule_holds_more_than_the_kept_set_and_less_than_all(specialist):
    safe = trainer_answer(specialist, plan_run("ms-swift")).safe
    assert safe.keep.levels == ("L2", "L3", "L4", "L5", "L6")
    assert safe.keep.p_all_steps_fill >= SAFE
    assert 2 <= safe.max_rounds["kept"] < safe.max_rounds["pool"]
    # A third of the questions hold p = 0 or 1 so nearly that no group size helps.
    assert safe.group_size["pool"] is None
    assert 2 <= safe.group_size["kept"] <= 8


def test_openrlhf_stops_where_its_questions_end():
    found = forecast(table((20, 30, 40, 40, 30, 20)))
    number = found.pool.num_questions
    plan = plan_run("openrlhf", train_groups=number)
    out = trainer_answer(found, plan).pool
    assert out.p_step_fills < 1e-3
    assert out.expected_answers == pytest.approx(number * 8)
    # All are drawn once, and the usable ones among them trained on.
    assert out.answers_per_useful_group == pytest.approx(8 / (1 - found.pool.acr), rel=0.02)
    assert trainer_answer(found, plan_run("slime", train_groups=number)).pool.p_step_fills > 0


def test_a_step_without_a_usable_group_says_why_it_costs_nothing_finite():
    found = forecast(table((20, 30, 40, 40, 30, 20)))
    plan = plan_run("verl", train_groups=100, gen_groups=99, max_rounds=1)
    pool = trainer_answer(found, plan).pool
    assert pool.answers_per_useful_group is None
    assert pool.reason == "no step trains on a usable group"


def test_no_limit_on_batches_is_not_called_a_limit():
    found = forecast(table((200, 300, 400, 400, 300, 200)))
    answer = trainer_answer(found, plan_run("verl", max_rounds=0))
    assert "raises" not in answer.at_limit
    once = trainer_answer(found, plan_run("trl"))
    assert once.safe.reason == "this trainer looks at one batch a step"


# --- refusals and small sets ---


@pytest.mark.parametrize(("name", "stated", "words"), [
    ("nobody", {}, "no forecast for trainer"),
    ("ms-swift", {"train_groups": 0}, "train-groups is too small"),
    ("ms-swift", {"steps": 0}, "steps is too small"),
    ("ms-swift", {"max_rounds": 0}, "max-rounds is too small"),
    ("ms-swift", {"gen_groups": 200}, "as many groups as it trains on"),
    ("trl", {"max_rounds": 3}, "one batch a step"),
    ("slime", {"redraw": "all"}, "replaces single groups"),
    ("ms-swift", {"max_rounds": 1000}, "max-rounds is too large"),
    ("verl", {"redraw": "never"}, "unknown redraw"),
])  # fmt: skip
def test_a_plan_that_cannot_be_is_refused_in_one_line(name, stated, words):
    with pytest.raises(SettingsError, match=words) as caught:
        plan_run(name, **stated)
    assert "\n" not in str(caught.value)


def test_a_stated_batch_larger_than_the_set_is_refused_and_a_default_one_has_no_figure():
    with pytest.raises(SettingsError, match="needs as many questions: found 6"):
        check(ForecastSpec(trainer="trl", train_groups=7), group_size=8, num_questions=6)
    found = complete(forecast(table([1] * 6)), ForecastSpec(trainer="trl"))
    assert found.trainer.pool.p_step_fills is None
    assert "6 questions make no batch of 96 groups" in found.trainer.pool.reason


def test_settings_of_no_trainer_are_refused():
    with pytest.raises(SettingsError, match="steps alone says nothing"):
        check(ForecastSpec(steps=3), group_size=8, num_questions=6)


def test_an_empty_kept_set_has_no_figure():
    found = forecast(table([400, 0, 0, 0, 0, 0]))
    answer = trainer_answer(found, plan_run("ms-swift"))
    assert answer.kept.p_step_fills is None
    assert answer.kept.reason == "no question is kept"
    assert answer.pool.p_step_fills == pytest.approx(0.0, abs=1e-6)
    as_written(found, answer)


@pytest.mark.parametrize(("by_correct", "low", "high"), [
    ((1, 0, 0, 0, 0, 0), 0.3, 0.9), ((0, 0, 1, 0, 0, 0), 0.95, 0.99)
])  # fmt: skip
def test_one_question_leaves_much_open(by_correct, low, high):
    found = forecast(table(by_correct))
    pool = trainer_answer(found, plan_run("ms-swift", train_groups=1)).pool
    assert pool.p_step_fills_low < low
    assert pool.p_step_fills_high > high
    as_written(found, trainer_answer(found, plan_run("slime", train_groups=1)))


def test_caps_leave_fewer_questions_to_draw(specialist):
    plan = plan_run("ms-swift")
    assert trainer_answer(specialist, plan, kept_questions=90).kept.p_step_fills is None
    assert trainer_answer(specialist, plan, kept_questions=100).kept.num_questions == 100


@settings(max_examples=8, deadline=None)
@given(
    by_correct=st.lists(st.integers(0, 60), min_size=6, max_size=6).filter(any),
    name=st.sampled_from(sorted(RESAMPLINGS)),
)
def test_any_counts_have_an_honest_answer(by_correct, name):
    found = forecast(table(by_correct))
    answer = trainer_answer(found, plan_run(name, train_groups=min(8, sum(by_correct))))
    as_written(found, answer)
    part = answer.pool
    assert part.p_step_fills_low <= part.p_step_fills_high + 1e-9


# --- the command ---


@pytest.fixture
def counts_file(tmp_path):
    path = tmp_path / "counts.csv"
    lines = [f"5,{correct},{count}" for correct, count in enumerate(SPECIALIST)]
    path.write_text("\n".join(["num_samples,num_correct,num_questions", *lines]))
    return path


def test_the_command_answers_for_counts(counts_file):
    done = difficulty("forecast", counts_file, "--trainer", "ms-swift", "--json")
    answer = json.loads(done.stdout)["trainer"]
    assert answer.keys() >= CONTRACT
    assert answer["p_all_steps_fill"] > 0.999
    shown = difficulty("forecast", counts_file, "--trainer", "ms-swift").stdout
    for words in ("a step fills", "always", "trains on the step's first batch", "L2-L6"):
        assert words in shown
    assert "trainer" not in json.loads(difficulty("forecast", counts_file, "--json").stdout)


@pytest.mark.parametrize(("arguments", "words"), [
    (("--trainer", "nobody"), "no forecast for trainer"),
    (("--trainer", "trl", "--train-groups", 5000), "needs as many questions"),
    (("--trainer", "trl", "--group-size", 1), "group size"),
    (("--steps", 5), "alone says nothing"),
])  # fmt: skip
def test_bad_input_is_one_line(counts_file, arguments, words):
    assert words in one_line(difficulty("forecast", counts_file, *arguments))


def test_a_run_of_four_thousand_questions_takes_seconds():
    rng = np.random.default_rng(2)
    counts = Counts.of(np.full(4000, 5), rng.binomial(5, rng.beta(0.3, 0.3, 4000)))
    start = time.process_time()
    trainer_answer(forecast(counts), plan_run("ms-swift"))
    assert time.process_time() - start < 5


def test_the_readme_shows_what_the_command_prints():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = [block for block in readme.split("```") if "steps of 96 usable groups, 3" in block]
    path = ROOT / "data/samples/specialist-exams.csv"
    printed = difficulty("forecast", path, "--trainer", "ms-swift", "--train-groups", 96).stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    assert [line for line in shown.strip().splitlines() if line.rstrip() not in lines] == []


def test_the_readmes_python_says_what_it_says_and_loads_numpy_only_then():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = [block for block in readme.split("```python\n")[1:] if "difficulty.forecast" in block]
    *lines, last = code.split("```")[0].strip().splitlines()
    values, said = last.split("#")
    lines[0] += "\nimport sys\nassert 'numpy' not in sys.modules"
    script = "\n".join([*lines, f"print(*(f'{{value:.2f}}' for value in ({values})), sep=', ')"])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.split(":")[0].strip() == done.stdout.strip()
