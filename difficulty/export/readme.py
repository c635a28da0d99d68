"""The README.md of an export: what the file holds and how its trainer is pointed at it."""

from __future__ import annotations

from pathlib import Path

from difficulty.export.own_reward import own_note, own_setup
from difficulty.settings.run import RunSpec, SamplingSpec
from difficulty.trainers.exporter import Exporter

KEPT = "the kept questions in curriculum order"


def readme(
    exporter: Exporter,
    spec: RunSpec,
    *,
    file: Path,
    folder: Path,
    rows: int,
    holds: str = KEPT,
) -> str:
    """Markdown, for a person who sets up a training run."""
    shown = folder if exporter.reads_folder else file
    own = spec.grading.rewards is not None
    graded = "" if own else GRADED
    return f"""\
# {rows:,} questions for {exporter.name}

`{shown.name}` holds {holds}, with exactly the messages that were
sampled. Each row carries its level, pass rate and counts{graded}.
{own_note(spec) if own else _install(exporter)}
{_setup(exporter, spec, file, folder)}
Order: {exporter.order_hint}.

Train as was profiled, or the levels mean little: {_sampling(spec.sampling)}.

{_proof(exporter)}
"""


GRADED = """, and a `grading_key`, from which
`difficulty.rewards` grades a reply as the built-in grader does"""


def _install(exporter: Exporter) -> str:
    """How the trainer's environment comes by the grader; the plain export names no trainer."""
    if exporter.release is None:
        return ""
    return """
The trainer's environment needs this package for that, which is on no index: from a clone of it
`pip install /path/to/the/clone`.
"""


STOP_NOTE = """ (a trainer that knows no stop
strings, as TRL, writes on and is graded by all of it, unless the ids of their tokens stand beside
the model's own in `generation_config.eos_token_id`)"""


def _setup(exporter: Exporter, spec: RunSpec, file: Path, folder: Path) -> str:
    def fill(text: str) -> str:
        text = text.replace("MAX_TOKENS", str(spec.sampling.max_tokens))
        text = text.replace("TEMPERATURE", str(spec.sampling.temperature))
        text = text.replace("GROUP_SIZE", str(spec.selection.group_size))
        text = text.replace("FILE", str(file.resolve()))
        return text.replace("FOLDER", str(folder.resolve()))

    own = spec.grading.rewards is not None
    return own_setup(exporter, spec, fill) if own else fill(exporter.setup)


def _sampling(sampling: SamplingSpec) -> str:
    parts = [
        f"model `{sampling.model}`",
        f"temperature {sampling.temperature}",
        f"top-p {sampling.top_p}",
        *([f"top-k {sampling.top_k}"] if sampling.top_k > 0 else []),
        f"at most {sampling.max_tokens:,} new tokens",
    ]
    if not sampling.stop:
        return ", ".join(parts)
    stops = ", ".join(repr(text) for text in sampling.stop)
    return f"{', '.join(parts)}, stop at {stops}{STOP_NOTE}"


def _proof(exporter: Exporter) -> str:
    if exporter.release is None:
        return "Read with anything that reads Parquet."
    if exporter.loader_ran:
        return (
            f"Read from the source of {exporter.release}, whose own loader and reward call are run "
            "on such a file by `make test-trainers`, without a GPU."
        )
    return (
        f"Read from the source of {exporter.release}. **Not run against its loader**: there is no "
        "package of it to install, so only the columns are tested, against its documented keys."
    )
