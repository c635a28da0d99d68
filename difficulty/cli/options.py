"""Options that several commands share, and how what the user stated becomes settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

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
    typer.Option(help="vLLM servers to start here if no endpoint is given. (default: 1)"),
]
TensorParallelOption = Annotated[
    int | None, typer.Option(help="GPUs (or CPU worker ranks) of one started server. (default: 1)")
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS", help="Start the servers on this Ray cluster, or auto."
    ),
]
MaxModelLenOption = Annotated[
    int | None, typer.Option(help="Context length of started servers. (default: the model's own)")
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        help="Requests in flight for each server. (default: 64, or 16 for a CPU server "
        "started here; fewer above k = 5)"
    ),
]
VllmArgOption = Annotated[
    list[str] | None,
    typer.Option("--vllm-arg", help="An argument handed on to started servers; repeat for more."),
]
KeepOption = Annotated[
    str | None,
    typer.Option(metavar="LEVELS", help="Levels to keep, as L2-L5 or L1,L3. (default: L2-L5)"),
]
GroupSizeOption = Annotated[
    int | None, typer.Option(help="Answers a question in training, G. (default: 8)")
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=COLUMN",
        help="Name a column, as answer=KEY; repeat. Roles: prompt, choices, answer, kind, "
        "tolerance, aliases, system_prompt, source.",
    ),
]
GoldIndexOption = Annotated[
    int | None,
    typer.Option(
        "--gold-index",
        metavar="0|1",
        help="What whole-number golds beside options count from. (default: what the column shows)",
    ),
]
IgnoreColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-column",
        metavar="COLUMN",
        help="A column that looks like options or a passage and is not needed; repeat.",
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
RewardOption = Annotated[
    list[str] | None,
    typer.Option(
        "--reward",
        metavar="FILE.py:NAME",
        help="Your reward function, as for TRL or verl; builtin is ours. Repeat for a sum.",
    ),
]
RewardWeightOption = Annotated[
    list[float] | None,
    typer.Option("--reward-weight", help="Weight of each --reward in turn. (default: 1 each)"),
]
PassThresholdOption = Annotated[
    float | None,
    typer.Option("--pass-threshold", help="Reward that counts as correct. (default: 1.0)"),
]
RewardDeadlineOption = Annotated[
    float | None,
    typer.Option("--reward-deadline", help="Seconds that a call may take. (default: 60)"),
]
RewardConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--reward-concurrency", help="Calls at a time. (default: one a core; 32 if all are async)"
    ),
]
RewardCompletionsOption = Annotated[
    str | None,
    typer.Option(
        "--reward-completions",
        help="messages or text, for TRL's signature. (default: messages of a chat)",
    ),
]


def stated(**values: Any) -> dict[str, Any]:
    """Only what the user stated; the rest keeps the run's value."""
    return {key: value for key, value in values.items() if value is not None}


def server_options(
    endpoint: list[str] | None,
    servers: int | None,
    tensor_parallel_size: int | None,
    max_model_len: int | None,
    concurrency: int | None,
    vllm_arg: list[str] | None,
    ray: str | None,
) -> dict[str, Any]:
    """Settings of the section ``server``."""
    if endpoint is None and (servers is not None or ray is not None):
        endpoint = []  # asking for servers here takes back an endpoint of earlier
    return stated(
        endpoints=as_tuple(endpoint), servers=servers, tensor_parallel_size=tensor_parallel_size,
        max_model_len=max_model_len, concurrency=concurrency, vllm_args=as_tuple(vllm_arg),
        ray=ray,
    )  # fmt: skip


def reward_options(
    reward: list[str] | None,
    reward_weight: list[float] | None,
    pass_threshold: float | None,
    reward_deadline: float | None,
    reward_completions: str | None,
) -> dict[str, Any]:
    """Settings of the section ``grading``.

    Raises:
        SettingsError: a reward that cannot be read, or weights that do not match the rewards.
    """
    from difficulty.settings.rewards import parse_rewards

    stating = reward is not None or reward_weight is not None
    rewards = parse_rewards(reward or [], reward_weight or []) if stating else None
    return stated(
        rewards=rewards, pass_threshold=pass_threshold, reward_deadline=reward_deadline,
        reward_completions=reward_completions,
    )  # fmt: skip


def as_tuple(values: list[str] | None) -> tuple[str, ...] | None:
    """A repeated option as a setting."""
    return None if values is None else tuple(values)


def names(text: str | None) -> tuple[str, ...] | None:
    """``"trl, verl"`` -> ("trl", "verl")."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def stop_strings(stop: list[str] | None) -> tuple[str, ...] | None:
    r"""Stop strings as typed in a shell: ``\n`` and ``\t`` stand for newline and tab."""
    if stop is None:
        return None
    return tuple(text.replace("\\n", "\n").replace("\\t", "\t") for text in stop)


def few_shot_turns(path: Path | None) -> tuple[Any, ...] | None:
    """The worked examples of a file."""
    if path is None:
        return None
    from difficulty.sources.few_shot import read_few_shot

    return read_few_shot(path)


def default_run(dataset: str, model: str) -> Path:
    """``data/runs/DATASET--MODEL`` with the last part of each name."""
    parts = [Path(dataset).stem if Path(dataset).suffix else Path(dataset).name, Path(model).name]
    return Path("data/runs") / "--".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)


def selection_defaults() -> dict[str, Any]:
    """Every rule of the selection at its default, but the group size as it was."""
    import dataclasses

    from difficulty.settings.run import SelectionSpec

    values = dataclasses.asdict(SelectionSpec())
    values.pop("group_size")
    return values
