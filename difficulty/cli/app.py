"""The command line: one command a verb. Parse, call a stage, print.

Heavy packages are imported by the stages that need them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from difficulty import __version__
from difficulty.cli.audit import draw_audit, read_audit
from difficulty.cli.forecast import forecast_run_or_counts
from difficulty.cli.options import Json, RunArgument, only, with_settings
from difficulty.cli.run import (
    check_set,
    compare_grades,
    console,
    default_run,
    end_on_error,
    merge_into,
    print_json,
    profile_run,
    redo_errors_of,
    redo_run,
    refresh_run,
    run_stage,
    summary_json,
    without_endpoints,
)
from difficulty.cli.select import all_forgotten, export_run, order_implied, select_run
from difficulty.cli.select import explain as explain_question
from difficulty.settings.changes import Changes
from difficulty.settings.run import (
    BucketSpec,
    ExportSpec,
    ForecastSpec,
    GradingSpec,
    SamplingSpec,
    SelectionSpec,
    ServerSpec,
    SourceSpec,
)

USAGE_ERRORS: tuple[type[typer.BadParameter], ...] = typer.BadParameter.__mro__[1:2]
"""Typer's class of every wrong command, which it does not export."""

ENGINES = only(
    ServerSpec, "endpoints", "servers", "tensor_parallel_size", "ray", "max_model_len",
    "concurrency", "vllm_args",
)  # fmt: skip
CALLS = only(ServerSpec, "reward_concurrency")
SOURCE = only(
    SourceSpec, "columns", "gold_index", "ignore_columns", "encoding", "no_header", "split",
    "limit", "shard", "system_prompt",
)  # fmt: skip

