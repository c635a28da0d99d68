"""One setting, declared once: its field's type and default, and a ``Setting`` beside them.

``temperature: Annotated[float, Setting("As in training.", least=0, most=10)] = 1.0`` in a section
is all that is said of it anywhere: the option of the command line and its help, the check, the key
of ``run.toml`` and the page of options are made from it.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from difficulty.errors import SettingsError


@dataclass(frozen=True)
class Setting:
    """What is known of a setting beside its name, type and default."""

    help: str
    """What it is, for the command line and the page of options; the default is added. The names of
    ``{exporters}`` and ``{resamplings}``, which rooms above this one keep, are put in there."""
    _: KW_ONLY
    option: str | None = ""
    """Its option where that is not its name with dashes; None: it has none. A switch may have a
    second word that turns it off: ``--copies/--no-copies``."""
    group: str = ""
    """Heading of its option in ``--help``; empty: that of its section."""
    metavar: str = ""
    """What stands for its value in ``--help`` where neither choices nor the type say it."""
    unset: str = ""
    """What holds as long as it is null, for the help."""
    takes_back: str = ""
    """Word that makes it null again on the command line."""
    label: str = ""
    """Its name in messages where that is not its key with dashes."""
    least: float | None = None
    most: float | None = None
    """Both ends are allowed."""
    above: float | None = None
    below: float | None = None
    """Neither end is allowed."""
    advice: str = ""
    """What to write instead, for the message about a value out of range."""
    check: Callable[[Any], object] | None = None
    """Raises ``SettingsError`` for a value (each one of several) that cannot be read."""

    def allows(self, value: float) -> bool:
        """Whether a number is in range; nan never is."""
        return not math.isnan(value) and (
            (self.least is None or self.least <= value)
            and (self.most is None or value <= self.most)
            and (self.above is None or self.above < value)
            and (self.below is None or value < self.below)
        )

    @property
    def says_range(self) -> str:
        """``0 to 10``, ``above 0``, ``at least 1``; empty where every value is allowed."""
        least = "" if self.least is None else f"at least {self.least:g}"
        low = least if self.above is None else f"above {self.above:g}"
        most = "" if self.most is None else f"at most {self.most:g}"
        high = most if self.below in (None, math.inf) else f"below {self.below:g}"
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return " and ".join(part for part in (low, high) if part)


@dataclass(frozen=True, kw_only=True)
class DeclaredSetting:
    """A setting where it is declared: a field of a section."""

    name: str
    type: Any
    """Without ``None``: ``int``, ``float``, ``str``, ``bool``, a ``Literal`` or a tuple."""
    default: Any
    """``dataclasses.MISSING`` where the user must say it."""
    setting: Setting

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have; empty: any of its type."""
        return typing.get_args(self.type) if typing.get_origin(self.type) is Literal else ()

    @property
    def option(self) -> str | None:
        """As it is written on the command line, ``--top-p``; a switch has both its words."""
        if self.setting.option is None:
            return None
        return self.setting.option or f"--{self.name.replace('_', '-')}"

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.setting.label or self.name.replace("_", "-")


def declared(section: type) -> dict[str, DeclaredSetting]:
    """The settings of a section by name, in the order of its fields."""
    if section not in _DECLARED:
        _DECLARED[section] = _read_declarations(section)
    return _DECLARED[section]


_DECLARED: dict[type, dict[str, DeclaredSetting]] = {}
"""What was read before: each command asks for the same sections."""


def _read_declarations(section: type) -> dict[str, DeclaredSetting]:
    hints = typing.get_type_hints(section, include_extras=True)
    return {
        field.name: _declared(field, hints[field.name])
        for field in dataclasses.fields(section)
        if typing.get_origin(hints[field.name]) is typing.Annotated
    }


def _declared(field: dataclasses.Field[Any], hint: Any) -> DeclaredSetting:
    kind, setting = typing.get_args(hint)
    kind = without_none(kind)
    return DeclaredSetting(name=field.name, type=kind, default=field.default, setting=setting)


def without_none(kind: Any) -> Any:
    """``int | None`` -> ``int``."""
    if typing.get_origin(kind) not in (types.UnionType, typing.Union):
        return kind
    return next(part for part in typing.get_args(kind) if part is not type(None))


def check_section(section: Any) -> None:
    """Hold every value of a section against what is declared of it.

    Raises:
        SettingsError: a value that is no choice, out of range or cannot be read.
    """
    for one in declared(type(section)).values():
        value = getattr(section, one.name)
        for each in value if isinstance(value, tuple) else () if value is None else (value,):
            _check_value(one, each)


def _check_value(one: DeclaredSetting, value: Any) -> None:
    setting = one.setting
    if one.choices and value not in one.choices:
        raise SettingsError(
            f"unknown {one.label}: {value!r}. Choose one of {', '.join(one.choices)}"
        )
    if isinstance(value, int | float) and not setting.allows(value):
        only_least = setting.least is not None and setting.most is None and setting.below is None
        what = "is too small" if only_least else "is out of range"
        raise SettingsError(f"{one.label} {what}: {value}. {setting.advice or _advice(one)}")
    if setting.check is not None:
        setting.check(value)


def _advice(one: DeclaredSetting) -> str:
    return f"Use {one.option or one.label} {one.setting.says_range}"
