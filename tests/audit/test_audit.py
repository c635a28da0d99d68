import base64
import csv
import dataclasses
import hashlib
import io
import itertools
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import hypergeom

from difficulty import store
from difficulty.audit.cells import from_cell, to_cell
from difficulty.audit.checks import audit_line, rates
from difficulty.audit.draw import Drawn, allocate, details, draw, load_sample, save_sample
from difficulty.audit.estimate import Share, Stratum, share_of
from difficulty.audit.judge import judge
from difficulty.audit.rates import Checked, Rates
from difficulty.audit.result import Audit, load_audit, save_audit
from difficulty.audit.sheet import CELL_LIMIT, COLUMNS, read_sheet, write_sheet
from difficulty.errors import InputError, RunError, SettingsError
from difficulty.report.audit_page import render_audit
from difficulty.report.terminal import print_audit_result
from difficulty.run import stages
from difficulty.schema import Completion, Grade, Question, Span
from difficulty.settings.run import ServerSpec
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_question, make_spec

FORMULA = "=+-@＝＋－＠"
HOSTILE = st.text(
    st.sampled_from("=+-@＝'\"\n\r\t;,\\ ud8001/2\x00\x1b\u202e")
    | st.characters(exclude_categories=())
) | st.sampled_from(
    ["=1+1", "'=1", "-3", "1/2", "'1/2", "March 1", "1e5", "\\ud800", "\\\ud800", "\\\\u0000", "01",
     "a\n- b", 'x;"=cmd|calc', "true", "'", "''''-", "\ud800=", "=" * 50, "\\" * 50]
)  # fmt: skip


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_hostile_text_survives_the_way_through_a_csv_file(texts):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow([to_cell(text) for text in texts])
    data = out.getvalue().encode("utf-8")
    (row,) = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
    assert [from_cell(cell) for cell in row] == texts


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_no_cell_starts_a_formula_whatever_separator_the_spreadsheet_expects(texts):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(["id", *(to_cell(text) for text in texts)])
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=delimiter):
            for cell in row:
                assert cell.strip().lstrip('" \t\r\n;\u200b\ufeff')[:1] not in [*FORMULA]


@pytest.mark.parametrize(
    "text", ["1/2", "3-4", "0.50", "007", "1e5", "12345678901234567", "MARCH1", "1 1/2", "10:30"]
)
def test_what_a_spreadsheet_would_reshape_is_kept_as_text(text):
    assert to_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["42", "C", "B: 肺", "the answer is 3/4", "May I?", "", "don't"])
def test_harmless_text_is_left_as_it_is(text):
    assert to_cell(text) == text


@pytest.mark.parametrize("text", ["\n" * 200_000, "\\" * 200_000, ";\n" * 100_000, "'" * 200_000])
def test_long_runs_take_no_quadratic_time(text):
    assert from_cell(to_cell(text)) == text


SIZES = st.dictionaries(
    st.sampled_from(["correct", "wrong", "no_answer", "truncated"]), st.integers(0, 5000)
)


@given(SIZES, st.integers(1, 400))
def test_every_outcome_that_is_there_is_drawn_and_none_more_often_than_it_is(sizes, rows):
    there = {name: size for name, size in sizes.items() if size}
    if len(there) == 0 or rows < len(there):
        with pytest.raises(SettingsError):
            allocate(sizes, rows)
        return
    drawn = allocate(sizes, rows)
    assert drawn.keys() == there.keys()
    assert sum(drawn.values()) == min(rows, sum(there.values()))
    assert all(1 <= drawn[name] <= there[name] for name in there)


OUTCOMES = ("correct",) * 40 + ("wrong",) * 50 + ("no_answer",) * 6 + ("truncated",) * 3
OUTCOMES += ("failed", "grader_error")


