import ast
import os
import subprocess
import sys

import pytest
from conftest import ROOT

# Lower may not import higher; modules of one tier may import only the named ones of their own.
TIERS = [
    {"errors"},
    {"schema", "config_file", "reward_code"},
    {"levels", "prompts", "grading", "trainer_config", "reward_spec", "forecast_spec", "chance"},
    {"selection_spec"},
    {"run_spec"},
    {"orders", "pass_rates", "like", "spec_toml"},
    {"acr"},
    {"curriculum"},
    {"store", "lock"},
    {"export", "sources", "sampling", "rewards"},
    {"runs", "choose", "kept_forecast", "reward_table", "duplicates", "audit", "regrade"},
    {"report", "run_forecast", "doctor", "merge", "user_rewards"},
    {"stages"},
    {"run_commands"},
    {"select_commands", "audit_commands", "forecast_commands"},
    {"cli_options"},
    {"select_options", "forecast_options"},
    {"cli"},
    {"pipelines"},
]
RANK = {name: rank for rank, tier in enumerate(TIERS) for name in tier}
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
        if node.module in ("difficulty", "difficulty.sampling"):
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
