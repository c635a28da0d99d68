"""``python -m pipelines STAGE RUN``: one stage, or ``profile`` for all, with runs/RUN.toml."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from difficulty.cli.run import end_on_error, profile_run, show_stage, starting_run
from difficulty.errors import SettingsError
from difficulty.report.live import Live
from difficulty.run import stages
from difficulty.settings.changes import Changes
from difficulty.settings.run import SamplingSpec
from difficulty.settings.stated import Stated
from difficulty.settings.toml import changes_from_tables
from difficulty.sources.few_shot import read_few_shot
from difficulty.store import RunFolder

RUNS = Path(__file__).parent / "runs"


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """What a file of ``runs/`` says."""

    dataset: str
    model: str
    folder: Path
    changes: Changes


def read_run_file(name: str) -> RunFile:
    """Read ``runs/<name>.toml``: dataset, model, run, few_shot_file, and sections as in run.toml.

    Raises:
        SettingsError: no such file, not TOML, or a setting that does not exist.
    """
    path = RUNS / f"{name}.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        there = ", ".join(sorted(p.stem for p in RUNS.glob("*.toml")))
        raise SettingsError(
            f"no run file {path}: found {there}. Choose one with RUN=..."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}. Correct it") from error
    missing = [key for key in ("dataset", "model", "run") if key not in values]
    if missing:
        raise SettingsError(f"{path} misses a setting: {missing[0]}. Add it")
    few_shot = values.pop("few_shot_file", None)
    dataset, model, folder = (str(values.pop(key)) for key in ("dataset", "model", "run"))
    changes = changes_from_tables(values, name=str(path))
    if few_shot is not None:
        turns = Stated(SamplingSpec, {"few_shot": read_few_shot(Path(few_shot))})
        changes = replace(changes, sampling=changes.sampling.then(turns))
    return RunFile(dataset=dataset, model=model, folder=Path(folder), changes=changes)


def run_stage(stage: str, file: RunFile) -> None:
    """Run one stage by its name, or all for ``profile``."""
    if stage == "profile":
        profile_run(file.folder, file.dataset, file.model, file.changes, as_json=False)
        return
    run = RunFolder(file.folder)
    with starting_run(run, file.dataset, file.model, file.changes) as spec:
        stages.refresh(run, spec, Live(), stage)
        if stage == "select":
            stages.require_kept(run, spec)
    show_stage(stage, run)


def main() -> None:
    """Entry point."""
    names = ["profile", *(stage.name for stage in stages.STAGES)]
    if len(sys.argv) != 3 or sys.argv[1] not in names:
        sys.exit(f"usage: python -m pipelines {{{','.join(names)}}} RUN")
    with end_on_error():
        run_stage(sys.argv[1], read_run_file(sys.argv[2]))


if __name__ == "__main__":
    main()
