"""The settings of a run, one section a stage, as they stand in ``run.toml``.

A table's stamp holds the sections that its own stage and the stages before it used
(``settings_through``): a new level cut leaves costly completions valid, a new temperature does not.
No section ever holds a secret: API keys come from the environment and stay there.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from difficulty import levels, prompts
from difficulty.errors import SettingsError
from difficulty.settings import rewards as reward_spec
from difficulty.settings import selection as selection_spec
from difficulty.settings.forecast import ForecastSpec
from difficulty.settings.rewards import GradingSpec as GradingSpec
from difficulty.settings.selection import ORDERINGS as ORDERINGS
from difficulty.settings.selection import ExportSpec as ExportSpec
from difficulty.settings.selection import SelectionSpec as SelectionSpec


@dataclass(frozen=True, kw_only=True)
class FewShotTurn:
    """One turn of the worked examples sent before each question."""

    role: str
    """``user`` or ``assistant``."""
    content: str


@dataclass(frozen=True, kw_only=True)
class SourceSpec:
    """Which questions, read how."""

    dataset: str
    """File, Hub name or built-in sample, as the user gave it."""
    sha256: str
    """Hash of the file's bytes (a Hub set: of name, split and revision)."""
    columns: tuple[str, ...] = ()
    """``role=column`` pairs that override the detected columns."""
    split: str | None = None
    gold_index: int | None = None
    """What whole-number golds beside options count from, 0 or 1. Null: what the column shows."""
    ignore_columns: tuple[str, ...] | None = None
    """Columns that look needed, as options or a passage, and are not."""
    limit: int | None = None
    """Only the first so many rows; may grow."""
    shard: str | None = None
    """``I/N``: rows I-1, I-1+N, ... of the set, for array jobs."""
    system_prompt: str | None = None
    """For rows that bring none of their own."""
    unchecked_gold: bool | None = None
    """True: golds that the built-in grader cannot read are kept as they stand, since the run is
    graded by the user's own functions alone. Null: such rows are set aside."""


