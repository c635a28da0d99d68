"""Time and memory of a forecast."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MANY = 10_000_000
RUN = 4_000


def print_speed() -> None:
    """Ten million questions from a file, a run with intervals, thousands of samples a question."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "csv"):
            table = Path(folder) / f"counts.{ending}"
            _write(table)
            print(f"{MANY:,} questions, a row each, from {ending}: {_alone(table)}")
    for questions, samples in ((RUN, 5), (1_000, 2_000)):
        print(f"{questions:,} questions of {samples:,} samples: {_seconds(questions, samples)}")


def _write(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(1)
    samples = rng.choice([4, 5, 8], MANY)
    correct = rng.binomial(samples, rng.beta(0.3, 0.3, MANY))
    source = pa.DictionaryArray.from_arrays(rng.integers(0, 3, MANY), ["exams", "math", "logic"])
    table = pa.table(
        {"num_samples": samples, "num_correct": correct, "source": source.cast(pa.string())}
    )
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)


def _alone(table: Path) -> str:
    """Reading and forecasting in a process of its own, whose peak memory is then theirs."""
    command = [sys.executable, "-m", "bench.collapse.speed", str(table)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return (
        f"read in {found['read']:.1f} s, forecast in {found['forecast']:.1f} s "
        f"(processor {found['processor']:.1f} s), peak memory {found['peak']:.2f} GB"
    )


def _measure(path: Path) -> None:
    from difficulty.collapse import forecast
    from difficulty.sources.counts_table import read_counts_table

    start = time.monotonic()
    counts = read_counts_table(path)
    read = time.monotonic()
    processor = time.process_time()
    result = forecast(counts)
    figures = {
        "read": read - start,
        "forecast": time.monotonic() - read,
        "processor": time.process_time() - processor,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
    assert result.pool.num_questions == MANY
    print(json.dumps(figures))


def _seconds(questions: int, samples: int) -> str:
    from difficulty.collapse import Counts, forecast

    rng = np.random.default_rng(2)
    correct = rng.binomial(samples, rng.beta(0.3, 0.3, questions))
    start, processor = time.monotonic(), time.process_time()
    forecast(Counts.of(np.full(questions, samples), correct))
    return f"{time.monotonic() - start:.1f} s (processor {time.process_time() - processor:.1f} s)"


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
