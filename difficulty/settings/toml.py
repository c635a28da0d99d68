"""``run.toml``: the settings of a run as text, and back, every key and type checked."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from typing import Any, Literal

from difficulty.errors import SettingsError
from difficulty.settings.changes import Changes
from difficulty.settings.run import RunSpec, section_as_dict
from difficulty.settings.setting import without_none
from difficulty.settings.stated import Stated


def to_toml(spec: RunSpec) -> str:
    """The text of ``run.toml``."""
    import tomli_w

    return tomli_w.dumps(
        {f.name: section_as_dict(getattr(spec, f.name)) for f in dataclasses.fields(spec)}
    )


def from_toml(text: str, *, name: str) -> RunSpec:
    """Read ``run.toml`` back.

    Raises:
        SettingsError: not TOML, an unknown section or key, or a value of another type.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{name} is not valid TOML: {error}. Correct it or start a new run"
        ) from error
    hints = typing.get_type_hints(RunSpec)
    unknown = [key for key in tables if key not in hints]
    if unknown:
        raise SettingsError(
            f"{name} has an unknown section: [{unknown[0]}]. Known: {', '.join(hints)}"
        )
    missing = [key for key in ("source", "sampling", "grading") if key not in tables]
    if missing:
        raise SettingsError(f"{name} misses a section: [{missing[0]}]. Start a new run")
    sections = {
        key: section_from_dict(hints[key], value, name=name) for key, value in tables.items()
    }
    return RunSpec(**sections)


def changes_from_tables(tables: dict[str, Any], *, name: str) -> Changes:
    """What a file with some settings states, in sections as in ``run.toml``.

    Raises:
        SettingsError: an unknown section or key, or a value of another type.
    """
    hints = typing.get_type_hints(RunSpec)
    unknown = [key for key in tables if key not in hints]
    if unknown:
        raise SettingsError(
            f"{name} has an unknown section: {unknown[0]}. Known: {', '.join(hints)}"
        )
    return Changes(
        **{
            key: Stated(hints[key], typed_values(hints[key], table, name=name))
            for key, table in tables.items()
        }
    )


def section_from_dict(section_type: Any, values: dict[str, Any], *, name: str) -> Any:
    """Build one section from plain values.

    Raises:
        SettingsError: unknown or missing key, or a value of another type; names the key.
    """
    typed = typed_values(section_type, values, name=name)
    required = [
        f.name
        for f in dataclasses.fields(section_type)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    missing = [key for key in required if key not in values]
    if missing:
        raise SettingsError(f"{name} misses a setting: {missing[0]}. Add it")
    return section_type(**typed)


def typed_values(section_type: Any, values: dict[str, Any], *, name: str) -> dict[str, Any]:
    """Some settings of one section, checked against its types; TOML arrays become tuples.

    Raises:
        SettingsError: unknown key or a value of another type; names the key.
    """
    if not isinstance(values, dict):
        raise SettingsError(f"{name} has a value where a section belongs: {values!r}. Correct it")
    hints = typing.get_type_hints(section_type)
    unknown = [key for key in values if key not in hints]
    if unknown:
        raise SettingsError(
            f"{name} has an unknown setting: {unknown[0]}. Known here: {', '.join(hints)}"
        )
    return {key: _typed(hints[key], value, f"{name}: {key}") for key, value in values.items()}


def _typed(hint: Any, value: Any, name: str) -> Any:
    hint = without_none(hint)
    if typing.get_origin(hint) is Literal:
        hint = str  # which one is for the check of the settings to say
    if typing.get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_typed(typing.get_args(hint)[0], item, name) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return section_from_dict(hint, value, name=name)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        wanted = getattr(hint, "__name__", str(hint))
        raise SettingsError(f"{name} has a value of another type: {value!r}. Give a {wanted}")
    return value