def make_run(root, outcomes=OUTCOMES, *, text="reply {}", grader="2", k=1, span=(0, 5)):
    """A run folder with one question a reply; its tables hold just what an audit reads."""
    run = store.RunFolder(root)
    questions = [
        make_question(prompt=f"{n} + {n}?", answer=str(2 * n)) for n in range(len(outcomes))
    ]
    completions = [
        Completion(
            question_id=question.question_id, sample_index=0, text=text.format(n), reasoning=None,
            num_tokens=3, finish_reason="stop", attempt=1, max_tokens=64, server=None, error=None,
        )
        for n, question in enumerate(questions)
    ]  # fmt: skip
    grades = [
        Grade(
            question_id=question.question_id, sample_index=0, outcome=outcome,
            reward=float(outcome == "correct"), components=(), extracted_answer="x",
            span=Span(start=span[0], end=span[1]), reason="marker line: why",
        )
        for question, outcome in zip(questions, outcomes, strict=True)
    ]  # fmt: skip
    write(run.questions, Question, questions, {})
    write(run.completions / "part-00000.parquet", Completion, completions, {})
    write(run.grades, Grade, grades, {"grading.grader": grader, "sampling.k": k})
    return run


def write(path, row_type, rows, settings):
    stamp = store.Stamp(settings=settings, inputs={})
    with store.TableWriter(path, store.table_schema(row_type), stamp) as table:
        table.write_rows(rows)


def regrade(run, changes, grader="3"):
    """Give these questions another outcome, as a newer grader would."""
    rows = list(store.read_rows(run.grades, Grade))
    rows = [
        dataclasses.replace(row, outcome=changes.get(row.question_id, row.outcome)) for row in rows
    ]
    write(run.grades, Grade, rows, {"grading.grader": grader, "sampling.k": 1})


def drawn_run(root, rows=40, seed=0, **more):
    run = make_run(root, **more)
    sample = draw(run, rows=rows, seed=seed)
    save_sample(run, sample)
    write_sheet(run.audit_sheet, details(run, list(sample.rows)))
    return run, sample


def test_the_same_seed_draws_the_same_rows_and_every_outcome_but_failed(tmp_path):
    run = make_run(tmp_path)
    first, again, other = (draw(run, rows=30, seed=seed) for seed in (1, 1, 2))
    assert first.rows == again.rows
    assert first.rows != other.rows
    assert {row.outcome for row in first.rows} == {*OUTCOMES} - {"failed"}
    assert {row.outcome: row.replies for row in first.outcomes}["wrong"] == 50
    assert sorted({row.position for row in first.rows}) == list(range(1, 31))
    save_sample(run, first)
    assert load_sample(run) == first


def test_a_sample_smaller_than_the_outcomes_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="2 rows for 5 outcomes"):
        draw(make_run(tmp_path), rows=2, seed=0)


def test_a_sample_larger_than_the_run_takes_everything(tmp_path):
    assert len(draw(make_run(tmp_path), rows=10_000, seed=0).rows) == len(OUTCOMES) - 1


def fill(run, judge_row, path=None, *, columns=COLUMNS, order=1, **dialect):
    """Fill the sheet in as a spreadsheet might save it; ``judge_row`` gives the verdict."""
    with run.audit_sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["human"] = judge_row(row)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, extrasaction="ignore", **dialect)
    writer.writeheader()
    writer.writerows(rows[::order])
    path = path or run.root / "filled.csv"
    path.write_bytes(out.getvalue().encode("utf-8"))
    return path


def agree(row):
    return "right" if row["outcome"] == "correct" else "wrong"


SAVED_AS = {
    "as written": {},
    "semicolons": {"delimiter": ";"},
    "tabs": {"delimiter": "\t", "quoting": csv.QUOTE_ALL},
    "unix lines": {"lineterminator": "\n"},
    "reversed": {"order": -1},
    "few columns": {"columns": ("sample_index", "human", "question_id")},
    "more columns": {"columns": ("mine", *COLUMNS)},
}


@pytest.mark.parametrize("name", SAVED_AS)
def test_a_sheet_is_read_back_from_whatever_a_spreadsheet_makes_of_it(name, tmp_path):
    run, sample = drawn_run(tmp_path, text="=SUM({});\n- a \"b\", c")  # fmt: skip
    rows = read_sheet(fill(run, agree, **SAVED_AS[name]))
    expected = {(row.question_id, 0): "right" if row.outcome == "correct" else "wrong"
                for row in sample.rows}  # fmt: skip
    assert {(row.question_id, row.sample_index): row.human for row in rows} == expected


