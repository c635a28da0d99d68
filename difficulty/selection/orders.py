"""Curricula: in which order the kept questions stand.

Every draw is a hash of the seed and the question or comes from Python's own generator, whose
numbers are part of the language, and every weight is a whole number: the order is the same on every
machine, and does not depend on the order of the rows.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

from difficulty.settings.selection import SelectionSpec, batch_places, mix_is_by_level

# Order name -> SQL sort key within the kept questions. ``draw`` is a hash of seed and content, and
# ``question_id`` one of the content alone: they break ties the same way on every machine, whatever
# the row order.
ORDERS: dict[str, str] = {
    "easy-to-hard": "pass_rate DESC, question_id",
    "hard-to-easy": "pass_rate ASC, question_id",
    "shuffled": "draw, question_id",
    "mix": "batch, md5('batch' || draw), question_id",
    "gaussian": "turn",
}
MEAN_STEPS = 1000
"""The mean moves in so many steps at most: weights are computed once a step."""
UNIT, LEAST_POWER = 2**48, -33
"""Weights are whole numbers: the greatest is ``UNIT``, and e^-33 of it is 0."""
EXACT = Context(prec=40)


def mixed_sql(selection: SelectionSpec) -> str:
    """SQL for the kept rows of ``chosen`` with ``batch``, the number of their batch, from 0.

    The mix holds for as many batches as its scarcest name fills; what is left follows in one last
    batch, in which no mix holds.
    """
    places = batch_places(selection)
    name = "level" if mix_is_by_level(selection) else "source"
    cases = " ".join(f"WHEN {sql_text(key)} THEN {count}" for key, count in places.items())
    full = ", ".join(
        f"count(*) FILTER ({name} = {sql_text(key)}) // {count}" for key, count in places.items()
    )
    return f"""
        SELECT ranked.*,
               least(coalesce(name_rank // CASE {name} {cases} END, whole), whole) AS batch
        FROM (SELECT *, row_number() OVER (PARTITION BY {name} ORDER BY draw, question_id) - 1
                        AS name_rank
              FROM chosen WHERE dropped IS NULL) AS ranked,
             (SELECT least({full}) AS whole FROM chosen WHERE dropped IS NULL)"""


def mixed_batches(selection: SelectionSpec, counts: dict[str, int]) -> tuple[int, str]:
    """How many batches the mix holds for, and the name that ends it (the first of equals).

    Args:
        selection: with the order ``mix``.
        counts: kept questions by name of the mix; a name that is not there has none.
    """
    found = {name: counts.get(name, 0) // n for name, n in batch_places(selection).items()}
    scarcest = min(found, key=lambda name: found[name])
    return found[scarcest], scarcest


def gaussian_turns(
    rates: Sequence[Fraction],
    counts: Sequence[int],
    *,
    mean: tuple[Fraction, Fraction],
    width: float,
    seed: int,
) -> list[array[int]]:
    """Positions of the questions of each pass rate, in the order in which they are drawn.

    A weighted draw without replacement: at each position a question of pass rate p has weight
    exp(-(p - mean)^2 / (2 width^2)), and the mean moves evenly from its start to its end.

    Args:
        rates: distinct pass rates.
        counts: questions of each.
        mean: of the weights at the first and at the last position.
        width: standard deviation of the weights.
        seed: of the draw.

    Returns:
        For each rate its positions (0 to the sum of ``counts`` - 1), ascending.
    """
    left, total = list(counts), sum(counts)
    turns = [array("q") for _ in counts]
    chance = random.Random(seed)
    steps = min(MEAN_STEPS, total)
    position = 0
    for step in range(steps):
        at = mean[0] + (mean[1] - mean[0]) * Fraction(step, max(steps - 1, 1))
        powers = [-((rate - at) ** 2) / (2 * Fraction(str(width)) ** 2) for rate in rates]
        end = total * (step + 1) // steps
        while position < end:  # anew where those with all the weight have run out
            position = _draw(_weights(powers, left), left, turns, (position, end), chance)
    return turns


def _weights(powers: list[Fraction], left: list[int]) -> list[int]:
    """exp(power) in units of the greatest of those that are left; very small ones are 0.

    Decimal's exp is correctly rounded on every machine, the C library's is not.
    """
    most = max(power for power, count in zip(powers, left, strict=True) if count)
    lower = [power - most if count else None for power, count in zip(powers, left, strict=True)]
    return [
        0
        if power is None or power < LEAST_POWER
        else int(Decimal(power.numerator).__truediv__(power.denominator).exp(EXACT) * UNIT)
        for power in lower
    ]


def _draw(
    weights: list[int],
    left: list[int],
    turns: list[array[int]],
    positions: tuple[int, int],
    chance: random.Random,
) -> int:
    """Fill positions under fixed weights until the end or until no weight is left; says how far."""
    heaps = [weight * count for weight, count in zip(weights, left, strict=True)]
    total = sum(heaps)
    for position in range(*positions):
        if not total:
            return position
        at = chance.getrandbits(64) * total >> 64
        chosen = 0
        while at >= heaps[chosen]:
            at -= heaps[chosen]
            chosen += 1
        heaps[chosen] -= weights[chosen]
        total -= weights[chosen]
        left[chosen] -= 1
        turns[chosen].append(position)
    return positions[1]


def sql_text(value: str) -> str:
    """A SQL string literal; quotes inside are doubled."""
    return "'" + value.replace("'", "''") + "'"
