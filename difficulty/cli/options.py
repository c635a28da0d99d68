"""Options made from the declarations in ``settings``, and what was stated with them.

A command takes ``changes: Changes``; ``with_settings`` puts the options of the settings that it
names in that place.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from difficulty.errors import InputError
from difficulty.settings.changes import Changes
from difficulty.settings.rewards import RewardSpec, parse_rewards
from difficulty.settings.run import RunSpec
from difficulty.settings.selection import settled_file
from difficulty.settings.setting import DeclaredSetting, declared
from difficulty.settings.stated import Stated
from difficulty.trainers.find import EXPORTERS, RESAMPLINGS

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
HEADINGS = {
    "source": "Dataset", "sampling": "Sampling", "grading": "Reward", "bucket": "Levels",
    "selection": "Selection", "forecast": "Forecast", "export": "Export", "server": "Servers",
}  # fmt: skip
SECTIONS = {
    section: kind for section, kind in typing.get_type_hints(RunSpec).items() if section in HEADINGS
}
IN_ORDER = (
    "Dataset", "Prompt", "Sampling", "Servers", "Reward", "Levels", "Selection", "Order",
    "Forecast", "Export",
)  # fmt: skip
"""Headings of ``--help`` from top to bottom."""
WEIGHT = declared(RewardSpec)["weight"]


@dataclass(frozen=True)
class Only:
    """Some settings of a section; ``renamed`` gives options that are called otherwise here."""

    section: type[Any]
    names: tuple[str, ...]
    renamed: Mapping[str, str]


def only(section: type[Any], *names: str, **renamed: str) -> Only:
    """``only(ExportSpec, trainers="--export")``: that setting alone, under that name."""
    return Only(section, (*names, *renamed), renamed)


def with_settings(*wanted: type[Any] | Only) -> Callable[[Callable[..., None]], Any]:
    """Give a command the options of these settings in place of its ``changes``."""
    options = [option for each in wanted for option in _options(each)]
    options.sort(key=lambda option: IN_ORDER.index(option.heading))

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        made = [parameter for option in options for parameter in option.parameters()]
        at = list(own).index("changes")
        before, after = list(own.values())[:at], list(own.values())[at + 1 :]

        @functools.wraps(command)
        def run(**values: Any) -> None:
            given = {each.name: values.pop(each.name) for each in made}
            command(**values, changes=_changes(options, given))

        parameters = [*before, *made, *after]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__doc__ = _unwrapped(command.__doc__ or "")
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _unwrapped(text: str) -> str:
    """A docstring with a line a paragraph, for the terminal to wrap."""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


@dataclass(frozen=True)
class _Option:
    """A setting as one command offers it."""

    section: str
    setting: DeclaredSetting
    flag: str

    @property
    def parameter_name(self) -> str:
        return f"{self.section}_{self.setting.name}"

    @property
    def heading(self) -> str:
        return self.setting.setting.group or HEADINGS[self.section]

    def parameters(self) -> Iterator[inspect.Parameter]:
        """The option; the word that turns a switch off stands in its help alone, which is wide."""
        flag, _, off = self.flag.partition("/")
        text = help_of(self.setting) + (f" {off} takes it back." if off else "")
        yield self._parameter(
            self.parameter_name,
            typer.Option(
                flag, help=text, metavar=metavar_of(self.setting), rich_help_panel=self.heading
            ),
        )
        if off:
            yield self._parameter(f"{self.parameter_name}_off", typer.Option(off, hidden=True))

    def _parameter(self, name: str, option: Any) -> inspect.Parameter:
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[self._type() | None, option],
        )

    def _type(self) -> Any:
        reading = READ_AS.get(f"{self.section}.{self.setting.name}")
        if reading is not None:
            return reading.type
        if self.setting is WEIGHT:
            return list[float]
        if typing.get_origin(self.setting.type) is tuple:
            return list[str]
        return str if self.setting.choices else self.setting.type

    def read(self, value: Any) -> Any:
        """What was typed as the value of the setting; the word that takes it back is null."""
        reading = READ_AS.get(f"{self.section}.{self.setting.name}")
        if reading is not None:
            return reading.read(value)
        if isinstance(value, list):
            return tuple(value)
        return None if value == (self.setting.setting.takes_back or None) else value


def _options(wanted: type[Any] | Only) -> Iterator[_Option]:
    wanted = wanted if isinstance(wanted, Only) else Only(wanted, tuple(declared(wanted)), {})
    section = next(name for name, kind in SECTIONS.items() if kind is wanted.section)
    for name in wanted.names:
        setting = declared(wanted.section)[name]
        flag = wanted.renamed.get(name) or setting.option
        if flag is not None:
            yield _Option(section, setting, flag)
        if setting.type == tuple[RewardSpec, ...]:
            yield _Option(section, WEIGHT, WEIGHT.option or "")


def help_of(setting: DeclaredSetting, *, default: bool = True) -> str:
    """The help of an option, with what holds where it is left out."""
    holds = setting.setting.unset or shown(setting.default)
    text = setting.setting.help
    for names, there in (("{exporters}", EXPORTERS), ("{resamplings}", RESAMPLINGS)):
        text = text.replace(names, ", ".join(there))
    return text + (f" (default: {holds})" if default and holds else "")


def shown(default: Any) -> str:
    """A default as it is written on the command line; empty for none."""
    if default is MISSING or default is None or default == ():
        return ""
    return ",".join(default) if isinstance(default, tuple) else str(default)


def metavar_of(setting: DeclaredSetting) -> str | None:
    """The allowed values, or what stands for them; None for a switch."""
    choices = [*setting.choices, *([setting.setting.takes_back] if setting.choices else [])]
    stands = setting.setting.metavar or "|".join(filter(None, choices))
    return stands or {int: "INT", float: "NUMBER"}.get(setting.type)


def _changes(options: list[_Option], given: Mapping[str, Any]) -> Changes:
    stated: dict[str, dict[str, Any]] = {}
    for option in options:
        value = given[option.parameter_name]
        if given.get(f"{option.parameter_name}_off"):
            value = False
        if value is not None and option.setting is not WEIGHT and option.setting.name != "rewards":
            stated.setdefault(option.section, {})[option.setting.name] = option.read(value)
    rewards, weights = given.get("grading_rewards"), given.get("grading_weight")
    if rewards is not None or weights is not None:
        stated.setdefault("grading", {})["rewards"] = parse_rewards(rewards or [], weights or [])
    return Changes(**{name: Stated(SECTIONS[name], values) for name, values in stated.items()})


def read_stop(stop: list[str]) -> tuple[str, ...]:
    r"""Stop strings as typed in a shell: ``\n`` and ``\t`` stand for newline and tab."""
    return tuple(text.replace("\\n", "\n").replace("\\t", "\t") for text in stop)


def read_names(text: str) -> tuple[str, ...]:
    """``"trl, verl"`` -> ("trl", "verl")."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def read_turns(path: Path) -> tuple[Any, ...]:
    """The worked examples of a file."""
    from difficulty.sources.few_shot import read_few_shot

    return read_few_shot(path)


def read_evaluation_sets(against: list[str]) -> tuple[str, ...]:
    """Evaluation sets by paths that hold from any folder.

    Raises:
        InputError: one that is no file.
    """
    for name in against:
        if not Path(name).expanduser().is_file():
            raise InputError(
                f"evaluation set is missing: {name}. Check the path given to --against"
            )
    return tuple(map(settled_file, against))


@dataclass(frozen=True)
class Reading:
    """How an option is typed where that is not as its setting is stored."""

    type: Any
    read: Callable[[Any], Any]


READ_AS = {
    "sampling.stop": Reading(list[str], read_stop),
    "sampling.few_shot": Reading(Path, read_turns),
    "export.trainers": Reading(str, read_names),
    "selection.against": Reading(list[str], read_evaluation_sets),
}
