"""The command line: one command a verb. Parse, call a stage, print.

Heavy packages are imported by the stages that need them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from difficulty.errors import DifficultyError

if TYPE_CHECKING:
    from rich.console import Console

    from difficulty.report.live import Live
    from difficulty.run_spec import RunSpec
    from difficulty.runs import Overrides
    from difficulty.store import RunFolder

app = typer.Typer(
    help="Measure which questions will teach a model, and how much of a GRPO run teaches nothing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

# ---------------------------------------------------------------- arguments that commands share

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
EndpointOption = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint", metavar="URL", help="A running OpenAI-compatible server; repeat for more."
    ),
]
ServersOption = Annotated[
    int | None,
    typer.Option(help="vLLM servers to start here if no endpoint is given. [default: 1]"),
]
TensorParallelOption = Annotated[
    int | None, typer.Option(help="GPUs (or CPU worker ranks) of one started server. [default: 1]")
]
MaxModelLenOption = Annotated[
    int | None, typer.Option(help="Context length of started servers. [default: the model's own]")
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        help="Requests in flight for each server. [default: 64; 16 for a CPU server started here]"
    ),
]
VllmArgOption = Annotated[
    list[str] | None,
    typer.Option("--vllm-arg", help="An argument handed on to started servers; repeat for more."),
]
KeepOption = Annotated[
    str | None,
    typer.Option(metavar="LEVELS", help="Levels to keep, as L2-L5 or L1,L3. [default: L2-L5]"),
]
GroupSizeOption = Annotated[
    int | None, typer.Option(help="Answers a question in training, G. [default: 8]")
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="ROLE=COLUMN", help="Name a column, as answer=KEY; repeat for more."
    ),
]
SplitOption = Annotated[str | None, typer.Option(help="Split of a Hub set.")]
LimitOption = Annotated[int | None, typer.Option(help="Read only the first so many rows.")]
ShardOption = Annotated[
    str | None, typer.Option(metavar="I/N", help="Read every N-th row from the I-th on.")
]
SystemPromptOption = Annotated[
    str | None, typer.Option(help="System message for rows that bring none.")
]


# ---------------------------------------------------------------- the pipeline


@app.command(
    epilog="Example: difficulty profile demo --model data/models/smollm2-135m --run /tmp/demo"
)
def profile(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A .parquet, .jsonl, .json or .csv file, a Hub name, or a sample name.",
        ),
    ],
    model: Annotated[
        str, typer.Option(help="The model to be trained: local folder, Hub or served name.")
    ],
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder. [default: data/runs/DATASET--MODEL]"),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Answers drawn a question. [default: 5]")] = None,
    group_size: GroupSizeOption = None,
    endpoint: EndpointOption = None,
    servers: ServersOption = None,
    tensor_parallel_size: TensorParallelOption = None,
    max_model_len: MaxModelLenOption = None,
    concurrency: ConcurrencyOption = None,
    vllm_arg: VllmArgOption = None,
    temperature: Annotated[
        float | None, typer.Option(help="As in training. [default: 1.0]")
    ] = None,
    top_p: Annotated[float | None, typer.Option(help="As in training. [default: 1.0]")] = None,
    top_k: Annotated[
        int | None, typer.Option(help="As in training; -1: no limit. [default: -1]")
    ] = None,
    min_p: Annotated[float | None, typer.Option(help="As in training. [default: 0.0]")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="New tokens an answer. [default: 2048]")
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help=r"Stop string (\n is a newline); repeat for more.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sampling. [default: 0]")] = None,
    template: Annotated[
        str | None, typer.Option(help="How questions are put into words. [default: answer-line-v1]")
    ] = None,
    few_shot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Chat turns (.jsonl of role, content) before each question."
        ),
    ] = None,
    column: ColumnOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    shard: ShardOption = None,
    system_prompt: SystemPromptOption = None,
    keep: KeepOption = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="TRAINERS", help="Trainers to write files for. [default: trl,verl,ms-swift]"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Sample, grade, bucket, select, forecast, export and report a dataset in one go.

    The same command again continues where it stopped. Options left out keep the value that the run
    was made with.
    """
    overrides: Overrides = {
        "source": _stated(
            columns=_tuple(column), split=split, limit=limit, shard=shard,
            system_prompt=system_prompt,
        ),
        "sampling": _stated(
            k=k, temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p,
            max_tokens=max_tokens, stop=_stop_strings(stop), seed=seed, template=template,
            few_shot=_few_shot(few_shot),
        ),
        "selection": _stated(keep=keep, group_size=group_size),
        "export": _stated(trainers=_names(export)),
        "server": _server(
            endpoint, servers, tensor_parallel_size, max_model_len, concurrency, vllm_arg
        ),
    }  # fmt: skip
    folder = run or default_run(dataset, model)
    profile_run(folder, dataset, model, overrides, as_json=as_json)


