"""The coverage grid as markdown: what missed its target first, then every cell."""

from __future__ import annotations

import math
from typing import Any

from bench.collapse.grid import METHODS
from bench.collapse.laws import HARD_LAWS

COVERED = 0.93
WIDE = 1.3
BINDING = {"U-shaped", "atoms", "uniform"}
BIAS = 0.01
HEAD = (
    "| law | n | k | G | set | sets | coverage | width | yardstick | ratio | open | bias | "
    + " | ".join(METHODS)
    + " |"
)

Row = dict[str, Any]


def grid_tables(jobs: list[Row]) -> str:
    """All cells, sorted, under a summary of the targets."""
    every = [cell for job in jobs for cell in job["cells"]]
    every.sort(
        key=lambda c: (c["subset"] != "pool", c["law"], c["num_questions"], c["k"], c["group_size"])
    )
    cells = [cell for cell in every if cell["law"] not in HARD_LAWS]
    hard = [cell for cell in every if cell["law"] in HARD_LAWS]
    seconds = sum(job["seconds"] for job in jobs)
    sets = sum(job["job"][3] for job in jobs)
    return "\n".join(
        [
            "# Coverage of the forecast's intervals, by simulation",
            "",
            "Made by `python -m bench.collapse` and `python -m bench.collapse table`: sets of n",
            "questions drawn from a known law, k samples a question (mixed: 4, 5 or 8), forecast",
            "for groups of G. *Coverage*: share of 95 % intervals that hold the mean of f_G over",
            "the very questions of the set (the filtered set is L2–L5). *Yardstick*: central 95 %",
            "range of the point estimate over the repetitions plus *open*, the width that exact",
            "counts of the law leave open. The last four columns are root mean square errors.",
            "",
            f"{len(every)} cells from {sets:,} sets, {seconds / 60:.0f} minutes of processor time.",
            "",
            *_summary(cells),
            "",
            HEAD,
            "|" + "---|" * HEAD[1:].count("|"),
            *map(_line, cells),
            "",
            "## Laws chosen against the method",
            "",
            "Questions near 0 and 1 and between, a narrow mode of easy or of hard ones beside",
            "others, and two of points alone, which lie at the border of what counts allow. No",
            "setting was chosen by these.",
            "",
            *(_law_line(law, hard) for law in HARD_LAWS if hard),
            "",
            HEAD,
            "|" + "---|" * HEAD[1:].count("|"),
            *map(_line, hard),
            "",
        ]
    )


def _summary(cells: list[Row]) -> list[str]:
    lines = []
    for subset in ("pool", "kept"):
        mine = [cell for cell in cells if cell["subset"] == subset]
        low = [cell for cell in mine if cell["coverage"] < COVERED]
        binding = [c for c in mine if c["law"] in BINDING and c["k"] in ("5", "8", "mixed")]
        wide = [cell for cell in binding if _ratio(cell) > WIDE]
        wide_of_plain = [cell for cell in binding if _plain_ratio(cell) > WIDE]
        many = [cell for cell in mine if cell["num_questions"] == 10_000]
        biased = [c for c in many if abs(c["bias"]) > c["open_width"] / 2 + BIAS]
        worst = min(mine, key=lambda cell: float(cell["coverage"]))
        lines += [
            f"- {subset}: coverage below {COVERED} in {len(low)} of {len(mine)} cells (least "
            f"{worst['coverage']:.3f}: {_name(worst)});",
            f"  width above {WIDE} of the yardstick in {len(wide)} of {len(binding)} cells of the "
            f"U-shaped, atoms and uniform laws at k of at least 5"
            + (f" (most {max(map(_ratio, binding)):.2f});" if binding else ";"),
            f"  above {WIDE} of the same for the plain mixture, which no prior holds still, in "
            f"{len(wide_of_plain)} (most {max(map(_plain_ratio, binding), default=0.0):.2f});",
            f"  bias at n = 10,000 beyond half the open width plus {BIAS} in {len(biased)} of "
            f"{len(many)} cells.",
        ]
        lines += [f"  - low: {_name(cell)}, coverage {cell['coverage']:.3f}" for cell in low]
        lines += [f"  - biased: {_name(cell)}, {cell['bias']:+.4f}" for cell in biased]
    return lines


def _law_line(law: str, cells: list[Row]) -> str:
    mine = [cell for cell in cells if cell["law"] == law]
    low = [cell for cell in mine if cell["coverage"] < COVERED]
    worst = min(mine, key=lambda cell: float(cell["coverage"]))
    return (
        f"- {law}: coverage below {COVERED} in {len(low)} of {len(mine)} cells (least "
        f"{worst['coverage']:.3f}: {worst['subset']}, {_name(worst)})"
    )


def _ratio(cell: Row) -> float:
    return float(cell["width"] / cell["yardstick"])


def _plain_ratio(cell: Row) -> float:
    """The ratio to 3.92 standard deviations of the plain mixture's error plus what is open."""
    variance = cell["rmse"]["plain"] ** 2 - cell["biases"]["plain"] ** 2
    return float(cell["width"] / (3.92 * math.sqrt(max(variance, 0.0)) + cell["open_width"]))


def _name(cell: Row) -> str:
    return (
        f"{cell['law']}, n = {cell['num_questions']:,}, k = {cell['k']}, G = {cell['group_size']}"
    )


def _line(cell: Row) -> str:
    errors = " | ".join(f"{cell['rmse'][method]:.4f}" for method in METHODS)
    return (
        f"| {cell['law']} | {cell['num_questions']:,} | {cell['k']} | {cell['group_size']} | "
        f"{cell['subset']} | {cell['repetitions']} | {cell['coverage']:.3f} | {cell['width']:.3f} "
        f"| {cell['yardstick']:.3f} | {_ratio(cell):.2f} | {cell['open_width']:.3f} | "
        f"{cell['bias']:+.4f} | {errors} |"
    )
