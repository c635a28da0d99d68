"""A trainer's settings file -> one nested mapping: YAML, JSON or hydra override lines.

Nothing in the file is ever run: YAML is read with the safe loader, and shell scripts are only
searched for words of the form ``section.key=value``; their variables stay unresolved.
"""

from __future__ import annotations

import json
import re
import reprlib
import shlex
from pathlib import Path
from typing import Any

# Types for it are a package of their own, which not every environment has.
import yaml  # type: ignore[import-untyped,unused-ignore]

from difficulty.errors import InputError

MAX_BYTES = 2**20
"""A settings file is a few thousand bytes; a data set given by mistake is refused unread."""

SHOWN = 80
"""Characters of a value in a message."""

OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_]\w*(?:\.\w+)+)=(.*)", re.DOTALL)
"""hydra's ``section.key=value``, with + or ++ where a key is added."""


def read(path: Path) -> dict[str, Any]:
    """The settings in the file, nested; keys with dots are nested too.

    Raises:
        InputError: unreadable, empty, not text, or neither a mapping nor override lines.
    """
    text = read_text(path)
    try:
        content = parse(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        content, problem = None, _describe(error)
    else:
        problem = "is not a mapping of settings" if text.strip() else "is empty"
    if isinstance(content, dict):
        return _nested([(str(key), value) for key, value in content.items()])
    overrides = _overrides(content if isinstance(content, list) else _words(text))
    if not overrides:
        raise InputError(
            f"trainer config cannot be used: {path.name} {problem}. "
            "Give the YAML or JSON file of settings that you train with"
        )
    return _nested(overrides)


def read_text(path: Path) -> str:
    """The text of a small UTF-8 file.

    Raises:
        InputError: not there, not readable, too large or not text.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(
                f"file is too large for settings: {path.name}. Give the trainer's config"
            )
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot read {path}: {reason}. Check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"file is not text: {path.name}. Give a YAML or JSON file") from error


def parse(text: str) -> Any:
    """The plain values that the text holds; JSON first, then YAML's safe subset.

    Raises:
        ValueError, RecursionError, yaml.YAMLError: the text is none of them.
    """
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except ValueError:
            pass  # YAML's own braces, as in {enable_thinking: false}
    return yaml.safe_load(text)


def parse_value(text: str) -> Any:
    """One value as hydra reads it: a number, a truth value, a list, a mapping or the text itself.

    hydra wants no space after a colon inside braces, YAML does.
    """
    spaced = re.sub(r":(?=[^\s/])", ": ", text) if text.startswith("{") else text
    try:
        return parse(spaced)
    except (ValueError, RecursionError, yaml.YAMLError):
        return text


def find(values: dict[str, Any], path: str) -> tuple[bool, Any]:
    """Whether the nested mapping holds ``section.key``, and what."""
    node: Any = values
    for key in path.split("."):
        if not isinstance(node, dict) or key not in node:
            return False, None
        node = node[key]
    return True, node


def brief(value: Any) -> str:
    """A value for a message: one line, cut. Aliases can make a few bytes huge, so work is bounded.

    Raises nothing: an integer too long for decimal digits is named by its type.
    """
    shallow = reprlib.Repr()
    shallow.maxlevel = 3
    try:
        text = shallow.repr(value)
    except ValueError:
        return type(value).__name__
    return cut(text)


def cut(text: str) -> str:
    """At most ``SHOWN`` characters of it."""
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _describe(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    mark = getattr(error, "problem_mark", None)
    where = "" if mark is None else f" in line {mark.line + 1}"
    problem = getattr(error, "problem", None) or type(error).__name__
    return f"cannot be read{where} ({' '.join(str(problem).split())[:100]})"


def _words(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    try:
        return shlex.split(joined, comments=True)
    except ValueError:  # a quote that is never closed
        return []


def _overrides(words: list[Any]) -> list[tuple[str, Any]]:
    found = [OVERRIDE.fullmatch(word) for word in words if isinstance(word, str)]
    return [(match[1], parse_value(match[2])) for match in found if match]


def _nested(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        _place(values, key.split("."), value)
    return values


def _place(values: dict[str, Any], keys: list[str], value: Any) -> None:
    """Set ``values[a][b][c]``; sections are copied, since YAML aliases may share them."""
    for key in keys[:-1]:
        section = values.get(key)
        values[key] = dict(section) if isinstance(section, dict) else {}
        values = values[key]
    values[keys[-1]] = value
