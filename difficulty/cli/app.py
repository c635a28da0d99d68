"""The command line: one command a verb. Parse, call a stage, print.

Heavy packages are imported by the stages that need them, so that ``--help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difficulty.cli.audit import draw_audit, read_audit
from difficulty.cli.forecast import forecast_run_or_counts
from difficulty.cli.forecast_options import (
    BufferOption,
    ForTrainerOption,
    GenGroupsOption,
    LengthPenaltyOption,
    MaxLengthOption,
    MaxRoundsOption,
    PenaltyWeightOption,
    RedrawOption,
    SpreadOption,
    StepsOption,
    TrainGroupsOption,
)
from difficulty.cli.options import (
    ColumnOption,
    ConcurrencyOption,
    EndpointOption,
    GoldIndexOption,
    GroupSizeOption,
    IgnoreColumnOption,
    Json,
    KeepOption,
    LimitOption,
    MaxModelLenOption,
    PassThresholdOption,
    RayOption,
    RewardCompletionsOption,
    RewardConcurrencyOption,
    RewardDeadlineOption,
    RewardOption,
    RewardWeightOption,
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
    reward_options,
    selection_defaults,
    server_options,
    stated,
    stop_strings,
)
from difficulty.cli.run import (
    check_set,
    compare_grades,
    console,
    end_on_error,
    merge_into,
    print_json,
    profile_run,
    redo_errors_of,
    redo_run,
    refresh_run,
    run_stage,
    summary_json,
)
from difficulty.cli.select import explain as explain_question
from difficulty.cli.select import export_run, select_run
from difficulty.cli.select_options import (
    AboveChanceOption,
    AgainstOption,
    BatchSizeOption,
    CarryOption,
    ControlOption,
    CopiesOption,
    ExplainOption,
    GaussianMeanOption,
    GaussianWidthOption,
    HoldoutOption,
    MaxCollapseOption,
    MaxQuestionsOption,
    MixOption,
    NearDuplicatesOption,
    OrderOption,
    PassRateOption,
    PublicOption,
    PushOption,
    QuotaOption,
    ResetOption,
    SelectSeedOption,
    ShardRowsOption,
    evaluation_sets,
    ordering,
)

if TYPE_CHECKING:
    from difficulty.run.change import Overrides

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
        typer.Option(metavar="DIR", help="Run folder. (default: data/runs/DATASET--MODEL)"),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Answers drawn a question. (default: 5)")] = None,
    group_size: GroupSizeOption = None,
    endpoint: EndpointOption = None,
    servers: ServersOption = None,
    tensor_parallel_size: TensorParallelOption = None,
    ray: RayOption = None,
    max_model_len: MaxModelLenOption = None,
    concurrency: ConcurrencyOption = None,
    vllm_arg: VllmArgOption = None,
    temperature: Annotated[
        float | None, typer.Option(help="As in training. (default: 1.0)")
    ] = None,
    top_p: Annotated[float | None, typer.Option(help="As in training. (default: 1.0)")] = None,
    top_k: Annotated[
        int | None, typer.Option(help="As in training; -1: no limit. (default: -1)")
    ] = None,
    min_p: Annotated[float | None, typer.Option(help="As in training. (default: 0.0)")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="New tokens an answer. (default: 2048)")
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help=r"Stop string (\n is a newline); repeat for more.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed each request. (default: the server's own chance)")
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="How questions are put into words. (default: answer-line-v1)")
    ] = None,
    prompt_style: Annotated[
        str | None, typer.Option(help="chat, or plain for base models. (default: chat)")
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
    gold_index: GoldIndexOption = None,
    ignore_column: IgnoreColumnOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    shard: ShardOption = None,
    system_prompt: SystemPromptOption = None,
    reward: RewardOption = None,
    reward_weight: RewardWeightOption = None,
    pass_threshold: PassThresholdOption = None,
    reward_deadline: RewardDeadlineOption = None,
    reward_concurrency: RewardConcurrencyOption = None,
    reward_completions: RewardCompletionsOption = None,
    keep: KeepOption = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="TRAINERS",
            help="Trainers to write files for; see export. (default: trl,verl,ms-swift)",
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
            columns=as_tuple(column), gold_index=gold_index,
            ignore_columns=as_tuple(ignore_column), split=split, limit=limit, shard=shard,
            system_prompt=system_prompt,
        ),
        "sampling": stated(
            k=k, temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p,
            max_tokens=max_tokens, stop=stop_strings(stop), seed=seed, template=template,
            prompt_style=prompt_style, template_args=as_tuple(template_arg), logprobs=logprobs,
            few_shot=few_shot_turns(few_shot),
        ),
        "grading": reward_options(
            reward, reward_weight, pass_threshold, reward_deadline, reward_completions
        ),
        "selection": stated(keep=keep, group_size=group_size),
        "export": stated(trainers=names(export)),
        "server": server_options(
            endpoint, servers, tensor_parallel_size, max_model_len, concurrency, vllm_arg, ray
        ) | stated(reward_concurrency=reward_concurrency),
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
    reward: RewardOption = None,
    reward_weight: RewardWeightOption = None,
    pass_threshold: PassThresholdOption = None,
    reward_deadline: RewardDeadlineOption = None,
    reward_concurrency: RewardConcurrencyOption = None,
    reward_completions: RewardCompletionsOption = None,
    redo_errors: Annotated[
        bool, typer.Option("--redo-errors", help="Try answers again that could not be graded.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Grade every answer of a run again, by this version's rules or your reward; none is sampled.

    Reward options left out keep the run's value; --reward builtin goes back to the built-in grader.
    """
    if sum((compare, audit is not None, audit_read is not None)) > 1:
        raise typer.BadParameter("give one of --compare, --audit and --audit-read")
    if seed is not None and audit is None:
        raise typer.BadParameter("goes with --audit", param_hint="--seed")
    overrides: Overrides = {
        "grading": reward_options(
            reward, reward_weight, pass_threshold, reward_deadline, reward_completions
        ),
        "server": stated(reward_concurrency=reward_concurrency),
    }
    if any(overrides.values()) and (audit is not None or audit_read is not None):
        raise typer.BadParameter("a reward does not go with --audit or --audit-read")
    if redo_errors:
        redo_errors_of(run)
    if audit is not None:
        draw_audit(run, audit, seed, as_json=as_json)
    elif audit_read is not None:
        read_audit(run, audit_read, as_json=as_json)
    elif compare:
        compare_grades(run, overrides, as_json=as_json)
    else:
        run_stage("grade", run, overrides, as_json=as_json)


