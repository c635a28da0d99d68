"""Worked examples sent before each question: chat turns, one JSON object a line."""

from __future__ import annotations

from pathlib import Path

from difficulty.errors import InputError
from difficulty.settings.run import FewShotTurn
from difficulty.sources.formats import read_jsonl


def read_few_shot(path: Path) -> tuple[FewShotTurn, ...]:
    """Read ``{"role": "user" | "assistant", "content": text}`` lines, user first, alternating.

    Raises:
        InputError: no such file, a turn that cannot be read, or turns out of order.
    """
    if not path.is_file():
        raise InputError(f"few-shot file is missing: {path}. Check --few-shot")
    turns = []
    for row in read_jsonl(path):
        expected = "user" if row.number % 2 == 0 else "assistant"
        role, content = row.values.get("role"), row.values.get("content")
        if row.problem or role != expected or not isinstance(content, str):
            raise InputError(
                f"few-shot file {path}, line {row.number + 1}: expected an object with role "
                f"{expected!r} and a text content, found {str(row.values)[:80]}. Correct it"
            )
        turns.append(FewShotTurn(role=role, content=content))
    if len(turns) % 2:
        raise InputError(
            f"few-shot file {path} ends with a question: its last turn has no answer. Add one"
        )
    return tuple(turns)
