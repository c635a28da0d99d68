"""The page ``docs/options.md``: ``python -m difficulty.cli.reference > docs/options.md``.

Made from the commands themselves, so it says what ``--help`` says, and where ``run.toml`` keeps it.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

import typer.main

from difficulty.cli.app import app
from difficulty.cli.options import IN_ORDER, SECTIONS, help_of, shown
from difficulty.settings.setting import DeclaredSetting, declared

INTRODUCTION = """\
# Options

Made from the program (`python -m difficulty.cli.reference > docs/options.md`). An option that is
left out keeps the run's value, or the default. The files of `pipelines/runs/` hold the keys of
`run.toml`.
"""


def reference() -> str:
    """The page as Markdown."""
    commands = typing.cast(Any, typer.main.get_command(app)).commands
    parts = [INTRODUCTION, "## Commands\n"]
    for name, command in commands.items():
        parts += [f"### difficulty {name}\n", f"{command.help.splitlines()[0]}\n"]
        parts.append("\n".join(_table(command.params)) + "\n")
    parts.append("## run.toml\n")
    for section, kind in SECTIONS.items():
        parts += [f"### [{section}]\n", "\n".join(_section(kind)) + "\n"]
    return "\n".join(parts)


def _table(parameters: list[Any]) -> Iterator[str]:
    yield from ("| | value | what it is |", "|---|---|---|")
    shown = [each for each in parameters if not getattr(each, "hidden", False)]
    for each in sorted(shown, key=_place):
        names = each.opts if each.param_type_name == "option" else [each.metavar or each.name]
        text = f"{each.help or ''}{' Required.' if each.required else ''}"
        yield _row(" ".join(f"`{name}`" for name in names), _value(each), text)


def _place(parameter: Any) -> int:
    heading = getattr(parameter, "rich_help_panel", None)
    return IN_ORDER.index(heading) + 1 if heading in IN_ORDER else 0


def _value(parameter: Any) -> str:
    """What is written after it; of the few without a word of their own all are whole numbers."""
    if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
        return ""
    return parameter.metavar or "INT"


def _section(kind: type) -> Iterator[str]:
    yield from ("| key | type | default | allowed | what it is |", "|---|---|---|---|---|")
    for one in declared(kind).values():
        allowed = " ".join(one.choices) or one.setting.says_range
        yield _row(
            f"`{one.name}`", _type_name(one), _default(one), allowed, help_of(one, default=False)
        )


def _type_name(one: DeclaredSetting) -> str:
    kind = str if one.choices else one.type
    if typing.get_origin(kind) is tuple:
        return f"list of {typing.get_args(kind)[0].__name__}"
    return str(kind.__name__)


def _default(one: DeclaredSetting) -> str:
    if one.default is MISSING:
        return "required"
    return one.setting.unset or shown(one.default) or "none"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
