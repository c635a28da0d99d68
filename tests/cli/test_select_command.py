"""``difficulty select`` on a run: ledger, empty results, one question's story, bad input."""

import json

import pytest

from difficulty import store
from difficulty.errors import InputError
from difficulty.report.ledger import read_ledger
from difficulty.report.story import find_question, own_id, tell_story
from difficulty.sampling.scripted import Script, scripted_server
from difficulty.schema import Question, Selection
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_question, sum_answer, with_change

EVIL = "[bold red]evil[/] \x1b[31mred \u202eback"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Twelve sums of two sources; what the model says would drive a terminal if it could."""
    folder = tmp_path_factory.mktemp("select")
    path = folder / "set.jsonl"
    rows = [
        {"question": f"What is {n} + {n}?", "answer": str(2 * n), "source": "ab"[n % 2]}
        for n in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sums = sum_answer(lambda n: n / 11)

    def answer(messages, chooser):
        text = sums(messages, chooser)
        return text if chooser.random() < 0.8 else EVIL

    with scripted_server(Script(answer=answer)) as url:
        options = ("--endpoint", url, "--run", folder / "run", "--template", "bare-v1")
        done = difficulty("profile", path, "--model", "scripted", *options, "--keep", "L1-L6")
        assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture
def run(finished):
    """The run with its rules at their defaults, but all levels kept."""
    assert difficulty("select", finished, "--reset", "--keep", "L1-L6").returncode == 0
    return finished


def test_the_ledger_accounts_for_every_question_once(run):
    found = json.loads(
        difficulty("select", run, "--keep", "L2-L5", "--quota", "a=1", "--json").stdout
    )
    assert (found["stage"], found["rows"]) == ("select", 12)
    assert {source: sum(counts.values()) for source, counts in found["sources"].items()} == {
        "a": 6,
        "b": 6,
    }
    kept = sum(counts.get("kept", 0) for counts in found["sources"].values())
    assert kept == found["kept"]
    assert found["sources"]["a"].get("kept", 0) <= 1
    shown = difficulty("select", run).stdout
    assert "source ┃ kept ┃" in shown
    assert shown.splitlines()[-1].split()[-1] == "12"


def test_a_selection_that_loses_a_question_is_an_error(run):
    from difficulty.errors import RunError

    folder = store.RunFolder(run)
    saved = folder.selection.read_bytes()
    rows = list(store.read_rows(folder.selection, Selection))
    stamp = store.read_stamp(folder.selection)
    try:
        schema = store.table_schema(Selection)
        with store.TableWriter(folder.selection, schema, stamp) as table:
            table.write_rows(rows[1:])
        with pytest.raises(RunError, match="accounts for 11 of 12 questions"):
            read_ledger(folder)
    finally:
        folder.selection.write_bytes(saved)


def test_an_empty_result_is_an_error_that_names_the_rule_and_is_still_written(run):
    line = one_line(difficulty("select", run, "--pass-rate", "0.01-0.02"))
    assert "--pass-rate 0.01-0.02 dropped the last" in line
    assert store.num_rows(run / "selection.parquet") == 12
    found = json.loads(difficulty("report", run, "--json").stdout)
    assert found["num_kept"] == 0
    assert not list((run / "exports").glob("*/*.parquet"))
    assert "dropped the last" in one_line(difficulty("export", run))


def test_the_cost_of_a_rule_and_a_quota_that_is_not_reached_are_said(run):
    done = difficulty("select", run, "--above-chance", 0.9, "--quota", "b=100")
    assert done.returncode == 0
    assert "above-chance 0.9 drops 0 of" in done.stderr
    assert "quota b=100 is not reached: the other rules leave 6 of b" in done.stderr


def test_an_overlap_is_dropped_first_and_named_after_its_file(run, tmp_path):
    held = tmp_path / "held.jsonl"
    held.write_text(json.dumps({"question": "what is 3 + 3"}) + "\n")
    done = difficulty("select", run, "--against", held, "--json")
    assert json.loads(done.stdout)["sources"]["b"] == {"kept": 5, "overlaps_held": 1}
    assert "1 questions overlap its 1 rows" in done.stderr
    key = key_of(run, "What is 3 + 3?")
    story = json.loads(difficulty("select", run, "--explain", key, "--json").stdout)
    assert story["drop_reason"] == "overlaps_held"
    assert (story["overlaps"][0]["row"], story["overlaps"][0]["exact"]) == (0, True)
    held.write_text("")
    assert "is empty" in one_line(difficulty("select", run, "--against", held))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pass-rate", "0.9-0.2"), "pass-rate band cannot be read: '0.9-0.2'"),
        (("--against", "nowhere.jsonl"), "evaluation set is missing: nowhere.jsonl"),
        (("--quota", "nix=3"), "quota for a source that is not there: 'nix'"),
        (("--mix", "nix=1"), "mix for a source that is not there: 'nix'"),
        (("--mix", "L2=0.5,L3=0.4"), "mix does not sum to 1"),
        (("--above-chance", "1.5"), "above-chance is out of range"),
        (("--max-collapse", "0.001"), "can keep nothing"),
        (("--order", "alphabetic"), "unknown order: 'alphabetic'"),
        (("--explain", "zz"), "no question has an id that starts with 'zz'"),
        (("--explain", ""), "12 questions have an id that starts with ''"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(run, options, message):
    before = {path: path.read_bytes() for path in run.glob("*.*") if path.is_file()}
    assert message in one_line(difficulty("select", run, *options))
    assert {path: path.read_bytes() for path in run.glob("*.*") if path.is_file()} == before


def test_an_option_of_another_order_is_wrong_usage(run):
    assert difficulty("select", run, "--order", "shuffled", "--mix", "a=1").returncode == 2
    assert difficulty("select", run, "--explain", "a", "--keep", "L2").returncode == 2


def key_of(run, prompt):
    rows = store.read_rows(run / "questions.parquet", Question)
    return next(row.question_id for row in rows if row.prompt == prompt)


def test_the_story_goes_from_the_samples_to_the_place(run):
    done = difficulty(
        "select", run, "--keep", "L1-L5", "--max-collapse", 0.9, "--order", "gaussian"
    )
    assert done.returncode == 0
    folder = store.RunFolder(run)
    spec = store.load_spec(folder)
    for row in store.read_rows(folder.selection, Selection):
        story = tell_story(folder, spec, row.question_id[:12])
        assert (story.keep, story.drop_reason, story.position) == (
            row.keep, row.drop_reason, row.position,
        )  # fmt: skip
        assert [sample.sample_index for sample in story.samples] == [0, 1, 2, 3, 4]
        correct = [sample.outcome for sample in story.samples].count("correct")
        assert correct == story.profile.num_correct
        assert story.collapse_probability == row.collapse_probability
        drops = [verdict.rule for verdict in story.verdicts if verdict.verdict == "drops"]
        assert bool(drops) == (not row.keep)


def test_rules_on_the_whole_set_say_if_they_were_reached(run):
    assert difficulty("select", run, "--keep", "L2-L5", "--max-questions", 1).returncode == 0
    folder = store.RunFolder(run)
    spec = store.load_spec(folder)
    found = {}
    for row in store.read_rows(folder.selection, Selection):
        verdicts = tell_story(folder, spec, row.question_id).verdicts
        found.setdefault(row.drop_reason, verdicts[-1].verdict)
    assert found.pop(None) == "passes"
    assert found.pop("over_max_questions") == "drops"
    assert set(found.values()) == {"not reached"}


def test_hostile_answers_reach_the_terminal_as_text(run):
    folder = store.RunFolder(run)
    stories = [
        difficulty("select", run, "--explain", row.question_id).stdout
        for row in store.read_rows(folder.questions, Question)
    ]
    assert all("\x1b" not in story and "\u202e" not in story for story in stories)
    shown = difficulty("select", run, "--explain", key_of(run, "What is 3 + 3?")).stdout
    assert "position" in shown
    assert "sample 4: " in shown


def test_markup_of_a_dataset_is_shown_and_not_obeyed(tmp_path):
    from difficulty.report.story_text import line

    assert line(EVIL) == r"\[bold red]evil\[/] \x1b[31mred \x202eback"
    assert len(line("x" * 1000)) == 300


def test_a_story_of_other_rules_than_the_runs_is_refused(run):
    from difficulty.errors import RunError

    folder = store.RunFolder(run)
    spec = with_change(folder, {"selection": {"keep": "L2-L5"}})
    with pytest.raises(RunError, match="was made by other rules. Run difficulty select"):
        tell_story(folder, spec, "a")


def test_evaluation_sets_of_one_name_have_a_reason_each(run, tmp_path):
    files = []
    for number, folder in enumerate(("x", "y")):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "test.jsonl")
        row = {"question": f"What is {number} + {number}?"}
        files[-1].write_text(json.dumps(row) + "\n")
    done = difficulty("select", run, "--against", files[0], "--against", files[1], "--json")
    sources = json.loads(done.stdout)["sources"]
    assert sources["a"]["overlaps_test"] == 1
    assert sources["b"]["overlaps_test-2"] == 1
    story = difficulty("select", run, "--explain", key_of(run, "What is 1 + 1?"))
    assert "dropped: overlaps_test-2" in story.stdout


def test_the_tables_count_what_the_selection_keeps_after_bands_and_quotas(run):
    rules = ("--keep", "L1-L5", "--pass-rate", "0.1-0.9", "--quota", "a=1", "--max-questions", "3")
    assert difficulty("select", run, *rules).returncode == 0
    found = json.loads(difficulty("report", run, "--json").stdout)
    kept = [row for row in store.read_rows(store.RunFolder(run).selection, Selection) if row.keep]
    by_level = {row["level"]: row["num_kept"] for row in found["levels"]}
    assert sum(by_level.values()) == found["num_kept"] == len(kept) <= 3
    assert (by_level["L1"], by_level["L6"]) == (0, 0)  # all right and none right: not in the band
    assert all(row["kept"] == (row["num_kept"] > 0) for row in found["levels"])
    forecast = found["forecast"]["kept"]
    assert forecast["num_questions"] == len(kept) < forecast["num_by_rules"]
    shown = difficulty("report", run).stdout
    said = f"filtered: {len(kept)} questions are kept of the {forecast['num_by_rules']}"
    assert said in shown
    assert said in (run / "report.html").read_text()
    card = (run / "exports" / "trl" / "README.md").read_text()
    assert f"| kept | {len(kept)} |" in card


def test_a_question_is_found_by_the_datasets_own_id(tmp_path):
    rows = [make_question(f"{n}?", metadata=json.dumps({"id": name, "problem_id": n}))
            for n, name in enumerate(["q-1", "q-2", "q-2"])]  # fmt: skip
    run = store.RunFolder(tmp_path)
    stamp = store.Stamp(settings={}, inputs={})
    with store.TableWriter(run.questions, store.table_schema(Question), stamp) as table:
        table.write_rows(rows)
    assert find_question(run, "q-1") == find_question(run, "0") == rows[0].question_id
    assert find_question(run, rows[1].question_id[:12].upper()) == rows[1].question_id
    with pytest.raises(InputError, match="2 questions have the dataset's own id 'q-2'"):
        find_question(run, "q-2")
    with pytest.raises(InputError, match="no question has an id that starts with 'q-'"):
        find_question(run, "q-")
    assert own_id(rows[0]) == "id q-1"
    assert own_id(make_question("?", metadata="{}")) is None
