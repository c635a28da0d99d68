"""The forecast against the real thing: ``python -m bench.collapse.validate``.

A real model answers generated questions: five times for the forecast, 32 times more for the truth
(four groups of eight a question), and once more inside TRL's trainer, whose own metric is read.
Each step leaves what it found under ``data/runs/NAME-*``, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.collapse.validate_questions import FEW_SHOT, make_questions
from bench.collapse.validate_table import Measured, choose, tables
from bench.trainers.environments import ENVIRONMENTS, ROOT, make, variables
from bench.trainers.proof import MODEL
from difficulty import prompts, store
from difficulty.cli.run import end_on_error, profile_run
from difficulty.collapse.forecast_json import read_forecast
from difficulty.grading.key import grading_key
from difficulty.schema import Grade, PassRate, Question
from difficulty.settings.run import FewShotTurn, SamplingSpec
from difficulty.settings.stated import Stated
from difficulty.settings.toml import changes_from_tables

RUNS = Path("data/runs")
K, GROUP_SIZE, GROUPS = 5, 8, 4
GROUPS_A_STEP = 4
TEMPERATURE, MAX_TOKENS, STOP, TEMPLATE = 0.7, 20, "\n", "bare-v1"


def profile(folder: Path, dataset: Path, *, k: int, concurrency: int) -> store.RunFolder:
    """Sample, grade and forecast as ``difficulty profile`` does; nothing twice."""
    turns = tuple(FewShotTurn(role=role, content=content) for role, content in FEW_SHOT)
    settings: dict[str, dict[str, Any]] = {
        "sampling": {
            "k": k, "temperature": TEMPERATURE, "max_tokens": MAX_TOKENS, "stop": [STOP],
            "template": TEMPLATE,
        },
        "selection": {"keep": "L2-L5", "group_size": GROUP_SIZE},
        "export": {"trainers": ["trl"]},
        "server": {
            "max_model_len": 512, "concurrency": concurrency, "vllm_args": ["--dtype=float32"],
        },
    }  # fmt: skip
    changes = changes_from_tables(settings, name="settings")
    shots = Stated(SamplingSpec, {"few_shot": turns})
    changes = replace(changes, sampling=changes.sampling.then(shots))
    profile_run(folder, str(dataset), str(MODEL), changes, as_json=False)
    return store.RunFolder(folder)


def measure(profiled: store.RunFolder, fresh: store.RunFolder | None) -> list[Measured]:
    """What the runs found, one entry a question of the first; without the other no answers."""
    rewards: dict[str, list[tuple[int, float]]] = {}
    for grade in store.read_rows(fresh.grades, Grade) if fresh else ():
        assert grade.reward is not None, grade
        rewards.setdefault(grade.question_id, []).append((grade.sample_index, grade.reward))
    found = []
    for row in store.read_rows(profiled.profile, PassRate):
        drawn = tuple(reward == 1 for _, reward in sorted(rewards.get(row.question_id, ())))
        assert row.num_graded == K, row
        assert len(drawn) == GROUPS * GROUP_SIZE or fresh is None, row
        found.append(
            Measured(question_id=row.question_id, num_correct=row.num_correct, fresh=drawn)
        )
    return found


def pick(profiled: store.RunFolder, number: int, seed: int) -> list[str]:
    """The questions that TRL is given: by the profile alone."""
    questions = measure(profiled, None)
    chosen = choose(questions, K, number, GROUPS_A_STEP, random.Random(seed))
    return [one.question_id for one in chosen]


def train(folder: Path, profiled: store.RunFolder, chosen: Sequence[str], seed: int) -> Any:
    """One epoch of TRL's trainer on the chosen questions, in their order; its log."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "model": str(MODEL), "temperature": TEMPERATURE, "max_tokens": MAX_TOKENS, "stop": STOP,
        "group_size": GROUP_SIZE, "groups_a_step": GROUPS_A_STEP, "seed": seed,
        "questions": list(chosen),
    }  # fmt: skip
    text, logged = json.dumps(settings, indent=1), folder / "logged.json"
    same = folder / "settings.json"
    if not (logged.exists() and same.read_text(encoding="utf-8") == text):
        logged.unlink(missing_ok=True)
        store.write_text(same, text)
        _write_prompts(folder / "train.parquet", profiled, chosen)
        _run_trl(folder)
    return json.loads(logged.read_text(encoding="utf-8"))


def _write_prompts(path: Path, profiled: store.RunFolder, chosen: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    shown = tuple({"role": role, "content": content} for role, content in FEW_SHOT)
    rows = {
        row.question_id: {
            "prompt": prompts.messages(row, template=TEMPLATE, few_shot=shown),
            "grading_key": grading_key(row),
        }
        for row in store.read_rows(profiled.questions, Question)
    }
    pq.write_table(pa.Table.from_pylist([rows[name] for name in chosen]), path)


def _run_trl(folder: Path) -> None:
    (environment,) = [each for each in ENVIRONMENTS if each.name == "trl"]
    make(environment)
    command = [str(environment.python), "-m", "bench.collapse.validate_trl", str(folder)]
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            command, cwd=ROOT, env=variables(folder), stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"TRL failed with exit code {done.returncode}: see {folder / 'log.txt'}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    """Run the steps that are still to do, print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.collapse.validate", description=__doc__)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--trained", type=int, default=60, help="how many of them TRL is given")
    parser.add_argument("--seed", type=int, default=0, help="of questions, choice and trainer")
    parser.add_argument("--name", default="validate", help="start of the folders' names")
    given = parser.parse_args()
    began = time.monotonic()
    dataset = RUNS / f"{given.name}-questions.jsonl"
    lines = [json.dumps(row) + "\n" for row in make_questions(given.questions, given.seed)]
    with end_on_error():
        store.write_text(dataset, "".join(lines))
        profiled = profile(RUNS / f"{given.name}-profile", dataset, k=K, concurrency=16)
        # 128 answers at a time are what the engine works on; more would only wait in it.
        fresh = profile(RUNS / f"{given.name}-fresh", dataset, k=GROUPS * GROUP_SIZE, concurrency=4)
    names = pick(profiled, given.trained, given.seed)
    logged = train(RUNS / f"{given.name}-trl", profiled, names, given.seed)
    measured = measure(profiled, fresh)
    by_name = {one.question_id: one for one in measured}
    chosen = [by_name[name] for name in names]
    forecast = read_forecast(profiled.forecast)
    shares = [step["frac_reward_zero_std"] for step in logged["steps"]]
    text = tables(forecast, measured, chosen, shares, k=K, group_size=GROUP_SIZE)
    right = [sum(one.fresh) / len(one.fresh) for one in chosen]
    rewards = [step["reward"] for step in logged["steps"]]
    text += (
        f"\nMean reward of the questions that TRL was given: {_mean(right):.3f} in the fresh "
        f"answers, {_mean(rewards):.3f} in TRL.\n"
    )
    store.write_text(RUNS / f"{given.name}-tables.md", text)
    print(text)
    print(f"{(time.monotonic() - began) / 60:.0f} minutes now; TRL took {logged['minutes']:.0f}")
    print(logged["versions"])


if __name__ == "__main__":
    main()
