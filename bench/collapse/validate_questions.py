"""Questions of spread difficulty for a model of 135M parameters, made from a seed.

Sums, products, comparisons, counting, doubling, short word problems, capitals and options. How
large the numbers are goes from trivial to hopeless, so that pass rates spread between 0 and 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]

FEW_SHOT = (
    ("user", "What is 6 + 3?"),
    ("assistant", "6 + 3 = 9"),
    ("user", "What is the capital of Kenya?"),
    ("assistant", "Answer: Nairobi"),
    ("user", "A hen lays 6 eggs a week. How many eggs does it lay in 3 weeks?"),
    ("assistant", "6 * 3 = 18"),
    ("user", "What number comes after 14?"),
    ("assistant", "14 + 1 = 15"),
    ("user", "Which number is larger: 8 or 3?"),
    ("assistant", "Answer: 8"),
    ("user", "Which is an animal?\n\nA. Spoon\nB. Horse\nC. Chair"),
    ("assistant", "Answer: B"),
)
"""Turns before every question. None of them is in the set."""

CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Germany": "Berlin", "Japan": "Tokyo",
    "China": "Beijing", "Russia": "Moscow", "Egypt": "Cairo", "Greece": "Athens", "Peru": "Lima",
    "Cuba": "Havana", "Norway": "Oslo", "Sweden": "Stockholm", "Finland": "Helsinki",
    "Poland": "Warsaw", "Austria": "Vienna", "Hungary": "Budapest", "Portugal": "Lisbon",
    "Ireland": "Dublin", "Turkey": "Ankara", "Iran": "Tehran", "Iraq": "Baghdad",
    "Canada": "Ottawa", "Australia": "Canberra", "Chile": "Santiago", "Colombia": "Bogota",
    "Denmark": "Copenhagen", "Belgium": "Brussels", "Thailand": "Bangkok", "Vietnam": "Hanoi",
    "Indonesia": "Jakarta", "Nepal": "Kathmandu", "Cambodia": "Phnom Penh", "Syria": "Damascus",
    "Lebanon": "Beirut", "Morocco": "Rabat", "Senegal": "Dakar", "Ghana": "Accra",
    "Jamaica": "Kingston", "Bulgaria": "Sofia", "Romania": "Bucharest", "Ukraine": "Kyiv",
}  # fmt: skip
THINGS = {
    "fruit": ("Apple", "Banana", "Plum", "Cherry"),
    "color": ("Red", "Green", "Purple", "Yellow"),
    "vehicle": ("Truck", "Bus", "Train", "Tram"),
    "tool": ("Hammer", "Saw", "Drill", "Wrench"),
    "planet": ("Mars", "Venus", "Saturn", "Jupiter"),
    "metal": ("Iron", "Copper", "Silver", "Zinc"),
}
NAMES = ("Anna", "Ben", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "June")
GOODS = ("pens", "shells", "coins", "marbles", "cards", "stones", "stamps", "cups")
WORDS = ("cat", "door", "table", "garden", "window", "bicycle", "mountain", "chocolate")


def _sum(rng: random.Random) -> Row:
    top = rng.choice((9, 9, 20, 20, 50, 100))
    numbers = [rng.randint(1, top) for _ in range(rng.choice((2, 2, 2, 3)))]
    return _numeric("sums", f"What is {' + '.join(map(str, numbers))}?", sum(numbers))


def _difference(rng: random.Random) -> Row:
    low, high = sorted(rng.randint(1, top) for top in [rng.choice((9, 15, 20, 60))] * 2)
    return _numeric("differences", f"What is {high} - {low}?", high - low)


def _product(rng: random.Random) -> Row:
    first, second = rng.randint(2, 12), rng.randint(2, rng.choice((5, 10, 15)))
    return _numeric("products", f"What is {first} * {second}?", first * second)


def _comparison(rng: random.Random) -> Row:
    numbers = rng.sample(range(1, rng.choice((20, 100, 1000))), 2)
    word, right = rng.choice((("larger", max(numbers)), ("smaller", min(numbers))))
    listed = " or ".join(map(str, numbers))
    return _numeric("comparisons", f"Which number is {word}: {listed}?", right)


def _counting(rng: random.Random) -> Row:
    if rng.random() < 0.2:
        word = rng.choice(WORDS)
        return _numeric("counting", f'How many letters are in the word "{word}"?', len(word))
    number, after = rng.randint(1, rng.choice((10, 30, 100))), rng.random() < 0.5
    text = f"What number comes {'after' if after else 'before'} {number}?"
    return _numeric("counting", text, number + 1 if after else number - 1)


def _multiple(rng: random.Random) -> Row:
    number = rng.randint(1, rng.choice((10, 20, 50)))
    word, right = rng.choice((("double", 2 * number), ("half of", number)))
    asked = 2 * number if word == "half of" else number
    return _numeric("multiples", f"What is {word} {asked}?", right)


def _word_problem(rng: random.Random) -> Row:
    name, good = rng.choice(NAMES), rng.choice(GOODS)
    first, second = rng.randint(2, 12), rng.randint(2, 9)
    text, right = rng.choice(
        (
            (f"{name} has {first} {good} and gets {second} more. How many {good} does {name} have?",
             first + second),
            (f"A box holds {first} {good}. How many {good} are in {second} boxes?", first * second),
            (f"{name} had {first + second} {good} and lost {second}. How many {good} are left?",
             first),
        )
    )  # fmt: skip
    return _numeric("word-problems", text, right)


def _capital(rng: random.Random) -> Row:
    country = rng.choice(sorted(CAPITALS))
    return {
        "source": "capitals", "kind": "text", "answer": CAPITALS[country],
        "question": f"What is the capital of {country}?",
    }  # fmt: skip


def _option(rng: random.Random) -> Row:
    kind, *others = rng.sample(sorted(THINGS), rng.choice((2, 3, 4)))
    right = rng.choice(THINGS[kind])
    choices = [right, *(rng.choice(THINGS[other]) for other in others)]
    rng.shuffle(choices)
    return {
        "source": "options", "kind": "choice", "question": f"Which is a {kind}?",
        "choices": choices, "answer": "ABCD"[choices.index(right)],
    }  # fmt: skip


def _numeric(source: str, question: str, answer: int) -> Row:
    return {"source": source, "kind": "numeric", "question": question, "answer": str(answer)}


FAMILIES: dict[Callable[[random.Random], Row], int] = {
    _sum: 8, _difference: 5, _product: 7, _comparison: 6, _counting: 5, _multiple: 4,
    _word_problem: 8, _capital: 6, _option: 3,
}  # fmt: skip
"""Parts of a set, by family."""


def make_questions(number: int, seed: int) -> list[Row]:
    """``number`` rows as in data/samples/demo.jsonl, all different, the same for the same seed."""
    rng = random.Random(seed)
    families, weights = list(FAMILIES), list(FAMILIES.values())
    shown = {text for role, text in FEW_SHOT if role == "user"}
    found: dict[str, Row] = {}
    while len(found) < number:
        (family,) = rng.choices(families, weights)
        row = family(rng)
        key = "\n".join([row["question"], *row.get("choices", ())])
        if row["question"] not in shown:
            found.setdefault(key, row)
    return list(found.values())
