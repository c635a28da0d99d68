"""Load the user's functions and learn how they want to be called. In a worker process only.

The signature tells the trainer: ``completions`` is TRL's (one call a batch, dataset columns as
keywords), ``solution_str`` is verl's (one call a reply).
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from difficulty.user_rewards.setup import Function, Setup

GIVEN_BY_TRL = ("prompts", "completions", "completion_ids")
GIVEN_BY_VERL = ("data_source", "solution_str", "ground_truth", "extra_info")


class Unusable(Exception):
    """Why a function cannot be used, in one line."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A function that is ready to be called."""

    part: str
    """Name of its part of the reward."""
    call: Callable[..., Any]
    style: str
    """``trl`` or ``verl``."""
    is_async: bool
    named: frozenset[str]
    """Parameters that it names."""
    required: tuple[str, ...]
    """Those of them without a default."""
    takes_all: bool
    """It has ``**kwargs``."""

    def facts(self) -> dict[str, Any]:
        """What the parent may know, as plain values."""
        return {
            "part": self.part,
            "style": self.style,
            "is_async": self.is_async,
            "note": self.note(),
        }

    def note(self) -> str | None:
        """What its trainer would pass and it does not take; null if it takes all."""
        given = GIVEN_BY_TRL if self.style == "trl" else GIVEN_BY_VERL
        missing = [name for name in given if name not in self.named]
        if self.takes_all or (self.style == "verl" and not missing):
            return None
        what = ", ".join([*missing, "every column of the file"] if self.style == "trl" else missing)
        trainer = "TRL" if self.style == "trl" else "verl"
        return f"{trainer} also passes {what}: add **kwargs before training with it"


def load(setup: Setup) -> list[Loaded]:
    """Import each file once and find the functions in it.

    Raises:
        Unusable: a file that cannot be imported, or a name that is no function of either kind.
    """
    modules: dict[str, ModuleType] = {}
    for function in setup.functions:
        if function.file not in modules:
            modules[function.file] = _import(Path(function.file))
    return [_find(modules[function.file], function) for function in setup.functions]


def _import(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem not in sys.modules else f"reward_file_{len(sys.modules)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise Unusable(f"reward file is missing: {path}. Check the path")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise Unusable(
            f"reward file cannot be loaded: {path}{_line_in(path, error)}: {describe(error)}. "
            "Correct it"
        ) from error
    return module


def _line_in(path: Path, error: BaseException) -> str:
    """The last line of the file that was running, for the message."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return f", line {lines[-1]}" if lines else ""


def describe(error: BaseException) -> str:
    """Kind and message of an error on one line."""
    text = " ".join(_message(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the user's own error class may fail to show itself
        return ""


def _find(module: ModuleType, function: Function) -> Loaded:
    found = getattr(module, function.name, None)
    if found is None:
        there = ", ".join(_functions_of(module)) or "none"
        raise Unusable(
            f"reward file has no {function.name!r}: the functions of {function.file} are {there}. "
            "Name one as FILE.py:NAME"
        )
    of_class = inspect.isclass(found)
    if of_class:
        found = _instance(found, function)
    if not callable(found):
        kind = "is a class without __call__" if of_class else f"is of type {type(found).__name__}"
        raise Unusable(
            f"reward is no function: {function.name} in {function.file} {kind}. "
            "Name a function, or an object that can be called"
        )
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError) as error:
        raise Unusable(f"reward has no readable signature: {function.name}. Wrap it") from error
    return _loaded(function, found, list(parameters))


def _instance(found: type, function: Function) -> Any:
    """An object of the class, made without arguments, as trainers make it.

    Raises:
        Unusable: it asks for arguments, or cannot be made.
    """
    try:
        parameters = inspect.signature(found).parameters.values()
        needed = [
            parameter.name
            for parameter in parameters
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        if needed:
            raise Unusable(
                f"reward is a class that needs arguments: {function.name}({', '.join(needed)}) in "
                f"{function.file}. Make an object of it in the file, and name that"
            )
        return found()
    except Unusable:
        raise
    except (Exception, SystemExit) as error:
        raise Unusable(
            f"reward class cannot be made: {function.name}(): {describe(error)}. Correct it"
        ) from error


def _functions_of(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            yield name


def _loaded(
    function: Function, found: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Loaded:
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = frozenset(parameter.name for parameter in named)
    if "completions" not in names and "solution_str" not in names:
        raise Unusable(
            f"reward takes neither completions (as in TRL) nor solution_str (as in verl): "
            f"{function.name} takes ({', '.join(map(str, parameters))}). Name its parameters so"
        )
    return Loaded(
        part=function.part,
        call=found,
        style="trl" if "completions" in names else "verl",
        is_async=_is_async(found),
        named=names,
        required=tuple(
            parameter.name for parameter in named if parameter.default is parameter.empty
        ),
        takes_all=any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters),
    )


def _is_async(found: Callable[..., Any]) -> bool:
    with contextlib.suppress(AttributeError):
        if inspect.iscoroutinefunction(type(found).__call__):
            return True
    return inspect.iscoroutinefunction(found)
