import ast
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

# Rooms from the ground up: a room may import those below it, and none beside it.
FLOORS = [
    {"errors"},
    {"schema"},
    {"levels", "prompts", "workers"},
    {"settings"},
    {"grading"},
    {"trainers", "rewards"},
    {"collapse"},
    {"signal"},
    {"store"},
    {"sources", "sampling", "audit"},
    {"selection"},
    {"export"},
    {"user_rewards", "report"},
    {"run"},
    {"cli"},
    {"pipelines"},
]
COMING = {"signal"}
"""Rooms that the order knows and that are not there yet."""
RANK = {name: rank for rank, floor in enumerate(FLOORS) for name in floor}
HEAVY = ("torch", "vllm", "transformers", "datasets", "ray", "pandas")
SLOW = (*HEAVY, "pyarrow", "duckdb", "scipy", "numpy", "aiohttp")
FILES = sorted([*(ROOT / "difficulty").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")])


def part_of(path):
    relative = path.relative_to(ROOT)
    return (
        "pipelines" if relative.parts[0] == "pipelines" else relative.parts[1].removesuffix(".py")
    )


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        if node.module == "difficulty":
            return [f"{node.module}.{alias.name}" for alias in node.names]
        return [node.module]
    return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    here = part_of(path)
    if here in ("__init__", "py.typed"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        for name in imported(node):
            parts = name.split(".")
            if (
                parts[0] == "difficulty"
                and len(parts) > 1
                and parts[1] not in (here, "__version__")
            ):
                assert RANK[parts[1]] < RANK[here], f"{here} imports {name}"


def test_every_room_has_its_floor_and_every_floor_its_room():
    there = {part_of(path) for path in FILES} - {"__init__"}
    assert there | COMING == set(RANK)
    assert not there & COMING


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in FILES}


def modules_imported(path):
    """Modules of ours that a file imports when it runs, inside functions too."""
    tree = ast.parse(path.read_text())
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def test_no_module_imports_itself_round_a_corner():
    graph = {
        name: {other for other in modules_imported(path) if other in MODULES} - {name}
        for name, path in MODULES.items()
    }
    while True:
        leaves = {name for name, others in graph.items() if not others & graph.keys()}
        if not leaves:
            break
        graph = {name: others for name, others in graph.items() if name not in leaves}
    assert {name for name in graph if reaches(graph, name, name)} == set()


def reaches(graph, start, goal):
    seen, ahead = set(), set(graph[start])
    while ahead:
        name = ahead.pop()
        if name == goal:
            return True
        seen.add(name)
        ahead |= graph.get(name, set()) - seen
    return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_are_imported_only_inside_functions(path):
    for node in ast.parse(path.read_text()).body:
        for name in imported(node):
            assert name.split(".")[0] not in HEAVY


def test_help_answers_at_once_and_without_heavy_packages():
    code = (
        "import sys; sys.argv = ['difficulty', '--help']\n"
        "from difficulty.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print([name for name in {SLOW!r} if name in sys.modules])"
    )
    times = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        after = os.times()  # processor time: a busy machine must not fail the test
        times.append(after[2] + after[3] - before[2] - before[3])
    assert done.stdout.strip().endswith("[]")
    assert min(times) < 0.5
