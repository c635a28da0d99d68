"""How good and how fast the forecast is: ``python -m bench.collapse [grid|table|error|speed]``.

``grid`` (the default) simulates sets from known laws and asks whether the intervals hold the very
sets' collapse rates; it goes on where it stopped. ``table`` writes what it found to
``bench/collapse/forecast-grid.md``. ``error`` is the root mean square error on U-shaped laws beside
simpler estimators. ``speed`` takes seconds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

FOUND = Path("build/bench-forecast.jsonl")
TABLE = Path("bench/collapse/forecast-grid.md")
Job = tuple[str, int, str, int]


def grid(found: Path, repetitions: int, processes: int) -> None:
    """Simulate every cell that is not in ``found`` yet, each job's cells as soon as it ends."""
    from bench.collapse.grid import JOBS

    jobs: list[Job] = [(*job, repetitions) for job in JOBS]
    done = {tuple(row["job"]) for row in read(found)}
    owed = [job for job in jobs if job not in done]
    print(f"{len(owed)} of {len(jobs)} jobs to do, {repetitions} sets each, two group sizes")
    # A process of its own for each job is plenty: more threads only wait for one another.
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    found.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn) as pool:
        for number, future in enumerate(as_completed(pool.submit(run, job) for job in owed), 1):
            with found.open("a", encoding="utf-8") as file:
                file.write(json.dumps(future.result()) + "\n")
            minutes = (time.monotonic() - start) / 60
            left = minutes / number * (len(owed) - number)
            print(f"{number} of {len(owed)}: {minutes:.0f} min, about {left:.0f} left", flush=True)


def run(job: Job) -> dict[str, Any]:
    """The cells of one job, and the processor time of a forecast."""
    from bench.collapse.grid import cells

    start = time.process_time()
    rows = [cell.as_json() for cell in cells(*job)]
    seconds = time.process_time() - start
    return {"job": job, "seconds": seconds, "cells": rows}


def read(found: Path) -> list[dict[str, Any]]:
    """The finished jobs."""
    if not found.exists():
        return []
    lines = found.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def main() -> None:
    """Parse the arguments and run one of the four."""
    parser = argparse.ArgumentParser(prog="python -m bench.collapse", description=__doc__)
    parser.add_argument("what", nargs="?", default="grid")
    parser.add_argument("--repetitions", type=int, default=500, help="sets a cell")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--found", type=Path, default=FOUND, help="where the grid is kept")
    given = parser.parse_args()
    if given.what == "grid":
        grid(given.found, given.repetitions, given.processes)
    elif given.what == "table":
        from bench.collapse.tables import grid_tables

        TABLE.write_text(grid_tables(read(given.found)), encoding="utf-8")
    elif given.what == "error":
        from bench.collapse.error import print_errors

        print_errors(given.repetitions)
    elif given.what == "speed":
        from bench.collapse.speed import print_speed

        print_speed()
    else:
        sys.exit(f"no such benchmark: {given.what}. Choose grid, table, error or speed")


if __name__ == "__main__":
    main()
