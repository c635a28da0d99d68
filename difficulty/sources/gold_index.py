"""Whole-number golds beside options: an option's label or text, or its index from 0 or from 1.

What an index counts from is decided over the whole column, never by one row of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from difficulty.errors import InputError
from difficulty.schema import Choice
from difficulty.sources.formats import RowProblem
from difficulty.sources.misreadings import in_rows


class IndexGold(NamedTuple):
    """A whole-number gold beside options."""

    value: int
    options: int
    """Number of options."""
    named: bool
    """Whether it is an option's label, or its text: then it need not be an index."""


def settle_gold_index(golds: Iterable[IndexGold]) -> int | None:
    """What the golds of one column count from, 0 or 1; null where none of them is an index.

    A 0 can only count from 0, the number of options itself only from 1.

    Raises:
        InputError: both are seen, or neither.
    """
    seen: Counter[tuple[int, int]] = Counter()
    for gold in golds:
        in_reach = 0 <= gold.value <= gold.options
        if gold.named and not in_reach:
            return None  # a value that names an option and cannot be an index: it is no index
        if in_reach and not gold.named:
            seen[gold.value, gold.options] += 1
    zeros = sum(count for (value, _), count in seen.items() if value == 0)
    last = sum(count for (value, options), count in seen.items() if value == options)
    if bool(zeros) != bool(last):
        return 0 if zeros else 1
    if seen:
        raise InputError(
            f"whole-number golds beside options may count from 0 or from 1: {_found(seen)}; "
            + (f"both 0 ({in_rows(zeros)}) and the number of options itself ({in_rows(last)}) are "
               "there" if zeros else "neither 0 nor the number of options itself is there")
            + ". Say which with --gold-index 0 or --gold-index 1"
        )  # fmt: skip
    return None


def _found(seen: Counter[tuple[int, int]]) -> str:
    """The first values of (value, number of options) with their rows, for a message."""
    counts: Counter[int] = Counter()
    for (value, _), count in seen.items():
        counts[value] += count
    values = [f"{value} ({in_rows(count)})" for value, count in sorted(counts.items())[:9]]
    sizes = {options for _, options in seen}
    beside = " to ".join(str(size) for size in sorted({min(sizes), max(sizes)}))
    return f"found {', '.join(values)} beside {beside} options"


def index_gold(value: float, choices: tuple[Choice, ...]) -> IndexGold | None:
    """A gold as evidence of what its column counts from; null if it is no whole number."""
    if not _is_whole(value):
        return None
    return IndexGold(int(value), len(choices), bool(_named(int(value), choices)))


def label_of_number(value: float, choices: tuple[Choice, ...], base: int | None) -> str:
    """The label of the option that a number names, or whose index from ``base`` on it is.

    Raises:
        RowProblem: it is no option's, may be several's, or nothing says what it counts from.
    """
    value = int(value) if _is_whole(value) else value
    labels = [choice.label for choice in choices]
    if base is None and str(value) in labels:
        return str(value)
    places = _named(value, choices)
    index = value - (base or 0) if isinstance(value, int) else -1
    if 0 <= index < len(choices) and (places or base is not None):
        places.add(int(index))
    if len(places) > 1:
        raise RowProblem(f"ambiguous_gold: {value} is one option's text or label, another's index")
    if places:
        return labels[places.pop()]
    if base is None and isinstance(value, int) and 0 <= value <= len(choices):
        raise RowProblem(
            f"gold_index: found {value} for {len(choices)} options, which may count from 0 or from "
            "1. Say which with --gold-index 0 or --gold-index 1"
        )
    raise RowProblem(f"gold_not_among_options: found {value} for {len(choices)} options")


def _is_whole(value: float) -> bool:
    """Also 2.0: a column of indexes with a gap comes as floats."""
    return isinstance(value, int) or value.is_integer()


def _named(value: float, choices: tuple[Choice, ...]) -> set[int]:
    """Places of the options that a number names, by their label or as their text."""
    return {
        place
        for place, choice in enumerate(choices)
        if choice.label == str(value) or _reads_as(choice.text, value)
    }


def _reads_as(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False
