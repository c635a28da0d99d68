"""``python -m bench.trainers [NAME...] [--run RUN]``: try each trainer, go on after failures.

Makes the environments that are missing, so the first time takes minutes and gigabytes. Prints one
line a trainer; its whole output lies in data/trainers/logs/NAME.log. Exits 1 if any failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.trainers.environments import ENVIRONMENTS, PLACE, ROOT, Environment, make, variables
from bench.trainers.material import make_material
from bench.trainers.proof import OUTCOME
from difficulty.cli.run import end_on_error

LONGEST_S = 1800


@dataclass(frozen=True, kw_only=True)
class Result:
    """How one trainer fared."""

    name: str
    passed: bool
    text: str
    """What it did, with versions; or the last line of what went wrong."""
    seconds: float


def try_trainer(environment: Environment, work: Path) -> Result:
    """Make its environment and run its file there."""
    log = PLACE / "logs" / f"{environment.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        make(environment)
        with log.open("w", encoding="utf-8") as file:
            code = subprocess.run(
                [str(environment.python), "-m", environment.module, str(work)],
                cwd=ROOT, env=variables(work), stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, timeout=LONGEST_S, check=False,
            ).returncode  # fmt: skip
        passed, text = read_outcome(log.read_text(encoding="utf-8", errors="replace"), code)
    except (subprocess.SubprocessError, OSError) as error:
        passed, text = False, f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - began
    return Result(name=environment.name, passed=passed, text=text, seconds=seconds)


def read_outcome(output: str, code: int) -> tuple[bool, str]:
    """Whether a trainer's file ended well, and its outcome or its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line.removeprefix(OUTCOME) for line in lines if line.startswith(OUTCOME)]
    if code == 0 and len(told) == 1:
        return True, told[0]
    return False, f"exit code {code}: {lines[-1] if lines else 'no output'}"


def main() -> None:
    """Entry point."""
    names = [environment.name for environment in ENVIRONMENTS]
    parser = argparse.ArgumentParser(prog="python -m bench.trainers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all")
    parser.add_argument("--run", type=Path, help="a finished run; default: one made by script")
    given = parser.parse_args()
    unknown = set(given.names) - set(names)
    if unknown:
        parser.error(f"unknown trainer: {min(unknown)}. Choose from {', '.join(names)}")
    work = PLACE / "work"
    with end_on_error():
        questions, replies = make_material(work, given.run)
    print(f"{questions} questions and {replies} replies of {given.run or 'a scripted server'}")
    failed = 0
    for environment in ENVIRONMENTS:
        if given.names and environment.name not in given.names:
            continue
        result = try_trainer(environment, work)
        failed += not result.passed
        mark = "ok" if result.passed else "FAILED"
        print(f"{result.name:10} {mark:6} {result.seconds:5.0f} s  {result.text}", flush=True)
    if failed:
        sys.exit(f"{failed} failed; see {PLACE / 'logs'}")


if __name__ == "__main__":
    main()