def profile_run(
    folder: Path, dataset: str, model: str, overrides: Overrides, *, as_json: bool
) -> None:
    """Run all stages in ``folder`` and print the summary."""
    from difficulty import stages
    from difficulty.lock import locked
    from difficulty.report.summary import summarize
    from difficulty.report.terminal import print_summary
    from difficulty.runs import start_run
    from difficulty.store import RunFolder

    run = RunFolder(folder)
    check_before_lock(dataset, overrides)
    with locked(folder):
        spec = start_run(run, dataset, model, overrides)
        stages.profile(run, spec, _live())
        summary = summarize(run, spec)
    if as_json:
        _print_json(_summary_json(run, summary))
    else:
        print_summary(summary, _console())


def check_before_lock(dataset: str, overrides: Overrides) -> None:
    """Refuse a missing dataset before a run folder is made for it."""
    from difficulty.sources import find_dataset

    find_dataset(dataset, split=overrides.get("source", {}).get("split"))


def default_run(dataset: str, model: str) -> Path:
    """``data/runs/DATASET--MODEL`` with the last part of each name."""
    parts = [Path(dataset).stem if Path(dataset).suffix else Path(dataset).name, Path(model).name]
    return Path("data/runs") / "--".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)


@app.command(epilog="Example: difficulty sample /tmp/demo --endpoint http://127.0.0.1:8000")
def sample(
    run: RunArgument,
    k: Annotated[int | None, typer.Option(help="Draw more answers a question than so far.")] = None,
    endpoint: EndpointOption = None,
    servers: ServersOption = None,
    tensor_parallel_size: TensorParallelOption = None,
    max_model_len: MaxModelLenOption = None,
    concurrency: ConcurrencyOption = None,
    vllm_arg: VllmArgOption = None,
    as_json: Json = False,
) -> None:
    """Draw the answers that a run still lacks."""
    server = _server(endpoint, servers, tensor_parallel_size, max_model_len, concurrency, vllm_arg)
    _run_stage("sample", run, {"sampling": _stated(k=k), "server": server}, as_json=as_json)


@app.command(epilog="Example: difficulty grade /tmp/demo")
def grade(run: RunArgument, as_json: Json = False) -> None:
    """Grade every answer of a run with this version's rules."""
    _run_stage("grade", run, {}, as_json=as_json)