@dataclass(frozen=True, kw_only=True)
class SamplingSpec:
    """What was asked of the model; every value is sent, none is left to a server's default."""

    model: str
    k: int = 5
    """Answers drawn a question; may grow."""
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    """-1: no limit (vLLM's own notation)."""
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_tokens: int = 2048
    """New tokens an answer."""
    earlier_max_tokens: tuple[int, ...] = ()
    """Limits that samples kept from before a ``--redo truncated`` were drawn under."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    """Null: the server's own chance, which samples fastest. A number: each request is seeded with a
    hash of this, the question and the sample."""
    template: str = prompts.DEFAULT_TEMPLATE
    prompt_style: str = "chat"
    """``chat``: messages, templated by the server. ``plain``: text, for base models without one."""
    template_args: tuple[str, ...] = ()
    """``key=value`` for the model's chat template, as ``enable_thinking=false``."""
    logprobs: int | None = None
    """K: keep each sample's log probability and its mean entropy over the K likeliest tokens."""
    few_shot: tuple[FewShotTurn, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BucketSpec:
    """How verdicts become a level."""

    min_graded: int | None = None
    """Graded answers a question needs to have a level; null asks for all k."""


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """How the answers are fetched. Recorded, never compared: it does not change a result."""

    endpoints: tuple[str, ...] = ()
    servers: int = 1
    """vLLM servers to start here when no endpoint is given."""
    tensor_parallel_size: int = 1
    ray: str | None = None
    """Address of a Ray cluster to start the servers on; null starts them on this machine."""
    max_model_len: int | None = None
    """Context length of started servers; null leaves the model's own."""
    concurrency: int | None = None
    """Requests in flight a server; null: 64 on GPUs, 16 on a CPU."""
    vllm_args: tuple[str, ...] = ()
    """Further arguments for started servers, handed on as they are."""
    reward_concurrency: int | None = None
    """Calls of reward functions at a time; null: one a core, or 32 if all of them are async."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that changes a result, and how the answers were fetched."""

    source: SourceSpec
    sampling: SamplingSpec
    grading: GradingSpec
    bucket: BucketSpec = field(default_factory=BucketSpec)
    selection: SelectionSpec = field(default_factory=SelectionSpec)
    forecast: ForecastSpec = field(default_factory=ForecastSpec)
    export: ExportSpec = field(default_factory=ExportSpec)
    server: ServerSpec = field(default_factory=ServerSpec)

    def __post_init__(self) -> None:
        """Refuse, before anything starts, what cannot work."""
        check(self)


ORDER = ("source", "sampling", "grading", "bucket", "selection", "forecast", "export")
"""Sections in running order; ``server`` is outside: it is not compared."""

MAY_GROW = {"sampling.k", "source.limit"}


def check(spec: RunSpec) -> None:
    """Raise ``SettingsError`` for settings that cannot give a profile."""
    sampling = spec.sampling
    if sampling.k < 1:
        raise SettingsError(f"k is too small: {sampling.k}. Draw at least 1 answer (--k 5)")
    if not 0 <= sampling.temperature <= 10:
        raise SettingsError(
            f"temperature is out of range: {sampling.temperature}. Use the one of your training, "
            "such as --temperature 1.0"
        )
    if sampling.temperature == 0 and sampling.k > 1:
        raise SettingsError(
            f"temperature 0 with k = {sampling.k}: all answers would be identical. "
            "Use the temperature you will train with, such as --temperature 1.0"
        )
    if not 0 < sampling.top_p <= 1:
        raise SettingsError(f"top_p is out of range: {sampling.top_p}. Use a value in (0, 1]")
    if sampling.max_tokens < 1:
        raise SettingsError(
            f"max_tokens is too small: {sampling.max_tokens}. Use --max-tokens 2048"
        )
    check_source(spec.source)
    prompts.find_template(sampling.template)
    if sampling.prompt_style not in ("chat", "plain"):
        raise SettingsError(
            f"unknown prompt style: {sampling.prompt_style!r}. Choose chat or plain"
        )
    if sampling.logprobs is not None and sampling.logprobs < 1:
        raise SettingsError(f"logprobs is too small: {sampling.logprobs}. Use --logprobs 20")
    template_arguments(sampling)
    concurrency = spec.server.concurrency
    if concurrency is not None and concurrency < 1:
        raise SettingsError(f"concurrency is too small: {concurrency}. Use --concurrency 1 or more")
    for name in ("servers", "tensor_parallel_size", "max_model_len"):
        value = getattr(spec.server, name)
        if value is not None and value < 1:
            flag = f"--{name.replace('_', '-')}"
            raise SettingsError(f"{flag} is too small: {value}. Use 1 or more")
    for endpoint in spec.server.endpoints:
        check_endpoint(endpoint)
    for argument in spec.server.vllm_args:
        check_vllm_argument(argument)
    _check_grading(spec)
    _check_selection(spec)


def check_source(source: SourceSpec) -> None:
    """Raise ``SettingsError`` for a row limit or a shard that selects nothing, or no such index."""
    if source.limit is not None and source.limit < 1:
        raise SettingsError(f"limit is too small: {source.limit}. Use --limit 1 or more")
    if source.shard is not None:
        parse_shard(source.shard)
    if source.gold_index not in (None, 0, 1):
        raise SettingsError(
            f"gold index is neither 0 nor 1: {source.gold_index}. Use --gold-index 0 where the "
            "first option's gold is 0, else --gold-index 1"
        )


def _check_grading(spec: RunSpec) -> None:
    reward_spec.check_grading(spec.grading, spec.server.reward_concurrency)
    if spec.source.unchecked_gold and reward_spec.uses_builtin(spec.grading):
        raise SettingsError(
            "the built-in grader cannot grade this run: it was made for your own reward alone, so "
            "its golds were not checked. Start a new run with another --run"
        )


def _check_selection(spec: RunSpec) -> None:
    selection = spec.selection
    if selection.group_size < 2:
        raise SettingsError(
            f"group size is too small: {selection.group_size}. GRPO compares answers inside a "
            "group: use at least --group-size 2"
        )
    min_graded = spec.bucket.min_graded
    if min_graded is not None and not 1 <= min_graded <= spec.sampling.k:
        raise SettingsError(
            f"min-graded is out of range: {min_graded} of k = {spec.sampling.k}. "
            f"Use 1 to {spec.sampling.k}"
        )
    kept = levels.parse_keep(selection.keep)
    counts = range(min_graded or spec.sampling.k, spec.sampling.k + 1)
    reachable = {level for count in counts for level in levels.reachable_levels(count)}
    if not reachable.intersection(kept):
        raise SettingsError(
            f"keep rule {selection.keep} can keep nothing: k = {spec.sampling.k} reaches only "
            f"{levels.format_keep(tuple(sorted(reachable)))}. Choose other levels or a larger --k"
        )
    if selection.pass_rate is not None:
        parse_band(selection.pass_rate)
    for quota in selection.quotas:
        parse_quota(quota)
    selection_spec.check_selection(selection)
    selection_spec.check_export(spec.export)


def template_arguments(sampling: SamplingSpec) -> dict[str, Any]:
    """The chat template's arguments; values are read as JSON where they are, else as text.

    Raises:
        SettingsError: no ``=`` or no name.
    """
    arguments = {}
    for text in sampling.template_args:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise SettingsError(
                f"template argument cannot be read: {text!r}. Write it as enable_thinking=false"
            )
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments


def check_endpoint(url: str) -> None:
    """Refuse an address that is none, or that carries a secret into run.toml.

    Raises:
        SettingsError: not http(s), or with a user name, a password or a query.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or not rest:
        raise SettingsError(f"endpoint is no http address: {url!r}. Write http://HOST:PORT")
    if "@" in rest or "?" in rest:
        raise SettingsError(
            "endpoint carries a user name, a password or a query. "
            "Put the key into DIFFICULTY_API_KEY instead"
        )


def parse_band(text: str) -> tuple[float, float]:
    """``"0.2-0.8"`` -> (0.2, 0.8).

    Raises:
        SettingsError: not two numbers in 0..1 with low <= high.
    """
    low, _, high = text.partition("-")
    try:
        band = float(low), float(high)
    except ValueError:
        band = (1.0, 0.0)
    if not 0 <= band[0] <= band[1] <= 1:
        raise SettingsError(
            f"pass-rate band cannot be read: {text!r}. Write LOW-HIGH, as in 0.2-0.8"
        )
    return band


def parse_shard(text: str) -> tuple[int, int]:
    """``"2/8"`` -> (2, 8).

    Raises:
        SettingsError: not I/N with 1 <= I <= N.
    """
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return int(index), int(count)
    raise SettingsError(f"shard cannot be read: {text!r}. Write I/N with I from 1 to N, as in 2/8")


OURS = ("--host", "--port", "--served-model-name", "--model", "--tensor-parallel-size")
"""Arguments of the engine that have an option here, or none that anybody should turn."""
SECRET_WORDS = ("token", "key", "password", "secret")


def check_vllm_argument(argument: str) -> None:
    """Refuse an argument that would carry a secret into run.toml and the process list.

    Raises:
        SettingsError: its name speaks of a token, key, password or secret, or it is ours to set.
    """
    name = argument.partition("=")[0].lower()
    if name in OURS:
        raise SettingsError(f"vllm-arg {name} is set by this tool. Use its own options instead")
    if name.startswith("-") and any(word in name.split("-") for word in SECRET_WORDS):
        raise SettingsError(
            f"vllm-arg carries a secret: {name}. "
            "Give it through the environment (HF_TOKEN, VLLM_API_KEY) instead"
        )


def parse_quota(text: str) -> tuple[str, int]:
    """``"medqa=100"`` -> ("medqa", 100).

    Raises:
        SettingsError: no ``=``, or not a whole number of at least 0.
    """
    source, _, number = text.rpartition("=")
    if not source or not number.isdecimal():
        raise SettingsError(f"quota cannot be read: {text!r}. Write SOURCE=N, as in medqa=100")
    return source, int(number)


def settings_through(spec: RunSpec, section: str) -> dict[str, Any]:
    """The settings, as ``section.key`` -> value, that ``section`` and all before it used."""
    used = ORDER[: ORDER.index(section) + 1]
    settings = {
        f"{name}.{key}": value
        for name in used
        for key, value in section_as_dict(getattr(spec, name)).items()
    }
    if "grading" in used and spec.grading.rewards is not None:
        settings |= reward_spec.compared(spec.grading)
        if not reward_spec.uses_builtin(spec.grading):
            del settings["grading.grader"]
    return settings


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Keys whose values differ, in the order of the new settings."""
    keys = [*new, *(key for key in old if key not in new)]
    return [key for key in keys if old.get(key) != new.get(key)]


def describe_differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """``temperature 1.0 -> 0.7, ...`` for a message; long values are cut."""
    parts = [
        f"{key} {_short(old.get(key))} -> {_short(new.get(key))}" for key in differences(old, new)
    ]
    return ", ".join(parts)


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def section_as_dict(section: Any) -> dict[str, Any]:
    """Plain values (lists, dicts) of one section; ``None`` is left out (TOML has no null)."""
    plain = dataclasses.asdict(section)
    return {key: _plain(value) for key, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
