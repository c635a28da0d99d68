"""Public families whose rows need rearranging before the general reading applies.

Each entry: the columns that give the family away, and a function from its row to one with the
columns ``prompt``, ``choices``, ``answer`` that ``columns.py`` knows. GSM8K needs none: its gold
after ``####`` is read by the general rule for golds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]


def _medmcqa(row: Row) -> Row:
    """MedMCQA: options in opa..opd, ``cop`` is the 0-based right one (-1: withheld)."""
    cop = row["cop"]
    known = isinstance(cop, int) and 0 <= cop < 4
    return {
        **row,
        "prompt": row["question"],
        "choices": [row["opa"], row["opb"], row["opc"], row["opd"]],
        "answer": "ABCD"[cop] if known else None,
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


def rearrange(family: str | None, row: Row) -> Row:
    """The row in the general form; unchanged where there is no family or a column is missing."""
    if family is None or not FAMILIES[family][0] <= row.keys():
        return row
    return FAMILIES[family][1](row)