@app.command(epilog="Example: difficulty bucket /tmp/demo --min-graded 4")
def bucket(
    run: RunArgument,
    min_graded: Annotated[
        int | None, typer.Option(help="Graded answers that a level needs. (default: all k)")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn grades into pass rates and levels L1-L6."""
    run_stage("bucket", run, {"bucket": stated(min_graded=min_graded)}, as_json=as_json)


@app.command(epilog="Example: difficulty select /tmp/demo --keep L2-L5 --max-questions 500")
def select(
    run: RunArgument,
    keep: KeepOption = None,
    pass_rate: PassRateOption = None,
    above_chance: AboveChanceOption = None,
    max_collapse: MaxCollapseOption = None,
    against: AgainstOption = None,
    drop_near_duplicates: NearDuplicatesOption = None,
    quota: QuotaOption = None,
    max_questions: MaxQuestionsOption = None,
    order: OrderOption = None,
    mix: MixOption = None,
    batch_size: BatchSizeOption = None,
    gaussian_mean: GaussianMeanOption = None,
    gaussian_width: GaussianWidthOption = None,
    seed: SelectSeedOption = None,
    group_size: GroupSizeOption = None,
    reset: ResetOption = False,
    explain: ExplainOption = None,
    as_json: Json = False,
) -> None:
    """Choose and order the questions to train on, and say why each other was dropped.

    Rules left out keep the value of before; --reset forgets them.
    """
    values = (selection_defaults() if reset else {}) | stated(
        keep=keep, pass_rate=pass_rate, above_chance=above_chance, max_collapse=max_collapse,
        against=evaluation_sets(against), drop_near_duplicates=drop_near_duplicates,
        quotas=as_tuple(quota), max_questions=max_questions, seed=seed, group_size=group_size,
        **ordering(order, mix, batch_size, gaussian_mean, gaussian_width),
    )  # fmt: skip
    if explain is None:
        select_run(run, {"selection": values}, as_json=as_json)
    elif values:
        raise typer.BadParameter("goes without other options", param_hint="--explain")
    else:
        explain_question(run, explain, as_json=as_json)


@app.command(epilog="Example: difficulty forecast counts.csv --trainer ms-swift --train-groups 96")
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
    trainer: ForTrainerOption = None,
    train_groups: TrainGroupsOption = None,
    gen_groups: GenGroupsOption = None,
    max_rounds: MaxRoundsOption = None,
    steps: StepsOption = None,
    redraw: RedrawOption = None,
    length_penalty: LengthPenaltyOption = None,
    max_length: MaxLengthOption = None,
    buffer: BufferOption = None,
    penalty_weight: PenaltyWeightOption = None,
    spread: SpreadOption = None,
    as_json: Json = False,
) -> None:
    """Forecast the share of groups that will teach nothing, and whether a trainer's steps fill.

    On a run, options left out keep their value; another --trainer starts with its own defaults.
    Another --keep or --group-size becomes the run's own: selection and exports are made again.
    """
    wanted = stated(
        trainer=trainer, train_groups=train_groups, gen_groups=gen_groups, max_rounds=max_rounds,
        steps=steps, redraw=redraw, length_penalty=length_penalty, max_length=max_length,
        buffer=buffer, penalty_weight=penalty_weight, spread=spread,
    )  # fmt: skip
    forecast_run_or_counts(run, stated(group_size=group_size, keep=keep), wanted, as_json=as_json)


@app.command(epilog="Example: difficulty export /tmp/demo --to trl,verl")
def export(
    run: RunArgument,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="TRAINERS",
            help="By comma: trl, verl, ms-swift, openrlhf, verifiers, areal, skyrl, nemo-rl, rllm, "
            "slime, open-instruct, plain. (default: trl,verl,ms-swift)",
        ),
    ] = None,
    holdout: HoldoutOption = None,
    control: ControlOption = None,
    copies: CopiesOption = None,
    shard_rows: ShardRowsOption = None,
    carry: CarryOption = None,
    push_to_hub: PushOption = None,
    public: PublicOption = False,
    as_json: Json = False,
) -> None:
    """Write the training files of the kept questions."""
    values = stated(
        trainers=names(to),
        holdout=holdout,
        control=control,
        copies=copies,
        shard_rows=shard_rows,
        carry=as_tuple(carry),
    )
    if public and push_to_hub is None:
        raise typer.BadParameter("goes with --push-to-hub", param_hint="--public")
    export_run(run, {"export": values}, push_to=push_to_hub, public=public, as_json=as_json)


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
    gold_index: GoldIndexOption = None,
    ignore_column: IgnoreColumnOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    shard: ShardOption = None,
    system_prompt: SystemPromptOption = None,
    template: Annotated[str, typer.Option(help="As for profile.")] = "answer-line-v1",
    reward: RewardOption = None,
    reward_weight: RewardWeightOption = None,
    pass_threshold: PassThresholdOption = None,
    reward_deadline: RewardDeadlineOption = None,
    reward_concurrency: RewardConcurrencyOption = None,
    reward_completions: RewardCompletionsOption = None,
    as_json: Json = False,
) -> None:
    """Read a dataset as a run would, before any GPU time: kinds, rows set aside, one prompt.

    With --reward also what your function returns for three replies to each of the first questions.
    """
    source = {
        "columns": as_tuple(column) or (), "gold_index": gold_index,
        "ignore_columns": as_tuple(ignore_column), "split": split, "limit": limit, "shard": shard,
        "system_prompt": system_prompt,
    }  # fmt: skip
    grading = reward_options(
        reward, reward_weight, pass_threshold, reward_deadline, reward_completions
    )
    check_set(
        dataset, source, grading, template=template, concurrency=reward_concurrency, as_json=as_json
    )


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
        str | None, typer.Option(help="Is there memory here for a server of this model?")
    ] = None,
    max_model_len: MaxModelLenOption = None,
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
        app()


if __name__ == "__main__":
    main()
