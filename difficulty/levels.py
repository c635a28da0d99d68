"""The L1-L6 cut table: pass rate -> difficulty level (AlphaMed, arXiv 2505.17952).

For k = 5 answers a question the bands are AlphaMed's table exactly: 5 right -> L1, 4 -> L2,
3 -> L3, 2 -> L4, 1 -> L5, 0 -> L6. For another k the same bands apply to the pass rate; not every
k reaches every level (k = 4 has no L3), and a level means another thing at another k.
"""

from __future__ import annotations

from difficulty.errors import SettingsError

LEVELS = ("L1", "L2", "L3", "L4", "L5", "L6")

# (level, the pass rate must be above this). L1 is "all correct" and L6 "none", whatever k is:
# a single miss or a single hit is what separates a group with signal from one without.
# The inner cuts lie half-way between the pass rates that k = 5 can show (0.8, 0.6, 0.4, 0.2),
# so no rounding of c/k can move a question across one.
INNER_CUTS: tuple[tuple[str, float], ...] = (("L2", 0.7), ("L3", 0.5), ("L4", 0.3), ("L5", 0.0))


def level_of(num_correct: int, num_graded: int) -> str:
    """Level of a question with ``num_correct`` right answers among ``num_graded``.

    Raises:
        ValueError: the counts are impossible (a fault of the caller).
    """
    if not 0 <= num_correct <= num_graded or num_graded < 1:
        raise ValueError(f"impossible counts: {num_correct} correct of {num_graded}")
    if num_correct == num_graded:
        return "L1"
    if num_correct == 0:
        return "L6"
    pass_rate = num_correct / num_graded
    return next(level for level, cut in INNER_CUTS if pass_rate > cut)


def reachable_levels(num_samples: int) -> tuple[str, ...]:
    """The levels that some count 0..num_samples falls into, easiest first."""
    seen = {level_of(correct, num_samples) for correct in range(num_samples + 1)}
    return tuple(level for level in LEVELS if level in seen)


def parse_keep(text: str) -> tuple[str, ...]:
    """``"L2-L5"`` or ``"L1,L3-L4"`` -> the levels it names, easiest first.

    Raises:
        SettingsError: a name that is not a level, or a range that runs backwards.
    """
    chosen: set[str] = set()
    for part in text.replace(" ", "").upper().split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if first not in LEVELS or last not in LEVELS or LEVELS.index(first) > LEVELS.index(last):
            raise SettingsError(
                f"keep rule cannot be read: {text!r}. Write levels such as L2-L5 or L1,L3,L4"
            )
        chosen.update(LEVELS[LEVELS.index(first) : LEVELS.index(last) + 1])
    return tuple(level for level in LEVELS if level in chosen)


def format_keep(levels: tuple[str, ...]) -> str:
    """The shortest text that ``parse_keep`` reads back to ``levels``."""
    runs: list[list[str]] = []
    for level in levels:
        if runs and LEVELS.index(level) == LEVELS.index(runs[-1][-1]) + 1:
            runs[-1].append(level)
        else:
            runs.append([level])
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
