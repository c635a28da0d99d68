"""Labelled replies for ``difficulty audit-grader``, one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from difficulty.errors import InputError
from difficulty.sources.formats import read_jsonl


def read_cases(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a case file.

    Raises:
        InputError: no such file, or a line that is no JSON object.
    """
    if not path.is_file():
        raise InputError(f"case file is missing: {path}. Check the path")
    for row in read_jsonl(path):
        if row.problem is not None:
            raise InputError(f"case file {path}, row {row.number}: {row.problem}. Correct the line")
        yield row.values
