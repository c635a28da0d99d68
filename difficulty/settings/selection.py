"""Settings of the selection and of the export: which questions, in what order, into which files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from difficulty.errors import SettingsError
from difficulty.levels import LEVELS, parse_keep

ORDERINGS = ("easy-to-hard", "hard-to-easy", "shuffled", "mix", "gaussian")
BATCH_SIZE = 64
"""Questions a batch of the order ``mix`` unless the user says otherwise."""
GAUSSIAN_MEAN = "0.8-0.2"
GAUSSIAN_WIDTH = 0.2
CONTROLS = ("random", "none")
CARRY_WORDS = CARRY_ALL, CARRY_NONE = "all", "none"
SHARD_ROWS = 500_000
"""Rows of a file of the export unless the user says otherwise."""


@dataclass(frozen=True, kw_only=True)
class SelectionSpec:
    """Which questions are kept, and in what order."""

    keep: str = "L2-L5"
    pass_rate: str | None = None
    """``LOW-HIGH``: keep by pass rate (both ends included) on top of the levels."""
    above_chance: float | None = None
    """Least posterior probability that the pass rate beats guessing among the question's options
    (uniform prior on the pass rate); questions without options pass. Null: no such rule."""
    max_collapse: float | None = None
    """Greatest collapse probability at ``group_size``. Null: no such rule."""
    against: tuple[str, ...] | None = None
    """Evaluation sets (files): questions that overlap one are dropped. Null: none."""
    drop_near_duplicates: bool | None = None
    """True: of near duplicates with the same gold one is kept. Null: they are only listed."""
    quotas: tuple[str, ...] = ()
    """``SOURCE=N``: at most N questions of a source."""
    max_questions: int | None = None
    order: str = "easy-to-hard"
    mix: str | None = None
    """``NAME=SHARE,...`` of levels or of sources: what each batch of the order ``mix`` holds."""
    batch_size: int | None = None
    """Questions a batch for the order ``mix``; null: ``BATCH_SIZE``."""
    gaussian_mean: str | None = None
    """``START-END``: pass rate favoured at the start and at the end; null: ``GAUSSIAN_MEAN``."""
    gaussian_width: float | None = None
    """Standard deviation of the weights over the pass rate; null: ``GAUSSIAN_WIDTH``."""
    seed: int = 0
    group_size: int = 8
    """Answers a question in training (G): the collapse probability is for this size."""


@dataclass(frozen=True, kw_only=True)
class ExportSpec:
    """For which trainers files are written, and how the kept questions are laid out in them."""

    trainers: tuple[str, ...] = ("trl", "verl", "ms-swift")
    holdout: float | None = None
    """Share of the kept questions that goes into heldout files instead; null: none."""
    control: str | None = None
    """``random``: a second export of as many questions a source, drawn from everything profiled."""
    copies: bool | None = None
    """True: a question stands in the files as often as in the dataset. Null: once."""
    shard_rows: int | None = None
    """Rows of a file; null: ``SHARD_ROWS``."""
    carry: tuple[str, ...] | None = None
    """Columns of the dataset that the files hold under their own name; ``all`` or ``none`` alone.
    Null: all if the run is graded by a reward of the user's own, else none."""


def check_selection(selection: SelectionSpec) -> None:
    """Refuse rules and orders that cannot work, whatever the questions are.

    Raises:
        SettingsError: names the setting, what was found and what to write.
    """
    if selection.order not in ORDERINGS:
        raise SettingsError(
            f"unknown order: {selection.order!r}. Choose one of {', '.join(ORDERINGS)}"
        )
    if selection.max_questions is not None and selection.max_questions < 1:
        raise SettingsError(
            f"max-questions is too small: {selection.max_questions}. Keep at least 1"
        )
    chance = selection.above_chance
    if chance is not None and not 0 < chance < 1:
        raise SettingsError(f"above-chance is out of range: {chance}. Use a probability, as 0.9")
    _check_max_collapse(selection)
    for file in selection.against or ():
        if not file.strip():
            raise SettingsError(f"against names no file: {file!r}. Write --against FILE")
    if selection.order == "mix":
        _check_mix(selection)
    if selection.order == "gaussian":
        mean_range(selection)
        if not 0 < gaussian_width(selection) <= 1:
            raise SettingsError(
                f"gaussian-width is out of range: {selection.gaussian_width}. "
                "Use a number in (0, 1], as 0.2"
            )


def _check_max_collapse(selection: SelectionSpec) -> None:
    most = selection.max_collapse
    if most is None:
        return
    least = 2.0 ** (1 - selection.group_size)
    if not 0 < most <= 1:
        raise SettingsError(f"max-collapse is out of range: {most}. Use a probability, as 0.5")
    if most < least:
        raise SettingsError(
            f"max-collapse {most} can keep nothing: groups of {selection.group_size} collapse "
            f"with probability {least:.3g} at the very least. Use a larger one"
        )