app = typer.Typer(
    help="Measure which questions will teach a model, and how much of a GRPO run teaches nothing.",
    epilog="Exit codes: 0 done; 1 it cannot be done as asked, and one line says why; 2 the command "
    "itself is wrong; 130 stopped, and everything finished is kept.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"difficulty {__version__}")
        raise typer.Exit


@app.callback()
def options_of_all(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options before the command."""


@app.command(
    epilog="Example: difficulty profile demo --model data/models/smollm2-135m --run /tmp/demo"
)
@with_settings(
    SOURCE, SamplingSpec, ENGINES, GradingSpec, CALLS, only(SelectionSpec, "keep", "group_size"),
    only(ExportSpec, trainers="--export"),
)  # fmt: skip
def profile(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A file of rows (.parquet, .arrow, .jsonl, .json, .csv, .tsv; also .gz, .xz, "
            ".zst), a folder, a Hub name, or a sample name.",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL", help="The model to be trained: local folder, Hub or served name."
        ),
    ],
    *,
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder. (default: data/runs/DATASET--MODEL)"),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Trainer's config to agree with (TRL, verl, ms-swift)."),
    ] = None,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Sample, grade, bucket, select, forecast, export and report a dataset in one go.

    The same command again continues where it stopped. Options left out keep the value that the run
    was made with.
    """
    changes = without_endpoints(changes)
    folder = run or default_run(dataset, model)
    profile_run(folder, dataset, model, changes, as_json=as_json, like=like)


@app.command(epilog="Example: difficulty sample /tmp/demo --endpoint http://127.0.0.1:8000")
@with_settings(only(SamplingSpec, "k"), ENGINES)
def sample(
    run: RunArgument,
    *,
    redo: Annotated[
        str | None,
        typer.Option(
            metavar="failed|truncated",
            help="failed: only these samples; truncated: all k of each such question.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="The larger limit that --redo truncated draws under.")
    ] = None,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Draw the answers that a run still lacks, or draw failed or truncated ones again."""
    if max_tokens is not None and redo != "truncated":
        raise typer.BadParameter("goes with --redo truncated", param_hint="--max-tokens")
    if redo is not None:
        redo_run(run, redo, max_tokens)
    run_stage("sample", run, without_endpoints(changes), as_json=as_json)


@app.command(epilog="Example: difficulty grade /tmp/demo")
@with_settings(GradingSpec, CALLS)
def grade(
    run: RunArgument,
    *,
    compare: Annotated[
        bool, typer.Option("--compare", help="Say what changed: verdicts, levels, question ids.")
    ] = False,
    audit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Draw N graded replies into audit.csv and audit.html to check by hand.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of --audit. (default: that of the run's selection)")
    ] = None,
    audit_read: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Read the checked sheet back: the grader's errors."),
    ] = None,
    redo_errors: Annotated[
        bool, typer.Option("--redo-errors", help="Try answers again that could not be graded.")
    ] = False,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Grade every answer of a run again, by this version's rules or your reward; none is sampled.

    Reward options left out keep the run's value; --reward builtin goes back to the built-in grader.
    """
    if sum((compare, audit is not None, audit_read is not None)) > 1:
        raise typer.BadParameter("give one of --compare, --audit and --audit-read")
    if seed is not None and audit is None:
        raise typer.BadParameter("goes with --audit", param_hint="--seed")
    if changes and (audit is not None or audit_read is not None):
        raise typer.BadParameter("a reward does not go with --audit or --audit-read")
    if redo_errors:
        redo_errors_of(run)
    if audit is not None:
        draw_audit(run, audit, seed, as_json=as_json)
    elif audit_read is not None:
        read_audit(run, audit_read, as_json=as_json)
    elif compare:
        compare_grades(run, changes, as_json=as_json)
    else:
        run_stage("grade", run, changes, as_json=as_json)


@app.command(epilog="Example: difficulty bucket /tmp/demo --min-graded 4")
@with_settings(BucketSpec)
def bucket(run: RunArgument, *, as_json: Json = False, changes: Changes) -> None:
    """Turn grades into pass rates and levels L1-L6."""
    run_stage("bucket", run, changes, as_json=as_json)


@app.command(epilog="Example: difficulty select /tmp/demo --keep L2-L5 --max-questions 500")
@with_settings(SelectionSpec)
def select(
    run: RunArgument,
    *,
    reset: Annotated[bool, typer.Option("--reset", help="Forget all earlier rules first.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION_ID",
            help="Tell this question's story instead; the start of its id is enough, or the "
            "dataset's own id.",
        ),
    ] = None,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Choose and order the questions to train on, and say why each other was dropped.

    Rules left out keep the value of before; --reset forgets them.
    """
    changes = order_implied(changes)
    if reset:
        changes = all_forgotten(changes)
    if explain is None:
        select_run(run, changes, as_json=as_json)
    elif changes:
        raise typer.BadParameter("goes without other options", param_hint="--explain")
    else:
        explain_question(run, explain, as_json=as_json)


@app.command(epilog="Example: difficulty forecast counts.csv --trainer ms-swift --train-groups 96")
@with_settings(ForecastSpec, only(SelectionSpec, "keep", "group_size"))
def forecast(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|COUNTS",
            help="A run folder, or a .csv or .parquet with num_samples, num_correct and, "
            "if wanted, num_questions and source.",
        ),
    ],
    *,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Forecast the share of groups that will teach nothing, and whether a trainer's steps fill.

    On a run, options left out keep their value; another --trainer starts with its own defaults.
    Another --keep or --group-size becomes the run's own: selection and exports are made again.
    """
    forecast_run_or_counts(run, changes, as_json=as_json)


@app.command(epilog="Example: difficulty export /tmp/demo --to trl,verl")
@with_settings(ExportSpec)
def export(
    run: RunArgument,
    *,
    push_to_hub: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME",
            help="Upload the files as this private dataset; the token is HF_TOKEN of the "
            "environment.",
        ),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Make that dataset public.")] = False,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Write the training files of the kept questions."""
    if public and push_to_hub is None:
        raise typer.BadParameter("goes with --push-to-hub", param_hint="--public")
    export_run(run, changes, push_to=push_to_hub, public=public, as_json=as_json)


@app.command(epilog="Example: difficulty report /tmp/demo")
def report(run: RunArgument, as_json: Json = False) -> None:
    """Print the summary of a run and write its page."""
    from difficulty.report.summary import summarize
    from difficulty.report.terminal import print_summary
    from difficulty.store import load_spec

    folder = refresh_run("report", run, Changes())
    summary = summarize(folder, load_spec(folder))
    if as_json:
        print_json(summary_json(folder, summary))
    else:
        print_summary(summary, console())


@app.command(epilog="Example: difficulty check questions.jsonl --column answer=KEY")
@with_settings(SOURCE, only(SamplingSpec, "template"), GradingSpec, CALLS)
def check(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="As for profile.")],
    *,
    as_json: Json = False,
    changes: Changes,
) -> None:
    """Read a dataset as a run would, before any GPU time: kinds, rows set aside, one prompt.

    With --reward also what your function returns for three replies to each of the first questions.
    """
    check_set(dataset, changes, as_json=as_json)


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
    import dataclasses

    from difficulty.audit.cases import audit
    from difficulty.report.terminal import print_audit
    from difficulty.sources.cases import read_cases

    found = audit(read_cases(cases))
    if as_json:
        print_json(dataclasses.asdict(found))
    else:
        print_audit(found, console())


@app.command(epilog="Example: difficulty doctor --model data/models/smollm2-135m")
def doctor(
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Is there memory here for a server of this model?"),
    ] = None,
    max_model_len: Annotated[
        int | None, typer.Option(help="Context length of that server. (default: the model's own)")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine can run and what is missing, before an engine takes a minute to."""
    from difficulty.cli.doctor import examine
    from difficulty.report.terminal import print_doctor

    found = examine(model, max_model_len=max_model_len)
    if as_json:
        print_json(found)
    else:
        print_doctor(found, console())


def main() -> None:
    """Entry point."""
    with end_on_error():
        try:
            code = app(prog_name="difficulty", standalone_mode=False)
        except USAGE_ERRORS as error:
            _end_on_usage(error)
        sys.exit(code if isinstance(code, int) else 0)


def _end_on_usage(error: typer.BadParameter) -> NoReturn:
    """One line for a command that is wrong; the list of commands where none was given."""
    if not sys.argv[1:]:
        error.show()
    else:
        text = error.format_message().removesuffix(".")
        command = "difficulty" if error.ctx is None else error.ctx.command_path
        typer.echo(f"error: {text[:1].lower()}{text[1:]}. See {command} --help", err=True)
    sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
