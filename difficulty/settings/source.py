"""Settings of the dataset: which questions, read how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from difficulty.errors import SettingsError
from difficulty.settings.setting import Setting


def parse_shard(text: str) -> tuple[int, int]:
    """``"2/8"`` -> (2, 8).

    Raises:
        SettingsError: not I/N with 1 <= I <= N.
    """
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return int(index), int(count)
    raise SettingsError(f"shard cannot be read: {text!r}. Write I/N with I from 1 to N, as in 2/8")


def check_gold_index(base: int) -> None:
    """Refuse what no index counts from.

    Raises:
        SettingsError: neither 0 nor 1.
    """
    if base not in (0, 1):
        raise SettingsError(
            f"gold index is neither 0 nor 1: {base}. Use --gold-index 0 where the first option's "
            "gold is 0, else --gold-index 1"
        )


def check_encoding(name: str) -> None:
    """Refuse an encoding that does not exist, or that is none of text.

    Raises:
        SettingsError: Python knows no such encoding of text.
    """
    try:
        "a".encode(name)
    except (LookupError, UnicodeError) as error:
        raise SettingsError(
            f"unknown encoding: {name!r}. Name one of text, as utf-8, cp932 or latin-1"
        ) from error


@dataclass(frozen=True, kw_only=True)
class SourceSpec:
    """Which questions, read how."""

    dataset: str
    """File, Hub name or built-in sample, as the user gave it."""
    sha256: str
    """Hash of the file's bytes (a Hub set: of name, split and revision)."""
    columns: Annotated[
        tuple[str, ...],
        Setting(
            "Name a column, as answer=KEY, or those of the options, as choices=A,B,C,D; repeat. "
            "Roles: prompt, choices, answer, kind, tolerance, aliases, system_prompt, source.",
            option="--column",
            metavar="ROLE=COLUMN",
        ),
    ] = ()
    """Pairs that override the detected columns."""
    split: Annotated[str | None, Setting("Split of a Hub set.", metavar="NAME")] = None
    gold_index: Annotated[
        int | None,
        Setting(
            "What whole-number golds beside options count from.",
            metavar="0|1",
            unset="what the column shows",
            check=check_gold_index,
        ),
    ] = None
    ignore_columns: Annotated[
        tuple[str, ...] | None,
        Setting(
            "A column that looks like options or a passage and is not needed; repeat.",
            option="--ignore-column",
            metavar="COLUMN",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        Setting(
            "Encoding of a text file, as cp932 or latin-1.",
            metavar="NAME",
            unset="UTF-8, or what its first bytes say",
            check=check_encoding,
        ),
    ] = None
    no_header: Annotated[
        bool | None,
        Setting("The first line of a CSV file is a row; its columns are called 1, 2, and so on."),
    ] = None
    limit: Annotated[
        int | None, Setting("Read only the first so many rows; may grow.", least=1)
    ] = None
    shard: Annotated[
        str | None,
        Setting(
            "Read every N-th row from the I-th on, for array jobs.",
            metavar="I/N",
            check=parse_shard,
        ),
    ] = None
    """``I/N``: rows I-1, I-1+N, ... of the set."""
    system_prompt: Annotated[
        str | None, Setting("System message for rows that bring none.", metavar="TEXT")
    ] = None
    unchecked_gold: Annotated[
        bool | None,
        Setting("Golds that the built-in grader cannot read are kept as they stand.", option=None),
    ] = None
    """True where the run is graded by the user's own functions alone. Null: such rows are set
    aside."""
