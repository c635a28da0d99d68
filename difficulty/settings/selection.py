"""Settings of the selection and of the export: which questions, in what order, into which files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, get_args

from difficulty.errors import SettingsError
from difficulty.levels import LEVELS, parse_keep
from difficulty.settings.setting import Setting, check_section

Order = Literal["easy-to-hard", "hard-to-easy", "shuffled", "mix", "gaussian"]
ORDERINGS: tuple[Order, ...] = get_args(Order)
BATCH_SIZE = 64
"""Questions a batch of the order ``mix`` unless the user says otherwise."""
GAUSSIAN_MEAN = "0.8-0.2"
GAUSSIAN_WIDTH = 0.2
CARRY_WORDS = CARRY_ALL, CARRY_NONE = "all", "none"
SHARD_ROWS = 500_000
"""Rows of a file of the export unless the user says otherwise."""


def parse_band(text: str) -> tuple[float, float]:
    """``"0.2-0.8"`` -> (0.2, 0.8).

    Raises:
        SettingsError: not two numbers in 0..1 with low <= high.
    """
    low, _, high = text.partition("-")
    try:
        band = float(low), float(high)
    except ValueError:
        band = (1.0, 0.0)
    if not 0 <= band[0] <= band[1] <= 1:
        raise SettingsError(
            f"pass-rate band cannot be read: {text!r}. Write LOW-HIGH, as in 0.2-0.8"
        )
    return band


def parse_quota(text: str) -> tuple[str, int]:
    """``"medqa=100"`` -> ("medqa", 100).

    Raises:
        SettingsError: no ``=``, or not a whole number of at least 0.
    """
    source, _, number = text.rpartition("=")
    if not source or not number.isdecimal():
        raise SettingsError(f"quota cannot be read: {text!r}. Write SOURCE=N, as in medqa=100")
    return source, int(number)


def _check_file(name: str) -> None:
    if not name.strip():
        raise SettingsError(f"against names no file: {name!r}. Write --against FILE")


@dataclass(frozen=True, kw_only=True)
class SelectionSpec:
    """Which questions are kept, and in what order."""

    keep: Annotated[
        str, Setting("Levels to keep, as L2-L5 or L1,L3.", metavar="LEVELS", check=parse_keep)
    ] = "L2-L5"
    pass_rate: Annotated[
        str | None,
        Setting("Keep this band of pass rates only.", metavar="LOW-HIGH", check=parse_band),
    ] = None
    """Both ends included, on top of the levels."""
    above_chance: Annotated[
        float | None,
        Setting(
            "Keep a question with options only if its pass rate beats guessing with at least this "
            "probability, as 0.9 (uniform prior). Off by default: with k = 5 and 4 options 0.9 "
            "drops all of L4 and L5; but a pure guesser on 4 options lands in L2-L5 76 % of the "
            "time.",
            metavar="P",
            above=0,
            below=1,
            advice="Use a probability, as 0.9",
        ),
    ] = None
    """Least posterior probability; questions without options pass. Null: no such rule."""
    max_collapse: Annotated[
        float | None,
        Setting(
            "Drop questions whose groups collapse with more than this.",
            metavar="P",
            above=0,
            most=1,
            advice="Use a probability, as 0.5",
        ),
    ] = None
    """Greatest collapse probability at ``group_size``. Null: no such rule."""
    against: Annotated[
        tuple[str, ...] | None,
        Setting(
            "Drop questions that this evaluation set asks too (see overlaps.parquet); repeat.",
            metavar="FILE",
            check=_check_file,
        ),
    ] = None
    drop_near_duplicates: Annotated[
        bool | None,
        Setting(
            "Of near duplicates with one gold keep one. They are always listed in "
            "near_duplicates.parquet.",
            option="--drop-near-duplicates/--keep-near-duplicates",
            unset="keep",
        ),
    ] = None
    quotas: Annotated[
        tuple[str, ...],
        Setting(
            "At most N of a source; repeat for more.",
            option="--quota",
            metavar="SOURCE=N",
            check=parse_quota,
        ),
    ] = ()
    max_questions: Annotated[
        int | None, Setting("At most so many questions.", least=1, advice="Keep at least 1")
    ] = None
    order: Annotated[Order, Setting("Order of the kept questions.", group="Order")] = "easy-to-hard"
    mix: Annotated[
        str | None,
        Setting(
            "Each batch holds these shares of levels or of sources, as L2=0.2,L3=0.3,L4=0.5.",
            group="Order",
            metavar="NAME=SHARE,...",
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        Setting("Questions a batch of the mix.", group="Order", unset=f"{BATCH_SIZE}"),
    ] = None
    gaussian_mean: Annotated[
        str | None,
        Setting(
            "Pass rate that --order gaussian favours first and last.",
            group="Order",
            metavar="START-END",
            unset=GAUSSIAN_MEAN,
        ),
    ] = None
    gaussian_width: Annotated[
        float | None,
        Setting(
            "How widely it does so: standard deviation over the pass rate.",
            group="Order",
            unset=f"{GAUSSIAN_WIDTH}",
        ),
    ] = None
    seed: Annotated[int, Setting("Seed of shuffles, caps and draws.", group="Order")] = 0
    group_size: Annotated[
        int,
        Setting(
            "Answers a question in training, G.",
            group="Forecast",
            label="group size",
            least=2,
            advice="GRPO compares answers inside a group: use at least --group-size 2",
        ),
    ] = 8
    """The collapse probability is for this size."""


@dataclass(frozen=True, kw_only=True)
class ExportSpec:
    """For which trainers files are written, and how the kept questions are laid out in them."""

    trainers: Annotated[
        tuple[str, ...],
        Setting(
            "Trainers to write files for, by comma: {exporters}.",
            option="--to",
            metavar="TRAINERS",
        ),
    ] = ("trl", "verl", "ms-swift")
    holdout: Annotated[
        float | None,
        Setting(
            "Hold out this share of the kept questions, alike from every level, as 0.02; 0: none.",
            metavar="SHARE",
            least=0,
            below=1,
            advice="Use a share, as 0.02",
        ),
    ] = None
    """They go into heldout files instead."""
    control: Annotated[
        Literal["random", "none"] | None,
        Setting(
            "random: beside TRAINER also write TRAINER-control, as many questions of each source "
            "drawn from everything profiled; none: no longer.",
        ),
    ] = None
    copies: Annotated[
        bool | None,
        Setting(
            "Repeat a question as often as it stands in the dataset.",
            option="--copies/--no-copies",
            unset="no",
        ),
    ] = None
    shard_rows: Annotated[
        int | None,
        Setting(
            "Rows of a training file.", unset=f"{SHARD_ROWS}", least=1, advice="Use 100000, say"
        ),
    ] = None
    carry: Annotated[
        tuple[str, ...] | None,
        Setting(
            "Write this column of the dataset into the files, for your reward; repeat, or all, or "
            "none.",
            metavar="COLUMN",
            unset="all with --reward, else none",
        ),
    ] = None
    """Under its own name; ``all`` or ``none`` stand alone."""


def check_selection(selection: SelectionSpec) -> None:
    """Refuse rules and orders that cannot work, whatever the questions are.

    Raises:
        SettingsError: names the setting, what was found and what to write.
    """
    check_section(selection)
    _check_max_collapse(selection)
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
    most, least = selection.max_collapse, 2.0 ** (1 - selection.group_size)
    if most is not None and most < least:
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
    check_section(export)
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
