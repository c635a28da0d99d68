"""The pure parts of ``make validate-forecast``; the run itself takes an hour."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from bench.collapse.validate_questions import make_questions
from bench.collapse.validate_table import Measured, choose, tables, truth
from difficulty.collapse import Counts, forecast
from difficulty.collapse.collapse import collapse_probability
from difficulty.collapse.complete import of_counts


def measured(name, num_correct, fresh):
    return Measured(question_id=str(name), num_correct=num_correct, fresh=tuple(fresh))


def test_truth_of_two_questions_by_hand():
    one = measured("one", 3, (True, True, True, False))
    other = measured("other", 0, (False,) * 4)
    found = truth([one, other], 2)
    assert found.rate == pytest.approx(3 / 4)
    assert found.error == pytest.approx(1 / 4)
    assert found.one_group == pytest.approx(0.5**0.5 / 2)
    assert found.unbiased == pytest.approx((3 / 6 + 1) / 2)


def test_the_standard_errors_are_those_of_repeated_draws():
    rng = np.random.default_rng(0)
    rates = rng.beta(0.5, 0.8, size=60)
    own = float(collapse_probability(rates, 8).mean())
    off, errors = [], []
    for _ in range(400):
        drawn = rng.random((60, 32)) < rates[:, None]
        found = truth([measured(i, 0, row) for i, row in enumerate(drawn)], 8)
        off.append((found.rate - own, found.unbiased - own))
        errors.append((found.error, found.one_group))
    plain, unbiased = np.std(off, axis=0)
    assert np.mean(errors, axis=0)[0] == pytest.approx(plain, rel=0.12)
    assert np.mean(errors, axis=0)[1] == pytest.approx(2 * plain, rel=0.12)
    assert unbiased < plain
    assert np.abs(np.mean(off, axis=0)).max() < 4 * plain / 400**0.5


def test_questions_are_chosen_by_level_in_whole_batches():
    counts = [0] * 100 + [1] * 30 + [2] * 10 + [3] * 20 + [4] * 20 + [5] * 20
    questions = [measured(i, c, ()) for i, c in enumerate(counts)]
    chosen = choose(questions, 5, 66, 4, random.Random(1))
    kept = [0 < one.num_correct < 5 for one in chosen]
    assert len({one.question_id for one in chosen}) == len(chosen) == 64
    assert sum(kept) == 28  # 0.4 of 66, to the nearest whole batch
    assert kept == sorted(kept, reverse=True)
    assert Counter(one.num_correct for one in chosen) == {1: 10, 2: 4, 3: 7, 4: 7, 5: 6, 0: 30}


def test_tables_split_the_trainers_steps_where_the_kept_part_ends():
    counts = [0] * 40 + [2] * 20 + [4] * 20 + [5] * 20
    rng = random.Random(3)
    questions = [
        measured(i, c, [rng.random() < c / 5 for _ in range(32)]) for i, c in enumerate(counts)
    ]
    chosen = choose(questions, 5, 20, 4, rng)
    found = of_counts(forecast(Counts.of([5] * 100, counts)))
    text = tables(found, questions, chosen, [0.25, 0.0, 1.0, 0.75, 1.0], k=5, group_size=8)
    first, second = text.strip().split("\n\n")
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in first.splitlines()}
    assert rows["L2–L5"][1] == "40"
    assert rows["pool"][2] == f"{found.pool.acr:.3f}"
    assert "L3" not in rows  # no question is there
    pool, kept, rest = (line.strip("| ").split(" | ") for line in second.splitlines()[2:])
    assert (pool[1], kept[1], rest[1]) == ("20", "8", "12")
    logged = [row[-2].split(" ± ")[0] for row in (pool, kept, rest)]
    assert logged == ["0.600", "0.125", "0.917"]


def test_generated_questions_are_different_and_their_golds_right():
    rows = make_questions(300, 5)
    assert rows == make_questions(300, 5) != make_questions(300, 6)
    assert len({(row["question"], *row.get("choices", ())) for row in rows}) == 300
    sources = Counter(row["source"] for row in rows)
    assert len(sources) == 9
    assert min(sources.values()) >= 5
    for row in rows:
        if found := re.fullmatch(r"What is (\d+) ([-*]) (\d+)\?", row["question"]):
            first, second = int(found[1]), int(found[3])
            right = first - second if found[2] == "-" else first * second
            assert row["answer"] == str(right)
        if row["source"] == "sums":
            assert sum(map(int, re.findall(r"\d+", row["question"]))) == int(row["answer"])
