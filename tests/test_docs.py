import re
import subprocess
import tomllib

import pytest

from difficulty.cli.reference import reference
from tests.cli.test_cli import COMMANDS, difficulty
from tests.conftest import ROOT
from tests.test_imports import COMING, FLOORS

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PAGES = [
    ROOT / name
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "data/README.md",
        "bench/README.md",
    )
]


def code_lines(text):
    """Lines of the shell blocks of a page, continued lines joined, without prompts."""
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
    return [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def targets():
    declared = re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE)
    return {*declared, *re.search(r"^STAGES := (.*)$", MAKEFILE, re.MULTILINE)[1].split()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_a_page_names_exists(page):
    named = {
        target
        for line in code_lines(page.read_text())
        for target in re.findall(r"\bmake ([a-z][a-z-]+)", line)
    }
    assert named <= targets()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_that_a_page_names_exists(page):
    helps = {command: difficulty(command, "--help").stdout for command in COMMANDS}
    for line in code_lines(page.read_text()):
        found = re.match(r"(?:\.venv/bin/)?difficulty ([a-z-]+)(.*)", line.partition(" #")[0])
        if found:
            assert found[1] in helps, line
            for option in re.findall(r"--[a-z-]+", found[2]):
                assert option in helps[found[1]], line


def test_the_readme_shows_the_two_commands_and_every_verb():
    assert "make demo" in README
    assert "make test" in README
    assert [name for name in COMMANDS if f"difficulty {name}" not in README] == []


def test_make_help_lists_its_targets():
    text = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for target in ("setup", "demo", "test", "check", "bench"):
        assert re.search(rf"^{target}\b", text, re.MULTILINE)


def test_ci_runs_exactly_make_test():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith(("#", "set ", "cd "))] == [
        "make test"
    ]


def rooms_on_the_map():
    """Paths of the file map: a line that is indented lies in the folder above it."""
    block = re.search(r"## File map\n+```\n(.*?)```", README, re.DOTALL)[1]
    folder, paths = "", []
    for line in block.splitlines():
        name = line.split()[0]
        folder = folder if line.startswith(" ") else name
        paths.append(folder + name if line.startswith(" ") else name)
    return paths


def test_the_file_map_holds_every_room_and_no_other():
    inside = {
        f"difficulty/{path.name}/" if path.is_dir() else f"difficulty/{path.name}"
        for path in (ROOT / "difficulty").iterdir()
        if path.name not in ("__init__.py", "__pycache__", "py.typed")
    }
    assert {path for path in rooms_on_the_map() if path.startswith("difficulty/")} == {
        "difficulty/", *inside,
    }  # fmt: skip
    assert all((ROOT / path).exists() for path in rooms_on_the_map())


@pytest.mark.parametrize("where", ["tests", "bench"])
def test_tests_and_benches_lie_in_the_packages_folders(where):
    rooms = {path.parent.name for path in (ROOT / "difficulty").glob("*/__init__.py")}
    folders = {path.parent.name for path in (ROOT / where).glob("*/__init__.py")}
    assert folders <= rooms | {"pipelines"}


def test_the_page_of_options_says_what_the_program_does():
    again = "make it again: python -m difficulty.cli.reference > docs/options.md"
    assert (ROOT / "docs" / "options.md").read_text() == reference(), again


def test_contributing_names_the_floors_that_the_test_of_imports_holds():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    order = re.search(r"Imports go one way too: (.*?)\.\n", text, re.DOTALL)[1]
    floors = [set(re.findall(r"\w+", floor)) for floor in " ".join(order.split()).split(" < ")]
    assert floors == [floor - COMING for floor in FLOORS if floor - COMING]


def test_the_version_is_the_same_everywhere():
    from difficulty import store

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == store.VERSION
    assert f"## {store.VERSION}" in (ROOT / "CHANGELOG.md").read_text()