@app.command(epilog="Example: difficulty bucket /tmp/demo --min-graded 4")
def bucket(
    run: RunArgument,
    min_graded: Annotated[
        int | None, typer.Option(help="Graded answers that a level needs. [default: all k]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn grades into pass rates and levels L1-L6."""
    _run_stage("bucket", run, {"bucket": _stated(min_graded=min_graded)}, as_json=as_json)


@app.command(epilog="Example: difficulty select /tmp/demo --keep L2-L5 --max-questions 500")
def select(
    run: RunArgument,
    keep: KeepOption = None,
    pass_rate: Annotated[
        str | None, typer.Option(metavar="LOW-HIGH", help="Keep this band of pass rates only.")
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE=N", help="At most N of a source; repeat for more."),
    ] = None,
    max_questions: Annotated[int | None, typer.Option(help="At most so many questions.")] = None,
    order: Annotated[
        str | None,
        typer.Option(help="easy-to-hard, hard-to-easy or shuffled. [default: easy-to-hard]"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of shuffles and caps. [default: 0]")
    ] = None,
    group_size: GroupSizeOption = None,
    as_json: Json = False,
) -> None:
    """Choose and order the questions to train on, and say why each other was dropped."""
    values = _stated(
        keep=keep, pass_rate=pass_rate, quotas=_tuple(quota), max_questions=max_questions,
        order=order, seed=seed, group_size=group_size,
    )  # fmt: skip
    _run_stage("select", run, {"selection": values}, as_json=as_json)


@app.command(epilog="Example: difficulty forecast counts.csv --group-size 8 --json")
def forecast(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|COUNTS",
            help="A run folder, or a .csv or .parquet with num_samples, num_correct and, "
            "if wanted, num_questions and source.",
        ),
    ],
    group_size: GroupSizeOption = None,
    keep: KeepOption = None,
    as_json: Json = False,
) -> None:
    """Forecast the share of groups that will teach nothing."""
    values = _stated(group_size=group_size, keep=keep)
    if run.is_dir():
        folder = _refresh("forecast", run, {"selection": values})
        found = json.loads(folder.forecast.read_text(encoding="utf-8"))
        found.pop("stamp")
    else:
        found = _forecast_counts(run, values)
    if as_json:
        _print_json(found)
        return
    from difficulty.report.terminal import forecast_table

    console = _console()
    console.print(forecast_table(found))
    for text in found.get("warnings", []):
        console.print(f"! {text}", markup=False)


def _forecast_counts(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    from difficulty.forecast import forecast as forecast_of
    from difficulty.levels import parse_keep
    from difficulty.sources.counts_table import read_counts_table

    kept = parse_keep(values.get("keep", "L2-L5"))
    counts = read_counts_table(path)
    return forecast_of(counts, group_size=values.get("group_size", 8), keep=kept).as_json()


@app.command(epilog="Example: difficulty export /tmp/demo --to trl,verl")
def export(
    run: RunArgument,
    to: Annotated[
        str | None,
        typer.Option(metavar="TRAINERS", help="Trainers, by comma. [default: trl,verl,ms-swift]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the training files of the kept questions."""
    _run_stage("export", run, {"export": _stated(trainers=_names(to))}, as_json=as_json)


@app.command(epilog="Example: difficulty report /tmp/demo")
def report(run: RunArgument, as_json: Json = False) -> None:
    """Print the summary of a run and write its page."""
    from difficulty.report.summary import summarize
    from difficulty.report.terminal import print_summary
    from difficulty.store import load_spec

    folder = _refresh("report", run, {})
    summary = summarize(folder, load_spec(folder))
    if as_json:
        _print_json(_summary_json(folder, summary))
    else:
        print_summary(summary, _console())


# ---------------------------------------------------------------- before and beside a run


@app.command(epilog="Example: difficulty check questions.jsonl --column answer=KEY")
def check(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="As for profile.")],
    column: ColumnOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    shard: ShardOption = None,
    system_prompt: SystemPromptOption = None,
    template: Annotated[str, typer.Option(help="As for profile.")] = "answer-line-v1",
    as_json: Json = False,
) -> None:
    """Read a dataset as a run would, before any GPU time: kinds, rows set aside, one prompt."""
    from difficulty.report.terminal import print_check
    from difficulty.sources.check import check_dataset

    found = check_dataset(
        dataset,
        {"columns": _tuple(column) or (), "split": split, "limit": limit, "shard": shard,
         "system_prompt": system_prompt},
        template=template,
    )  # fmt: skip
    if as_json:
        _print_json(found)
    else:
        print_check(found, _console())


@app.command(epilog="Example: difficulty audit-grader tests/cases/grader_cases.jsonl --json")
def audit_grader(
    cases: Annotated[
        Path, typer.Argument(metavar="CASES.jsonl", help="Labelled replies, one a line.")
    ],
    as_json: Json = False,
) -> None:
    """Hold the grader against replies that a person has labelled."""
    from difficulty.grading.audit import audit
    from difficulty.report.terminal import print_audit
    from difficulty.sources.cases import read_cases

    found = audit(read_cases(cases))
    if as_json:
        _print_json(found)
    else:
        print_audit(found, _console())


@app.command(epilog="Example: difficulty doctor")
def doctor(as_json: Json = False) -> None:
    """Say what this machine can run and what is missing."""
    from difficulty.doctor import examine
    from difficulty.report.terminal import print_doctor

    found = examine()
    if as_json:
        _print_json(found)
    else:
        print_doctor(found, _console())


# ---------------------------------------------------------------- what commands share


def _run_stage(name: str, folder: Path, overrides: Overrides, *, as_json: bool) -> None:
    run = _refresh(name, folder, overrides)
    if as_json:
        _print_json(_stage_facts(name, run))
    else:
        show_stage(name, run)


def show_stage(name: str, run: RunFolder) -> None:
    """Say where the table of a finished stage lies, and how many rows it has."""
    facts = _stage_facts(name, run)
    rows = "" if facts["rows"] is None else f"{facts['rows']:,} rows in "
    _console().print(f"{name}: {rows}{facts['table']}", markup=False)


def _refresh(name: str, folder: Path, overrides: Overrides) -> RunFolder:
    """Run one stage, and every other one whose table is there but out of date."""
    from difficulty import stages
    from difficulty.lock import locked
    from difficulty.runs import change_run
    from difficulty.store import RunFolder, load_spec

    run = RunFolder(folder)
    load_spec(run)
    with locked(folder):
        spec: RunSpec = change_run(run, overrides)
        stages.refresh(run, spec, _live(), name)
    return run


def _stage_facts(name: str, run: RunFolder) -> dict[str, Any]:
    from difficulty import store
    from difficulty.stages import STAGES

    place = next(stage.output(run) for stage in STAGES if stage.name == name)
    tables = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
    countable = all(table.suffix == ".parquet" for table in tables)
    return {
        "stage": name,
        "run": str(run),
        "table": str(place),
        "rows": sum(store.num_rows(table) for table in tables) if countable else None,
    }


def _summary_json(run: RunFolder, summary: Any) -> dict[str, Any]:
    import dataclasses

    found = dataclasses.asdict(summary)
    found["forecast"].pop("stamp", None)
    return {**found, "report": str(run.report)}


def _stated(**values: Any) -> dict[str, Any]:
    """Only what the user stated; the rest keeps the run's value."""
    return {key: value for key, value in values.items() if value is not None}


def _server(
    endpoint: list[str] | None,
    servers: int | None,
    tensor_parallel_size: int | None,
    max_model_len: int | None,
    concurrency: int | None,
    vllm_arg: list[str] | None,
) -> dict[str, Any]:
    if endpoint is None and servers is not None:
        endpoint = []  # asking for servers here takes back an endpoint of earlier
    return _stated(
        endpoints=_tuple(endpoint), servers=servers, tensor_parallel_size=tensor_parallel_size,
        max_model_len=max_model_len, concurrency=concurrency, vllm_args=_tuple(vllm_arg),
    )  # fmt: skip


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _stop_strings(stop: list[str] | None) -> tuple[str, ...] | None:
    if stop is None:
        return None
    return tuple(text.replace("\\n", "\n").replace("\\t", "\t") for text in stop)


def _few_shot(path: Path | None) -> tuple[Any, ...] | None:
    if path is None:
        return None
    from difficulty.sources.few_shot import read_few_shot

    return read_few_shot(path)


def _live() -> Live:
    from difficulty.report.live import Live

    return Live()


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))


@contextmanager
def end_on_error() -> Iterator[None]:
    """Print our errors in one line and exit 1; SIGTERM counts as Ctrl-C, which exits 130."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        yield
    except DifficultyError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("stopped; everything finished is kept", err=True)
        sys.exit(130)


def main() -> None:
    """Entry point."""
    with end_on_error():
        app()


if __name__ == "__main__":
    main()