@pytest.mark.parametrize(
    ("encoding", "before"),
    [("utf-8-sig", ""), ("utf-16", ""), ("cp932", ""), ("utf-8", "sep=,\r\n"), ("utf-8", "\r\n")],
)
def test_a_sheet_is_read_back_from_other_encodings(encoding, before, tmp_path):
    run, _ = drawn_run(tmp_path, text="答えは {} 表ソ\\")
    path = fill(run, lambda row: "誤" if row["outcome"] == "wrong" else " Right ")
    text = path.read_bytes().decode("utf-8")
    path.write_bytes((before + text).encode(encoding))
    rows = read_sheet(path)
    assert {row.human for row in rows} == {"right", "wrong"}
    assert len(rows) == 40


def saved(tmp_path, text):
    path = tmp_path / "sheet.csv"
    path.write_text("question_id,sample_index,human,note\r\n" + text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,0,yes", "row 2: human is 'yes'"),
        ("a,0,right\r\n\r\nb,zero,wrong", "row 4: sample_index is 'zero'"),
        ("a,0,right\r\na,0,wrong", "row 3: two verdicts on one reply"),
        ("\r\n".join(f"a,{n},maybe" for n in range(9)), "and 4 more"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_by_its_row(text, message, tmp_path):
    with pytest.raises(InputError, match=re.escape(message)):
        read_sheet(saved(tmp_path, text))


def test_a_reply_that_stands_twice_with_one_verdict_is_one(tmp_path):
    (row,) = read_sheet(saved(tmp_path, "a,0,\r\na,0.0,right,'-> see\r\na,0,right"))
    assert (row.human, row.note, row.sample_index) == ("right", "-> see", 0)


def test_what_is_no_sheet_is_refused(tmp_path):
    path = tmp_path / "x"
    for data, message in (
        (b"PK\x03\x04", "a workbook"),
        (b"a,b\n1,2", "no audit sheet"),
        (b"", "no "),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=message):
            read_sheet(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_sheet(tmp_path / "none.csv")


def test_a_cell_never_outgrows_a_spreadsheet_and_keeps_its_end(tmp_path):
    run, _ = drawn_run(tmp_path, outcomes=("correct",), rows=1, text="\x00=" * 40_000 + " so 42{}")
    with run.audit_sheet.open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert len(row["reply"]) <= CELL_LIMIT
    assert row["reply"].endswith("so 420")
    assert "characters left out" in row["reply"]


# The estimate


def test_no_error_seen_still_leaves_room_for_some():
    share = share_of([Stratum(size=1000, checked=50, hits=0)], 1000)
    assert (share.rate, share.low) == (0.0, 0.0)
    assert share.high == pytest.approx(0.0711, abs=1e-4)  # Clopper-Pearson, 0 of 50


def test_a_census_is_exact():
    strata = [Stratum(size=30, checked=30, hits=2), Stratum(size=10, checked=10, hits=1)]
    assert share_of(strata, 40) == Share(
        rate=3 / 40, low=3 / 40, high=3 / 40, checked=40, found=3, of=40
    )


def test_what_was_never_checked_is_unknown_and_not_right():
    share = share_of(
        [Stratum(size=60, checked=60, hits=0), Stratum(size=40, checked=0, hits=0)], 100
    )
    assert (share.rate, share.low, share.high) == (None, 0.0, 0.4)


def test_weights_are_the_sizes_of_the_strata_and_not_of_the_sample():
    strata = [Stratum(size=900, checked=50, hits=0), Stratum(size=100, checked=50, hits=25)]
    assert share_of(strata, 1000).rate == pytest.approx(0.05)


def test_nothing_to_be_a_share_of_is_null():
    assert share_of([], 0).rate is share_of([], 0).low is None


WORLDS = [
    ((6000, 4000), (0.0, 0.0), 100),
    ((6000, 4000), (0.01, 0.01), 60),
    ((6000, 4000), (0.03, 0.0), 100),
    ((6000, 4000), (0.0, 0.05), 40),
    ((500, 8000, 1000, 500), (0.02, 0.05, 0.2, 0.01), 100),
    ((9000, 700, 200, 100), (0.005, 0.1, 0.0, 0.5), 50),
    ((9000, 700, 200, 100), (0.0, 0.0, 0.3, 0.0), 100),
    ((300, 150, 40, 10), (0.02, 0.02, 0.1, 0.5), 100),
    ((60, 30, 6, 4), (0.05, 0.1, 0.34, 0.5), 60),
    ((2000, 2000, 2000), (0.5, 0.9, 0.1), 30),
]
NAMES = ("correct", "wrong", "no_answer", "truncated")


@pytest.mark.parametrize(("sizes", "error_rates", "rows"), WORLDS)
def test_the_interval_covers_the_truth_in_at_least_93_of_100_samples(sizes, error_rates, rows):
    random = np.random.default_rng(20)
    errors = [round(size * error) for size, error in zip(sizes, error_rates, strict=True)]
    drawn = allocate(dict(zip(NAMES, sizes, strict=False)), rows)
    total, covered, found, draws = sum(sizes), 0, [], 1500
    for _ in range(draws):
        hits = [
            random.hypergeometric(bad, size - bad, n)
            for bad, size, n in zip(errors, sizes, drawn.values(), strict=True)
        ]
        share = share_of(
            [
                Stratum(size=size, checked=n, hits=int(hit))
                for size, n, hit in zip(sizes, drawn.values(), hits, strict=True)
            ],
            total,
        )
        covered += share.low - 1e-12 <= sum(errors) / total <= share.high + 1e-12
        found.append(share.rate)
    assert covered / draws >= 0.93
    assert np.mean(found) == pytest.approx(sum(errors) / total, abs=0.006)


@pytest.mark.parametrize(
    ("sizes", "errors", "checked"),
    [
        ((6000, 4000), (60, 40), (33, 27)),
        ((700, 10_000, 9000), (22, 0, 0), (2, 31, 19)),
        ((3082, 1291, 4060), (62, 13, 81), (10, 7, 11)),
        ((49, 8, 42), (1, 0, 1), (35, 7, 31)),
        ((500, 500), (500, 480), (20, 20)),
    ],
)
def test_the_exact_coverage_is_at_least_95_percent(sizes, errors, checked):
    """No simulation: the chances of all possible findings whose interval covers, summed."""
    ranges = [range(n + 1) for n in checked]
    worlds = list(zip(sizes, errors, checked, strict=True))
    chances = [hypergeom.pmf(list(r), *world) for r, world in zip(ranges, worlds, strict=True)]
    truth, covered = sum(errors) / sum(sizes), 0.0
    for hits in itertools.product(*ranges):
        chance = math.prod(table[x] for table, x in zip(chances, hits, strict=True))
        if chance > 1e-7:
            strata = [
                Stratum(size=size, checked=n, hits=x)
                for (size, _, n), x in zip(worlds, hits, strict=True)
            ]
            share = share_of(strata, sum(sizes))
            covered += chance * (share.low - 1e-9 <= truth <= share.high + 1e-9)
    assert covered >= 0.95


def checked(outcome, now, human):
    drawn = Drawn(question_id="q", sample_index=0, position=1, outcome=outcome, checksum="")
    return Checked(drawn=drawn, stratum=outcome, human=human, note="", outcome=now, reason="")


def test_rates_stay_right_when_the_same_replies_were_graded_again_since():
    random = np.random.default_rng(21)
    # (outcome when drawn, outcome now, is the reply right?) -> replies
    cells = {
        ("correct", "correct", True): 500, ("correct", "wrong", False): 30,
        ("correct", "wrong", True): 10, ("correct", "correct", False): 20,
        ("wrong", "wrong", False): 1300, ("wrong", "correct", True): 100,
        ("wrong", "wrong", True): 40,
    }  # fmt: skip
    people = [cell for cell, count in cells.items() for _ in range(count)]
    sizes = {name: sum(old == name for old, _, _ in people) for name in ("correct", "wrong")}
    now = {name: sum(new == name for _, new, _ in people) for name in ("correct", "wrong")}
    truth = {
        "error": (20 + 10 + 40) / 2000, "false_credit": 20 / now["correct"],
        "false_reject": (10 + 40) / now["wrong"], "corrected": 650 / 2000,
    }  # fmt: skip
    drawn = allocate(sizes, 120)
    covered, means = dict.fromkeys(truth, 0), {name: [] for name in truth}
    for _ in range(300):
        rows = []
        for outcome, wanted in drawn.items():
            mine = [cell for cell in people if cell[0] == outcome]
            for at in random.choice(len(mine), wanted, replace=False):
                rows.append(checked(*mine[at][:2], "right" if mine[at][2] else "wrong"))
        rates = Rates(rows, sizes, now, crossed=True)
        for name, value in truth.items():
            share = getattr(rates, name)()
            covered[name] += share.low <= value <= share.high
            means[name].append(share.rate)
    assert min(covered.values()) / 300 >= 0.93
    for name, value in truth.items():
        assert np.mean(means[name]) == pytest.approx(value, rel=0.12)


# What a person's check becomes


def test_a_person_who_agrees_finds_no_error_and_every_rate_says_of_how_many(tmp_path):
    run, sample = drawn_run(tmp_path)
    audit = judge(run, sample, read_sheet(fill(run, agree)), tmp_path / "filled.csv")
    assert (audit.drawn, audit.checked, audit.unsure, audit.blank) == (40, 40, 0, 0)
    assert (audit.error.rate, audit.error.found, audit.error.of) == (0.0, 0, 99)
    assert (audit.false_credit.of, audit.false_reject.of) == (40, 59)
    assert 0 < audit.error.high < 0.25
    assert audit.pass_rate == pytest.approx(40 / 99)
    assert audit.corrected.rate == pytest.approx(40 / 99)
    assert audit.warnings == audit.disagree == ()


def test_false_credits_and_false_rejects_are_told_apart_and_named(tmp_path):
    run, sample = drawn_run(tmp_path, rows=101)
    first = {name: next(r for r in sample.rows if r.outcome == name) for name in OUTCOMES[:99]}

    def strict(row):
        if row["question_id"] == first["correct"].question_id:
            return "wrong"
        if row["question_id"] == first["no_answer"].question_id:
            return "right"
        return agree(row)

    audit = judge(run, sample, read_sheet(fill(run, strict)), tmp_path)
    assert audit.false_credit.rate == audit.false_credit.low == pytest.approx(1 / 40)
    assert audit.false_reject.rate == pytest.approx(1 / 59)
    assert audit.error.rate == pytest.approx(2 / 99)
    assert audit.corrected.rate == pytest.approx(40 / 99)
    got = {(row.question_id, row.expected, row.got) for row in audit.disagree}
    assert got == {
        (first["correct"].question_id, "wrong", "correct"),
        (first["no_answer"].question_id, "right", "no_answer"),
    }


def test_unknown_verdicts_are_counted_also_those_whose_row_is_gone(tmp_path):
    run, sample = drawn_run(tmp_path)
    unsure, blank, gone = (sample.rows[at].question_id for at in (0, 1, 2))
    path = fill(run, lambda row: {unsure: "？", blank: " "}.get(row["question_id"], agree(row)))
    lines = [line for line in path.read_text().splitlines(keepends=True) if gone not in line]
    path.write_text("".join(lines))
    audit = judge(run, sample, read_sheet(path), path)
    assert (audit.drawn, audit.checked, audit.unsure, audit.blank) == (40, 37, 1, 2)
    for row in audit.outcomes:
        assert row.right + row.wrong + row.unsure + row.blank == row.drawn
    assert "3 of 40 replies have no verdict" in audit.warnings[0]


def test_an_outcome_without_any_verdict_leaves_the_rate_unknown(tmp_path):
    run, sample = drawn_run(tmp_path)
    path = fill(run, lambda row: "" if row["outcome"] == "wrong" else agree(row))
    audit = judge(run, sample, read_sheet(path), path)
    assert audit.error.rate is audit.false_reject.rate is audit.corrected.rate is None
    assert audit.error.high > 50 / 99
    assert audit.false_credit.rate == 0.0


def test_a_reply_without_the_graders_verdict_is_in_no_rate(tmp_path):
    run, sample = drawn_run(tmp_path)
    path = fill(run, lambda row: "right" if row["outcome"] == "grader_error" else agree(row))
    audit = judge(run, sample, read_sheet(path), path)
    assert (audit.error.found, audit.error.of) == (0, 99)
    shown = next(row for row in audit.outcomes if row.outcome == "grader_error")
    assert (shown.replies, shown.right) == (1, 1)


def test_rows_that_no_longer_match_the_run_are_named(tmp_path):
    run, sample = drawn_run(tmp_path)
    victim = next(row for row in sample.rows if row.outcome == "wrong").question_id
    path = fill(run, agree)
    with path.open("a") as file:
        file.write(",right" + "," * 10 + "strange,0\r\n")
    regrade(run, {victim: "correct"})
    audit = judge(run, sample, read_sheet(path), path)
    assert [(row.question_id, row.before, row.after) for row in audit.regraded] == [
        (victim, "wrong", "correct")
    ]
    assert audit.not_in_sample == ("strange:0",)
    text = " ".join(audit.warnings)
    assert victim in text
    assert "strange:0" in text
    assert audit.false_credit.found == 1  # the person called it wrong, it is correct now


def test_replies_that_were_drawn_anew_count_as_without_verdict(tmp_path):
    run, sample = drawn_run(tmp_path)
    path = fill(run, agree)
    make_run(tmp_path, text="another {}")
    audit = judge(run, sample, read_sheet(path), path)
    assert (audit.checked, audit.blank, len(audit.redrawn)) == (0, 40, 40)
    assert audit.error.rate is None
    assert any("the replies of the run changed" in text for text in audit.warnings)


def test_a_file_of_another_sheet_is_refused(tmp_path):
    run, sample = drawn_run(tmp_path)
    with pytest.raises(InputError, match="of another sheet: none of its 1 rows"):
        judge(run, sample, read_sheet(saved(tmp_path, "strange,0,right")), tmp_path)


def test_a_kept_result_reads_back_and_is_stale_once_the_grades_change(tmp_path):
    run, sample = drawn_run(tmp_path)
    assert load_audit(run) is None
    audit = judge(run, sample, read_sheet(fill(run, agree)), tmp_path)
    save_audit(run, audit)
    assert load_audit(run) == audit
    regrade(run, {sample.rows[0].question_id: "grader_error"})
    assert "grades changed since" in load_audit(run).stale
    run.audit.write_text('{"error": 1}')
    with pytest.raises(RunError, match="Delete it"):
        load_audit(run)


# The page

EVIL = (
    '<img src="http://evil/x.png" onerror=alert(1)></pre><script>alert(2)</script>'
    "{{{{ 7 }}}} {}\x00\u202e"
)


def page_of(tmp_path, **more):
    run, sample = drawn_run(tmp_path, **more)
    return render_audit("a run", sample, details(run, list(sample.rows)))


def test_the_page_escapes_everything_foreign_and_fetches_nothing(tmp_path):
    page = page_of(tmp_path, text=EVIL)
    assert "<img" not in page
    assert page.count("<script>") == 1
    assert "{{ 7 }}" in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert "\\u202e" in page
    assert re.findall(r'(?:src|href)="', page) == []


def test_the_pages_policy_allows_its_own_script_by_hash_and_nothing_else(tmp_path):
    page = page_of(tmp_path)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_page_marks_the_extracted_answer_and_folds_long_replies(tmp_path):
    short = page_of(tmp_path / "short", outcomes=("correct",), rows=1, text="答え {}", span=(0, 2))
    assert "<mark>答え</mark> 0" in short
    assert "<details>" not in short
    text = "x" * 3000 + "ANSWER {}" + "y" * 3000
    long = page_of(tmp_path / "long", outcomes=("wrong",), rows=1, text=text, span=(3000, 3006))
    assert f"… {'x' * 400}<mark>ANSWER</mark>" in long
    assert "<summary>all 6,008 characters</summary>" in long
    assert "x" * 3000 + "<mark>ANSWER</mark> 0" + "y" * 3000 in long


# The commands


@pytest.fixture
def profiled(sums, tmp_path, live, serve):
    url, _ = serve()
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(sums, server=ServerSpec(endpoints=(url,)))
    store.save_spec(run, spec)
    stages.profile(run, spec, live)
    return run


def test_a_run_is_sampled_checked_and_the_report_shows_it(profiled, tmp_path):
    run = profiled
    drawn = json.loads(difficulty("grade", run.root, "--audit", 20, "--seed", 3, "--json").stdout)
    assert (drawn["drawn"], drawn["seed"]) == (20, 3)
    assert run.audit_page.exists()
    path = fill(run, lambda row: "wrong", tmp_path / "checked.csv")
    found = json.loads(difficulty("grade", run.root, "--audit-read", path, "--json").stdout)
    assert found["false_credit"]["rate"] == 1.0
    assert found["corrected"]["rate"] == 0.0
    assert 0 < found["pass_rate"] < 1
    assert "20 of 20 sampled replies were checked by a person" in run.report.read_text()
    assert "false credit 100.0%" in difficulty("report", run.root).stdout
    pretend_the_grades_were_others(run)
    shown = json.loads(difficulty("report", run.root, "--json").stdout)["audit"]
    assert (shown["date"], shown["grader"]) == (found["date"], found["grader"])
    assert "grades changed since" in shown["stale"]
    assert "grades changed since" in run.report.read_text()


def pretend_the_grades_were_others(run):
    text = run.audit.read_text()
    run.audit.write_text(text.replace(json.loads(text)["grades"], "0" * 64))


def test_the_terminal_shows_rates_disagreements_and_warnings(tmp_path, capsys):
    run, sample = drawn_run(tmp_path)
    path = fill(run, lambda row: "?" if row["outcome"] == "no_answer" else "right")
    print_audit_result(judge(run, sample, read_sheet(path), path), Console(width=200))
    shown = capsys.readouterr().out
    assert re.search(r"false reject +┃? *│ +- │", shown)
    assert "person right, graded wrong (marker line: why)" in shown
    assert "have no verdict" in shown


def test_a_sheet_with_verdicts_is_never_overwritten_and_mistakes_are_one_line(profiled, tmp_path):
    run = profiled
    line = one_line(difficulty("grade", run.root, "--audit-read", tmp_path / "x.csv"))
    assert "has no audit sheet. Draw one" in line
    assert "audit is too small: 0 rows" in one_line(difficulty("grade", run.root, "--audit", 0))
    difficulty("grade", run.root, "--audit", 20)
    fill(run, agree, run.audit_sheet)
    filled = run.audit_sheet.read_bytes()
    line = one_line(difficulty("grade", run.root, "--audit", 30))
    assert "has 20 verdicts of another sample" in line
    assert difficulty("grade", run.root, "--audit", 20).returncode == 0  # the very same sample
    assert run.audit_sheet.read_bytes() == filled


@pytest.mark.parametrize("more", [("--audit", 5, "--compare"), ("--seed", 5)])
def test_options_that_do_not_go_together_are_wrong_usage(more, tmp_path):
    assert difficulty("grade", tmp_path, *more).returncode == 2


def test_the_result_names_the_users_own_rewards_where_they_gave_the_grades():
    from difficulty.audit.draw import grader_of

    assert grader_of({"grading.grader": "2", "sampling.k": 5}) == "2"
    rewards = {"grading.grader": "2", "grading.rewards": ["fmt 0a1b", "score 2c3d"]}
    assert grader_of(rewards) == "reward fmt, score"


def test_every_field_of_a_result_has_its_place_in_json(tmp_path):
    run, sample = drawn_run(tmp_path)
    audit = judge(run, sample, read_sheet(fill(run, agree)), tmp_path)
    save_audit(run, audit)
    assert json.loads(run.audit.read_text()).keys() == {f.name for f in dataclasses.fields(Audit)}


def test_a_cell_of_a_whole_sheet_is_named_by_its_own_row_and_the_files_line(tmp_path):
    run, _ = drawn_run(tmp_path, text="two\nlines {}")
    path = fill(run, lambda row: "maybe" if row["row"] == "7" else agree(row), order=-1)
    lines = path.read_bytes().decode("utf-8").replace("\r\n", "\n").split("\n")
    start = next(n for n, line in enumerate(lines, 1) if line.startswith("7,maybe"))
    assert start > 40
    message = f"row 7 of the sheet (line {start} of the file): human is 'maybe'"
    with pytest.raises(InputError, match=re.escape(message)):
        read_sheet(path)


def test_a_sheet_that_is_read_after_the_reward_was_switched_says_whose_grades_it_judges(tmp_path):
    run, sample = drawn_run(tmp_path)
    sheet = fill(run, agree)
    switched = dataclasses.replace(sample, grader="reward acc")
    audit = judge(run, switched, read_sheet(sheet), sheet)
    assert "drawn from grades of reward acc" in audit.warnings[0]
    assert "false reject, are those of grader 2" in audit.warnings[0]
    assert audit_line(audit).startswith("grader 2, ")
    own = dataclasses.replace(audit, grader="reward acc")
    assert audit_line(own).startswith("reward acc, ")
    assert rates(own)[0][0] == "reward errors"
    assert not any("drawn from" in text for text in
                   judge(run, sample, read_sheet(sheet), sheet).warnings)  # fmt: skip