def _check_mix(selection: SelectionSpec) -> None:
    if selection.mix is None:
        raise SettingsError("order mix without a mix. Write --mix L2=0.2,L3=0.3,L4=0.3,L5=0.2")
    if batch_size(selection) < 1:
        raise SettingsError(f"batch-size is too small: {selection.batch_size}. Use at least 1")
    places = batch_places(selection)
    if mix_is_by_level(selection):
        dropped = [level for level in places if level not in parse_keep(selection.keep)]
        if dropped:
            raise SettingsError(
                f"mix names {dropped[0]}, which --keep {selection.keep} drops. "
                "Keep that level or leave it out of the mix"
            )
    empty = [name for name, count in places.items() if count == 0]
    if empty:
        raise SettingsError(
            f"mix gives {empty[0]} no place in a batch of {batch_size(selection)}. "
            "Give it a larger share or use a larger --batch-size"
        )


def check_export(export: ExportSpec) -> None:
    """Refuse a layout of files that cannot work.

    Raises:
        SettingsError: names the setting, what was found and what to write.
    """
    if export.holdout is not None and not 0 <= export.holdout < 1:
        raise SettingsError(f"holdout is out of range: {export.holdout}. Use a share, as 0.02")
    if export.shard_rows is not None and export.shard_rows < 1:
        raise SettingsError(f"shard-rows is too small: {export.shard_rows}. Use 100000, say")
    if export.control is not None and export.control not in CONTROLS:
        raise SettingsError(
            f"unknown control: {export.control!r}. Choose one of {', '.join(CONTROLS)}"
        )
    word = next((name for name in export.carry or () if name in CARRY_WORDS), None)
    if word is not None and len(export.carry or ()) > 1:
        raise SettingsError(f"carry {word} goes alone: found {', '.join(export.carry or ())}")


def parse_mix(text: str) -> dict[str, Fraction]:
    """``"L2=0.2,L3=0.8"`` -> {"L2": 1/5, "L3": 4/5}; exact, so that every machine rounds alike.

    Raises:
        SettingsError: not NAME=SHARE, a name given twice, levels and sources together, or shares
            that do not sum to 1.
    """
    shares: dict[str, Fraction] = {}
    for part in text.split(","):
        name, _, share = part.strip().rpartition("=")
        value = _share(share)
        if not name or value is None or name in shares:
            raise SettingsError(
                f"mix cannot be read: {text!r}. Write each name once with its share, as in "
                "L2=0.2,L3=0.3,L4=0.3,L5=0.2"
            )
        shares[name] = value
    if 0 < sum(name in LEVELS for name in shares) < len(shares):
        raise SettingsError(f"mix names levels and sources: {text!r}. Mix one or the other")
    total = sum(shares.values())
    if total != 1:
        raise SettingsError(
            f"mix does not sum to 1: the shares of {text!r} sum to {float(total):g}. Correct them"
        )
    return shares


def _share(text: str) -> Fraction | None:
    """A share in (0, 1]; None if it is none, or is written so as to take forever to read."""
    if len(text) > 20 or "e" in text.lower():
        return None
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    return value if 0 < value <= 1 else None


def mix_is_by_level(selection: SelectionSpec) -> bool:
    """Whether the mix is of levels, not of sources."""
    return next(iter(parse_mix(selection.mix or ""))) in LEVELS


def batch_size(selection: SelectionSpec) -> int:
    """Questions a batch of the order ``mix``."""
    return BATCH_SIZE if selection.batch_size is None else selection.batch_size


def batch_places(selection: SelectionSpec) -> dict[str, int]:
    """Places of each name of the mix in a batch: largest remainders, earlier names first."""
    size = batch_size(selection)
    exact = {name: share * size for name, share in parse_mix(selection.mix or "").items()}
    places = {name: math.floor(value) for name, value in exact.items()}
    by_rest = sorted(exact, key=lambda name: places[name] - exact[name])
    for name in by_rest[: size - sum(places.values())]:
        places[name] += 1
    return places


def mean_range(selection: SelectionSpec) -> tuple[Fraction, Fraction]:
    """The pass rates that the order ``gaussian`` favours at its start and at its end.

    Raises:
        SettingsError: not START-END with both in 0..1.
    """
    text = selection.gaussian_mean or GAUSSIAN_MEAN
    start, _, end = text.partition("-")
    try:
        found = Fraction(start), Fraction(end)
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1), Fraction(-1)
    if len(text) > 40 or "e" in text.lower() or not all(0 <= value <= 1 for value in found):
        raise SettingsError(
            f"gaussian-mean cannot be read: {text!r}. Write START-END, as in {GAUSSIAN_MEAN}"
        )
    return found


def gaussian_width(selection: SelectionSpec) -> float:
    """Standard deviation of the weights of the order ``gaussian``."""
    return GAUSSIAN_WIDTH if selection.gaussian_width is None else selection.gaussian_width


def settled_file(name: str) -> str:
    """A file as it is found from any folder; other names as they are."""
    path = Path(name).expanduser()
    return str(path.absolute()) if path.exists() else name
