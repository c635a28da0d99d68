"""Public families whose rows need rearranging before the general reading applies.

Each entry: the columns that give the family away, and a function from its row to one with the
columns ``prompt``, ``choices``, ``answer`` that ``columns.py`` knows. GSM8K needs none: its gold
after ``####`` is read by the general rule for golds.
"""

from __future__ import annotations

from collections.abc import Callable

from difficulty.sources.columns import Row


def _medmcqa(row: Row) -> Row:
    """MedMCQA: options in opa..opd, ``cop`` is the right one's index (-1: withheld).

    It counts from 0 in some public copies and from 1 in others.
    """
    return {
        **row,
        "prompt": row["question"],
        "choices": [row["opa"], row["opb"], row["opc"], row["opd"]],
        "answer": None if row["cop"] == -1 else row["cop"],
    }


def _medqa(row: Row) -> Row:
    """MedQA-USMLE: ``answer`` holds the option's text, ``answer_idx`` its letter."""
    general = {"prompt": row["question"], "choices": row["options"], "answer": row["answer_idx"]}
    return {**row, **general}


def _igakuqa(row: Row) -> Row:
    """IgakuQA: ``problem_text`` and a list of letters; ``text_only`` false means an image."""
    letters = "abcdefgh"
    choices = row.get("choices") or None
    if isinstance(choices, list):
        choices = dict(zip(letters, choices, strict=False))
    image = {} if row.get("text_only", True) else {"image": "the question needs its picture"}
    return {**row, **image, "prompt": row["problem_text"], "choices": choices}


FAMILIES: dict[str, tuple[frozenset[str], Callable[[Row], Row]]] = {
    "medmcqa": (frozenset({"question", "opa", "opb", "opc", "opd", "cop"}), _medmcqa),
    "medqa": (frozenset({"question", "options", "answer", "answer_idx"}), _medqa),
    "igakuqa": (frozenset({"problem_id", "problem_text", "choices", "answer"}), _igakuqa),
}


def family_of(present: set[str]) -> str | None:
    """The family whose tell-tale columns are all there, or None."""
    return next((name for name, (needs, _) in FAMILIES.items() if needs <= present), None)


def columns_of_family(family: str | None) -> frozenset[str]:
    """The columns that a family's rows are read from."""
    return frozenset() if family is None else FAMILIES[family][0]


def rearrange(family: str | None, row: Row) -> Row:
    """The row in the general form; unchanged where there is no family or a column is missing."""
    if family is None or not FAMILIES[family][0] <= row.keys():
        return row
    return FAMILIES[family][1](row)
