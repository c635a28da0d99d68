"""The command line: one command a verb. Parse, call a stage, print.

Heavy packages are imported by the stages that need them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from difficulty.cli_options import (
    ColumnOption,
    ConcurrencyOption,
    EndpointOption,
    GroupSizeOption,
    Json,
    KeepOption,
    LimitOption,
    MaxModelLenOption,
    RayOption,
    RunArgument,
    ServersOption,
    ShardOption,
    SplitOption,
    SystemPromptOption,
    TensorParallelOption,
    VllmArgOption,
    as_tuple,
    default_run,
    few_shot_turns,
    names,
    selection_defaults,
    server_options,
    stated,
    stop_strings,
)
from difficulty.run_commands import (
    compare_grades,
    console,
    end_on_error,
    merge_into,
    print_json,
    profile_run,
    redo_run,
    refresh_run,
    run_stage,
    summary_json,
)

if TYPE_CHECKING:
    from difficulty.runs import Overrides

app = typer.Typer(
    help="Measure which questions will teach a model, and how much of a GRPO run teaches nothing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


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
    ray: RayOption = None,
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
    seed: Annotated[
        int | None, typer.Option(help="Seed each request. [default: the server's own chance]")
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="How questions are put into words. [default: answer-line-v1]")
    ] = None,
    prompt_style: Annotated[
        str | None, typer.Option(help="chat, or plain for base models. [default: chat]")
    ] = None,
    template_arg: Annotated[
        list[str] | None,
        typer.Option(
            "--template-arg",
            metavar="KEY=VALUE",
            help="For the model's chat template, as enable_thinking=false; repeat for more.",
        ),
    ] = None,
    logprobs: Annotated[
        int | None,
        typer.Option(help="Keep each sample's log probability and entropy over the top K tokens."),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Trainer's config to agree with (TRL, verl, ms-swift)."),
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
        "source": stated(
            columns=as_tuple(column), split=split, limit=limit, shard=shard,
            system_prompt=system_prompt,
        ),
        "sampling": stated(
            k=k, temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p,
            max_tokens=max_tokens, stop=stop_strings(stop), seed=seed, template=template,
            prompt_style=prompt_style, template_args=as_tuple(template_arg), logprobs=logprobs,
            few_shot=few_shot_turns(few_shot),
        ),
        "selection": stated(keep=keep, group_size=group_size),
        "export": stated(trainers=names(export)),
        "server": server_options(
            endpoint, servers, tensor_parallel_size, max_model_len, concurrency, vllm_arg, ray
        ),
    }  # fmt: skip
    folder = run or default_run(dataset, model)
    profile_run(folder, dataset, model, overrides, as_json=as_json, like=like)


@app.command(epilog="Example: difficulty sample /tmp/demo --endpoint http://127.0.0.1:8000")
def sample(
    run: RunArgument,
    k: Annotated[int | None, typer.Option(help="Draw more answers a question than so far.")] = None,
    redo: Annotated[
        str | None,
        typer.Option(help="failed: only these samples; truncated: all k of each such question."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="The larger limit that --redo truncated draws under.")
    ] = None,
    endpoint: EndpointOption = None,
    servers: ServersOption = None,
    tensor_parallel_size: TensorParallelOption = None,
    ray: RayOption = None,
    max_model_len: MaxModelLenOption = None,
    concurrency: ConcurrencyOption = None,
    vllm_arg: VllmArgOption = None,
    as_json: Json = False,
) -> None:
    """Draw the answers that a run still lacks, or draw failed or truncated ones again."""
    if max_tokens is not None and redo != "truncated":
        raise typer.BadParameter("goes with --redo truncated", param_hint="--max-tokens")
    if redo is not None:
        redo_run(run, redo, max_tokens)
    server = server_options(
        endpoint, servers, tensor_parallel_size, max_model_len, concurrency, vllm_arg, ray
    )
    run_stage("sample", run, {"sampling": stated(k=k), "server": server}, as_json=as_json)


@app.command(epilog="Example: difficulty grade /tmp/demo")
def grade(
    run: RunArgument,
    compare: Annotated[
        bool, typer.Option("--compare", help="Say what changed: verdicts, levels, question ids.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Grade every answer of a run with this version's rules, without sampling again."""
    if compare:
        compare_grades(run, as_json=as_json)
    else:
        run_stage("grade", run, {}, as_json=as_json)


@app.command(epilog="Example: difficulty bucket /tmp/demo --min-graded 4")
def bucket(
    run: RunArgument,
    min_graded: Annotated[
        int | None, typer.Option(help="Graded answers that a level needs. [default: all k]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn grades into pass rates and levels L1-L6."""
    run_stage("bucket", run, {"bucket": stated(min_graded=min_graded)}, as_json=as_json)


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
    reset: Annotated[bool, typer.Option("--reset", help="Forget all earlier rules first.")] = False,
    as_json: Json = False,
) -> None:
    """Choose and order the questions to train on, and say why each other was dropped.

    Rules left out keep the value of before; --reset forgets them.
    """
    values = (selection_defaults() if reset else {}) | stated(
        keep=keep, pass_rate=pass_rate, quotas=as_tuple(quota), max_questions=max_questions,
        order=order, seed=seed, group_size=group_size,
    )  # fmt: skip
    run_stage("select", run, {"selection": values}, as_json=as_json)


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
    values = stated(group_size=group_size, keep=keep)
    if run.is_dir():
        folder = refresh_run("forecast", run, {"selection": values})
        found = json.loads(folder.forecast.read_text(encoding="utf-8"))
        found.pop("stamp")
    else:
        found = _forecast_counts(run, values)
    if as_json:
        print_json(found)
        return
    from difficulty.report.terminal import forecast_table

    shown = console()
    shown.print(forecast_table(found))
    for text in found.get("warnings", []):
        shown.print(f"! {text}", markup=False)


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
    run_stage("export", run, {"export": stated(trainers=names(to))}, as_json=as_json)


@app.command(epilog="Example: difficulty report /tmp/demo")
def report(run: RunArgument, as_json: Json = False) -> None:
    """Print the summary of a run and write its page."""
    from difficulty.report.summary import summarize
    from difficulty.report.terminal import print_summary
    from difficulty.store import load_spec

    folder = refresh_run("report", run, {})
    summary = summarize(folder, load_spec(folder))
    if as_json:
        print_json(summary_json(folder, summary))
    else:
        print_summary(summary, console())


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
        {"columns": as_tuple(column) or (), "split": split, "limit": limit, "shard": shard,
         "system_prompt": system_prompt},
        template=template,
    )  # fmt: skip
    if as_json:
        print_json(found)
    else:
        print_check(found, console())


@app.command(epilog="Example: difficulty merge runs/part-1 runs/part-2 --run runs/whole")
def merge(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Finished runs of one spec.")
    ],
    run: Annotated[Path, typer.Option(metavar="DIR", help="The merged run's new folder.")],
    as_json: Json = False,
) -> None:
    """Merge runs over parts of a set (array jobs, --shard I/N) into one, and finish it."""
    merge_into(runs, run, as_json=as_json)


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
        print_json(found)
    else:
        print_audit(found, console())


@app.command(epilog="Example: difficulty doctor")
def doctor(as_json: Json = False) -> None:
    """Say what this machine can run and what is missing."""
    from difficulty.doctor import examine
    from difficulty.report.terminal import print_doctor

    found = examine()
    if as_json:
        print_json(found)
    else:
        print_doctor(found, console())


def main() -> None:
    """Entry point."""
    with end_on_error():
        app()


if __name__ == "__main__":
    main()
