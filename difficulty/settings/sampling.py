"""Settings of the prompt and of sampling: what is asked of the model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from difficulty import prompts
from difficulty.errors import SettingsError
from difficulty.settings.setting import Setting

PromptStyle = Literal["chat", "plain"]


def template_argument(text: str) -> tuple[str, Any]:
    """``"enable_thinking=false"`` -> its name and value, read as JSON where it is, else as text.

    Raises:
        SettingsError: no ``=`` or no name.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise SettingsError(
            f"template argument cannot be read: {text!r}. Write it as enable_thinking=false"
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@dataclass(frozen=True, kw_only=True)
class FewShotTurn:
    """One turn of the worked examples sent before each question."""

    role: str
    """``user`` or ``assistant``."""
    content: str


@dataclass(frozen=True, kw_only=True)
class SamplingSpec:
    """What was asked of the model; every value is sent, none is left to a server's default."""

    model: str
    k: Annotated[
        int,
        Setting(
            "Answers drawn a question; may grow.", least=1, advice="Draw at least 1 answer (--k 5)"
        ),
    ] = 5
    temperature: Annotated[
        float,
        Setting(
            "As in training.",
            least=0,
            most=10,
            advice="Use the one of your training, such as --temperature 1.0",
        ),
    ] = 1.0
    top_p: Annotated[
        float,
        Setting("As in training.", label="top_p", above=0, most=1, advice="Use a value in (0, 1]"),
    ] = 1.0
    top_k: Annotated[
        int, Setting("As in training; -1: no limit.", least=-1, advice="Use -1 or more")
    ] = -1
    """-1 is vLLM's own notation."""
    min_p: Annotated[float, Setting("As in training.", label="min_p", least=0, most=1)] = 0.0
    repetition_penalty: Annotated[float, Setting("As in training.", option=None)] = 1.0
    max_tokens: Annotated[
        int,
        Setting(
            "New tokens an answer.", label="max_tokens", least=1, advice="Use --max-tokens 2048"
        ),
    ] = 2048
    earlier_max_tokens: Annotated[
        tuple[int, ...],
        Setting(
            "Limits that samples kept from before a --redo truncated were drawn under.", option=None
        ),
    ] = ()
    stop: Annotated[
        tuple[str, ...],
        Setting(r"Stop string (\n is a newline); repeat for more.", metavar="TEXT"),
    ] = ()
    seed: Annotated[int | None, Setting("Seed each request.", unset="the server's own chance")] = (
        None
    )
    """Null samples fastest. A number: each request is seeded with a hash of this, the question and
    the sample."""
    template: Annotated[
        str,
        Setting(
            "How questions are put into words.",
            group="Prompt",
            metavar="|".join(prompts.TEMPLATES),
            check=prompts.find_template,
        ),
    ] = prompts.DEFAULT_TEMPLATE
    prompt_style: Annotated[
        PromptStyle,
        Setting("Messages, or plain text for base models.", group="Prompt", label="prompt style"),
    ] = "chat"
    """``chat``: messages, templated by the server. ``plain``: text, for models without one."""
    template_args: Annotated[
        tuple[str, ...],
        Setting(
            "For the model's chat template, as enable_thinking=false; repeat for more.",
            option="--template-arg",
            group="Prompt",
            metavar="KEY=VALUE",
            check=template_argument,
        ),
    ] = ()
    logprobs: Annotated[
        int | None,
        Setting(
            "Keep each sample's log probability and mean entropy over the top K tokens.",
            metavar="K",
            least=1,
            advice="Use --logprobs 20",
        ),
    ] = None
    few_shot: Annotated[
        tuple[FewShotTurn, ...],
        Setting(
            "Chat turns (.jsonl of role, content) before each question.",
            group="Prompt",
            metavar="FILE",
        ),
    ] = ()


def template_arguments(sampling: SamplingSpec) -> dict[str, Any]:
    """The chat template's arguments by name."""
    return dict(map(template_argument, sampling.template_args))
