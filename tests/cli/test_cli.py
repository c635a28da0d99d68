import json
import os
import re
import subprocess
import sys

import pytest

from difficulty import __version__, store
from difficulty.settings.run import ServerSpec
from difficulty.sources import load_questions
from tests.conftest import ROOT, make_spec, sum_answer

COMMANDS = (
    "profile", "sample", "grade", "bucket", "select", "forecast", "export", "report", "check",
    "merge", "audit-grader", "doctor",
)  # fmt: skip
HEADINGS = {
    "profile": (
        "Dataset", "Prompt", "Sampling", "Servers", "Reward", "Selection", "Forecast", "Export",
    ),
    "select": ("Selection", "Order", "Forecast"),
}  # fmt: skip
SPECIALIST = [636, 216, 180, 223, 294, 2164]
"""Questions by right answers of five, published for the specialist-exam set."""


def difficulty(*arguments, columns=200, variables=None, **more):
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1", **(variables or {})}
    return subprocess.run(
        [sys.executable, "-m", "difficulty.cli", *map(str, arguments)],
        capture_output=True, text=True, check=False, env=environment, **more,
    )  # fmt: skip


def one_line(done, code=1):
    """The error of a command that failed as it should."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_help_cuts_no_option_and_no_value_in_a_terminal_of_80_columns(command):
    text = difficulty(command, "-h", columns=80).stdout
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    for heading in HEADINGS.get(command, ()):
        assert f"─ {heading} ─" in text


def test_help_shows_the_values_that_are_allowed():
    text = difficulty("select", "-h").stdout
    assert "easy-to-hard|hard-to-easy|shuffled|mix|gaussian" in text
    text = difficulty("forecast", "-h").stdout
    assert "fresh|resamples|all" in text
    assert "soft_overlong|none" in text


def test_the_version_the_exit_codes_and_completion_are_in_the_help():
    assert difficulty("--version").stdout == f"difficulty {__version__}\n"
    text = difficulty("-h").stdout
    assert all(f"{code} " in text.split("Exit codes:")[1] for code in (0, 1, 2, 130))
    assert "--show-completion" in text
    typed = {
        "_DIFFICULTY_COMPLETE": "complete_bash", "COMP_WORDS": "difficulty sel", "COMP_CWORD": "1",
    }  # fmt: skip
    assert difficulty(variables=typed).stdout.split() == ["select"]


def test_a_wrong_command_is_one_line_that_names_the_help():
    done = difficulty("profile", "x.jsonl", "--model", "m", "--k", "many")
    assert done.returncode == 2
    assert done.stderr.startswith("error: invalid value for '--k': ")
    assert done.stderr.endswith(". See difficulty profile --help\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_ends_with_an_example(command):
    done = difficulty(command, "--help")
    text = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert f"Example: difficulty {command}" in text
    assert "--json" in text


def test_the_help_of_an_option_says_its_default():
    text = " ".join(difficulty("profile", "--help").stdout.split())
    assert "(default: 5)" in text  # square brackets would be taken for markup and vanish


def test_the_help_lists_every_command():
    text = difficulty("--help").stdout
    assert [name for name in COMMANDS if not re.search(rf"^\W*{name}\s", text, re.MULTILINE)] == []


def test_profile_from_start_to_finish_prints_one_json_object(sums, tmp_path, serve):
    url, _ = serve()
    arguments = (
        "profile",
        sums,
        "--model",
        "scripted",
        "--endpoint",
        url,
        "--run",
        tmp_path / "run",
        "--template",
        "bare-v1",
        "--json",
    )
    done = difficulty(*arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["num_questions"] == 12
    assert sum(level["num_questions"] for level in found["levels"]) == 12
    for file in found["exports"]:
        assert (tmp_path / "run" / "exports" / file["trainer"] / "train-00000.parquet").exists()
    again = json.loads(difficulty(*arguments).stdout)
    assert again == found


def test_stages_one_by_one_give_what_profile_gives(sums, tmp_path, serve):
    url, _ = serve()
    run = tmp_path / "run"
    done = difficulty(
        "profile",
        sums,
        "--model",
        "scripted",
        "--endpoint",
        url,
        "--run",
        run,
        "--template",
        "bare-v1",
        "--json",
    )
    kept = json.loads(done.stdout)["num_kept"]
    for name in ("grades.parquet", "profile.parquet", "selection.parquet", "forecast.json"):
        (run / name).unlink()
    for stage, expected in (
        ("sample", 60),
        ("grade", 60),
        ("bucket", 12),
        ("select", 12),
        ("export", kept),
    ):
        found = json.loads(difficulty(stage, run, "--json").stdout)
        assert (found["stage"], found["rows"]) == (stage, expected)
    assert json.loads(difficulty("forecast", run, "--json").stdout)["pool"]["num_questions"] == 12
    assert json.loads(difficulty("report", run, "--json").stdout)["num_kept"] == kept


def test_the_forecast_of_published_counts_keeps_the_contract(tmp_path):
    path = tmp_path / "counts.csv"
    lines = [f"5,{correct},{count}" for correct, count in enumerate(SPECIALIST)]
    path.write_text("\n".join(["num_samples,num_correct,num_questions", *lines]))
    found = json.loads(difficulty("forecast", path, "--group-size", 8, "--json").stdout)
    keys = {"acr", "low", "high", "identified_low", "identified_high", "plug_in", "num_questions"}
    assert found["group_size"] == 8
    assert found["pool"].keys() >= keys
    assert found["kept"].keys() >= keys | {"levels"}
    assert found["kept"]["levels"] == ["L2", "L3", "L4", "L5"]
    assert found["levels"]["L1"]["num_questions"] == 2164
    assert 0.66 < found["pool"]["acr"] < 0.75
    assert found["pool"]["plug_in"] == pytest.approx(0.779, abs=0.001)


def test_check_shows_what_would_become_of_each_row(write_rows):
    path = write_rows([{"question": "2 + 2?", "answer": "4"}, {"question": "?", "answer": ""}])
    found = json.loads(difficulty("check", path, "--json").stdout)
    assert (found["rows"], found["questions"], found["set_aside"]) == (2, 1, {"no_gold": 1})
    assert found["example"]["messages"][0]["content"].startswith("2 + 2?")
    assert (found["duplicates"], found["conflicting_golds"]) == (0, 0)
    assert "row 1: no_gold" in difficulty("check", path).stdout


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_check_exits_1_where_no_question_is_usable_and_still_shows_its_counts(write_rows, form):
    rows = [{"question": "2 + 2?", "answer": ""}, {"question": "3 + 3?", "answer": None}]
    done = difficulty("check", write_rows(rows), *form)
    assert done.returncode == 1
    if form:
        found = json.loads(done.stdout)
        assert (found["rows"], found["questions"], found["set_aside"]) == (2, 0, {"no_gold": 2})
    else:
        assert "0 questions of 2 rows" in done.stdout
    assert done.stderr.splitlines() == [
        "error: no usable question: all 2 rows were set aside, the first one because of no_gold: "
        "the answer is empty. Correct the rows, or name other columns with --column"
    ]


def test_doctor_names_the_engine_or_what_to_do():
    found = json.loads(difficulty("doctor", "--json").stdout)
    assert found["cores"] >= 1
    assert found["engine"] or found["missing"]


def test_audit_grader_keeps_its_contract():
    found = json.loads(
        difficulty("audit-grader", ROOT / "tests/cases/grader_cases.jsonl", "--json").stdout
    )
    assert found["cases"] == 71
    assert found.keys() == {"cases", "agree", "false_credit", "false_reject", "disagree"}
    assert len(found["false_credit"]) <= 3


def test_wrong_usage_exits_two():
    assert difficulty("profile").returncode == 2
    assert difficulty("profile", "x.jsonl", "--model", "m", "--k", "many").returncode == 2
    assert difficulty("nonsense").returncode == 2


NOWHERE = ("--model", "m", "--endpoint", "http://127.0.0.1:9")


def bad_inputs(tmp_path):
    good = tmp_path / "good.jsonl"
    good.write_text('{"question": "2 + 2?", "answer": "4"}\n')
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    other = tmp_path / "other.jsonl"
    other.write_text('{"Frage": "2 + 2?", "KEY": "4"}\n')
    junk = tmp_path / "junk.parquet"
    junk.write_bytes(b"PAR1 no")
    return {
        "missing file": ((tmp_path / "none.jsonl", *NOWHERE), "dataset file is missing"),
        "empty": ((empty, *NOWHERE), "is empty: found no row"),
        "columns": ((other, *NOWHERE), "no column for the prompt: found Frage, KEY"),
        "column": ((good, *NOWHERE, "--column", "answer=gold"), "no column 'gold' for the answer"),
        "junk": ((junk, *NOWHERE), "is not a Parquet file"),
        "no server": ((good, *NOWHERE), "no server answers at http://127.0.0.1:9/v1"),
        "temperature": ((good, *NOWHERE, "--temperature", "0"), "all answers would be identical"),
        "k": ((good, *NOWHERE, "--k", "0"), "k is too small: 0"),
        "keep": ((good, *NOWHERE, "--keep", "L9"), "keep rule cannot be read"),
        "unmeetable": ((good, *NOWHERE, "--k", "4", "--keep", "L3"), "can keep nothing"),
        "trainer": ((good, *NOWHERE, "--export", "axolotl"), "unknown trainer: 'axolotl'"),
        "few-shot": ((good, *NOWHERE, "--few-shot", tmp_path / "no"), "few-shot file is missing"),
        "model folder": ((good, "--model", "/no/such/model"), "model folder is missing"),
        "unwritable": ((good, *NOWHERE, "--run", "/proc/run"), "cannot write /proc/run"),
        "run is a file": ((good, *NOWHERE, "--run", good), "cannot write"),
    }  # fmt: skip


@pytest.mark.parametrize("name", [
    "missing file", "empty", "columns", "column", "junk", "no server", "temperature", "k", "keep",
    "unmeetable", "trainer", "few-shot", "model folder", "unwritable", "run is a file",
])  # fmt: skip
def test_bad_input_is_one_line_that_says_what_to_do(name, tmp_path):
    arguments, message = bad_inputs(tmp_path)[name]
    run = () if "--run" in arguments else ("--run", tmp_path / "run")
    line = one_line(difficulty("profile", *arguments, *run))
    assert message in line


@pytest.mark.parametrize("command", ["sample", "grade", "bucket", "select", "export", "report"])
def test_a_folder_that_is_no_run_is_one_line(command, tmp_path):
    assert "is not a run folder" in one_line(difficulty(command, tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_counts_that_cannot_be_is_one_line(tmp_path):
    path = tmp_path / "counts.csv"
    for text in (
        "num_samples,num_correct\n5,6\n",
        "num_samples,num_correct\n5,-1\n",
        "a,b\n1,2\n",
        "",
    ):
        path.write_text(text)
        one_line(difficulty("forecast", path))
    assert "missing" in one_line(difficulty("forecast", tmp_path / "no.csv"))
    path.write_text("num_samples,num_correct\n5,3\n")
    assert "group" in one_line(difficulty("forecast", path, "--group-size", 1))


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(sums, tmp_path, serve):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        url, script = serve(answer=lambda messages, chooser: "4 " * 2000)
        arguments = (
            "profile",
            sums,
            "--model",
            "scripted",
            "--endpoint",
            url,
            "--run",
            small / "run",
            "--template",
            "bare-v1",
        )
        assert "no disk space" in one_line(difficulty(*arguments))
        subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
        sent = script.num_sent
        assert difficulty(*arguments).returncode == 0
        assert script.num_sent - sent <= 60
    finally:
        subprocess.run(["umount", small], check=True)


def test_select_keeps_its_rules_until_it_is_told_to_forget_them(sums, tmp_path, serve):
    url, _ = serve()
    run = tmp_path / "run"
    options = ("--endpoint", url, "--run", run, "--template", "bare-v1", "--keep", "L1-L6")
    assert difficulty("profile", sums, "--model", "scripted", *options).returncode == 0

    def kept(*more):
        assert difficulty("select", run, *more).returncode == 0
        return json.loads(difficulty("report", run, "--json").stdout)["num_kept"]

    assert kept("--max-questions", 3) == 3
    assert kept("--order", "hard-to-easy") == 3
    assert kept("--reset", "--keep", "L1-L6") == 12
    line = one_line(difficulty("select", run, "--quota", "nix=3"))
    assert "quota for a source that is not there: 'nix'. The sources are set" in line


@pytest.mark.parametrize(
    "table",
    ["questions.parquet", "grades.parquet", "profile.parquet", "selection.parquet",
     "forecast.json", "set_aside.parquet"],
)  # fmt: skip
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_table_is_one_line_or_made_again(finished_run, table, damage):
    path = finished_run / table
    saved = path.read_bytes()
    if damage == "cut":
        path.write_bytes(saved[: len(saved) // 2])
    else:
        path.unlink()
    for command in ("report", "grade", "select"):
        done = difficulty(command, finished_run)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1)
    path.write_bytes(saved)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    from difficulty.sampling.scripted import Script, scripted_server
    from tests.conftest import sum_answer

    folder = tmp_path_factory.mktemp("finished")
    path = folder / "set.jsonl"
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with scripted_server(Script(answer=sum_answer(lambda n: n / 11))) as url:
        options = ("--endpoint", url, "--run", folder / "run", "--template", "bare-v1")
        assert difficulty("profile", path, "--model", "scripted", *options).returncode == 0
    return folder / "run"


def test_a_trainers_config_that_disagrees_refuses_the_run_before_it_starts(sums, tmp_path):
    config = tmp_path / "grpo.yaml"
    config.write_text("num_generations: 8\ntemperature: 0.7\nmax_completion_length: 512\n")
    line = one_line(
        difficulty("profile", sums, *NOWHERE, "--run", tmp_path / "run", "--like", config)
    )
    assert "temperature 1.0 here, 0.7 in" in line
    assert not (tmp_path / "run").exists()


def test_check_counts_duplicates_and_names_columns_it_does_not_use(write_rows):
    rows = [{"question": "2 + 2?", "answer": gold, "Optionen": "x"} for gold in ("4", "4", "5")]
    rows += [{"question": "3 + 3?", "answer": "6", "Optionen": "y"}] * 2
    found = json.loads(difficulty("check", write_rows(rows), "--json").stdout)
    assert (found["duplicates"], found["conflicting_golds"]) == (1, 1)
    assert found["set_aside"] == {"conflicting_gold": 3}
    assert [row["reason"] for row in found["first_set_aside"]] == [
        "conflicting_gold: 2 golds for one question"
    ] * 3
    assert found["questions"] + found["duplicates"] + 3 == found["rows"] == 5
    assert found["example"]["unused_columns"] == ["Optionen"]
    line = "columns that only a reward of your own would read: Optionen"
    assert line in difficulty("check", write_rows(rows)).stdout


def test_check_counts_questions_with_two_equal_options(write_rows):
    options = {"A": "5 mg", "B": "5mg", "C": "10 mg"}
    rows = [
        {"question": "Which dose?", "options": options, "answer": "C"},
        {"question": "Which one now?", "options": options | {"B": "7 mg"}, "answer": "C"},
    ]
    assert json.loads(difficulty("check", write_rows(rows), "--json").stdout)["equal_options"] == 1
    assert "questions with two equal options: 1" in difficulty("check", write_rows(rows)).stdout


def test_check_counts_the_questions_that_a_run_would_have(write_rows, tmp_path):
    golds = {"1 + 1?": ["2", "2"], "2 + 2?": ["4", "5"], "x^2 = 1?": [["1", "-1"]], "3 + 3?": ["6"]}
    rows = [{"question": text, "answer": gold} for text, found in golds.items() for gold in found]
    path = write_rows([*rows, {"question": "no gold", "answer": ""}])
    found = json.loads(difficulty("check", path, "--json").stdout)
    assert (found["rows"], found["questions"], found["alternative_golds"]) == (7, 3, 1)
    assert found["set_aside"] == {"conflicting_gold": 2, "no_gold": 1}
    assert sum(found["kinds"].values()) == sum(found["sources"].values()) == 3
    text = difficulty("check", path).stdout
    assert "3 questions of 7 rows" in text
    assert "questions with several right answers: 1" in text
    assert "first row of the dataset is row 0" in text
    assert "row 6: no_gold" in text
    run = store.RunFolder(tmp_path / "run")
    run.root.mkdir()
    load_questions(run, make_spec(path))
    assert store.num_rows(run.questions) == found["questions"]
    assert store.num_rows(run.set_aside) == sum(found["set_aside"].values())


def test_a_report_after_sampling_alone_names_the_stage_that_comes_next(sums, tmp_path, serve):
    url, _ = serve(answer=sum_answer(lambda n: 0.5))
    run = tmp_path / "run"
    spec = make_spec(sums, server=ServerSpec(endpoints=(url,)))
    store.save_spec(store.RunFolder(run), spec)
    assert difficulty("sample", run).returncode == 0
    assert f"Run difficulty grade {run}" in one_line(difficulty("report", run))
    assert difficulty("grade", run).returncode == 0
    assert f"Run difficulty bucket {run}" in one_line(difficulty("report", run))


def test_a_table_of_counts_without_a_row_is_called_empty(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("num_samples,num_correct\n")
    assert "counts.csv is empty: found no row" in one_line(difficulty("forecast", path))
